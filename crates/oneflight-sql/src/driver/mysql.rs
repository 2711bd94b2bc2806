//! MySQL and MariaDB through a pool of sqlx.

use super::contract::Driver;
use super::error::{DriverError, Fault};
use super::pipeline::{Bind, Pipeline, Rows, Statement};
use super::sqlx_shared::{ByPool, Engine, by_pool};
use crate::dialect::Dialect;
use crate::value::{Kind, Value};
use futures_util::future::BoxFuture;
use sqlx::mysql::{MySql, MySqlArguments, MySqlConnection, MySqlPool, MySqlQueryResult, MySqlRow};
use sqlx::{Arguments, AssertSqlSafe, Row};
use std::sync::Arc;

/// How long a writer waits for the lock of the database, in seconds.
const LOCK_SECONDS: u32 = 60;

/// MySQL or MariaDB, through your own pool.
///
/// Writers of one database take turns under a `GET_LOCK`, each for one short transaction (READ COMMITTED, strict mode, whatever
/// the session's own settings). Look-ups take no lock.
#[derive(Clone, Debug)]
pub struct SqlxMySql(ByPool<MySql>);

by_pool!(SqlxMySql, MySqlPool);

impl Engine for MySql {
    const DIALECT: Dialect = Dialect::MySql;

    fn arguments(binds: Vec<Bind>) -> Result<MySqlArguments, sqlx::error::BoxDynError> {
        let mut arguments = MySqlArguments::default();
        for bind in binds {
            let Bind::One(_, value) = bind else {
                return Err("MySQL binds no arrays".into());
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
        row: &MySqlRow,
        statement: &Statement,
        into: &mut Vec<Value>,
    ) -> Result<(), sqlx::Error> {
        for (at, kind) in statement.returns.iter().enumerate() {
            // Unchecked: the statement casts each column, and a BINARY collation makes bytes of a text in sqlx's eyes.
            let value = match kind {
                Kind::Int => row.try_get_unchecked::<Option<i64>, _>(at)?.map(Value::Int),
                Kind::Real => row
                    .try_get_unchecked::<Option<f64>, _>(at)?
                    .map(Value::Real),
                Kind::Bool => row
                    .try_get_unchecked::<Option<i64>, _>(at)?
                    .map(|int| Value::Bool(int != 0)),
                Kind::Bytes => row
                    .try_get_unchecked::<Option<Vec<u8>>, _>(at)?
                    .map(|bytes| Value::Bytes(bytes.into())),
                _ => row
                    .try_get_unchecked::<Option<String>, _>(at)?
                    .map(|text| Value::Text(text.into())),
            };
            into.push(value.unwrap_or(Value::Null));
        }
        Ok(())
    }

    fn affected(result: &MySqlQueryResult) -> u64 {
        result.rows_affected()
    }

    fn begin<'c>(
        conn: &'c mut MySqlConnection,
        lock: Option<&'c str>,
    ) -> BoxFuture<'c, Result<(), DriverError>> {
        Box::pin(async move {
            // Sent as one text. The lock comes first: what the transaction reads is read after the holder before has
            // committed, at any isolation level.
            let lock = lock
                .map(|name| format!("GET_LOCK('{name}', {LOCK_SECONDS})"))
                .unwrap_or_else(|| "1".to_owned());
            let begin = format!(
                "SELECT CAST({lock} AS SIGNED); SET @oneflight_sql_mode = @@SESSION.sql_mode, @oneflight_fk = @@SESSION.foreign_key_checks; \
                 SET SESSION sql_mode = CONCAT(@@SESSION.sql_mode, ',STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO'); \
                 SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION"
            );
            let rows = sqlx::raw_sql(AssertSqlSafe(begin))
                .fetch_all(conn)
                .await
                .map_err(DriverError::from_sqlx)?;
            let got = rows
                .first()
                .and_then(|row| row.try_get_unchecked::<Option<i64>, _>(0).ok().flatten());
            match got {
                Some(1) => Ok(()),
                _ => Err(DriverError::new(
                    Fault::LockTimeout,
                    "other writers held the lock of the database for too long",
                )),
            }
        })
    }

    fn commit(lock: Option<&str>) -> String {
        format!("COMMIT; {}", clean_up(lock))
    }

    fn roll_back(lock: Option<&str>) -> String {
        format!("ROLLBACK; {}", clean_up(lock))
    }
}

fn clean_up(lock: Option<&str>) -> String {
    let release = lock
        .map(|name| format!("; DO RELEASE_LOCK('{name}')"))
        .unwrap_or_default();
    format!(
        "SET SESSION sql_mode = @oneflight_sql_mode, SESSION foreign_key_checks = @oneflight_fk{release}"
    )
}
