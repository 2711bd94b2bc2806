//! PostgreSQL through tokio-postgres: a pipeline in one round trip.
//!
//! G1. Statements are unnamed and typed by us (`query_typed`), so nothing stays on the server between transactions, and a
//!     transaction pooler may stand in between.
//! G2. A connection carries one pipeline at a time; BEGIN and COMMIT of two never mix.
//! G3. Connections in use, free ones and those on their way are together never more than there are permits.

use super::array::Array;
use super::contract::Driver;
use super::error::{DriverError, Fault};
use super::pipeline::{Bind, Pipeline, Rows, Statement};
use super::rehearsal::Rehearsal;
use super::sqlx_postgres::{bool, bytes, int, real, text};
use super::turns::{self, Message, Session, Trips};
use crate::dialect::Dialect;
use crate::value::{Kind, Value};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, NoTls, Row};

/// How a short transaction begins. The time limit makes a lock that never comes an error that is tried again.
pub(super) const BEGIN: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '30s'";

/// As many connections are opened beside the first one, if there may be so many: a link of 40 ms takes 160 ms to open, and whoever
/// has several tables needs several connections at once.
const WARM: usize = 3;

/// PostgreSQL through tokio-postgres: a whole pipeline in one round trip, also behind a transaction pooler.
///
/// A connection that is lost is made anew for the next pipeline, if the driver knows how ([`PgDriver::connect`]).
#[derive(Clone, Debug)]
pub struct PgDriver {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: Option<Config>,
    free: Mutex<Vec<Client>>,
    /// Connections on their way, each for whoever finds none free. They are given up with the driver.
    warming: Mutex<Vec<Warming>>,
    permits: Arc<Semaphore>,
    trips: Trips,
}

impl PgDriver {
    /// Connects: `connections` at most, the first few at once, and the first one before this returns. Without TLS.
    ///
    /// A password that `config` lacks is taken from the environment variable `PGPASSWORD`.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses.
    pub async fn connect(mut config: Config, connections: usize) -> Result<Self, DriverError> {
        if config.get_password().is_none()
            && let Ok(password) = std::env::var("PGPASSWORD")
        {
            config.password(password);
        }
        if config.get_application_name().is_none() {
            config.application_name("oneflight");
        }
        let warm = connections.saturating_sub(1).min(WARM);
        let warming = (0..warm).map(|_| Warming::new(config.clone())).collect();
        let first = open(&config).await?;
        Ok(Self::of(Some(config), vec![first], warming, connections))
    }

    /// Takes a client, whose connection you drive yourself. Once it is lost, it is lost.
    pub fn from_client(client: Client) -> Self {
        Self::of(None, vec![client], Vec::new(), 1)
    }

    fn of(
        config: Option<Config>,
        free: Vec<Client>,
        warming: Vec<Warming>,
        connections: usize,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(connections.clamp(1, 1_000)));
        Self {
            shared: Arc::new(Shared {
                config,
                free: Mutex::new(free),
                warming: Mutex::new(warming),
                permits,
                trips: Trips::default(),
            }),
        }
    }

    async fn session(&self) -> Result<PgSession, DriverError> {
        let permit = self.shared.permits.clone().acquire_owned().await;
        let permit = permit.map_err(|_| DriverError::new(Fault::Lost, "the driver is closed"))?;
        let client = loop {
            // LOCK: let go of before anything waits.
            let free = self.shared.free.lock().pop();
            match free {
                Some(client) if !client.is_closed() => break client,
                Some(_) => {}
                None => break self.shared.open().await?,
            }
        };
        Ok(PgSession {
            client: Some(client),
            shared: self.shared.clone(),
            state: State::Idle,
            _permit: permit,
        })
    }
}

impl Shared {
    /// A connection for one who holds a permit and found none free: the next of those on their way, or a new one.
    async fn open(&self) -> Result<Client, DriverError> {
        let Some(config) = &self.config else {
            return Err(DriverError::new(Fault::Lost, "the connection is closed"));
        };
        // LOCK: let go of before anything waits.
        let warming = self.warming.lock().pop();
        // One that failed or was lost on its way is opened again.
        match warming {
            Some(mut warming) => match (&mut warming.0).await {
                Ok(Ok(client)) if !client.is_closed() => Ok(client),
                _ => open(config).await,
            },
            None => open(config).await,
        }
    }
}

