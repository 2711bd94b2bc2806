//! What a merge did, in numbers.
//!
//! N1. For every feed: `read = inserted + existing + updated + rejected`.
//! N2. The sum of `created` over all runs into a fresh database is the number of rows in the table.

use serde::Serialize;

/// The numbers of a whole run.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// One for each feed, in the order of the mapping.
    pub feeds: Vec<FeedReport>,
    /// One for each table, in the order in which they are written.
    pub tables: Vec<TableReport>,
    /// Round trips to the database.
    pub round_trips: u64,
    /// Seconds from the first byte read to the last commit.
    pub seconds: f64,
    /// True if nothing was committed on purpose.
    pub dry_run: bool,
    /// True if the run was stopped from outside; what had been read until then is merged.
    pub interrupted: bool,
    /// True if there were more rejects than allowed, and the run stopped.
    pub reject_limit: bool,
}

impl Report {
    /// Rows rejected, over all feeds.
    pub fn rejected(&self) -> u64 {
        self.feeds.iter().map(|feed| feed.rejected).sum()
    }

    /// Rows read, over all feeds.
    pub fn read(&self) -> u64 {
        self.feeds.iter().map(|feed| feed.read).sum()
    }
}

/// The numbers of a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FeedReport {
    /// Name in the mapping.
    pub name: String,
    /// How many files it was.
    pub files: u64,
    /// Rows read.
    pub read: u64,
    /// Rows of which some record was created.
    pub inserted: u64,
    /// Rows that were all there and changed nothing.
    pub existing: u64,
    /// Rows that changed a record that was there (a stub that they completed, or by policy).
    pub updated: u64,
    /// Rows that left no trace but a line in the rejects file.
    pub rejected: u64,
}

/// The numbers of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableReport {
    /// Name in the mapping.
    pub name: String,
    /// Records that were there: looked up, or declared again. A record counts once for each chunk of rows that names it.
    pub found: u64,
    /// Rows created.
    pub created: u64,
    /// Stubs completed: rows that had been referred to before they were declared.
    pub completed: u64,
    /// Other rows that got new values.
    pub updated: u64,
    /// Values that differ from the one that was kept.
    pub conflicts: u64,
}
