//! The records of one table of a chunk.

use super::cells::{Cell, RecCells};
use crate::plan::TablePlan;
use oneflight_sql::External;

/// The records of one table of a chunk, column by column.
#[derive(Debug)]
pub struct Recs {
    cells: Vec<RecCells>,
    marks: Vec<Marks>,
    /// Empty as long as no record has an external id; then it has an entry for each.
    externals: Vec<Option<External>>,
    /// Empty as long as rows agree; then it has an entry for each record.
    conflicts: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Marks {
    declared: bool,
    create: bool,
}

/// One record of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Rec<'a> {
    recs: &'a Recs,
    at: u32,
}

impl Recs {
    pub(crate) fn new(plan: &TablePlan) -> Self {
        Self {
            cells: plan.columns.iter().map(RecCells::new).collect(),
            marks: Vec::new(),
            externals: Vec::new(),
            conflicts: Vec::new(),
        }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// The record with this number.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn get(&self, at: u32) -> Rec<'_> {
        assert!((at as usize) < self.marks.len(), "B2: no such record");
        Rec { recs: self, at }
    }

    /// The records, in the order in which rows first spoke of them.
    pub fn iter(&self) -> impl Iterator<Item = Rec<'_>> {
        (0..self.marks.len() as u32).map(|at| Rec { recs: self, at })
    }

    /// True if all of them may be created.
    pub(crate) fn all_create(&self) -> bool {
        self.marks.iter().all(|marks| marks.create)
    }

    /// In how many attributes rows of this chunk disagreed, over all records.
    pub(crate) fn conflicts(&self) -> u64 {
        self.conflicts.iter().copied().map(u64::from).sum()
    }

    pub(crate) fn reserve(&mut self, records: usize) {
        self.marks.reserve(records);
        self.cells
            .iter_mut()
            .for_each(|cells| cells.reserve(records));
    }

    /// The cell of a record.
    #[inline]
    pub(crate) fn cell(&self, column: usize, at: u32) -> Cell<'_> {
        self.cells[column].get(at)
    }

    /// Puts another cell in the place of one.
    pub(crate) fn set_cell(&mut self, column: usize, at: u32, cell: Cell<'_>) {
        self.cells[column].set(at, cell);
    }

    /// Appends a record with these cells, one for each column of the table.
    #[inline]
    pub(crate) fn push(
        &mut self,
        cells: &[Cell<'_>],
        external: Option<External>,
        declared: bool,
        create: bool,
    ) -> u32 {
        for (column, cell) in self.cells.iter_mut().zip(cells) {
            column.push(*cell);
        }
        self.admit(external, declared, create)
    }

    /// The columns, to be given the cells of records that have been admitted.
    pub(crate) fn columns(&mut self) -> &mut [RecCells] {
        &mut self.cells
    }

    /// Gives the next record its number; its cells are appended by the caller.
    pub(crate) fn admit(
        &mut self,
        external: Option<External>,
        declared: bool,
        create: bool,
    ) -> u32 {
        let at = self.marks.len() as u32;
        if external.is_some() || !self.externals.is_empty() {
            self.externals.resize(at as usize, None);
            self.externals.push(external);
        }
        if !self.conflicts.is_empty() {
            self.conflicts.push(0);
        }
        self.marks.push(Marks { declared, create });
        at
    }

    /// As `admit`, for a record without external id.
    #[inline]
    pub(crate) fn admit_plain(&mut self, declared: bool, create: bool) -> u32 {
        if !self.externals.is_empty() || !self.conflicts.is_empty() {
            return self.admit(None, declared, create);
        }
        self.marks.push(Marks { declared, create });
        self.marks.len() as u32 - 1
    }

    /// As `admit_plain`, for the next records; returns the first.
    pub(crate) fn admit_many(&mut self, count: usize, declared: bool, create: bool) -> u32 {
        let first = self.marks.len();
        let marks = Marks { declared, create };
        self.marks.resize(first + count, marks);
        if !self.externals.is_empty() {
            self.externals.resize(first + count, None);
        }
        if !self.conflicts.is_empty() {
            self.conflicts.resize(first + count, 0);
        }
        first as u32
    }

    /// Notes that another row speaks of a record; returns whether a row had declared it before.
    #[inline]
    pub(crate) fn mark(&mut self, at: u32, declared: bool, create: bool) -> bool {
        let marks = &mut self.marks[at as usize];
        let before = marks.declared;
        marks.declared |= declared;
        marks.create |= create;
        before
    }

    /// Notes that a record must be there already.
    pub(crate) fn demand(&mut self, at: u32) {
        self.marks[at as usize].create = false;
    }

    /// Notes that a row said other things of a record than it holds.
    pub(crate) fn add_conflicts(&mut self, at: u32, count: u32) {
        if count > 0 {
            self.conflicts.resize(self.marks.len(), 0);
            self.conflicts[at as usize] += count;
        }
    }

    #[inline]
    pub(crate) fn external(&self, at: u32) -> Option<&External> {
        self.externals.get(at as usize)?.as_ref()
    }
}

impl<'a> Rec<'a> {
    /// Its number.
    pub fn number(self) -> u32 {
        self.at
    }

    /// The cell of a column.
    ///
    /// # Panics
    /// If the table has no such column.
    #[inline]
    pub fn cell(self, column: usize) -> Cell<'a> {
        self.recs.cell(column, self.at)
    }

    /// One cell for each column of the table's plan.
    pub fn cells(self) -> impl Iterator<Item = Cell<'a>> {
        self.recs.cells.iter().map(move |cells| cells.get(self.at))
    }

    /// The external id.
    pub fn external(self) -> Option<&'a External> {
        self.recs.external(self.at)
    }

    /// True if a row of the feed declares it; false if rows only refer to it.
    pub fn is_declared(self) -> bool {
        self.recs.marks[self.at as usize].declared
    }

    /// Attributes in which rows of this chunk disagreed.
    pub fn conflicts(self) -> u32 {
        let conflicts = self.recs.conflicts.get(self.at as usize);
        conflicts.copied().unwrap_or(0)
    }

    /// False if it must be there already (a reference with `create = false`).
    pub fn may_create(self) -> bool {
        self.recs.marks[self.at as usize].create
    }
}