/// A connection on its way; given up when this is dropped.
#[derive(Debug)]
struct Warming(JoinHandle<Result<Client, DriverError>>);

impl Warming {
    fn new(config: Config) -> Self {
        Self(tokio::spawn(async move { open(&config).await }))
    }
}

impl Drop for Warming {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn open(config: &Config) -> Result<Client, DriverError> {
    let (client, connection) = config
        .connect(NoTls)
        .await
        .map_err(DriverError::from_postgres)?;
    tokio::spawn(async move {
        // An error of the connection reaches those who wait through the client.
        let _ = connection.await;
    });
    Ok(client)
}

impl Driver for PgDriver {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn run(&self, pipeline: Pipeline) -> BoxFuture<'_, Result<Vec<Rows>, DriverError>> {
        Box::pin(async move {
            let mut session = self.session().await?;
            turns::detached(async move { turns::run(&mut session, pipeline).await }).await
        })
    }

    fn round_trips(&self) -> u64 {
        self.shared.trips.get()
    }

    fn is_pipelined(&self) -> bool {
        true
    }

    fn rehearse(&self) -> BoxFuture<'_, Result<Arc<dyn Driver>, DriverError>> {
        Box::pin(async move {
            let mut session = self.session().await?;
            let session = turns::detached(async move {
                session.send(vec![Message::Begin]).await?;
                session.state = State::Rehearsing;
                Ok(session)
            });
            let session = Arc::new(tokio::sync::Mutex::new(session.await?));
            let trips = self.shared.trips.clone();
            let driver = Rehearsal {
                dialect: Dialect::Postgres,
                session,
                trips,
                is_pipelined: true,
            };
            Ok(Arc::new(driver) as Arc<dyn Driver>)
        })
    }
}

/// A connection in use. It goes back to the free ones if no transaction is open on it, and is closed otherwise.
#[derive(Debug)]
struct PgSession {
    client: Option<Client>,
    shared: Arc<Shared>,
    state: State,
    _permit: OwnedSemaphorePermit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Open,
    Rehearsing,
}

impl Session for PgSession {
    async fn send(&mut self, messages: Vec<Message>) -> Result<Vec<Rows>, DriverError> {
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let Some(client) = &self.client else {
            return Err(DriverError::new(Fault::Lost, "the connection is closed"));
        };
        self.shared.trips.count();
        let (begin, end) = match self.state {
            State::Rehearsing => ("SAVEPOINT oneflight", "RELEASE SAVEPOINT oneflight"),
            State::Idle | State::Open => (BEGIN, "COMMIT"),
        };
        if self.state == State::Idle
            && messages
                .iter()
                .any(|message| matches!(message, Message::Begin))
        {
            self.state = State::Open;
        }
        let ends = messages
            .iter()
            .any(|message| matches!(message, Message::End));
        let sent = messages.into_iter().map(|message| -> Sending<'_> {
            match message {
                Message::Begin => Box::pin(command(client, begin)),
                Message::End => Box::pin(command(client, end)),
                Message::Run(statement) => Box::pin(execute(client, statement)),
            }
        });
        let results = in_order(sent.collect()).await;
        // With COMMIT sent the transaction is over, whichever way it went.
        if ends && self.state == State::Open && !client.is_closed() {
            self.state = State::Idle;
        }
        let rows = results.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(rows.into_iter().flatten().collect())
    }

    async fn roll_back(&mut self) {
        let Some(client) = &self.client else { return };
        match self.state {
            State::Idle => {}
            State::Open => {
                if client.batch_execute("ROLLBACK").await.is_ok() {
                    self.state = State::Idle;
                }
            }
            State::Rehearsing => {
                let _ = client
                    .batch_execute("ROLLBACK TO SAVEPOINT oneflight")
                    .await;
            }
        }
    }
}

impl Drop for PgSession {
    fn drop(&mut self) {
        if self.state == State::Idle
            && let Some(client) = self.client.take().filter(|client| !client.is_closed())
        {
            self.shared.free.lock().push(client);
        }
    }
}

type Sending<'c> = Pin<Box<dyn Future<Output = Result<Option<Rows>, DriverError>> + Send + 'c>>;

