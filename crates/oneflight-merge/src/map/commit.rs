//! Committing: a row's drafts become records of the batch, one for each identity (D3).
//!
//! What a later row says of a record that is there already is settled here by the policies of its columns, as the database
//! would settle it if the rows came one by one.

use super::draft::{Draft, DraftCell, Drafts};
use super::keys::hash_cells;
use super::memo::Memo;
use super::values::{Fault, shorten};
use crate::batch::{Again, Cell, Cells, Declares, Log, Recs, joined, shown};
use crate::plan::{ColumnKind, ColumnPlan, Plan, Slot, TablePlan};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use oneflight_sql::{External, Policy};
use std::hash::BuildHasher;

/// The records of a batch while it is made.
#[derive(Debug)]
pub(crate) struct Batch {
    tables: Vec<TableBatch>,
    hasher: RandomState,
    /// True if some column refuses a second value.
    refuses: bool,
    /// For each draft of the row, its record.
    recs: Vec<u32>,
}

/// What is known of a record by its key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Admitted {
    /// It is there.
    There(u32),
    /// It is new, and has no cells yet.
    New(u32),
}

#[derive(Debug)]
struct TableBatch {
    recs: Recs,
    hashes: Vec<u64>,
    index: HashTable<u32>,
    key: Vec<usize>,
    /// For each column the policy of its attribute; none for a column that is only in the key.
    policies: Vec<Option<Policy>>,
    /// The column that dates a record.
    newest: Option<usize>,
}

impl Batch {
    /// An empty batch.
    pub(crate) fn new(plan: &Plan, hasher: RandomState) -> Self {
        let tables: Vec<TableBatch> = plan.tables.iter().map(TableBatch::new).collect();
        let refuses = tables
            .iter()
            .any(|table| table.policies.contains(&Some(Policy::Error)));
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
            let width = self.tables[draft.table].policies.len();
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
        self.tables[draft.table].admit(draft, hash, is_same)
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
    pub(crate) fn late(&mut self, table: usize) -> &mut [Cells] {
        self.tables[table].recs.columns()
    }

    /// True if some column refuses a second value: then every row is looked at before it is added.
    pub(crate) fn refuses(&self) -> bool {
        self.refuses
    }

    /// The records by table.
    pub(crate) fn into_tables(self) -> Vec<Recs> {
        self.tables.into_iter().map(|table| table.recs).collect()
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
        let recs = |table: usize| &self.tables[table].recs;
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
            let cells = &drafts.cells[draft.cells..draft.cells + table.policies.len()];
            settle(cells, &self.recs, &mut drafts.settled);
            let cells = &drafts.settled;
            let rec = table.find(table.hash(draft, cells, &self.hasher), draft, cells);
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
            return shown(plan, &|table| &batch.tables[table].recs, kind, cell);
        }
        DraftCell::Draft(draft) => &drafts.drafts[draft as usize],
    };
    let columns = &plan.tables[draft.table].columns;
    let key = columns.iter().zip(&drafts.cells[draft.cells..]);
    let key = key.filter(|(column, cell)| column.key && !cell.is_empty());
    let key = key.map(|(column, cell)| drafted(plan, drafts, batch, column.kind, *cell));
    joined(key, draft.external.map(|(_, id)| id.to_owned()))
}

impl TableBatch {
    fn new(plan: &TablePlan) -> Self {
        let policy = |slot: Slot| match slot {
            Slot::Key(_) => None,
            Slot::Attribute(slot) | Slot::Folded { shown: slot, .. } => {
                Some(plan.sql.attributes[slot].policy)
            }
        };
        let newest = plan.sql.newest_by.as_ref().and_then(|newest| {
            plan.columns.iter().position(|column| {
                matches!(column.slot, Slot::Attribute(slot) if plan.sql.attributes[slot].column.name == *newest)
            })
        });
        Self {
            recs: Recs::new(plan),
            hashes: Vec::new(),
            index: HashTable::new(),
            key: (0..plan.columns.len())
                .filter(|at| plan.columns[*at].key)
                .collect(),
            policies: plan
                .columns
                .iter()
                .map(|column| policy(column.slot))
                .collect(),
            newest,
        }
    }

    fn reserve(&mut self, rows: usize) {
        self.recs.reserve(rows);
        self.hashes.reserve(rows);
        // There are no records yet, so none has to be hashed again.
        self.index.reserve(rows, |_| 0);
    }

