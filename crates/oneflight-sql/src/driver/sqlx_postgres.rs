//! PostgreSQL through a pool of sqlx.

use super::array::Array;
use super::contract::Driver;
use super::error::DriverError;
use super::pipeline::{Bind, Pipeline, Rows, Statement};
use super::sqlx_shared::{ByPool, Engine, by_pool};
use crate::dialect::Dialect;
use crate::value::{Kind, Value};
use futures_util::future::BoxFuture;
use sqlx::postgres::{PgArguments, PgConnection, PgPool, PgQueryResult, PgRow, Postgres};
use sqlx::{Arguments, Row};
use std::sync::Arc;

/// PostgreSQL, through your own pool. Statements go one after the other; [`PgDriver`](super::PgDriver) sends them together.
#[derive(Clone, Debug)]
pub struct SqlxPostgres(ByPool<Postgres>);

by_pool!(SqlxPostgres, PgPool);

impl SqlxPostgres {
    /// Says that the pool talks to a transaction pooler such as PgBouncer.
    ///
    /// Named statements do not survive there, so none are made; and because sqlx sends a statement's text and its values
    /// apart, each statement is put into a transaction, which keeps both on one server connection. That costs two more round
    /// trips for a look-up. Behind a pooler [`PgDriver`](super::PgDriver) has no such cost.
    pub fn behind_pooler(mut self) -> Self {
        self.0.pooler = true;
        self
    }
}

impl Engine for Postgres {
    const DIALECT: Dialect = Dialect::Postgres;

    fn arguments(binds: Vec<Bind>) -> Result<PgArguments, sqlx::error::BoxDynError> {
        let mut arguments = PgArguments::default();
        for bind in binds {
            match bind {
                Bind::One(kind, value) => add_one(&mut arguments, kind, value)?,
                Bind::Many(kind, values) => add_many(&mut arguments, kind, values)?,
                Bind::Column(column) => arguments.add(Array(column))?,
                Bind::Rows(_) => return Err("PostgreSQL binds columns, not rows".into()),
            }
        }
        Ok(arguments)
    }

    fn cells(row: &PgRow, statement: &Statement, into: &mut Vec<Value>) -> Result<(), sqlx::Error> {
        for (at, kind) in statement.returns.iter().enumerate() {
            let value = match kind {
                Kind::Int => row.try_get::<Option<i64>, _>(at)?.map(Value::Int),
                Kind::Real => row.try_get::<Option<f64>, _>(at)?.map(Value::Real),
                Kind::Bool => row.try_get::<Option<bool>, _>(at)?.map(Value::Bool),
                Kind::Bytes => row
                    .try_get::<Option<Vec<u8>>, _>(at)?
                    .map(|bytes| Value::Bytes(bytes.into())),
                _ => row
                    .try_get::<Option<String>, _>(at)?
                    .map(|text| Value::Text(text.into())),
            };
            into.push(value.unwrap_or(Value::Null));
        }
        Ok(())
    }

    fn affected(result: &PgQueryResult) -> u64 {
        result.rows_affected()
    }

    fn begin<'c>(
        conn: &'c mut PgConnection,
        _: Option<&'c str>,
    ) -> BoxFuture<'c, Result<(), DriverError>> {
        Box::pin(async move {
            sqlx::raw_sql(super::postgres::BEGIN)
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

fn add_one(
    arguments: &mut PgArguments,
    kind: Kind,
    value: Value,
) -> Result<(), sqlx::error::BoxDynError> {
    match (kind, value) {
        (Kind::Int, value) => arguments.add(int(value)),
        (Kind::Real, value) => arguments.add(real(value)),
        (Kind::Bool, value) => arguments.add(bool(value)),
        (Kind::Bytes, value) => arguments.add(bytes(value)),
        (_, value) => arguments.add(text(value)),
    }
}

fn add_many(
    arguments: &mut PgArguments,
    kind: Kind,
    values: Vec<Value>,
) -> Result<(), sqlx::error::BoxDynError> {
    let values = values.into_iter();
    match kind {
        Kind::Int => arguments.add(values.map(int).collect::<Vec<_>>()),
        Kind::Real => arguments.add(values.map(real).collect::<Vec<_>>()),
        Kind::Bool => arguments.add(values.map(bool).collect::<Vec<_>>()),
        Kind::Bytes => arguments.add(values.map(bytes).collect::<Vec<_>>()),
        _ => arguments.add(values.map(text).collect::<Vec<_>>()),
    }
}

pub(super) fn int(value: Value) -> Option<i64> {
    match value {
        Value::Int(int) => Some(int),
        _ => None,
    }
}

pub(super) fn real(value: Value) -> Option<f64> {
    match value {
        Value::Real(real) => Some(real),
        _ => None,
    }
}

pub(super) fn bool(value: Value) -> Option<bool> {
    match value {
        Value::Bool(bool) => Some(bool),
        _ => None,
    }
}

pub(super) fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::Bytes(bytes) => Some(bytes.into_vec()),
        _ => None,
    }
}

pub(super) fn text(value: Value) -> Option<String> {
    match value {
        Value::Text(text) | Value::Decimal(text) => Some(text.into_string()),
        _ => None,
    }
}
