//! Why a merge could not be done. One type; what to do about it is told by predicates.

use std::error::Error as StdError;
use std::fmt;

/// A merge that could not be done, or not to its end. Rejected rows are no error: they are in the report.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Usage,
    Feed,
    Database,
    Internal,
}

impl Error {
    /// An option, a URL or a mapping is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message, None)
    }

    /// A feed cannot be read.
    pub(crate) fn feed(source: impl StdError + Send + Sync + 'static) -> Self {
        Self::new(
            Kind::Feed,
            source.to_string(),
            source.source().map(|s| s.to_string().into()),
        )
    }

    /// The database refused, or was gone.
    pub(crate) fn database(
        what: impl Into<String>,
        source: impl StdError + Send + Sync + 'static,
    ) -> Self {
        Self::new(Kind::Database, what, Some(Box::new(source)))
    }

    /// The target could not be made ready: its tables do not fit the mapping, or the database failed.
    pub(crate) fn target(source: oneflight_sql::Error) -> Self {
        let kind = if source.is_schema() || source.is_usage() {
            Kind::Usage
        } else {
            Kind::Database
        };
        Self::new(
            kind,
            source.to_string(),
            source.source().map(|s| s.to_string().into()),
        )
    }

    /// A task of ours panicked.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message, None)
    }

    fn new(
        kind: Kind,
        message: impl Into<String>,
        source: Option<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            source,
        }))
    }

    /// True if what was asked cannot be done as it was asked: an option, the mapping, a table that does not fit it, or a feed
    /// that cannot be read.
    pub fn is_usage(&self) -> bool {
        matches!(self.0.kind, Kind::Usage | Kind::Feed)
    }

    /// True if a feed could not be read: a file or a column is missing, it is truncated, or in another encoding.
    pub fn is_feed(&self) -> bool {
        self.0.kind == Kind::Feed
    }

    /// True if the database could not be reached, or refused.
    pub fn is_database(&self) -> bool {
        self.0.kind == Kind::Database
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
