//! Dialects: the same five questions, asked in three languages.
//!
//! ```text
//!            find          insert · link                              update
//!   postgres unnest(arrays), guarded by anti-joins, decided there     FROM unnest
//!   sqlite   VALUES, decided here under BEGIN IMMEDIATE               FROM VALUES
//!   mysql    VALUES, decided here under GET_LOCK                      JOIN VALUES
//! ```
//!
//! Q1. Identifiers are quoted, always; a name holds any character, and one dot parts schema and table.
//! Q2. A value travels as text, integer, float, boolean or bytes, and is the column's own type only inside a statement.

mod convert;
mod layout;
mod list;
mod postgres;
mod text;
mod values;

pub(crate) use convert::{check, decode, encode};
pub(crate) use layout::{Col, Layout, Links};
pub(crate) use postgres::Lock;

use crate::driver::{Rows, Statement};
use crate::value::{Kind, Value};

/// The SQL that a database speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
}

impl Dialect {
    /// Quotes a name.
    pub fn quote(self, name: &str) -> String {
        match self {
            Self::MySql => format!("`{}`", name.replace('`', "``")),
            Self::Sqlite | Self::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// Quotes the name of a table, which may have its schema in front: `schema.table`.
    pub fn quote_table(self, name: &str) -> String {
        match split(name) {
            (Some(schema), table) => format!("{}.{}", self.quote(schema), self.quote(table)),
            (None, table) => self.quote(table),
        }
    }
}

/// Schema and table of a name.
pub(crate) fn split(name: &str) -> (Option<&str>, &str) {
    match name.split_once('.') {
        Some((schema, table)) if !schema.is_empty() && !table.is_empty() => (Some(schema), table),
        _ => (None, name),
    }
}

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
fn hit_kinds(layout: &Layout) -> Vec<Kind> {
    let columns = layout
        .id
        .iter()
        .chain(&layout.attributes)
        .map(|col| convert::wire_out(layout.dialect, col));
    [Kind::Int; 3].into_iter().chain(columns).collect()
}

/// PostgreSQL's own: insert and link under guards, in one go.
pub(crate) mod guarded {
    pub(crate) use super::postgres::{created, insert, insert_linked, link, lock, lock_rows};
}

/// SQLite's and MySQL's own: insert and link what is known to be missing.
pub(crate) mod known {
    pub(crate) use super::values::{insert, insert_linked, link};
}

/// Statements that set the columns `set` (indexes of attributes) of rows: each row its handle, then its values.
pub(crate) fn update(
    layout: &Layout,
    set: &[usize],
    rows: Vec<(Box<[Value]>, Vec<Value>)>,
) -> Vec<Statement> {
    match layout.dialect {
        Dialect::Postgres => vec![postgres::update(layout, set, rows)],
        Dialect::Sqlite | Dialect::MySql => values::update(layout, set, rows),
    }
}
