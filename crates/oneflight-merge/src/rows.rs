//! Rows as they are read: text cells or trees, with where they stand. The border between reading and mapping.
//!
//!   read::Input ──Chunk──▶ map::Mapper ──batch::Mapped──▶ merge
//!
//! R1. A cell is text or null; no number goes through a float on its way here.
//! R2. Every row knows its line (1-based; for Parquet the row number).

use serde_json::Value as Json;
use std::ops::Range;
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
///
/// ```
/// use oneflight_merge::rows::Flat;
///
/// let mut flat = Flat::new(2);
/// flat.push(Some("Åland"));
/// flat.push(None);
/// flat.end_row(1);
/// assert_eq!((flat.cell(0, 0), flat.cell(0, 1)), (Some("Åland"), None));
/// ```
#[derive(Debug, Default)]
pub struct Flat {
    /// Cells in a row.
    pub width: usize,
    /// The line that each row begins on.
    pub lines: Vec<u64>,
    /// The text of all cells, with what stands between them where a row could be copied as it is.
    pub(crate) text: String,
    /// Where each cell begins and ends in `text`; `width` entries a row. [`Flat::NULL`] stands for a null (as against an empty)
    /// cell.
    pub(crate) spans: Vec<(u32, u32)>,
    /// The length of `text` when the last row ended.
    settled: usize,
}

impl Flat {
    pub(crate) const NULL: (u32, u32) = (u32::MAX, u32::MAX);

    /// No rows of so many cells.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The cell of `row` at `column`, or none if it is null.
    ///
    /// # Panics
    /// If there is no such row. (A column beyond the width is a cell of a later row, or panics.)
    #[inline]
    pub fn cell(&self, row: usize, column: usize) -> Option<&str> {
        debug_assert!(column < self.width, "a column beyond the width");
        match self.spans[row * self.width + column] {
            Self::NULL => None,
            (start, end) => Some(&self.text[start as usize..end as usize]),
        }
    }

    /// Where the cells of a column stand in the text, for these rows.
    pub(crate) fn column(
        &self,
        rows: Range<usize>,
        column: usize,
    ) -> impl ExactSizeIterator<Item = (u32, u32)> {
        let spans = &self.spans[rows.start * self.width..rows.end * self.width];
        let rows = spans.chunks_exact(self.width);
        rows.map(move |row| row[column])
    }

    /// Appends a cell to the row that is being made.
    pub fn push(&mut self, cell: Option<&str>) {
        let start = self.text.len();
        match cell {
            Some(text) => {
                self.text.push_str(text);
                self.end_cell(start);
            }
            None => self.spans.push(Self::NULL),
        }
    }

    /// Ends a row: the last `width` cells.
    ///
    /// # Panics
    /// If as many cells have not been pushed.
    pub fn end_row(&mut self, line: u64) {
        self.lines.push(line);
        self.settled = self.text.len();
        let cells = self.lines.len() * self.width;
        assert_eq!(self.spans.len(), cells, "a row of another width");
    }

    /// Ends so many rows at once, of which the first is this line and each is one.
    pub(crate) fn end_lines(&mut self, first: u64, rows: usize) {
        self.lines.extend((first..).take(rows));
        self.settled = self.text.len();
        debug_assert_eq!(self.spans.len(), self.lines.len() * self.width);
    }

    /// Ends the cell whose text has been appended from `start` on.
    pub(crate) fn end_cell(&mut self, start: usize) {
        self.spans.push((start as u32, self.text.len() as u32));
    }

    /// Takes back the cells of a row that has not ended.
    pub(crate) fn drop_cells(&mut self) {
        self.spans.truncate(self.lines.len() * self.width);
        self.text.truncate(self.settled);
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
