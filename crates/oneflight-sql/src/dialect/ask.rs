//! What is asked of a table, and what comes back: the same for every dialect.

use super::{Dialect, Layout, convert, decode, postgres, postgres_write, values};
use crate::driver::{Rows, Statement};
use crate::value::{Kind, Value};
use std::borrow::Borrow;

/// Whom to look for: an external id, a key, or both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    /// Source and id, as they travel.
    pub(crate) external: Option<[Value; 2]>,
    /// The key, as it travels.
    pub(crate) key: Option<Box<[Value]>>,
}

/// A row to be made.
#[derive(Clone, Debug)]
pub(crate) struct Create {
    /// The external id that must not be known for the row to be made.
    pub(crate) unless: Option<[Value; 2]>,
    /// The key, as it travels; empty in a table that is known by its crosswalk alone.
    pub(crate) key: Box<[Value]>,
    /// The attributes, as they travel.
    pub(crate) attributes: Box<[Value]>,
}

/// The attributes that some row says: the others are left to their defaults.
pub(super) fn said(layout: &Layout, creates: &[impl Borrow<Create>]) -> Vec<usize> {
    let is_said = |at: &usize| {
        let mut creates = creates.iter().map(Borrow::borrow);
        creates.any(|create: &Create| !create.attributes[*at].is_null())
    };
    (0..layout.attributes.len()).filter(is_said).collect()
}

/// What was found for one [`Ask`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hit {
    /// Which ask.
    pub(crate) ask: usize,
    /// True if the external id led here, false if the key did.
    pub(crate) by_external: bool,
    /// True if the row has an external id of the same source already.
    pub(crate) taken: bool,
    /// The row's id; null without an id column.
    pub(crate) id: Value,
    /// Its attributes.
    pub(crate) attributes: Box<[Value]>,
}

/// Statements that find the rows of `asks`; their rows are read by [`hits`].
pub(crate) fn find(layout: &Layout, asks: &[Ask]) -> Vec<Statement> {
    match layout.dialect {
        Dialect::Postgres => vec![postgres::find(layout, asks)],
        Dialect::Sqlite | Dialect::MySql => values::find(layout, asks),
    }
}

/// Reads what [`find`] returned. `rows` has one entry for each of its statements.
pub(crate) fn hits(layout: &Layout, rows: &[Rows]) -> Vec<Hit> {
    let mut hits = Vec::with_capacity(rows.iter().map(Rows::len).sum());
    for row in rows.iter().flat_map(Rows::iter) {
        let [
            Value::Int(ask),
            Value::Int(by_external),
            Value::Int(taken),
            rest @ ..,
        ] = row
        else {
            continue;
        };
        let (id, attributes) = match (&layout.id, rest) {
            (Some(col), [id, attributes @ ..]) => {
                (decode(layout.dialect, col, id.clone()), attributes)
            }
            _ => (Value::Null, rest),
        };
        let attributes = layout.attributes.iter().zip(attributes);
        hits.push(Hit {
            ask: usize::try_from(*ask).unwrap_or(usize::MAX),
            by_external: *by_external != 0,
            taken: *taken != 0,
            id,
            attributes: attributes
                .map(|(col, value)| decode(layout.dialect, col, value.clone()))
                .collect(),
        });
    }
    hits
}

/// The kinds of what [`find`] returns.
pub(super) fn hit_kinds(layout: &Layout) -> Vec<Kind> {
    let columns = layout
        .id
        .iter()
        .chain(&layout.attributes)
        .map(|col| convert::wire_out(layout.dialect, col));
    [Kind::Int; 3].into_iter().chain(columns).collect()
}

/// Statements that set the columns `set` (indexes of attributes) of rows: each row its handle, then its values.
pub(crate) fn update(
    layout: &Layout,
    set: &[usize],
    rows: Vec<(Box<[Value]>, Vec<Value>)>,
) -> Vec<Statement> {
    match layout.dialect {
        Dialect::Postgres => vec![postgres_write::update(layout, set, rows)],
        Dialect::Sqlite | Dialect::MySql => values::update(layout, set, rows),
    }
}
