//! What goes into a batch, and what comes out.

use crate::value::Value;
use std::sync::Arc;

/// One record: who it is, and what is known of it.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// One value for each key column, folded already, none null; or none if only the external id is known.
    pub key: Option<Box<[Value]>>,
    /// The external id, if the table has a crosswalk and the record brings one.
    pub external: Option<External>,
    /// One slot for each attribute of the table: none = not said, `Some(Value::Null)` = said to be null (treated as not said
    /// for a row that exists).
    pub attributes: Box<[Option<Value>]>,
}

/// An id that another system gave.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct External {
    /// Which system.
    pub source: Arc<str>,
    /// Its id, as text.
    pub id: Box<str>,
}

/// What became of a record.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The id of the row; null if the table has no id column.
    pub id: Value,
    /// Whether the row was there.
    pub effect: Effect,
    /// How many attributes differ from what the row keeps.
    pub conflicts: u32,
}

impl Outcome {
    /// The id of the row, if it is an integer. Other ids are in [`Outcome::id`].
    pub fn id_i64(&self) -> Option<i64> {
        self.id.as_i64()
    }
}

/// What a record did to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// Whether the row was there.
    pub effect: Effect,
    /// How many attributes differ from what the row keeps.
    pub conflicts: u32,
}

impl Applied {
    /// This effect, and no conflict.
    pub(crate) fn plain(effect: Effect) -> Self {
        Self {
            effect,
            conflicts: 0,
        }
    }
}

/// Whether a row was found, made, or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// The row was there and stays as it is.
    Found,
    /// The row was made by this record.
    Created,
    /// The row was a stub, all attributes null, and has been completed.
    Completed,
    /// The row was there and got new values.
    Updated,
}
