//! The database as the audit sees it: questions, and answers as texts.
//!
//! U1. Every column is read as text, cast by the database: the audit compares and shows values, it does not reckon with them.

use crate::error::Error;
use oneflight_sql::driver::{self, Driver, DriverError, Fault, Statement};
use oneflight_sql::{Column, Dialect, Kind, Table, Value};
use std::sync::Arc;

/// Examples that are kept for each finding.
pub(super) const EXAMPLES: usize = 10;

/// An open database.
#[derive(Debug)]
pub(super) struct Database {
    driver: Arc<dyn Driver>,
}

/// A row of texts; none where the database has null.
pub(super) type Row = Vec<Option<Box<str>>>;

impl Database {
    /// Connects.
    pub(super) async fn connect(url: &str) -> Result<Self, Error> {
        let options = driver::Options::default().connections(1).create(false);
        let driver = driver::connect(url, options)
            .await
            .map_err(|error| match error.code() {
                // SQLITE_CANTOPEN: opening it would have to make it, and an empty database has nothing to audit.
                Some("14") if Dialect::of_url(url) == Some(Dialect::Sqlite) => {
                    Error::usage(format!("there is no such database yet ({error})"))
                }
                _ => Error::database("cannot reach the database", error),
            })?;
        Ok(Self { driver })
    }

    /// How many rows a table has.
    pub(super) async fn rows_of(&self, table: &Table) -> Result<u64, Error> {
        let name = self.table(&table.name);
        self.count(&table.name, format!("SELECT COUNT(*) FROM {name}"))
            .await
    }

    /// Asks for one number. `table` is for the message.
    pub(super) async fn count(&self, table: &str, sql: String) -> Result<u64, Error> {
        let rows = self.ask(table, sql, 1, Kind::Int).await?;
        match rows.first().and_then(|row| row.first()) {
            Some(Value::Int(n)) => Ok(u64::try_from(*n).unwrap_or(0)),
            other => Err(Error::internal(format!(
                "a count of `{table}` came back as {other:?}"
            ))),
        }
    }

    /// Asks for rows of `width` texts. `table` is for the message.
    pub(super) async fn texts(
        &self,
        table: &str,
        sql: String,
        width: usize,
    ) -> Result<Vec<Row>, Error> {
        let text = |value: Value| match value {
            Value::Text(text) => Some(text),
            _ => None,
        };
        let rows = self.ask(table, sql, width, Kind::Text).await?;
        Ok(rows
            .into_iter()
            .map(|row| row.into_iter().map(text).collect())
            .collect())
    }

    async fn ask(
        &self,
        table: &str,
        sql: String,
        width: usize,
        kind: Kind,
    ) -> Result<Vec<Vec<Value>>, Error> {
        let statement = Statement::new(sql).returns(vec![kind; width]);
        let rows = self
            .driver
            .query(statement)
            .await
            .map_err(|error| failed(table, error))?;
        Ok(rows.iter().map(<[Value]>::to_vec).collect())
    }

    /// A column of `alias`, as text (U1).
    pub(super) fn text(&self, alias: &str, column: &Column) -> String {
        let name = format!("{alias}.{}", self.name(&column.name));
        match (self.driver.dialect(), column.kind) {
            (_, Kind::Text) => name,
            (Dialect::MySql, Kind::Bytes | Kind::Uuid) => format!("LOWER(HEX({name}))"),
            (Dialect::Sqlite, Kind::Bytes) => format!("LOWER(HEX({name}))"),
            (Dialect::MySql, _) => format!("CAST({name} AS CHAR)"),
            _ => format!("CAST({name} AS TEXT)"),
        }
    }

    /// The id column of `alias`, as text.
    pub(super) fn id_text(&self, alias: &str, id: &str) -> String {
        let kind = if self.driver.dialect() == Dialect::MySql {
            "CHAR"
        } else {
            "TEXT"
        };
        format!("CAST({alias}.{} AS {kind})", self.name(id))
    }

    /// The quoted name of a table.
    pub(super) fn table(&self, name: &str) -> String {
        name.split('.')
            .map(|part| self.name(part))
            .collect::<Vec<_>>()
            .join(".")
    }

    /// The quoted name of a column.
    pub(super) fn name(&self, name: &str) -> String {
        match self.driver.dialect() {
            Dialect::MySql => format!("`{}`", name.replace('`', "``")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }
}

/// A table that is not there is the caller's mistake, all else the database's.
fn failed(table: &str, error: DriverError) -> Error {
    match error.fault() {
        Fault::Schema => Error::usage(format!(
            "the database does not have the table `{table}` as the map describes it ({error}); merge first"
        )),
        _ => Error::database(format!("cannot audit the table `{table}`"), error),
    }
}

/// A text for people: not too long, and null where there is none.
pub(super) fn shown(text: Option<&str>) -> String {
    match text {
        None => "null".to_owned(),
        Some(text) => match text.char_indices().nth(100) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        },
    }
}
