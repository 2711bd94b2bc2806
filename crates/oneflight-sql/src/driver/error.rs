//! What a database complains of, put into few classes.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// An error of a driver: the class of the fault, the database's own code, and the cause.
#[derive(Clone, Debug)]
pub struct DriverError {
    fault: Fault,
    code: Option<Box<str>>,
    message: Box<str>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The class of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// A unique index has the key already.
    Unique,
    /// Two transactions wait for each other.
    Deadlock,
    /// The isolation level does not allow it; the whole transaction has to be run again.
    Serialization,
    /// A lock did not come in time, or the database is busy.
    LockTimeout,
    /// The connection is gone, or there is none.
    Lost,
    /// A value is longer than its column.
    TooLong,
    /// Another constraint: a foreign key, NOT NULL, a check.
    Constraint,
    /// A value that the column's type cannot hold.
    Data,
    /// A table, a column or a type that is not there.
    Schema,
    /// Anything else.
    Other,
}

impl Fault {
    /// True if the same statements may succeed when they are run again.
    pub fn is_passing(self) -> bool {
        matches!(
            self,
            Self::Deadlock | Self::Serialization | Self::LockTimeout | Self::Lost
        )
    }

    /// True if one record is to blame, so that the others of its batch can be stored without it.
    pub fn is_of_the_record(self) -> bool {
        matches!(
            self,
            Self::Unique | Self::TooLong | Self::Constraint | Self::Data
        )
    }
}

impl DriverError {
    /// An error of a driver that is not in this crate, or of a test.
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self {
            fault,
            code: None,
            message: message.into().into(),
            source: None,
        }
    }

    /// The class of the fault.
    pub fn fault(&self) -> Fault {
        self.fault
    }

    /// The database's own code: a SQLSTATE, or the number that SQLite or MySQL uses.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// Reads an error of tokio-postgres.
    pub(crate) fn from_postgres(error: tokio_postgres::Error) -> Self {
        let (fault, code, message) = match error.as_db_error() {
            Some(db) => {
                let code = db.code().code();
                let detail = db
                    .detail()
                    .map(|detail| format!(" ({detail})"))
                    .unwrap_or_default();
                (
                    postgres_fault(code),
                    Some(code.into()),
                    format!("{}{detail}", db.message()),
                )
            }
            // The client's own errors about the link: closed, broken, refused, or out of step. What is left is our mistake.
            None if error.is_closed() || is_io(&error) || is_out_of_step(&error) => {
                (Fault::Lost, None, whole(&error))
            }
            None => (Fault::Other, None, whole(&error)),
        };
        Self {
            fault,
            code,
            message: message.into(),
            source: Some(Arc::new(error)),
        }
    }

    /// Reads an error of sqlx.
    pub(crate) fn from_sqlx(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        let (fault, code, message) = match &error {
            E::Database(db) => {
                if let Some(pg) = db.try_downcast_ref::<sqlx::postgres::PgDatabaseError>() {
                    let detail = pg
                        .detail()
                        .map(|detail| format!(" ({detail})"))
                        .unwrap_or_default();
                    (
                        postgres_fault(pg.code()),
                        Some(pg.code().to_owned()),
                        format!("{}{detail}", pg.message()),
                    )
                } else if let Some(my) = db.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
                    (
                        mysql_fault(my.number()),
                        Some(my.number().to_string()),
                        my.message().to_owned(),
                    )
                } else {
                    let code = db.code().map(|code| code.into_owned());
                    let number = code
                        .as_deref()
                        .and_then(|code| code.parse().ok())
                        .unwrap_or(0);
                    (
                        sqlite_fault(number, db.message()),
                        code,
                        db.message().to_owned(),
                    )
                }
            }
            E::Io(_) | E::Tls(_) | E::Protocol(_) | E::PoolClosed | E::WorkerCrashed => {
                (Fault::Lost, None, error.to_string())
            }
            _ => (Fault::Other, None, error.to_string()),
        };
        Self {
            fault,
            code: code.map(Into::into),
            message: message.into(),
            source: Some(Arc::new(error)),
        }
    }
}

