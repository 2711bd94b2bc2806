//! Committing: a row's drafts become records of the batch, one for each identity (D3).
//!
//! What a later row says of a record that is there already is settled here by the policies of its columns, as the database
//! would settle it if the rows came one by one.

use super::draft::{Draft, DraftCell, Drafts, Memo};
use super::values::{Fault, shorten};
use crate::batch::{Again, Cell, Declares, Rec, Row};
use crate::plan::{Plan, Slot, TablePlan};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use oneflight_sql::{External, Policy, Value};
use std::hash::{BuildHasher, Hash, Hasher};

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

#[derive(Debug)]
struct TableBatch {
    recs: Vec<Rec>,
    hashes: Vec<u64>,
    index: HashTable<u32>,
    key: Vec<usize>,
    /// For each column the policy of its attribute; none for a column that is only in the key.
    policies: Vec<Option<Policy>>,
    /// The column that dates a record.
    newest: Option<usize>,
}

impl Batch {
    /// An empty batch; `rows` is how many will come, and `declared` which tables they declare records of.
    pub(crate) fn new(plan: &Plan, rows: usize, declared: impl Iterator<Item = usize>) -> Self {
        let mut tables: Vec<TableBatch> = plan.tables.iter().map(TableBatch::new).collect();
        for table in declared {
            tables[table].reserve(rows);
        }
        let refuses = tables
            .iter()
            .any(|table| table.policies.contains(&Some(Policy::Error)));
        Self {
            tables,
            hasher: RandomState::default(),
            refuses,
            recs: Vec::new(),
        }
    }

