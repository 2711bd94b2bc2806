//! The rules of a feed, compiled: which records a row declares, and where each of their cells comes from.
//!
//!   Records ─▶ Declared (label, each) ─▶ RecordSpec ─▶ CellSpec ─┬─ Value(ValueSpec)
//!                                            ▲                   ├─ Record ──┐
//!                                            └───────────────────┼───────────┘
//!                                                                └─ Label(&label)

use super::path::{Each, Path};
use super::time::Pattern;
use oneflight_sql::{Fold, Kind};
use std::collections::HashMap;
use std::sync::Arc;

/// How the rows of a feed become records.
#[derive(Debug)]
pub struct Records {
    /// The records that a row declares; one that another refers to by its label stands before it.
    pub(crate) declared: Vec<Declared>,
    /// The names that paths look up in a flat file, each once. [`Path`] holds an index into it.
    pub(crate) names: Vec<String>,
    /// How many kinds of references are remembered: see [`RecordSpec::memo`].
    pub(crate) memos: usize,
    /// True if all that is said of a row is said by members of it, so that a row that is no object says nothing.
    pub(crate) objects: bool,
}

impl Records {
    /// True if some reference must be in the database already (`create = false`).
    pub(crate) fn looks_up(&self) -> bool {
        self.declared
            .iter()
            .any(|declared| declared.record.looks_up())
    }
}

impl RecordSpec {
    fn looks_up(&self) -> bool {
        let in_cell =
            |cell: &CellSpec| matches!(&cell.fill, Fill::Record(record) if record.looks_up());
        !self.create || self.cells.iter().any(in_cell)
    }
}

/// Which columns of a lookup file say what.
#[derive(Debug)]
pub struct Entries {
    /// The names that paths look up in a flat file.
    pub(crate) names: Vec<String>,
    /// The value to be translated.
    pub(crate) from: Path,
    /// What it becomes.
    pub(crate) to: Path,
    /// Only rows in which each of these paths has one of these values.
    pub(crate) only: Vec<(Path, Vec<String>)>,
    /// Texts that mean null.
    pub(crate) null: Arc<[String]>,
    /// Which spellings of a value are one.
    pub(crate) fold: Fold,
}

/// A record that a row declares: once, or once for each element, or not at all.
#[derive(Debug)]
pub(crate) struct Declared {
    /// Only rows in which each of these values is one of these texts declare it.
    pub(crate) when: Vec<(ValueSpec, Vec<String>)>,
    pub(crate) each: Option<Each>,
    /// Texts that mean null, for the elements.
    pub(crate) null: Arc<[String]>,
    pub(crate) record: RecordSpec,
}

/// How a record is filled.
#[derive(Debug)]
pub(crate) struct RecordSpec {
    /// Index of the table in the plan.
    pub(crate) table: usize,
    /// False if the record must be in the database already.
    pub(crate) create: bool,
    pub(crate) cells: Vec<CellSpec>,
    pub(crate) external: Option<ExternalSpec>,
    /// Set for a reference that a single text identifies: then the text that has been seen before needs no second look.
    pub(crate) memo: Option<usize>,
}

/// How a column is filled.
#[derive(Debug)]
pub(crate) struct CellSpec {
    /// Index of the column in the table's plan.
    pub(crate) column: usize,
    /// True if a null is a reason to reject the row.
    pub(crate) required: bool,
    pub(crate) fill: Fill,
}

/// What a column is filled with.
#[derive(Debug)]
pub(crate) enum Fill {
    /// A value.
    Value(Box<ValueSpec>, Want),
    /// The id of a record that is found or created.
    Record(Box<RecordSpec>),
    /// The id of another record of the same row: its index among those that are declared.
    Label(usize),
}

/// What a column wants.
#[derive(Clone, Debug)]
pub(crate) struct Want {
    pub(crate) kind: Kind,
    /// Set for a text of a key that is folded.
    pub(crate) fold: Option<Fold>,
    /// The most characters of a text.
    pub(crate) max_chars: Option<u32>,
}

/// The external id of a record.
#[derive(Debug)]
pub(crate) struct ExternalSpec {
    pub(crate) source: Arc<str>,
    pub(crate) id: ValueSpec,
    /// The most characters of an id.
    pub(crate) max_chars: u32,
}

/// Where a value comes from, and what is done with it on the way.
#[derive(Debug)]
pub(crate) struct ValueSpec {
    /// The first of these that is not null.
    pub(crate) from: Vec<Path>,
    /// Set if the value is all of these, joined by this text, and null if one of them is.
    pub(crate) join: Option<String>,
    /// A text that is the same for all rows; then `from` is empty.
    pub(crate) constant: Option<String>,
    /// What stands for null.
    pub(crate) default: Option<String>,
    /// Texts that mean null, compared without white space at the ends.
    pub(crate) null: Arc<[String]>,
    /// True if white space at the ends is cut off.
    pub(crate) trim: bool,
    /// Whole values that are replaced.
    pub(crate) map: HashMap<String, String>,
    /// The file that translates the value.
    pub(crate) lookup: Option<(usize, Unknown)>,
    /// How a number, a date, a timestamp or bytes are written.
    pub(crate) pattern: Pattern,
    /// What the value is called in a message: the path as it is written in the mapping.
    pub(crate) name: String,
}

/// What happens to a value that a lookup does not know (or knows two answers for).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// It stays as it is.
    #[default]
    Keep,
    /// It becomes null.
    Null,
    /// The row is rejected.
    Reject,
}
