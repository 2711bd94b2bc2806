//! What has become of each record of a chunk so far.
//!
//!   Pending ──▶ Done(effect), its id      one byte a record, and 8 for the id where somebody will ask for it
//!      ├──────▶ Failed, and why           and with it every record that refers to it, and every row that declares one of those
//!      └──────▶ Idle                      only rejected rows wanted it: it is not written
//!
//! F1. A record is written only after those that it refers to (but by deferred columns) are done.
//! F2. `pending` and `failed` count the records of a table that are so.

use crate::batch::{Cell, Mapped};
use oneflight_sql::{Effect, Value, ValueRef};
use std::collections::HashMap;
use std::sync::Arc;

/// The fate of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Pending,
    Done(Effect),
    Failed,
    Idle,
}

/// Why a record could not be stored; it becomes the reject of every row that needs it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) column: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) reason: String,
}

/// The fates of all records of a chunk: by table, by record.
#[derive(Debug)]
pub(crate) struct Fates(Vec<OfTable>);

#[derive(Debug)]
struct OfTable {
    fates: Vec<Fate>,
    ids: Ids,
    failures: HashMap<u32, Arc<Failure>>,
    pending: usize,
}

/// The ids of the records of a table, as far as they are known.
#[derive(Debug)]
enum Ids {
    /// Integers, as they nearly always are.
    Ints(Vec<i64>),
    Values(Vec<Value>),
}

impl Fates {
    pub(crate) fn new(mapped: &Mapped) -> Self {
        let of_table = |recs: &crate::batch::Recs| OfTable {
            fates: vec![Fate::Pending; recs.len()],
            ids: Ids::Ints(Vec::new()),
            failures: HashMap::new(),
            pending: recs.len(),
        };
        Self(mapped.tables.iter().map(of_table).collect())
    }

    pub(crate) fn get(&self, table: usize, rec: u32) -> Fate {
        self.0[table].fates[rec as usize]
    }

    /// Why a record failed.
    pub(crate) fn why(&self, table: usize, rec: u32) -> Option<&Arc<Failure>> {
        self.0[table].failures.get(&rec)
    }

    pub(crate) fn is_pending(&self, table: usize, rec: u32) -> bool {
        self.get(table, rec) == Fate::Pending
    }

    pub(crate) fn any_pending(&self, table: usize) -> bool {
        self.0[table].pending > 0
    }

    /// Says what a record is now; its id stays what it was.
    pub(crate) fn set(&mut self, table: usize, rec: u32, fate: Fate) {
        let OfTable {
            fates,
            failures,
            pending,
            ..
        } = &mut self.0[table];
        let before = std::mem::replace(&mut fates[rec as usize], fate);
        *pending += usize::from(fate == Fate::Pending);
        *pending -= usize::from(before == Fate::Pending);
        if before == Fate::Failed {
            failures.remove(&rec);
        }
    }

    pub(crate) fn fail(&mut self, table: usize, rec: u32, why: Arc<Failure>) {
        self.set(table, rec, Fate::Failed);
        self.0[table].failures.insert(rec, why);
    }

    /// Says that a record is done, and keeps its id for those that refer to it.
    pub(crate) fn done(&mut self, table: usize, rec: u32, id: Value, effect: Effect) {
        self.set(table, rec, Fate::Done(effect));
        let OfTable { fates, ids, .. } = &mut self.0[table];
        ids.set(rec as usize, id, fates.len());
    }

    /// The id of a record that is done.
    pub(crate) fn id(&self, table: usize, rec: u32) -> Option<ValueRef<'_>> {
        let OfTable { fates, ids, .. } = &self.0[table];
        match fates[rec as usize] {
            Fate::Done(_) => ids.get(rec as usize),
            _ => None,
        }
    }

    /// The failure of the first of these references that has one.
    pub(crate) fn failure<'c>(
        &self,
        mut references: impl Iterator<Item = (usize, Cell<'c>)>,
    ) -> Option<Arc<Failure>> {
        references.find_map(|(table, cell)| match cell {
            Cell::Ref(rec) if !self.0[table].failures.is_empty() => self.why(table, rec).cloned(),
            _ => None,
        })
    }
}

impl Ids {
    fn set(&mut self, rec: usize, id: Value, len: usize) {
        match (&mut *self, id) {
            (Self::Ints(ints), Value::Int(id)) => {
                ints.resize(len, 0);
                ints[rec] = id;
            }
            (Self::Values(values), id) => values[rec] = id,
            (Self::Ints(ints), id) => {
                ints.resize(len, 0);
                let mut values: Vec<Value> = ints.drain(..).map(Value::Int).collect();
                values[rec] = id;
                *self = Self::Values(values);
            }
        }
    }

    fn get(&self, rec: usize) -> Option<ValueRef<'_>> {
        match self {
            Self::Ints(ints) => ints.get(rec).map(|id| ValueRef::Int(*id)),
            Self::Values(values) => values.get(rec).map(ValueRef::from),
        }
    }
}
