//! MySQL and MariaDB through a pool of sqlx.

use super::contract::Driver;
use super::error::{DriverError, Fault};
use super::pipeline::{Bind, Pipeline, Rows, Statement};
use super::sqlx_shared::{ByPool, Engine, by_pool};
use crate::dialect::Dialect;
use crate::value::{Kind, Value};
use futures_util::future::BoxFuture;
use sqlx::mysql::{MySql, MySqlArguments, MySqlConnection, MySqlPool, MySqlQueryResult, MySqlRow};
use sqlx::{Arguments, AssertSqlSafe, Executor, Row};
use std::sync::Arc;

/// How long a writer waits for the lock of the database, in seconds.
const LOCK_SECONDS: u32 = 60;
/// How long a text grows before it is sent, in bytes: a packet holds 16 MiB, 4 on old servers, and one more statement comes on top.
const TEXT: usize = 1 << 20;
/// What fails where one value is asked for: the only error that an expression can raise everywhere.
pub(crate) const TWO_ROWS: &str = "(SELECT 1 UNION SELECT 2)";

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
            let begin = Self::begin_together(lock).join("; ");
            let done = conn.execute(sqlx::raw_sql(AssertSqlSafe(begin))).await;
            done.map(drop)
                .map_err(|error| Self::begin_failed(DriverError::from_sqlx(error)))
        })
    }

    fn commit(lock: Option<&str>) -> Vec<String> {
        ended("COMMIT", lock)
    }

    fn roll_back(lock: Option<&str>) -> Vec<String> {
        ended("ROLLBACK", lock)
    }

    const TOGETHER: Option<usize> = Some(TEXT);

    /// The lock comes before the transaction: what that reads is read after the holder before has committed, at any isolation level.
    /// What is sent with it must not run if it is not got (X1), so that is an error: of a subquery with two rows.
    fn begin_together(lock: Option<&str>) -> Vec<String> {
        let lock = lock.map(|name| {
            format!(
                "SET @oneflight_lock = IF(GET_LOCK('{name}', {LOCK_SECONDS}) = 1, 1, {TWO_ROWS})"
            )
        });
        // First of all what the session has set is put by: a roll-back sets it again, also where the lock was not got.
        let first = "SET @oneflight_sql_mode = @@SESSION.sql_mode, @oneflight_fk = @@SESSION.foreign_key_checks";
        let then = [
            // MariaDB can be told to take an empty text for null; here it is a text.
            "SET SESSION sql_mode = CONCAT(REPLACE(@@SESSION.sql_mode, 'EMPTY_STRING_IS_NULL', ''), ',STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO')",
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "START TRANSACTION",
        ];
        let first = std::iter::once(first.to_owned());
        first.chain(lock).chain(then.map(str::to_owned)).collect()
    }

    fn begin_failed(error: DriverError) -> DriverError {
        match error.code() {
            Some("1242") => DriverError::new(
                Fault::LockTimeout,
                "other writers held the lock of the database for too long",
            ),
            _ => error,
        }
    }
}

fn ended(how: &str, lock: Option<&str>) -> Vec<String> {
    let release = lock.map(|name| format!("DO RELEASE_LOCK('{name}')"));
    let clean =
        "SET SESSION sql_mode = @oneflight_sql_mode, SESSION foreign_key_checks = @oneflight_fk";
    [how.to_owned(), clean.to_owned()]
        .into_iter()
        .chain(release)
        .collect()
}
