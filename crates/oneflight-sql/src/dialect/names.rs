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
