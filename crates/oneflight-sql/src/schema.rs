//! What the resolver has to know of a table: its key, its attributes, its crosswalk.

use crate::value::Kind;

/// A table whose rows are found by key, or created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Name, `table` or `schema.table`. Quoted by us.
    pub name: String,
    /// The surrogate key column, or none for a table that nobody refers to (a link table).
    pub id: Option<String>,
    /// The natural key: the columns that one unique index covers, in its order. Never null in a row.
    /// Empty if the table is known by its crosswalk alone.
    pub key: Vec<Column>,
    /// The other columns that a record may set.
    pub attributes: Vec<Attribute>,
    /// The attribute (by name) that dates a row, for [`Policy::Newest`].
    pub newest_by: Option<String>,
    /// The external ids of the rows.
    pub crosswalk: Option<Crosswalk>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name. Quoted by us.
    pub name: String,
    /// Type.
    pub kind: Kind,
    /// The most characters that a text may have (a bound that a unique index on MariaDB needs), or none.
    pub max_chars: Option<u32>,
    /// The table and column that it refers to: a real foreign key where we create the table.
    pub references: Option<Reference>,
}

/// Where a foreign key points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Table.
    pub table: String,
    /// Column.
    pub column: String,
}

/// A column outside the key, and what happens when a row exists and its value differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The column.
    pub column: Column,
    /// True if the column is declared NOT NULL where we create the table.
    pub required: bool,
    /// The policy.
    pub policy: Policy,
}

/// What to do with a value that differs from the one in a row that exists.
///
/// Whatever the policy, a row whose attributes are all null is a stub (it was referred to before it was declared) and is
/// completed; and a value that differs from one that is kept counts as a conflict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// Fill what is null, keep what is not.
    #[default]
    Fill,
    /// Keep the row as it is.
    Keep,
    /// Take the new value, unless it is null.
    Take,
    /// Take the new value if the record's [`Table::newest_by`] is later than the row's.
    Newest,
    /// Set when the row is created and never looked at again: the spelling of a folded key. Differences are no conflicts, and
    /// it does not count when a stub is told from a row.
    Once,
    /// Refuse the record.
    Error,
}

/// The table that maps (source, external id) to the id of a row; unique on both columns together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crosswalk {
    /// Name of the crosswalk table.
    pub table: String,
    /// Text column that names the source.
    pub source: String,
    /// Text column with the source's own id.
    pub external_id: String,
    /// Column with the id of the row.
    pub id: String,
    /// What to do with a second id of one source under one natural key.
    pub same_source: SameSource,
}

/// Two external ids of one source, one natural key: one entity or two?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SameSource {
    /// Two entities: the later one's last key column gets a suffix `~external id` (text keys only).
    #[default]
    Split,
    /// One entity with two external ids: ids of that source are spellings, not identities.
    Link,
    /// Refuse the record.
    Error,
}
