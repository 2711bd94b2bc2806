//! A mapping, understood: what `mapping` makes of a TOML file, and what the rest of the crate works by.
//!
//! P1. Tables stand in an order in which every table comes after those that its *key* refers to; references outside the key
//!     that would close a cycle are `deferred`: their rows are written without them and completed afterwards.

use oneflight_sql::{Fold, Kind, Table};
use std::path::PathBuf;

/// A whole mapping.
#[derive(Debug)]
pub struct Plan {
    /// The tables, in the order in which they are created and written (P1).
    pub tables: Vec<TablePlan>,
    /// The feeds, in the order in which they stand in the file.
    pub feeds: Vec<FeedPlan>,
    /// The files that translate values.
    pub lookups: Vec<LookupPlan>,
}

/// A table.
#[derive(Debug)]
pub struct TablePlan {
    /// The table as the database has it.
    pub sql: Table,
    /// The columns as the mapping names them.
    pub columns: Vec<ColumnPlan>,
    /// How the key is stored.
    pub key: KeyPlan,
    /// The columns outside the key without which no row can be made: indexes into `columns`.
    pub required: Vec<usize>,
    /// True if some column of some table refers to it: then ids are needed, and remembered.
    pub referenced: bool,
    /// True if some column is deferred.
    pub deferred: bool,
}

impl TablePlan {
    /// The column whose policy refuses a record, if that is what the error says.
    pub(crate) fn column_of(&self, error: &oneflight_sql::Error) -> Option<usize> {
        let blamed = error.column()?;
        let slot = self
            .sql
            .attributes
            .iter()
            .position(|attribute| attribute.column.name == blamed)?;
        let is_blamed = |column: &ColumnPlan| match column.slot {
            Slot::Key(_) => false,
            Slot::Attribute(at) | Slot::Folded { shown: at, .. } => at == slot,
        };
        self.columns.iter().position(is_blamed)
    }
}

/// How a key is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlan {
    /// In the columns of the key themselves (a folded text in a column `<name>_key` beside it).
    Columns,
    /// In one column `row_key` (bytes, 16): a digest of all key columns, because some may be null.
    Digest,
    /// Nowhere: the table is known by its crosswalk alone.
    External,
}

/// A column.
#[derive(Debug)]
pub struct ColumnPlan {
    /// Name in the mapping. In the database a reference is called `<name>_id`.
    pub name: String,
    /// Type.
    pub kind: ColumnKind,
    /// True if the column is part of the key.
    pub key: bool,
    /// The fold of a text in the key; none where it is exact.
    pub fold: Option<Fold>,
    /// Where the value goes in a [`oneflight_sql::Record`].
    pub slot: Slot,
    /// True if it is a reference that is written after all tables (P1).
    pub deferred: bool,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A plain value.
    Scalar(Kind),
    /// The id of a row of the table with this index in [`Plan::tables`].
    Ref(usize),
}

/// Where a column's value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A key column.
    Key(usize),
    /// An attribute. (With [`KeyPlan::Digest`] the key's own columns are attributes too.)
    Attribute(usize),
    /// The folded text is a key column (or, with [`KeyPlan::Digest`], part of the digest), the spelling is an attribute.
    Folded {
        /// Index of the key column; none with [`KeyPlan::Digest`].
        key: Option<usize>,
        /// Index of the attribute.
        shown: usize,
    },
}

/// A feed: where its rows come from. How they fill the tables is the mapper's own affair.
#[derive(Debug)]
pub struct FeedPlan {
    /// Name.
    pub name: String,
    /// Where and how to read.
    pub source: Source,
    /// How rows become records.
    pub records: crate::map::Records,
}

/// A file that translates values: what stands in one of its columns becomes what stands in another.
#[derive(Debug)]
pub struct LookupPlan {
    /// Name.
    pub name: String,
    /// Where and how to read.
    pub source: Source,
    /// Which of its columns say what.
    pub entries: crate::map::Entries,
}

/// Where and how to read a feed.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path, relative to the data folder, with `*`, `**`, `?`, `[ab]`, and placeholders `{name}` that match like `*` within one
    /// file or folder name; `-` is standard input.
    pub path: String,
    /// Format.
    pub format: Format,
    /// Name of the character encoding (as in the WHATWG Encoding Standard). None: UTF-8, anything else is refused.
    pub encoding: Option<String>,
    /// Compression; none: told by the file's first bytes.
    pub compression: Option<Compression>,
    /// Where in the mapping file it stands, for messages: `map.toml:12`.
    pub at: String,
}

/// The format of a file.
#[derive(Clone, Debug)]
pub enum Format {
    /// Delimited text.
    Csv(Csv),
    /// A JSON value a line.
    Ndjson,
    /// A JSON document; the path leads to the rows: `[*]`, `matches[*]`, `rounds[*].matches[*]`.
    Json {
        /// Path to the rows, one step after the other.
        rows: Vec<Step>,
    },
    /// Apache Parquet.
    Parquet {
        /// Columns of the file that the mapping uses (first names of its paths): each must be there, or the file is refused
        /// before anything is written.
        needs: Vec<String>,
    },
}

/// A step of a path to rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a member of an object.
    Member(String),
    /// Into every element of an array (a value that is no array counts as an array of itself).
    Each,
}

/// Delimited text.
#[derive(Clone, Debug)]
pub struct Csv {
    /// Delimiter: one ASCII character.
    pub delimiter: u8,
    /// Quote, or none.
    pub quote: Option<u8>,
    /// Character that escapes a quote inside quotes, besides doubling it.
    pub escape: Option<u8>,
    /// Lines that begin with it are comments.
    pub comment: Option<u8>,
    /// Names of the columns of a file without a header; none: the first row is the header.
    pub columns: Option<Vec<String>>,
    /// Columns that the mapping uses: each must be there, or the file is refused before anything is written.
    pub needs: Vec<String>,
}

/// Compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// None.
    None,
    /// gzip, possibly of several members.
    Gzip,
    /// Zstandard.
    Zstd,
}

/// Where relative paths begin.
#[derive(Clone, Debug)]
pub struct DataDir(pub PathBuf);
