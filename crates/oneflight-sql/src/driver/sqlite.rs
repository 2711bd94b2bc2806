//! SQLite through a pool of sqlx.

use super::contract::Driver;
use super::error::DriverError;
use super::pipeline::{Bind, Pipeline, Rows, Statement};
use super::rehearsal::Rehearsal;
use super::sqlx_shared::{Engine, Pooled};
use super::turns::{self, Trips};
use crate::dialect::Dialect;
use crate::value::Value;
use futures_util::future::BoxFuture;
use sqlx::sqlite::{
    Sqlite, SqliteArguments, SqliteConnection, SqlitePool, SqliteQueryResult, SqliteRow,
};
use sqlx::{Arguments, Row, TypeInfo, ValueRef};
use std::sync::Arc;
use tokio::sync::Mutex;

/// SQLite, through your own pool.
///
/// Writes are transactions that begin IMMEDIATE, so that writers queue and none has to be run again; the pool's
/// `busy_timeout` says how long one waits. Foreign keys are enforced only if the pool's options say so (sqlx's default).
/// An in-memory database needs a pool of exactly one connection.
#[derive(Clone, Debug)]
pub struct SqlxSqlite {
    pool: SqlitePool,
    trips: Trips,
}

impl SqlxSqlite {
    /// Takes the pool.
    pub fn new(pool: SqlitePool) -> Self {
        Self {
            pool,
            trips: Trips::default(),
        }
    }

    /// The pool.
    pub fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    async fn session(&self) -> Result<Pooled<Sqlite>, DriverError> {
        let conn = self.pool.acquire().await.map_err(DriverError::from_sqlx)?;
        Ok(Pooled::new(conn, self.trips.clone(), true))
    }
}

impl From<SqlitePool> for SqlxSqlite {
    fn from(pool: SqlitePool) -> Self {
        Self::new(pool)
    }
}

impl Driver for SqlxSqlite {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn run(&self, pipeline: Pipeline) -> BoxFuture<'_, Result<Vec<Rows>, DriverError>> {
        Box::pin(async move {
            let mut session = self.session().await?;
            turns::detached(async move { turns::run(&mut session, pipeline).await }).await
        })
    }

    fn round_trips(&self) -> u64 {
        self.trips.get()
    }

    fn rehearse(&self) -> BoxFuture<'_, Result<Arc<dyn Driver>, DriverError>> {
        Box::pin(async move {
            let mut session = self.session().await?;
            let session = turns::detached(async move {
                session.rehearse().await?;
                Ok(session)
            });
            let session = Arc::new(Mutex::new(session.await?));
            let driver = Rehearsal {
                dialect: Dialect::Sqlite,
                session,
                trips: self.trips.clone(),
                is_pipelined: false,
            };
            Ok(Arc::new(driver) as Arc<dyn Driver>)
        })
    }
}

impl Engine for Sqlite {
    fn arguments(binds: Vec<Bind>) -> Result<SqliteArguments, sqlx::error::BoxDynError> {
        let mut arguments = SqliteArguments::default();
        arguments.reserve(binds.len(), 0);
        for bind in binds {
            let Bind::One(_, value) = bind else {
                return Err("SQLite binds no arrays".into());
            };
            match value {
                Value::Text(text) | Value::Decimal(text) => arguments.add(text.into_string())?,
                Value::Int(int) => arguments.add(int)?,
                Value::Real(real) => arguments.add(real)?,
                Value::Bool(bool) => arguments.add(bool)?,
                Value::Bytes(bytes) => arguments.add(bytes.into_vec())?,
                Value::Null => arguments.add(None::<String>)?,
                other => return Err(format!("{other:?} does not travel as it is").into()),
            }
        }
        Ok(arguments)
    }

    fn cells(
        row: &SqliteRow,
        statement: &Statement,
        into: &mut Vec<Value>,
    ) -> Result<(), sqlx::Error> {
        for at in 0..statement.returns.len() {
            // SQLite is typed by the value, so the value says what it is.
            let raw = row.try_get_raw(at)?;
            into.push(if raw.is_null() {
                Value::Null
            } else {
                match raw.type_info().name() {
                    "INTEGER" | "BOOLEAN" => Value::Int(row.try_get_unchecked(at)?),
                    "REAL" => Value::Real(row.try_get_unchecked(at)?),
                    "BLOB" => Value::Bytes(row.try_get_unchecked::<Vec<u8>, _>(at)?.into()),
                    _ => Value::Text(row.try_get_unchecked::<String, _>(at)?.into()),
                }
            });
        }
        Ok(())
    }

    fn affected(result: &SqliteQueryResult) -> u64 {
        result.rows_affected()
    }

    fn begin<'c>(
        conn: &'c mut SqliteConnection,
        _: Option<&'c str>,
    ) -> BoxFuture<'c, Result<(), DriverError>> {
        Box::pin(async move {
            sqlx::raw_sql("BEGIN IMMEDIATE")
                .execute(conn)
                .await
                .map_err(DriverError::from_sqlx)?;
            Ok(())
        })
    }

    fn commit(_: Option<&str>) -> String {
        "COMMIT".to_owned()
    }

    fn roll_back(_: Option<&str>) -> String {
        "ROLLBACK".to_owned()
    }
}
