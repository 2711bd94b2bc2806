//! SQLite through a pool of sqlx.

use super::contract::Driver;
use super::error::DriverError;
use super::pipeline::{Bind, BindRows, Pipeline, Rows, Statement};
use super::sqlx_shared::{ByPool, Engine, by_pool};
use crate::columns::{Cells, Values, span};
use crate::dialect::{self, Dialect};
use crate::value::{Kind, Value};
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
            let value = match bind {
                Bind::One(_, value) => value,
                Bind::Rows(rows) => {
                    add_rows(&mut arguments, &rows)?;
                    continue;
                }
                Bind::Many(..) | Bind::Column(_) => return Err("SQLite binds no arrays".into()),
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

    fn commit(_: Option<&str>) -> Vec<String> {
        vec!["COMMIT".to_owned()]
    }

    fn roll_back(_: Option<&str>) -> Vec<String> {
        vec!["ROLLBACK".to_owned()]
    }
}

/// Binds rows that are kept by the column, cell by cell.
fn add_rows(
    arguments: &mut SqliteArguments,
    bind: &BindRows,
) -> Result<(), sqlx::error::BoxDynError> {
    let (key, attributes) = (bind.columns.key(), bind.columns.attributes());
    let said = bind.said.iter().filter_map(|&at| attributes[at].as_ref());
    let columns: Vec<&Cells> = key.iter().chain(said).collect();
    arguments.reserve(columns.len() * bind.rows.len(), 0);
    for row in bind.rows.clone() {
        for cells in &columns {
            add_cell(arguments, cells, row)?;
        }
    }
    Ok(())
}

fn add_cell(
    arguments: &mut SqliteArguments,
    cells: &Cells,
    row: usize,
) -> Result<(), sqlx::error::BoxDynError> {
    if cells.is_null(row) {
        return arguments.add(None::<i64>);
    }
    let text = |text: Option<String>| text.ok_or("the year is not between 1 and 9999");
    match cells.values() {
        Values::Ints(ints) if cells.kind() == Kind::Timestamp => {
            arguments.add(text(dialect::timestamp(ints[row]))?)
        }
        Values::Ints(ints) => arguments.add(ints[row]),
        Values::Days(days) => arguments.add(text(dialect::date(days[row].into()))?),
        Values::Reals(reals) => arguments.add(reals[row]),
        Values::Bools(bools) => arguments.add(i64::from(bools[row])),
        Values::Uuids(uuids) => arguments.add(dialect::uuid(&uuids[row])),
        Values::Texts(text, ends) => arguments.add(Arc::<str>::from(&text[span(ends, row)])),
        Values::Bytes(bytes, ends) => arguments.add(&bytes[span(ends, row)]),
    }
}
