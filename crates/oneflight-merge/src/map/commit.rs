//! Committing: a row's drafts become records of the batch, one for each identity (D3).
//!
//! What a later row says of a record that is there already is settled here by the policies of its columns, as the database
//! would settle it if the rows came one by one.

use super::draft::{Draft, DraftCell, Drafts};
use super::memo::Memo;
use super::table::{Admitted, Table};
use super::values::{Fault, shorten};
use crate::batch::{Again, Cell, Declares, Log, RecCells, Recs, joined, shown};
use crate::plan::{ColumnKind, ColumnPlan, Plan};
use foldhash::fast::RandomState;

/// The records of a batch while it is made.
#[derive(Debug)]
pub(crate) struct Batch {
    tables: Vec<Table>,
    hasher: RandomState,
    /// True if some column refuses a second value.
    refuses: bool,
    /// For each draft of the row, its record.
    recs: Vec<u32>,
}

impl Batch {
    /// An empty batch.
    pub(crate) fn new(plan: &Plan, hasher: RandomState) -> Self {
        let tables: Vec<Table> = plan.tables.iter().map(Table::new).collect();
        let refuses = tables.iter().any(Table::may_refuse);
        Self {
            tables,
            hasher,
            refuses,
            recs: Vec::new(),
        }
    }

    /// Makes room for so many records of each of these tables, which have none yet.
    pub(crate) fn reserve(&mut self, tables: impl Iterator<Item = usize>, records: usize) {
        tables.for_each(|table| self.tables[table].reserve(records));
    }

    /// Adds a row and notes what it declares, or says why it is refused; then nothing has changed.
    pub(crate) fn commit<'a>(
        &mut self,
        drafts: &mut Drafts<'a>,
        memo: &mut Memo<'a>,
        log: &mut Log,
        plan: &Plan,
    ) -> Result<(), Fault> {
        if self.refuses {
            self.look(drafts, plan)?;
        }
        self.recs.clear();
        for draft in &drafts.drafts {
            let width = self.tables[draft.table].width();
            let cells = &drafts.cells[draft.cells..draft.cells + width];
            settle(cells, &self.recs, &mut drafts.settled);
            let (rec, again) = self.add(draft, &drafts.settled);
            if draft.declared {
                log.declare(Declares {
                    table: draft.table as u32,
                    rec,
                    again,
                });
            }
            if let Some((kind, text)) = draft.memo {
                memo.insert(kind, text, rec);
            }
            self.recs.push(rec);
        }
        Ok(())
    }

    /// Adds a record of a row, or what the row says to the record that is there.
    pub(crate) fn add(&mut self, draft: &Draft<'_>, cells: &[Cell<'_>]) -> (u32, Again) {
        self.tables[draft.table].add(draft, cells, &self.hasher)
    }

    /// Finds the record with a key of this hash, or gives it a number; then the caller appends its cells. `is_same` says of a record
    /// without external id whether it has the key.
    #[inline]
    pub(crate) fn admit(
        &mut self,
        draft: &Draft<'_>,
        hash: u64,
        is_same: impl Fn(&Recs, u32) -> bool,
    ) -> Admitted {
        self.tables[draft.table].admit(draft, hash, &self.hasher, is_same)
    }

    /// Gives these keys, each of one word, their records if none of them can be there because keys rise (I2); returns the first, which
    /// the others follow. The caller appends their cells.
    pub(crate) fn rise(&mut self, draft: &Draft<'_>, keys: &[i64]) -> Option<u32> {
        self.tables[draft.table].rise(draft, keys)
    }

    /// Puts what a row says to a record that is there.
    pub(crate) fn meet(&mut self, rec: u32, draft: &Draft<'_>, cells: &[Cell<'_>]) -> Again {
        self.tables[draft.table].meet(rec, draft, cells)
    }

    /// What keys are hashed by.
    pub(crate) fn hasher(&self) -> &RandomState {
        &self.hasher
    }

    /// The columns of a table, to be given the cells of records that have been admitted.
    pub(crate) fn late(&mut self, table: usize) -> &mut [RecCells] {
        self.tables[table].columns()
    }

    /// True if some column refuses a second value: then every row is looked at before it is added.
    pub(crate) fn refuses(&self) -> bool {
        self.refuses
    }

    /// The records by table.
    pub(crate) fn into_tables(self) -> Vec<Recs> {
        self.tables.into_iter().map(Table::into_recs).collect()
    }

    /// The complaint about a row that says something else of a column than an earlier row of the chunk.
    fn refusal(
        &self,
        plan: &Plan,
        drafts: &Drafts<'_>,
        draft: &Draft<'_>,
        column: usize,
        rec: u32,
    ) -> Fault {
        let table = &plan.tables[draft.table];
        let ColumnPlan { name, kind, .. } = &table.columns[column];
        let recs = |table: usize| self.tables[table].recs();
        let before = recs(draft.table).cell(column, rec);
        let before = shorten(&shown(plan, &recs, *kind, before));
        let said = drafted(
            plan,
            drafts,
            self,
            *kind,
            drafts.cells[draft.cells + column],
        );
        Fault {
            column: Some(draft.spec.said_by(column).unwrap_or(name).to_owned()),
            value: Some(shorten(&said)),
            reason: format!(
                "expected {before}: an earlier row gave that to `{name}` of `{}`, and its policy is to refuse another value",
                table.sql.name
            ),
        }
    }

    /// Looks whether a column refuses what the row says, without changing anything.
    fn look(&mut self, drafts: &mut Drafts<'_>, plan: &Plan) -> Result<(), Fault> {
        // A draft that is new to the batch gets a number that no record has: what refers to it is new, too.
        self.recs.clear();
        for draft in &drafts.drafts {
            let table = &self.tables[draft.table];
            let cells = &drafts.cells[draft.cells..draft.cells + table.width()];
            settle(cells, &self.recs, &mut drafts.settled);
            let cells = &drafts.settled;
            let rec = table.look(draft, cells, &self.hasher);
            if let Some(rec) = rec
                && let Some(column) = table.refuses(rec, cells)
            {
                return Err(self.refusal(plan, drafts, draft, column, rec));
            }
            self.recs.push(rec.unwrap_or(u32::MAX));
        }
        Ok(())
    }
}

/// A cell of a row that is being looked at, for a message. A record that it refers to may be in no batch yet.
fn drafted(
    plan: &Plan,
    drafts: &Drafts<'_>,
    batch: &Batch,
    kind: ColumnKind,
    cell: DraftCell<'_>,
) -> String {
    let draft = match cell {
        DraftCell::Cell(cell) => {
            return shown(plan, &|table| batch.tables[table].recs(), kind, cell);
        }
        DraftCell::Draft(draft) => &drafts.drafts[draft as usize],
    };
    let columns = &plan.tables[draft.table].columns;
    let key = columns.iter().zip(&drafts.cells[draft.cells..]);
    let key = key.filter(|(column, cell)| column.key && !cell.is_empty());
    let key = key.map(|(column, cell)| drafted(plan, drafts, batch, column.kind, *cell));
    joined(key, draft.external.map(|(_, id)| id.to_owned()))
}

/// The cells, in which references to drafts have become references to their records.
#[inline]
fn settle<'a>(cells: &[DraftCell<'a>], recs: &[u32], settled: &mut Vec<Cell<'a>>) {
    settled.clear();
    settled.extend(cells.iter().map(|cell| match *cell {
        DraftCell::Cell(cell) => cell,
        DraftCell::Draft(draft) => Cell::Ref(recs[draft as usize]),
    }));
}
