//! What can go wrong in a lab, told apart by predicates.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The error of this crate. Cheap to clone: callers of one flight share it.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: Kind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Usage,
    Taken,
    Missing,
    Database,
    Internal,
}

impl Error {
    /// True if what was asked for makes no sense, such as more keys than references.
    pub fn is_usage(&self) -> bool {
        self.0.kind == Kind::Usage
    }

    /// True if the scratch database exists already. It was not touched.
    pub fn is_taken(&self) -> bool {
        self.0.kind == Kind::Taken
    }

    /// True if something is missing that a way needs: a program (`sqlite3`, `mariadb`), or the server's permission.
    pub fn is_missing(&self) -> bool {
        self.0.kind == Kind::Missing
    }

    /// True if the database failed: it cannot be reached, or refused.
    pub fn is_database(&self) -> bool {
        self.0.kind == Kind::Database
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message, None)
    }

    pub(crate) fn taken(name: &str) -> Self {
        let message = format!("the scratch database `{name}` exists already");
        Self::new(Kind::Taken, message, None)
    }

    pub(crate) fn missing(program: &str, source: std::io::Error) -> Self {
        let message = format!("the program `{program}` cannot be started");
        Self::new(Kind::Missing, message, Some(Box::new(source)))
    }

    pub(crate) fn lacking(what: impl Into<String>) -> Self {
        Self::new(Kind::Missing, what, None)
    }

    pub(crate) fn database(
        what: impl Into<String>,
        source: impl StdError + Send + Sync + 'static,
    ) -> Self {
        Self::new(Kind::Database, what, Some(Box::new(source)))
    }

    /// What sqlx has to say. No `From`, which would show it to everybody.
    pub(crate) fn of_sqlx(error: sqlx::Error) -> Self {
        Self::database("the database", error)
    }

    /// What tokio-postgres has to say.
    pub(crate) fn of_postgres(error: tokio_postgres::Error) -> Self {
        // Its own message is two words; what the server said is behind it.
        match error.as_db_error() {
            Some(said) => Self::database("the database", said.clone()),
            None => Self::database("the database", error),
        }
    }

    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Self::new(Kind::Database, what, None)
    }

    pub(crate) fn internal(what: impl Into<String>) -> Self {
        Self::new(Kind::Internal, what, None)
    }

    pub(crate) fn file(source: std::io::Error) -> Self {
        let message = "a temporary file cannot be written";
        Self::new(Kind::Internal, message, Some(Box::new(source)))
    }

    fn new(
        kind: Kind,
        message: impl Into<String>,
        source: Option<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self(Arc::new(Inner {
            kind,
            message: message.into(),
            source,
        }))
    }
}

impl From<oneflight_sql::Error> for Error {
    fn from(error: oneflight_sql::Error) -> Self {
        Self::database("the resolver", error)
    }
}

impl From<oneflight_sql::driver::DriverError> for Error {
    fn from(error: oneflight_sql::driver::DriverError) -> Self {
        Self::database("the database", error)
    }
}

impl From<oneflight_merge::Error> for Error {
    fn from(error: oneflight_merge::Error) -> Self {
        Self::database("the merge", error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0.source {
            Some(source) => Some(&**source),
            None => None,
        }
    }
}