    fn add(&mut self, draft: &Draft<'_>, cells: &[Cell<'_>], hasher: &RandomState) -> (u32, Again) {
        let hash = self.hash(draft, cells, hasher);
        if let Some(at) = self.find(hash, draft, cells) {
            return (at, self.meet(at, draft, cells));
        }
        let external = draft.external.map(|(source, id)| External {
            source: source.clone(),
            id: id.into(),
        });
        let at = self
            .recs
            .push(cells, external, draft.declared, draft.create);
        self.hashes.push(hash);
        let hashes = &self.hashes;
        self.index
            .insert_unique(hash, at, |at| hashes[*at as usize]);
        (at, Again::First)
    }

    #[inline]
    fn admit(
        &mut self,
        draft: &Draft<'_>,
        hash: u64,
        is_same: impl Fn(&Recs, u32) -> bool,
    ) -> Admitted {
        let (recs, hashes) = (&self.recs, &self.hashes);
        let entry = self.index.entry(
            hash,
            |at| recs.external(*at).is_none() && is_same(recs, *at),
            |at| hashes[*at as usize],
        );
        match entry {
            Entry::Occupied(there) => Admitted::There(*there.get()),
            Entry::Vacant(new) => {
                let at = self.recs.admit_plain(draft.declared, draft.create);
                new.insert(at);
                self.hashes.push(hash);
                Admitted::New(at)
            }
        }
    }

    fn meet(&mut self, at: u32, draft: &Draft<'_>, cells: &[Cell<'_>]) -> Again {
        let changed = self.merge(at, cells);
        match (self.recs.mark(at, draft.declared, draft.create), changed) {
            (false, _) => Again::First,
            (true, true) => Again::Changed,
            (true, false) => Again::Same,
        }
    }

    fn hash(&self, draft: &Draft<'_>, cells: &[Cell<'_>], hasher: &RandomState) -> u64 {
        let key = self.key.iter().map(|column| cells[*column]);
        let hash = hash_cells(key, hasher);
        match &draft.external {
            None => hash,
            Some(external) => hasher.hash_one((hash, external)),
        }
    }

    fn find(&self, hash: u64, draft: &Draft<'_>, cells: &[Cell<'_>]) -> Option<u32> {
        let found = self.index.find(hash, |at| {
            let external = match (&draft.external, self.recs.external(*at)) {
                (None, None) => true,
                (Some((source, id)), Some(external)) => {
                    **source == external.source && **id == *external.id
                }
                _ => false,
            };
            external
                && self
                    .key
                    .iter()
                    .all(|&column| cells[column].is_same(&self.recs.cell(column, *at)))
        });
        found.copied()
    }

    /// Applies what the row says to a record that is there; true if it changed.
    fn merge(&mut self, at: u32, cells: &[Cell<'_>]) -> bool {
        let stub = (0..cells.len()).all(|column| {
            !matches!(self.policies[column], Some(policy) if policy != Policy::Once)
                || self.recs.cell(column, at).is_empty()
        });
        let newer = self
            .newest
            .is_some_and(|newest| is_newer(cells[newest], self.recs.cell(newest, at)));
        let (mut changed, mut conflicts) = (false, 0);
        for (column, new) in cells.iter().enumerate() {
            let Some(policy) = self.policies[column] else {
                continue;
            };
            let (new, old) = (*new, self.recs.cell(column, at));
            let takes = match (new, old) {
                (Cell::Null, Cell::Unset) => {
                    self.recs.set_cell(column, at, Cell::Null);
                    continue;
                }
                (Cell::Unset | Cell::Null, _) => continue,
                _ if policy == Policy::Once || new.is_same(&old) => continue,
                _ if stub => true,
                (_, Cell::Unset | Cell::Null) => policy != Policy::Keep,
                _ => policy == Policy::Take || policy == Policy::Newest && newer,
            };
            if takes {
                self.recs.set_cell(column, at, new);
                changed = true;
            } else {
                conflicts += 1;
            }
        }
        self.recs.add_conflicts(at, conflicts);
        changed
    }

    /// The first column that refuses what a row says of a record that is there.
    fn refuses(&self, at: u32, cells: &[Cell<'_>]) -> Option<usize> {
        let refuses = |(column, new): (usize, &Cell<'_>)| {
            let old = self.recs.cell(column, at);
            let both = !new.is_empty() && !old.is_empty();
            self.policies[column] == Some(Policy::Error) && both && !new.is_same(&old)
        };
        cells.iter().enumerate().position(refuses)
    }
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

/// True if the new date is later; any date is later than none.
fn is_newer(new: Cell<'_>, old: Cell<'_>) -> bool {
    match (new, old) {
        (Cell::Unset | Cell::Null | Cell::Text(_) | Cell::Folded { .. } | Cell::Ref(_), _) => false,
        (_, Cell::Unset | Cell::Null) => true,
        (Cell::Int(new), Cell::Int(old)) | (Cell::Timestamp(new), Cell::Timestamp(old)) => {
            new > old
        }
        (Cell::Date(new), Cell::Date(old)) => new > old,
        _ => false,
    }
}
