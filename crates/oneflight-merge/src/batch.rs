//! A mapped chunk: the distinct records that its rows declare and refer to, table by table.
//!
//! B1. In one table of a batch no two records have the same identity (key cells and external id).
//! B2. A [`Cell::Ref`] points at a record of the same batch, in the table that its column refers to.
//! B3. A row is in `rows` or in `rejects`, never in both; a rejected row left no record behind.

use oneflight_sql::{External, Value};

/// What a chunk comes to.
#[derive(Debug, Default)]
pub struct Mapped {
    /// For each table of the plan, its records.
    pub tables: Vec<Vec<Rec>>,
    /// The rows that were mapped, in their order.
    pub rows: Vec<Row>,
    /// The rows that were not.
    pub rejects: Vec<Reject>,
}

/// One record of a batch.
#[derive(Debug)]
pub struct Rec {
    /// One cell for each column of the table's plan.
    pub cells: Vec<Cell>,
    /// The external id.
    pub external: Option<External>,
    /// True if a row of the feed declares it; false if rows only refer to it.
    pub declared: bool,
    /// False if it must be there already (a reference with `create = false`).
    pub create: bool,
    /// Attributes in which rows of this chunk disagreed.
    pub conflicts: u32,
}

/// A cell of a record.
#[derive(Clone, Debug)]
pub enum Cell {
    /// The feed says nothing about this column.
    Unset,
    /// The feed says null.
    Null,
    /// A value.
    Value(Value),
    /// A text of a folded key column.
    Folded {
        /// The folded text, which identifies.
        key: Box<str>,
        /// The text as the feed spells it, cleaned at the edges.
        shown: Box<str>,
    },
    /// A reference: an index into the records of the table that the column refers to.
    Ref(u32),
}

/// A row that was mapped.
#[derive(Debug)]
pub struct Row {
    /// Its line.
    pub line: u64,
    /// The records that it declares.
    pub declares: Vec<Declares>,
}

/// One record that a row declares.
#[derive(Clone, Copy, Debug)]
pub struct Declares {
    /// Table.
    pub table: u32,
    /// Record.
    pub rec: u32,
    /// What the row did to a record that an earlier row of the chunk had declared.
    pub again: Again,
}

/// A record that is declared more than once in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// This row is the first to declare it.
    First,
    /// It was declared, and this row changed nothing.
    Same,
    /// It was declared, and this row changed it (by the policies of its attributes).
    Changed,
}

/// A row that was not mapped, or not stored.
#[derive(Clone, Debug)]
pub struct Reject {
    /// Its line.
    pub line: u64,
    /// The column of the feed (or of the table) to blame, if one is.
    pub column: Option<String>,
    /// What stands there, shortened to 200 characters.
    pub value: Option<String>,
    /// What is wrong, and what was expected.
    pub reason: String,
}
