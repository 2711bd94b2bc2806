//! One connection to one of three databases.

use crate::error::Error;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection as _, Executor, MySqlConnection, Row,
    SqlSafeStr as _, SqliteConnection,
};
use std::str::FromStr;
use std::time::Duration;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls};

/// A value that is bound to a parameter.
#[derive(Clone, Copy, Debug)]
pub(in crate::merge) enum Param<'v> {
    Text(&'v str),
    Int(i64),
}

/// A connection, and the statements that were prepared on it.
#[derive(Debug)]
pub(in crate::merge) enum Connection {
    Postgres(Client, Vec<tokio_postgres::Statement>),
    MySql(MySqlConnection, Vec<String>),
    Sqlite(SqliteConnection, Vec<String>),
}

impl Connection {
    /// Connects, and prepares the statements.
    pub(in crate::merge) async fn open(url: &str, statements: &[&str]) -> Result<Self, Error> {
        match url.split(':').next() {
            Some("sqlite") => {
                let mut connection = sqlite(url).await?;
                for sql in statements {
                    (&mut connection)
                        .prepare(AssertSqlSafe(*sql).into_sql_str())
                        .await
                        .map_err(Error::of_sqlx)?;
                }
                Ok(Self::Sqlite(connection, owned(statements)))
            }
            Some("mysql" | "mariadb") => {
                let mut connection = MySqlConnection::connect(url)
                    .await
                    .map_err(Error::of_sqlx)?;
                for sql in statements {
                    (&mut connection)
                        .prepare(AssertSqlSafe(*sql).into_sql_str())
                        .await
                        .map_err(Error::of_sqlx)?;
                }
                Ok(Self::MySql(connection, owned(statements)))
            }
            _ => {
                let client = postgres(url).await?;
                let mut prepared = Vec::new();
                for sql in statements {
                    prepared.push(client.prepare(sql).await.map_err(Error::of_postgres)?);
                }
                Ok(Self::Postgres(client, prepared))
            }
        }
    }

    /// Runs a prepared statement, by its place. The answer is the first column of its first row, or the id that MySQL gave to
    /// what it inserted.
    pub(in crate::merge) async fn run(
        &mut self,
        statement: usize,
        params: &[Param<'_>],
    ) -> Result<Option<i64>, Error> {
        match self {
            Self::Postgres(client, statements) => {
                let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(bound).collect();
                let row = client
                    .query_opt(&statements[statement], &params)
                    .await
                    .map_err(Error::of_postgres)?;
                // A statement that returns nothing has no first column.
                let row = row.filter(|row| !row.is_empty());
                row.map(|row| row.try_get(0))
                    .transpose()
                    .map_err(Error::of_postgres)
            }
            Self::MySql(connection, statements) => {
                let sql = statements[statement].as_str();
                let mut query = sqlx::query(AssertSqlSafe(sql));
                for param in params {
                    query = match *param {
                        Param::Text(text) => query.bind(text),
                        Param::Int(int) => query.bind(int),
                    };
                }
                if sql.starts_with("SELECT") {
                    let row = query
                        .fetch_optional(connection)
                        .await
                        .map_err(Error::of_sqlx)?;
                    return row
                        .map(|row| row.try_get(0))
                        .transpose()
                        .map_err(Error::of_sqlx);
                }
                let id = query
                    .execute(connection)
                    .await
                    .map_err(Error::of_sqlx)?
                    .last_insert_id();
                Ok(i64::try_from(id).ok().filter(|&id| id != 0))
            }
            Self::Sqlite(connection, statements) => {
                let mut query = sqlx::query(AssertSqlSafe(statements[statement].as_str()));
                for param in params {
                    query = match *param {
                        Param::Text(text) => query.bind(text),
                        Param::Int(int) => query.bind(int),
                    };
                }
                let row = query
                    .fetch_optional(connection)
                    .await
                    .map_err(Error::of_sqlx)?;
                row.map(|row| row.try_get(0))
                    .transpose()
                    .map_err(Error::of_sqlx)
            }
        }
    }
}

fn bound<'p>(param: &'p Param<'_>) -> &'p (dyn ToSql + Sync) {
    match param {
        Param::Text(text) => text,
        Param::Int(int) => int,
    }
}

fn owned(statements: &[&str]) -> Vec<String> {
    statements.iter().map(|&sql| sql.to_owned()).collect()
}

/// A connection of tokio-postgres, driven by a task of its own.
pub(in crate::merge) async fn postgres(url: &str) -> Result<Client, Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .map_err(Error::of_postgres)?;
    tokio::spawn(async move {
        // An error of the connection reaches those who wait through the client.
        let _ = connection.await;
    });
    Ok(client)
}

/// SQLite with the settings of our own driver: WAL, a commit that does not wait for the disk, foreign keys.
async fn sqlite(url: &str) -> Result<SqliteConnection, Error> {
    let options = SqliteConnectOptions::from_str(url)
        .map_err(Error::of_sqlx)?
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(60))
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal);
    options.connect().await.map_err(Error::of_sqlx)
}
