//! Dialects: the same five questions, asked in three languages.
//!
//! ```text
//!            find          insert · link                              update
//!   postgres unnest(arrays), guarded by anti-joins, decided there     FROM unnest
//!   sqlite   VALUES, decided here under BEGIN IMMEDIATE               FROM VALUES
//!   mysql    literals, decided here under GET_LOCK                    JOIN JSON_TABLE
//! ```
//!
//! Q1. Identifiers are quoted, always; a name holds any character, and one dot parts schema and table.
//! Q2. A value travels as text, integer, float, boolean or bytes, and is the column's own type only inside a statement.

mod ask;
mod convert;
mod layout;
mod list;
mod literal;
pub(crate) mod load;
mod load_mysql;
mod load_postgres;
mod load_sqlite;
mod mysql_write;
mod names;
mod postgres;
mod postgres_write;
mod room;
mod text;
mod values;

pub(crate) use ask::{Ask, Create, Hit, find, hits, update};
pub(crate) use convert::{check, decode, encode, keeps};
pub(crate) use layout::{Col, Layout, Links};
pub use names::Dialect;
pub(crate) use names::split;
pub(crate) use postgres_write::Lock;
pub(crate) use room::Room;
pub(crate) use text::{date, timestamp, uuid};

/// PostgreSQL's own: insert and link under guards, in one go.
pub(crate) mod guarded {
    pub(crate) use super::postgres_write::{created, insert, insert_linked, link, lock, lock_rows};
}

/// SQLite's and MySQL's own: insert and link what is known to be missing.
pub(crate) mod known {
    pub(crate) use super::values::{insert, insert_linked, link};
}
