//! What has become of each record of a chunk so far.
//!
//!   Pending ──▶ Done(id, effect)
//!      ├──────▶ Failed(why)        and with it every record that refers to it, and every row that declares one of those
//!      └──────▶ Idle               only rejected rows wanted it: it is not written
//!
//! F1. A record is written only after those that it refers to (but by deferred columns) are done.

use crate::batch::{Cell, Mapped};
use oneflight_sql::{Effect, Value};
use std::sync::Arc;

/// The fate of a record.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    Pending,
    Done { id: Value, effect: Effect },
    Failed(Arc<Failure>),
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
pub(crate) struct Fates(Vec<Vec<Fate>>);

impl Fates {
    pub(crate) fn new(mapped: &Mapped) -> Self {
        Self(
            mapped
                .tables
                .iter()
                .map(|recs| vec![Fate::Pending; recs.len()])
                .collect(),
        )
    }

    pub(crate) fn get(&self, table: usize, rec: u32) -> &Fate {
        &self.0[table][rec as usize]
    }

    pub(crate) fn set(&mut self, table: usize, rec: u32, fate: Fate) {
        self.0[table][rec as usize] = fate;
    }

    pub(crate) fn is_pending(&self, table: usize, rec: u32) -> bool {
        matches!(self.get(table, rec), Fate::Pending)
    }

    pub(crate) fn any_pending(&self, table: usize) -> bool {
        self.0[table]
            .iter()
            .any(|fate| matches!(fate, Fate::Pending))
    }

    /// The id of a record that is done.
    pub(crate) fn id(&self, table: usize, rec: u32) -> Option<&Value> {
        match self.get(table, rec) {
            Fate::Done { id, .. } => Some(id),
            _ => None,
        }
    }

    /// The failure of the first of these references that has one.
    pub(crate) fn failure<'c>(
        &self,
        references: impl Iterator<Item = (usize, Cell<'c>)>,
    ) -> Option<Arc<Failure>> {
        references.into_iter().find_map(|(table, cell)| match cell {
            Cell::Ref(rec) => match self.get(table, rec) {
                Fate::Failed(why) => Some(why.clone()),
                _ => None,
            },
            _ => None,
        })
    }

    pub(crate) fn each_mut(&mut self) -> impl Iterator<Item = &mut Fate> {
        self.0.iter_mut().flatten()
    }
}
