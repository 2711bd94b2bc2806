//! What an audit found.

use serde::Serialize;

/// What was found in all tables.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct AuditReport {
    /// One for each table, in the order in which they are written.
    pub tables: Vec<TableAudit>,
    /// Seconds.
    pub seconds: f64,
}

impl AuditReport {
    /// True if there is no finding. Hints are no findings.
    pub fn is_clean(&self) -> bool {
        self.tables.iter().all(|table| table.findings.is_empty())
    }
}

/// What was found in a table.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct TableAudit {
    /// Name in the database.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// What somebody should look at.
    pub hints: Vec<Hint>,
    /// What could not be checked to the end, because a bound was reached.
    pub notes: Vec<String>,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// The column or columns, or the crosswalk.
    pub column: String,
    /// How often.
    pub count: u64,
    /// The first of them, for people.
    pub examples: Vec<String>,
}

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindingKind {
    /// Several rows have one key.
    DuplicateKey,
    /// Several rows have one key once their texts are folded.
    EqualUnderFold,
    /// The stored key of a row is not what its text folds to: somebody changed the one without the other.
    StaleKey,
    /// A row refers to a row that is not there.
    Dangling,
    /// A row of the crosswalk points at a row that is not there.
    CrosswalkDangling,
    /// An external id stands in the crosswalk more than once.
    CrosswalkTwice,
    /// A row that is known by external ids alone has none.
    Orphan,
}

impl FindingKind {
    /// What it is, in a few words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::DuplicateKey => "keys that several rows have",
            Self::EqualUnderFold => "keys that several rows have once they are folded",
            Self::StaleKey => "rows whose stored key is not what their text folds to",
            Self::Dangling => "references to rows that are not there",
            Self::CrosswalkDangling => "crosswalk rows that point nowhere",
            Self::CrosswalkTwice => "external ids that stand there more than once",
            Self::Orphan => "rows that no external id leads to",
        }
    }
}

/// Something that somebody should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Hint {
    /// The column.
    pub column: String,
    /// How many pairs look alike.
    pub count: u64,
    /// The first of them.
    pub pairs: Vec<Alike>,
    /// True if there were too many rows, and not all were compared.
    pub cut: bool,
}

/// Two keys that look alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Alike {
    /// One.
    pub one: String,
    /// The other.
    pub other: String,
    /// In which way.
    pub why: Why,
}

/// In which way two keys look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// They differ in accents, case or punctuation.
    Accents,
    /// They have the same words in another order.
    Words,
    /// They differ by a letter.
    Letter,
}

impl Why {
    /// In a few words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Accents => "but for accents, case or punctuation",
            Self::Words => "but for the order of words",
            Self::Letter => "but for a letter",
        }
    }
}
