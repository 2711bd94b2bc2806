//! Rows as they are read: text cells or trees, with where they stand. The border between reading and mapping.
//!
//!   read::Input ──Chunk──▶ map::Mapper ──batch::Mapped──▶ merge
//!
//! R1. A cell is text or null; no number goes through a float on its way here.
//! R2. Every row knows its line (1-based; for Parquet the row number).

use serde_json::Value as Json;
use std::sync::Arc;

/// A run of rows of one file.
#[derive(Debug)]
pub struct Chunk {
    /// The file.
    pub file: Arc<File>,
    /// The rows.
    pub rows: Rows,
    /// Rows that could not be read (a wrong number of fields, a line that is no JSON): each is counted as read, and rejected.
    pub bad: Vec<Bad>,
    /// Bytes of the file (as stored, compressed or not) read when this chunk ended, for progress.
    pub bytes_read: u64,
}

/// A file of a feed.
#[derive(Debug)]
pub struct File {
    /// Its name as a person would say it: the path, or `<stdin>`.
    pub name: String,
    /// File name without folders and without its last extension (and without `.gz` or `.zst`).
    pub stem: String,
    /// What the placeholders in the feed's path stood for: `{season}` → `2010-11`.
    pub captures: Vec<(String, String)>,
    /// Column names of a flat file, in order; empty for trees.
    pub columns: Vec<String>,
    /// Size in bytes, if known.
    pub bytes: Option<u64>,
}

/// The rows of a chunk.
#[derive(Debug)]
pub enum Rows {
    /// Rows of a flat file: CSV, TSV, flat Parquet.
    Flat(Flat),
    /// Rows of a nested file: NDJSON, JSON, nested Parquet.
    Tree(Vec<Tree>),
}

/// Flat rows, all cells in one buffer.
#[derive(Debug, Default)]
pub struct Flat {
    /// Cells in a row.
    pub width: usize,
    /// All cells, one after the other.
    pub text: String,
    /// Where each cell ends in `text`; `width` entries a row. The highest bit ([`Flat::NULL`]) marks a cell that is null.
    pub ends: Vec<u32>,
    /// The line that each row begins on.
    pub lines: Vec<u64>,
}

impl Flat {
    /// The bit of `ends` that marks a null (as against an empty) cell.
    pub const NULL: u32 = 1 << 31;

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The cell of `row` at `column`, or none if it is null.
    pub fn cell(&self, row: usize, column: usize) -> Option<&str> {
        let at = row * self.width + column;
        let end = self.ends[at];
        if end & Self::NULL != 0 {
            return None;
        }
        let start = if at == 0 { 0 } else { self.ends[at - 1] & !Self::NULL };
        Some(&self.text[start as usize..end as usize])
    }
}

/// A nested row.
#[derive(Debug)]
pub struct Tree {
    /// The row itself: usually an object.
    pub value: Json,
    /// What encloses it, innermost first: `^` climbs here.
    pub parent: Option<Arc<Scope>>,
    /// The line that it begins on.
    pub line: u64,
}

/// An object that encloses rows, without the member that leads to them.
#[derive(Debug)]
pub struct Scope {
    /// Its other members.
    pub value: Json,
    /// Names of members that are too large to keep ([`crate::read::MAX_SCOPE_MEMBER`]); a path into one is an error, not null.
    pub omitted: Vec<String>,
    /// What encloses it.
    pub parent: Option<Arc<Scope>>,
}

/// A row that could not be read.
#[derive(Debug)]
pub struct Bad {
    /// Its line.
    pub line: u64,
    /// The column, where one is to blame.
    pub column: Option<String>,
    /// What stands there, shortened.
    pub value: Option<String>,
    /// What is wrong, and what was expected.
    pub reason: String,
}
