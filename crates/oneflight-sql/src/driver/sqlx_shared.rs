//! What the three sqlx drivers have in common: all but what an [`Engine`] says.
//!
//! ```text
//!   SqlxPostgres, SqlxSqlite, SqlxMySql ──by_pool!──▶ ByPool<E> ──session──▶ Pooled<E> ──▶ E: Engine
//! ```
//!
//! A pooled connection is closed unless it is known to be clean.

use super::contract::Driver;
use super::error::{DriverError, Fault};
use super::pipeline::{Bind, Mode, Pipeline, Rows, Statement};
use super::rehearsal::Rehearsal;
use super::together::{Part, Text};
use super::turns::{self, Message, Session, Trips};
use crate::dialect::Dialect;
use crate::value::Value;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use sqlx::database::HasStatementCache;
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Database, Either, Executor, IntoArguments, Pool};
use std::sync::Arc;
use tokio::sync::Mutex;

/// What differs between databases.
pub(super) trait Engine: Database + HasStatementCache + Sized {
    /// The SQL that the database speaks.
    const DIALECT: Dialect;

    /// Puts the values of a statement into arguments.
    fn arguments(binds: Vec<Bind>) -> Result<Self::Arguments, sqlx::error::BoxDynError>;

    /// Takes the cells of a row.
    fn cells(
        row: &Self::Row,
        statement: &Statement,
        into: &mut Vec<Value>,
    ) -> Result<(), sqlx::Error>;

    /// How many rows were changed.
    fn affected(result: &Self::QueryResult) -> u64;

    /// Begins a transaction on a connection, under the lock if one is named.
    fn begin<'c>(
        conn: &'c mut Self::Connection,
        lock: Option<&'c str>,
    ) -> BoxFuture<'c, Result<(), DriverError>>;

    /// Statements that commit and give the lock back.
    fn commit(lock: Option<&str>) -> Vec<String>;

    /// Statements that roll back and give the lock back.
    fn roll_back(lock: Option<&str>) -> Vec<String>;

    /// How long a text of several statements may grow, in bytes; none if each statement is sent alone.
    const TOGETHER: Option<usize> = None;

    /// Statements that begin a transaction, where they may be sent together with what follows.
    fn begin_together(_lock: Option<&str>) -> Vec<String> {
        Vec::new()
    }

    /// What it means that one of [`Engine::begin_together`] failed.
    fn begin_failed(error: DriverError) -> DriverError {
        error
    }
}

/// A driver over a pool.
#[derive(Debug)]
pub(super) struct ByPool<E: Engine> {
    pub(super) pool: Pool<E>,
    trips: Trips,
    /// True if a transaction pooler stands behind the pool.
    pub(super) pooler: bool,
}

impl<E: Engine> ByPool<E> {
    pub(super) fn new(pool: Pool<E>) -> Self {
        Self {
            pool,
            trips: Trips::default(),
            pooler: false,
        }
    }

    async fn session(&self) -> Result<Pooled<E>, DriverError> {
        let conn = self.pool.acquire().await.map_err(DriverError::from_sqlx)?;
        Ok(Pooled::new(conn, self.trips.clone(), !self.pooler))
    }
}

// Not derived: that would ask for a database that can be cloned.
impl<E: Engine> Clone for ByPool<E> {
    fn clone(&self) -> Self {
        Self {
            pool: self.pool.clone(),
            trips: self.trips.clone(),
            pooler: self.pooler,
        }
    }
}

impl<E: Engine> Driver for ByPool<E>
where
    for<'c> &'c mut E::Connection: Executor<'c, Database = E>,
    E::Arguments: IntoArguments<E>,
{
    fn dialect(&self) -> Dialect {
        E::DIALECT
    }

    fn run(&self, pipeline: Pipeline) -> BoxFuture<'_, Result<Vec<Rows>, DriverError>> {
        Box::pin(async move {
            let mut session = self.session().await?;
            let pooler = self.pooler;
            turns::detached(async move {
                match pooler {
                    true => run_behind_pooler(&mut session, pipeline).await,
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
                dialect: E::DIALECT,
                session,
                trips: self.trips.clone(),
                is_pipelined: false,
            };
            Ok(Arc::new(driver) as Arc<dyn Driver>)
        })
    }
}

/// Runs a pipeline behind a transaction pooler: what follows the commit goes into a transaction of its own.
async fn run_behind_pooler(
    session: &mut impl Session,
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

/// Makes a driver of a type that holds nothing but a [`ByPool`], so that callers see a type without parameters.
macro_rules! by_pool {
    ($driver:ident, $pool:ty) => {
        impl $driver {
            /// Takes the pool.
            pub fn new(pool: $pool) -> Self {
                Self(ByPool::new(pool))
            }

            /// The pool.
            pub fn pool(&self) -> &$pool {
                &self.0.pool
            }
        }

        impl From<$pool> for $driver {
            fn from(pool: $pool) -> Self {
                Self::new(pool)
            }
        }

        impl Driver for $driver {
            fn dialect(&self) -> Dialect {
                self.0.dialect()
            }

            fn run(&self, pipeline: Pipeline) -> BoxFuture<'_, Result<Vec<Rows>, DriverError>> {
                self.0.run(pipeline)
            }

            fn round_trips(&self) -> u64 {
                self.0.round_trips()
            }

            fn rehearse(&self) -> BoxFuture<'_, Result<Arc<dyn Driver>, DriverError>> {
                self.0.rehearse()
            }
        }
    };
}
pub(super) use by_pool;