    /// Adds a row, or says why it is refused; then nothing has changed.
    pub(crate) fn commit<'a>(
        &mut self,
        drafts: &mut Drafts<'a>,
        memo: &mut Memo<'a>,
        line: u64,
    ) -> Result<Row, Fault> {
        if self.refuses {
            self.look(drafts)?;
        }
        self.recs.clear();
        let mut declares =
            Vec::with_capacity(drafts.drafts.iter().filter(|draft| draft.declared).count());
        for draft in drafts.drafts.drain(..) {
            let table = &mut self.tables[draft.table];
            let cells = &mut drafts.cells[draft.cells..draft.cells + table.policies.len()];
            settle(cells, &self.recs);
            let (rec, again) = table.add(&draft, cells, &self.hasher);
            if let Some((memory, text)) = draft.memo {
                memo.0[memory].insert(text, rec);
            }
            if draft.declared {
                declares.push(Declares {
                    table: draft.table as u32,
                    rec,
                    again,
                });
            }
            self.recs.push(rec);
        }
        Ok(Row { line, declares })
    }

    /// The records by table.
    pub(crate) fn into_tables(self) -> Vec<Vec<Rec>> {
        self.tables.into_iter().map(|table| table.recs).collect()
    }

    /// Looks whether a column refuses what the row says, without changing anything.
    fn look(&mut self, drafts: &mut Drafts<'_>) -> Result<(), Fault> {
        // A draft that is new to the batch gets a number that no record has: what refers to it is new, too.
        self.recs.clear();
        for draft in &drafts.drafts {
            let table = &self.tables[draft.table];
            let cells = &drafts.cells[draft.cells..draft.cells + table.policies.len()];
            let cells: Vec<DraftCell<'_>> = cells
                .iter()
                .map(|cell| borrowed(cell, &self.recs))
                .collect();
            let hash = table.hash(draft, &cells, &self.hasher);
            let rec = table.find(hash, draft, &cells);
            if let Some(rec) = rec {
                table.refuse(&table.recs[rec as usize], &cells)?;
            }
            self.recs.push(rec.unwrap_or(u32::MAX));
        }
        Ok(())
    }
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
            recs: Vec::new(),
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

    fn add(
        &mut self,
        draft: &Draft<'_>,
        cells: &mut [DraftCell<'_>],
        hasher: &RandomState,
    ) -> (u32, Again) {
        let hash = self.hash(draft, cells, hasher);
        if let Some(at) = self.find(hash, draft, cells) {
            let changed = self.merge(at, cells);
            let rec = &mut self.recs[at as usize];
            rec.create |= draft.create;
            let again = match (rec.declared, changed) {
                (false, _) => Again::First,
                (true, true) => Again::Changed,
                (true, false) => Again::Same,
            };
            rec.declared |= draft.declared;
            return (at, again);
        }
        let at = self.recs.len() as u32;
        self.recs.push(Rec {
            cells: cells
                .iter_mut()
                .map(|cell| std::mem::replace(cell, DraftCell::Unset).into_cell())
                .collect(),
            external: draft.external.as_ref().map(|(source, id)| External {
                source: (*source).clone(),
                id: id.as_ref().into(),
            }),
            declared: draft.declared,
            create: draft.create,
            conflicts: 0,
        });
        self.hashes.push(hash);
        let hashes = &self.hashes;
        self.index
            .insert_unique(hash, at, |at| hashes[*at as usize]);
        (at, Again::First)
    }

    fn hash(&self, draft: &Draft<'_>, cells: &[DraftCell<'_>], hasher: &RandomState) -> u64 {
        let mut hasher = hasher.build_hasher();
        for &column in &self.key {
            match &cells[column] {
                DraftCell::Unset | DraftCell::Null => hasher.write_u8(0),
                DraftCell::Text(text) | DraftCell::Folded { key: text, .. } => {
                    text.hash(&mut hasher)
                }
                DraftCell::Value(value) => hash_value(value, &mut hasher),
                DraftCell::Draft(rec) | DraftCell::Done(rec) => hasher.write_u32(*rec),
            }
        }
        if let Some((source, id)) = &draft.external {
            (source, id).hash(&mut hasher);
        }
        hasher.finish()
    }

    fn find(&self, hash: u64, draft: &Draft<'_>, cells: &[DraftCell<'_>]) -> Option<u32> {
        let found = self.index.find(hash, |at| {
            let rec = &self.recs[*at as usize];
            let external = match (&draft.external, &rec.external) {
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
                    .all(|&column| cells[column].is_same(&rec.cells[column]))
        });
        found.copied()
    }

    /// Applies what the row says to a record that is there; true if it changed.
    fn merge(&mut self, at: u32, cells: &mut [DraftCell<'_>]) -> bool {
        let rec = &self.recs[at as usize];
        let stub = rec.cells.iter().zip(&self.policies).all(|(cell, policy)| {
            !matches!(policy, Some(policy) if *policy != Policy::Once)
                || matches!(cell, Cell::Unset | Cell::Null)
        });
        let newer = self
            .newest
            .is_some_and(|newest| is_newer(&cells[newest], &rec.cells[newest]));
        let rec = &mut self.recs[at as usize];
        let mut changed = false;
        for ((new, old), policy) in cells.iter_mut().zip(&mut rec.cells).zip(&self.policies) {
            let Some(policy) = policy else { continue };
            let takes = match (&new, &old) {
                (DraftCell::Null, Cell::Unset) => {
                    *old = Cell::Null;
                    continue;
                }
                (DraftCell::Unset | DraftCell::Null, _) => continue,
                _ if *policy == Policy::Once || new.is_same(old) => continue,
                _ if stub => true,
                (_, Cell::Unset | Cell::Null) => *policy != Policy::Keep,
                _ => *policy == Policy::Take || *policy == Policy::Newest && newer,
            };
            if takes {
                *old = std::mem::replace(new, DraftCell::Unset).into_cell();
                changed = true;
            } else {
                rec.conflicts += 1;
            }
        }
        changed
    }

    fn refuse(&self, rec: &Rec, cells: &[DraftCell<'_>]) -> Result<(), Fault> {
        for ((new, old), policy) in cells.iter().zip(&rec.cells).zip(&self.policies) {
            let both = !matches!(new, DraftCell::Unset | DraftCell::Null)
                && !matches!(old, Cell::Unset | Cell::Null);
            if *policy == Some(Policy::Error) && both && !new.is_same(old) {
                return Err(Fault {
                    column: None,
                    value: Some(shorten(&format!("{new:?}"))),
                    reason: "expected the value that an earlier row gave (policy = error)".into(),
                });
            }
        }
        Ok(())
    }
}

/// References to drafts become references to their records.
fn settle(cells: &mut [DraftCell<'_>], recs: &[u32]) {
    for cell in cells {
        if let DraftCell::Draft(draft) = cell {
            *cell = DraftCell::Done(recs[*draft as usize]);
        }
    }
}

/// The same cell, borrowed, with its reference settled.
fn borrowed<'c>(cell: &'c DraftCell<'_>, recs: &[u32]) -> DraftCell<'c> {
    match cell {
        DraftCell::Unset => DraftCell::Unset,
        DraftCell::Null => DraftCell::Null,
        DraftCell::Text(text) => DraftCell::Text(text.as_ref().into()),
        DraftCell::Folded { key, shown } => DraftCell::Folded {
            key: key.as_ref().into(),
            shown: shown.as_ref().into(),
        },
        DraftCell::Value(value) => DraftCell::Value(value.clone()),
        DraftCell::Draft(draft) => DraftCell::Done(recs[*draft as usize]),
        DraftCell::Done(rec) => DraftCell::Done(*rec),
    }
}

impl DraftCell<'_> {
    fn into_cell(self) -> Cell {
        match self {
            Self::Unset => Cell::Unset,
            Self::Null => Cell::Null,
            Self::Text(text) => Cell::Value(Value::Text(text.into())),
            Self::Folded { key, shown } => Cell::Folded {
                key: key.into(),
                shown: shown.into(),
            },
            Self::Value(value) => Cell::Value(value),
            Self::Draft(rec) | Self::Done(rec) => Cell::Ref(rec),
        }
    }

    /// True if it says what the cell says; null and unset are alike.
    fn is_same(&self, cell: &Cell) -> bool {
        match (self, cell) {
            (Self::Unset | Self::Null, Cell::Unset | Cell::Null) => true,
            (Self::Text(new), Cell::Value(Value::Text(old))) => **new == **old,
            (Self::Folded { key: new, .. }, Cell::Folded { key: old, .. }) => **new == **old,
            (Self::Value(new), Cell::Value(old)) => is_equal(new, old),
            (Self::Draft(new) | Self::Done(new), Cell::Ref(old)) => new == old,
            _ => false,
        }
    }
}

fn hash_value(value: &Value, hasher: &mut impl Hasher) {
    match value {
        Value::Int(int) | Value::Timestamp(int) => hasher.write_i64(*int),
        Value::Real(real) => hasher.write_u64(real.to_bits()),
        Value::Text(text) | Value::Decimal(text) => text.hash(hasher),
        Value::Bool(bool) => hasher.write_u8(u8::from(*bool)),
        Value::Date(days) => hasher.write_i32(*days),
        Value::Uuid(uuid) => uuid.hash(hasher),
        Value::Bytes(bytes) => bytes.hash(hasher),
        _ => {}
    }
}

fn is_equal(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Int(new), Value::Int(old)) | (Value::Timestamp(new), Value::Timestamp(old)) => {
            new == old
        }
        (Value::Real(new), Value::Real(old)) => new.to_bits() == old.to_bits(),
        (Value::Text(new), Value::Text(old)) | (Value::Decimal(new), Value::Decimal(old)) => {
            new == old
        }
        (Value::Bool(new), Value::Bool(old)) => new == old,
        (Value::Date(new), Value::Date(old)) => new == old,
        (Value::Uuid(new), Value::Uuid(old)) => new == old,
        (Value::Bytes(new), Value::Bytes(old)) => new == old,
        _ => false,
    }
}

/// True if the new date is later; any date is later than none.
fn is_newer(new: &DraftCell<'_>, old: &Cell) -> bool {
    match (new, old) {
        (DraftCell::Value(_), Cell::Unset | Cell::Null) => true,
        (DraftCell::Value(Value::Int(new)), Cell::Value(Value::Int(old)))
        | (DraftCell::Value(Value::Timestamp(new)), Cell::Value(Value::Timestamp(old))) => {
            new > old
        }
        (DraftCell::Value(Value::Date(new)), Cell::Value(Value::Date(old))) => new > old,
        _ => false,
    }
}