/// Polls the futures in their order, so that their requests are written in it, and waits for all of them.
async fn in_order(mut sending: Vec<Sending<'_>>) -> Vec<Result<Option<Rows>, DriverError>> {
    let mut done: Vec<Option<Result<Option<Rows>, DriverError>>> =
        sending.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut is_pending = false;
        for (future, done) in sending.iter_mut().zip(&mut done) {
            if done.is_none() {
                match future.as_mut().poll(cx) {
                    Poll::Ready(result) => *done = Some(result),
                    Poll::Pending => is_pending = true,
                }
            }
        }
        if is_pending {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

async fn command(client: &Client, sql: &str) -> Result<Option<Rows>, DriverError> {
    client
        .batch_execute(sql)
        .await
        .map_err(DriverError::from_postgres)?;
    Ok(None)
}

async fn execute(client: &Client, statement: Statement) -> Result<Option<Rows>, DriverError> {
    let params: Vec<(Box<dyn ToSql + Sync + Send>, Type)> = statement
        .binds
        .into_iter()
        .map(param)
        .collect::<Result<_, _>>()?;
    let params: Vec<(&(dyn ToSql + Sync), Type)> = params
        .iter()
        .map(|(value, ty)| (&**value as &(dyn ToSql + Sync), ty.clone()))
        .collect();
    let found = client
        .query_typed(&statement.sql, &params)
        .await
        .map_err(DriverError::from_postgres)?;
    let mut rows = Rows {
        width: statement.returns.len(),
        affected: found.len() as u64,
        cells: Vec::new(),
    };
    rows.cells.reserve_exact(rows.width * found.len());
    for row in &found {
        for (at, kind) in statement.returns.iter().enumerate() {
            rows.cells
                .push(cell(row, at, *kind).map_err(DriverError::from_postgres)?);
        }
    }
    Ok(Some(rows))
}

fn cell(row: &Row, at: usize, kind: Kind) -> Result<Value, tokio_postgres::Error> {
    let value = match kind {
        Kind::Int => row.try_get::<_, Option<i64>>(at)?.map(Value::Int),
        Kind::Real => row.try_get::<_, Option<f64>>(at)?.map(Value::Real),
        Kind::Bool => row.try_get::<_, Option<bool>>(at)?.map(Value::Bool),
        Kind::Bytes => row
            .try_get::<_, Option<&[u8]>>(at)?
            .map(|bytes| Value::Bytes(bytes.into())),
        _ => row
            .try_get::<_, Option<&str>>(at)?
            .map(|text| Value::Text(text.into())),
    };
    Ok(value.unwrap_or(Value::Null))
}

fn param(bind: Bind) -> Result<(Box<dyn ToSql + Sync + Send>, Type), DriverError> {
    Ok(match bind {
        Bind::One(Kind::Int, value) => (Box::new(int(value)), Type::INT8),
        Bind::One(Kind::Real, value) => (Box::new(real(value)), Type::FLOAT8),
        Bind::One(Kind::Bool, value) => (Box::new(bool(value)), Type::BOOL),
        Bind::One(Kind::Bytes, value) => (Box::new(bytes(value)), Type::BYTEA),
        Bind::One(_, value) => (Box::new(text(value)), Type::TEXT),
        Bind::Many(kind, values) => {
            let values = values.into_iter();
            match kind {
                Kind::Int => (
                    Box::new(values.map(int).collect::<Vec<_>>()),
                    Type::INT8_ARRAY,
                ),
                Kind::Real => (
                    Box::new(values.map(real).collect::<Vec<_>>()),
                    Type::FLOAT8_ARRAY,
                ),
                Kind::Bool => (
                    Box::new(values.map(bool).collect::<Vec<_>>()),
                    Type::BOOL_ARRAY,
                ),
                Kind::Bytes => (
                    Box::new(values.map(bytes).collect::<Vec<_>>()),
                    Type::BYTEA_ARRAY,
                ),
                _ => (
                    Box::new(values.map(text).collect::<Vec<_>>()),
                    Type::TEXT_ARRAY,
                ),
            }
        }
        Bind::Column(column) => {
            let column = Array(column);
            let array = column.array_type();
            (Box::new(column), array)
        }
        Bind::Rows(_) => {
            let what = "PostgreSQL binds columns, not rows";
            return Err(DriverError::new(Fault::Other, what));
        }
    })
}
