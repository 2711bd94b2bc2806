//! What a chunk comes to.

use super::log::Log;
use super::recs::Recs;

/// What a chunk comes to.
#[derive(Debug, Default)]
pub struct Mapped {
    /// For each table of the plan, its records.
    pub tables: Vec<Recs>,
    /// The rows that were mapped, in their order.
    pub rows: Log,
    /// The rows that were not.
    pub rejects: Vec<Reject>,
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
