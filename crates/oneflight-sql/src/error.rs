//! What can go wrong, told apart by predicates.
//!
//! E1. A record's own fault ([`Error::is_refused`]) never fails the records beside it.
//! E2. The cause stays whole: the database's own error is the source, its code is kept, no password is in either.

use crate::driver::{DriverError, Fault};
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The error of this crate. Cheap to clone: all who wait for one flight get the same one.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    what: What,
    message: String,
    column: Option<String>,
    source: Option<DriverError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Refused,
    Usage,
    Schema,
    Database,
    Internal,
}

impl Error {
    /// True if this one record cannot be stored, and others can: a constraint of the database, a value that is too long, a
    /// policy that says so.
    pub fn is_refused(&self) -> bool {
        self.0.what == What::Refused
    }

    /// True if the call itself is at fault: a record that does not fit its table.
    pub fn is_usage(&self) -> bool {
        self.0.what == What::Usage
    }

    /// True if a table is absent, or is not as it is described: a column, a kind, a unique index. The message says what was
    /// expected, and for a missing unique index the statement that creates it.
    pub fn is_schema(&self) -> bool {
        self.0.what == What::Schema
    }

    /// True if the database failed, not the record: unreachable, out of space, no privilege, or a lock that never came.
    pub fn is_database(&self) -> bool {
        self.0.what == What::Database
    }

    /// True if trying again later may succeed: the connection was lost, or others held the locks for too long. It has been
    /// tried several times already.
    pub fn is_retryable(&self) -> bool {
        self.0.what == What::Database
            && self
                .0
                .source
                .as_ref()
                .is_some_and(|error| error.fault().is_passing())
    }

    /// The column whose policy refuses what the record says of it, if that is what is wrong.
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }

    /// The database's own code, if it gave one: a SQLSTATE, or the number that SQLite or MySQL uses.
    pub fn code(&self) -> Option<&str> {
        self.0.source.as_ref().and_then(DriverError::code)
    }

    /// The record is refused.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(What::Refused, message.into(), None)
    }

    /// The record is refused for what it says of a column.
    pub(crate) fn refused_by(column: &str, message: String) -> Self {
        Self(Arc::new(Inner {
            what: What::Refused,
            message,
            column: Some(column.to_owned()),
            source: None,
        }))
    }

    /// The caller asks for what cannot be.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(What::Usage, message.into(), None)
    }

    /// The table is not as described.
    pub(crate) fn schema(message: impl Into<String>) -> Self {
        Self::new(What::Schema, message.into(), None)
    }

    /// A promise of our own is broken.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(What::Internal, message.into(), None)
    }

    /// The driver failed while we were `doing` something.
    pub(crate) fn driver(doing: impl Into<String>, source: DriverError) -> Self {
        let what = match source.fault() {
            Fault::Schema => What::Schema,
            fault if fault.is_of_the_record() => What::Refused,
            _ => What::Database,
        };
        Self::new(what, doing.into(), Some(source))
    }

    fn new(what: What, message: String, source: Option<DriverError>) -> Self {
        Self(Arc::new(Inner {
            what,
            message,
            column: None,
            source,
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match &self.0.source {
            // A person who reads one line has to see why.
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("what", &self.0.what)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().and_then(StdError::source)
    }
}
