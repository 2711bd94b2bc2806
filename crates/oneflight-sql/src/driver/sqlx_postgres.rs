//! PostgreSQL through a pool of sqlx.

use super::contract::Driver;
use super::error::DriverError;
use super::pipeline::{Bind, Mode, Pipeline, Rows, Statement};
use super::rehearsal::Rehearsal;
use super::sqlx_shared::{Engine, Pooled};
use super::turns::{self, Trips};
use crate::dialect::Dialect;
use crate::value::{Kind, Value};
use futures_util::future::BoxFuture;
use sqlx::postgres::{PgArguments, PgConnection, PgPool, PgQueryResult, PgRow, Postgres};
use sqlx::{Arguments, Row};
use std::sync::Arc;
use tokio::sync::Mutex;

/// PostgreSQL, through your own pool. Statements go one after the other; [`PgDriver`](super::PgDriver) sends them together.
#[derive(Clone, Debug)]
pub struct SqlxPostgres {
    pool: PgPool,
    trips: Trips,
    pooler: bool,
}

impl SqlxPostgres {
    /// Takes the pool.
    pub fn new(pool: PgPool) -> Self {
        Self {
            pool,
            trips: Trips::default(),
            pooler: false,
        }
    }

    /// Says that the pool talks to a transaction pooler such as PgBouncer.
    ///
    /// Named statements do not survive there, so none are made; and because sqlx sends a statement's text and its values
    /// apart, each statement is put into a transaction, which keeps both on one server connection. That costs two more round
    /// trips for a look-up. Behind a pooler [`PgDriver`](super::PgDriver) has no such cost.
    pub fn behind_pooler(mut self) -> Self {
        self.pooler = true;
        self
    }

    /// The pool.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    async fn session(&self) -> Result<Pooled<Postgres>, DriverError> {
        let conn = self.pool.acquire().await.map_err(DriverError::from_sqlx)?;
        Ok(Pooled::new(conn, self.trips.clone(), !self.pooler))
    }

    /// A pipeline for a pooler: what follows the commit goes into a transaction of its own.
    async fn run_behind_pooler(
        session: &mut Pooled<Postgres>,
        mut pipeline: Pipeline,
    ) -> Result<Vec<Rows>, DriverError> {
        let after = std::mem::take(&mut pipeline.after);
        pipeline.mode = Mode::Write { lock: None };
        let mut rows = turns::run(session, pipeline).await?;
        if !after.is_empty() {
            let later = after
                .into_iter()
                .fold(Pipeline::new(Mode::Write { lock: None }), Pipeline::step);
            rows.extend(turns::run(session, later).await?);
        }
        Ok(rows)
    }
}

impl From<PgPool> for SqlxPostgres {
    fn from(pool: PgPool) -> Self {
        Self::new(pool)
    }
}

impl Driver for SqlxPostgres {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn run(&self, pipeline: Pipeline) -> BoxFuture<'_, Result<Vec<Rows>, DriverError>> {
        Box::pin(async move {
            let mut session = self.session().await?;
            let pooler = self.pooler;
            turns::detached(async move {
                match pooler {
                    true => Self::run_behind_pooler(&mut session, pipeline).await,
                    false => turns::run(&mut session, pipeline).await,
                }
            })
            .await
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
                dialect: Dialect::Postgres,
                session,
                trips: self.trips.clone(),
                is_pipelined: false,
            };
            Ok(Arc::new(driver) as Arc<dyn Driver>)
        })
    }
}

impl Engine for Postgres {
    fn arguments(binds: Vec<Bind>) -> Result<PgArguments, sqlx::error::BoxDynError> {
        let mut arguments = PgArguments::default();
        for bind in binds {
            match bind {
                Bind::One(kind, value) => add_one(&mut arguments, kind, value)?,
                Bind::Many(kind, values) => add_many(&mut arguments, kind, values)?,
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

    fn commit(_: Option<&str>) -> String {
        "COMMIT".to_owned()
    }

    fn roll_back(_: Option<&str>) -> String {
        "ROLLBACK".to_owned()
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
