//! SQLite through a pool of sqlx.

use super::contract::Driver;
use super::error::DriverError;
use super::pipeline::{Bind, Pipeline, Rows, Statement};
use super::sqlx_shared::{ByPool, Engine, by_pool};
use crate::dialect::Dialect;
use crate::value::Value;
use futures_util::future::BoxFuture;
use sqlx::sqlite::{
    Sqlite, SqliteArguments, SqliteConnection, SqlitePool, SqliteQueryResult, SqliteRow,
};
use sqlx::{Arguments, Row, TypeInfo, ValueRef};
use std::sync::Arc;

/// SQLite, through your own pool.
///
/// Writes are transactions that begin IMMEDIATE, so that writers queue and none has to be run again; the pool's
/// `busy_timeout` says how long one waits. Foreign keys are enforced only if the pool's options say so (sqlx's default).
/// An in-memory database needs a pool of exactly one connection.
#[derive(Clone, Debug)]
pub struct SqlxSqlite(ByPool<Sqlite>);

by_pool!(SqlxSqlite, SqlitePool);

impl Engine for Sqlite {
    const DIALECT: Dialect = Dialect::Sqlite;

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
