//! Names, quoted (Q1).

/// The SQL that a database speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
}

impl Dialect {
    /// The dialect of the database that a URL leads to, which its scheme says.
    ///
    /// # Examples
    /// ```
    /// use oneflight_sql::Dialect;
    ///
    /// assert_eq!(Dialect::of_url("mariadb://ann@example.org/league"), Some(Dialect::MySql));
    /// assert_eq!(Dialect::of_url("league.db"), None);
    /// ```
    pub fn of_url(url: &str) -> Option<Self> {
        match url.split_once(':')?.0 {
            "sqlite" => Some(Self::Sqlite),
            "postgres" | "postgresql" => Some(Self::Postgres),
            "mysql" | "mariadb" => Some(Self::MySql),
            _ => None,
        }
    }

    /// Quotes a name.
    pub fn quote(self, name: &str) -> String {
        match self {
            Self::MySql => format!("`{}`", name.replace('`', "``")),
            Self::Sqlite | Self::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// Quotes the name of a table, which may have its schema in front: `schema.table`.
    pub fn quote_table(self, name: &str) -> String {
        match split(name) {
            (Some(schema), table) => format!("{}.{}", self.quote(schema), self.quote(table)),
            (None, table) => self.quote(table),
        }
    }
}

/// Schema and table of a name.
pub(crate) fn split(name: &str) -> (Option<&str>, &str) {
    match name.split_once('.') {
        Some((schema, table)) if !schema.is_empty() && !table.is_empty() => (Some(schema), table),
        _ => (None, name),
    }
}