/// By SQLSTATE.
fn postgres_fault(code: &str) -> Fault {
    match code {
        "23505" | "23P01" => Fault::Unique,
        "40P01" => Fault::Deadlock,
        "40001" => Fault::Serialization,
        "55P03" | "57014" => Fault::LockTimeout,
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "53300" => Fault::Lost,
        "22001" | "54000" => Fault::TooLong,
        "42P01" | "42703" | "42704" | "42804" | "3F000" | "42883" | "42P10" | "3D000" => {
            Fault::Schema
        }
        code if code.starts_with("08") => Fault::Lost,
        code if code.starts_with("23") => Fault::Constraint,
        code if code.starts_with("22") || code == "P0001" => Fault::Data,
        _ => Fault::Other,
    }
}

/// By the server's error number.
fn mysql_fault(number: u16) -> Fault {
    match number {
        1022 | 1062 | 1586 => Fault::Unique,
        1213 | 1479 => Fault::Deadlock,
        1020 => Fault::Serialization,
        1205 | 3572 | 1969 => Fault::LockTimeout,
        // A statement larger than the server takes: half of its rows may do.
        1153 => Fault::TooLong,
        1040 | 1053 | 1080 | 1152..=1161 | 1184 | 1927 | 2002..=2006 | 2013 | 2055 | 4031 => {
            Fault::Lost
        }
        1406 | 1071 => Fault::TooLong,
        1048 | 1216 | 1217 | 1364 | 1451 | 1452 | 3819 | 4025 => Fault::Constraint,
        1264 | 1265 | 1292 | 1366 | 1367 | 1411 | 1441 | 1525 | 1690 | 1644 | 3140 | 3854 => {
            Fault::Data
        }
        1049 | 1051 | 1054 | 1109 | 1146 => Fault::Schema,
        _ => Fault::Other,
    }
}

/// By SQLite's extended result code.
fn sqlite_fault(code: i32, message: &str) -> Fault {
    match code {
        1555 | 2067 | 2579 => Fault::Unique,
        517 => Fault::Serialization,
        code if matches!(code & 0xff, 5 | 6) => Fault::LockTimeout,
        code if code & 0xff == 19 => Fault::Constraint,
        code if code & 0xff == 18 => Fault::TooLong,
        code if code & 0xff == 20 || code == 3091 => Fault::Data,
        1 if message.starts_with("no such") || message.contains("has no column") => Fault::Schema,
        _ => Fault::Other,
    }
}

/// True if an answer came that is to no question of ours. Poolers were seen to hand on a server's connection with the answers to
/// a client that was killed still in it. The client has no other name for it than its text.
fn is_out_of_step(error: &tokio_postgres::Error) -> bool {
    error.to_string() == "unexpected message from server"
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    let mut cause = StdError::source(error);
    while let Some(error) = cause {
        if error.is::<std::io::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// An error with its causes in one line: the client says "error connecting to server" and leaves the reason to its source.
fn whole(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = StdError::source(error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.code {
            Some(code) => write!(f, " [{code}]"),
            None => Ok(()),
        }
    }
}

impl StdError for DriverError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_fall_into_the_classes_that_decide_what_is_done() {
        assert!(postgres_fault("40P01").is_passing() && postgres_fault("08006").is_passing());
        assert!(
            postgres_fault("23503").is_of_the_record()
                && postgres_fault("22P02").is_of_the_record()
        );
        assert!(mysql_fault(1213).is_passing() && mysql_fault(1406).is_of_the_record());
        assert!(
            sqlite_fault(5, "").is_passing()
                && sqlite_fault(517, "").is_passing()
                && sqlite_fault(261, "").is_passing()
        );
        assert!(sqlite_fault(787, "").is_of_the_record());
        assert_eq!(sqlite_fault(1, "no such table: t"), Fault::Schema);
        assert_eq!(mysql_fault(1045), Fault::Other);
    }
}