/// A pooled connection in use. Dropped with its transaction open, it closes the connection (D2).
pub(super) struct Pooled<E: Engine> {
    conn: PoolConnection<E>,
    trips: Trips,
    /// False behind a transaction pooler: nothing may be left prepared on the server.
    persistent: bool,
    lock: Option<Arc<str>>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No transaction.
    Idle,
    /// In a transaction.
    Open,
    /// In a transaction that is never committed: begin and end mean a savepoint now.
    Rehearsing,
}

impl<E: Engine> Pooled<E> {
    pub(super) fn new(conn: PoolConnection<E>, trips: Trips, persistent: bool) -> Self {
        Self {
            conn,
            trips,
            persistent,
            lock: None,
            state: State::Idle,
        }
    }
}

impl<E: Engine> Pooled<E>
where
    for<'c> &'c mut E::Connection: Executor<'c, Database = E>,
    E::Arguments: IntoArguments<E>,
{
    /// Opens the transaction of a rehearsal.
    pub(super) async fn rehearse(&mut self) -> Result<(), DriverError> {
        self.begin().await?;
        self.state = State::Rehearsing;
        Ok(())
    }

    async fn begin(&mut self) -> Result<(), DriverError> {
        self.trips.count();
        if self.state == State::Rehearsing {
            return self.raw("SAVEPOINT oneflight".to_owned()).await;
        }
        // The state is set before the statement is sent: should it fail half-way, the roll-back cleans up.
        self.state = State::Open;
        E::begin(&mut self.conn, self.lock.as_deref()).await
    }

    async fn end(&mut self) -> Result<(), DriverError> {
        self.trips.count();
        if self.state == State::Rehearsing {
            return self.raw("RELEASE SAVEPOINT oneflight".to_owned()).await;
        }
        self.raw(E::commit(self.lock.as_deref()).join("; ")).await?;
        self.state = State::Idle;
        Ok(())
    }

    async fn raw(&mut self, sql: String) -> Result<(), DriverError> {
        let conn: &mut E::Connection = &mut self.conn;
        conn.execute(sqlx::raw_sql(AssertSqlSafe(sql)))
            .await
            .map_err(DriverError::from_sqlx)?;
        Ok(())
    }

    /// Puts a message into a text, or gives it back if it has to go alone.
    fn together(&self, text: &mut Text, message: Message) -> Option<Message> {
        let is_rehearsal = self.state == State::Rehearsing;
        let lock = self.lock.as_deref();
        let save = |sql: &str| vec![format!("{sql} oneflight")];
        if E::TOGETHER.is_none() {
            return Some(message);
        }
        match message {
            Message::Run(statement) if statement.binds.is_empty() => text.run(statement),
            Message::Run(_) => return Some(message),
            Message::Begin => {
                let begin = match is_rehearsal {
                    true => save("SAVEPOINT"),
                    false => E::begin_together(lock),
                };
                begin.iter().for_each(|sql| text.add(sql, Part::Begin));
            }
            Message::End => {
                let end = match is_rehearsal {
                    true => save("RELEASE SAVEPOINT"),
                    false => E::commit(lock),
                };
                end.iter().for_each(|sql| text.add(sql, Part::End));
            }
        }
        None
    }

    /// Sends a text, and takes the answers of its statements in order.
    async fn send_text(
        &mut self,
        text: &mut Text,
        rows: &mut Vec<Rows>,
    ) -> Result<(), DriverError> {
        let Text { sql, mut parts } = std::mem::take(text);
        if parts.is_empty() {
            return Ok(());
        }
        self.trips.count();
        let has = |wanted: fn(&Part) -> bool| parts.iter().any(wanted);
        let (begins, ends) = (
            has(|part| matches!(part, Part::Begin)),
            has(|part| matches!(part, Part::End)),
        );
        if begins && self.state == State::Idle {
            // Before it is sent, as in `begin`.
            self.state = State::Open;
        }
        let conn: &mut E::Connection = &mut self.conn;
        let mut stream = conn.fetch_many(sqlx::raw_sql(AssertSqlSafe(sql)));
        while let Some(item) = stream.next().await {
            let part = parts.front_mut();
            match (item.map_err(DriverError::from_sqlx), part) {
                (Err(error), Some(Part::Begin)) => return Err(E::begin_failed(error)),
                (Err(error), _) => return Err(error),
                (Ok(Either::Right(row)), Some(Part::Run(statement, rows))) => {
                    E::cells(&row, statement, &mut rows.cells).map_err(DriverError::from_sqlx)?;
                }
                (Ok(Either::Right(_)), _) => {}
                (Ok(Either::Left(result)), _) => {
                    if let Some(Part::Run(_, mut came)) = parts.pop_front() {
                        came.affected += E::affected(&result);
                        rows.push(came);
                    }
                }
            }
        }
        if !parts.is_empty() {
            // X2: it would be anybody's guess whose answers came.
            let message = "the database left statements unanswered";
            return Err(DriverError::new(Fault::Lost, message));
        }
        if ends && self.state == State::Open {
            self.state = State::Idle;
        }
        Ok(())
    }

    async fn execute(&mut self, mut statement: Statement) -> Result<Rows, DriverError> {
        self.trips.count();
        let binds = std::mem::take(&mut statement.binds);
        let arguments = E::arguments(binds)
            .map_err(|error| DriverError::from_sqlx(sqlx::Error::Encode(error)))?;
        let query = sqlx::query_with::<E, _>(AssertSqlSafe(statement.sql.clone()), arguments)
            .persistent(self.persistent);
        let mut rows = Rows {
            width: statement.returns.len(),
            ..Rows::default()
        };
        let conn: &mut E::Connection = &mut self.conn;
        let mut stream = conn.fetch_many(query);
        while let Some(item) = stream.next().await {
            match item.map_err(DriverError::from_sqlx)? {
                Either::Left(result) => rows.affected += E::affected(&result),
                Either::Right(row) => {
                    E::cells(&row, &statement, &mut rows.cells).map_err(DriverError::from_sqlx)?;
                }
            }
        }
        Ok(rows)
    }
}

