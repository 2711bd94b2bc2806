//! The three databases.

use testkit::{Database, services};

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Sqlite,
    Postgres,
    Mariadb,
}

impl Server {
    pub(crate) const ALL: [Self; 3] = [Self::Sqlite, Self::Postgres, Self::Mariadb];

    /// A fresh database of this kind.
    pub(crate) async fn database(self) -> Database {
        match self {
            Self::Sqlite => Database::create("sqlite:").await,
            Self::Postgres => Database::create(&services::postgres()).await,
            Self::Mariadb => Database::create(&services::mariadb()).await,
        }
    }

    /// A query written for SQLite and PostgreSQL, as this database wants it: MariaDB quotes names with backticks.
    pub(crate) fn sql(self, sql: &str) -> String {
        match self {
            Self::Sqlite | Self::Postgres => sql.to_owned(),
            Self::Mariadb => sql.replace('"', "`"),
        }
    }
}