impl<E: Engine> Session for Pooled<E>
where
    for<'c> &'c mut E::Connection: Executor<'c, Database = E>,
    E::Arguments: IntoArguments<E>,
{
    async fn send(&mut self, messages: Vec<Message>) -> Result<Vec<Rows>, DriverError> {
        let mut rows = Vec::new();
        let mut text = Text::default();
        for message in messages {
            let Some(message) = self.together(&mut text, message) else {
                if text.sql.len() > E::TOGETHER.unwrap_or_default() {
                    self.send_text(&mut text, &mut rows).await?;
                }
                continue;
            };
            self.send_text(&mut text, &mut rows).await?;
            match message {
                Message::Begin => self.begin().await?,
                Message::Run(statement) => rows.push(self.execute(statement).await?),
                Message::End => self.end().await?,
            }
        }
        self.send_text(&mut text, &mut rows).await?;
        Ok(rows)
    }

    fn set_lock(&mut self, lock: Option<Arc<str>>) {
        if self.state == State::Idle {
            self.lock = lock;
        }
    }

    async fn roll_back(&mut self) {
        match self.state {
            State::Idle => {}
            State::Rehearsing => {
                // A statement that failed outside a savepoint leaves none to go back to; that is no harm.
                let _ = self.raw("ROLLBACK TO SAVEPOINT oneflight".to_owned()).await;
            }
            State::Open => {
                if self
                    .raw(E::roll_back(self.lock.as_deref()).join("; "))
                    .await
                    .is_ok()
                {
                    self.state = State::Idle;
                }
            }
        }
    }
}

impl<E: Engine> Drop for Pooled<E> {
    fn drop(&mut self) {
        if self.state != State::Idle || std::thread::panicking() {
            self.conn.close_on_drop();
        }
    }
}

impl<E: Engine> std::fmt::Debug for Pooled<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pooled")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
