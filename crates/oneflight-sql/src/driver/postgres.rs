//! PostgreSQL through tokio-postgres: a pipeline in one round trip.
//!
//! G1. Statements are unnamed and typed by us (`query_typed`), so nothing stays on the server between transactions, and a
//!     transaction pooler may stand in between.
//! G2. A pipeline that decides nothing on the way is written in one go, and others may be behind it on its connection before it is
//!     answered: see [`Lines`].

use super::array::Array;
use super::contract::Driver;
use super::error::{DriverError, Fault};
use super::lines::{A_DECISION, FOR_GOOD, Lines, Place};
use super::pipeline::{Bind, Pipeline, Rows, Statement, Step};
use super::rehearsal::Rehearsal;
use super::sqlx_postgres::{bool, bytes, int, real, text};
use super::turns::{self, Message, Session, Trips};
use crate::dialect::Dialect;
use crate::value::{Kind, Value};
use futures_util::future::BoxFuture;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::OwnedMutexGuard;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Row};

/// How a short transaction begins. The time limit makes a lock that never comes an error that is tried again.
pub(super) const BEGIN: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '30s'";

/// PostgreSQL through tokio-postgres: a whole pipeline in one round trip, also behind a transaction pooler.
///
/// A connection that is lost is made anew for the next pipeline, if the driver knows how ([`PgDriver::connect`]).
#[derive(Clone, Debug)]
pub struct PgDriver {
    lines: Arc<Lines>,
    trips: Trips,
}

impl PgDriver {
    /// Connects: `connections` at most, the first few at once, and one of them before this returns. Without TLS.
    ///
    /// More are opened while pipelines go on over those that are there. One that cannot be had, because the server is full, say, is
    /// an error only when no other is open.
    ///
    /// A password that `config` lacks is taken from the environment variable `PGPASSWORD`. The Tokio runtime needs its timer: a
    /// connection that nobody wants any more, and that its server does not let go, is cut after a second.
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
        let lines = Lines::connect(config, connections).await?;
        Ok(Self::of(lines))
    }

    /// Takes a client, whose connection you drive yourself. Once it is lost, it is lost.
    pub fn from_client(client: Client) -> Self {
        Self::of(Lines::single(client))
    }

    fn of(lines: Arc<Lines>) -> Self {
        let trips = Trips::default();
        Self { lines, trips }
    }

    /// A session for what weighs so much; `in_one_go` if all that is written at once is all that is written.
    async fn session(&self, weight: usize, in_one_go: bool) -> Result<PgSession, DriverError> {
        let (place, pen) = self.lines.place(weight).await?;
        Ok(PgSession {
            pen: Some(pen),
            place,
            in_one_go,
            trips: self.trips.clone(),
            state: State::Idle,
        })
    }
}

/// About how much work a pipeline is: the values that it binds, and what it decides.
fn weight(pipeline: &Pipeline) -> usize {
    let of_statement = |statement: &Statement| {
        let values = statement.binds.iter().map(|bind| match bind {
            Bind::Many(_, values) => values.len(),
            Bind::Column(column) => column.columns.len(),
            Bind::One(..) | Bind::Rows(_) => 1,
        });
        1 + values.sum::<usize>()
    };
    let steps = pipeline.steps.iter().map(|step| match step {
        Step::Run(statement) => of_statement(statement),
        Step::Then(_) => A_DECISION,
    });
    steps
        .chain(pipeline.after.iter().map(of_statement))
        .sum::<usize>()
}

fn is_in_one_go(pipeline: &Pipeline) -> bool {
    let decides = |step: &Step| matches!(step, Step::Then(_));
    !pipeline.steps.iter().any(decides)
}

impl Driver for PgDriver {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn run(&self, pipeline: Pipeline) -> BoxFuture<'_, Result<Vec<Rows>, DriverError>> {
        Box::pin(async move {
            let (weight, in_one_go) = (weight(&pipeline), is_in_one_go(&pipeline));
            let mut session = self.session(weight, in_one_go).await?;
            turns::detached(async move { turns::run(&mut session, pipeline).await }).await
        })
    }

    fn round_trips(&self) -> u64 {
        self.trips.get()
    }

    fn is_pipelined(&self) -> bool {
        true
    }

    fn rehearse(&self) -> BoxFuture<'_, Result<Arc<dyn Driver>, DriverError>> {
        Box::pin(async move {
            let mut session = self.session(FOR_GOOD, false).await?;
            let session = turns::detached(async move {
                session.send(vec![Message::Begin]).await?;
                session.state = State::Rehearsing;
                Ok(session)
            });
            let session = Arc::new(tokio::sync::Mutex::new(session.await?));
            let trips = self.trips.clone();
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

/// A place on a connection. If a transaction is open when it is given back, the connection is closed.
#[derive(Debug)]
struct PgSession {
    /// Held while something is still to be written.
    pen: Option<OwnedMutexGuard<()>>,
    place: Place,
    in_one_go: bool,
    trips: Trips,
    state: State,
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
        let client = &self.place.line.client;
        let answered = self.place.line.next();
        self.trips.count();
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
        let (pen, in_one_go) = (&mut self.pen, self.in_one_go);
        let written = || drop(pen.take_if(|_| in_one_go));
        let results = in_order(sent.collect(), written).await;
        // With COMMIT sent the transaction is over, whichever way it went.
        if ends && self.state == State::Open && !client.is_closed() {
            self.state = State::Idle;
        }
        let is_lost = |result: &Result<_, DriverError>| matches!(result, Err(error) if error.fault() == Fault::Lost);
        if results.iter().any(is_lost) {
            // It may be open still, and out of step: what comes next would not be our answers.
            self.place.line.retire();
        }
        if !answered.believed().await {
            let why = "the connection was out of step before";
            return Err(DriverError::new(Fault::Lost, why));
        }
        let rows = results.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(rows.into_iter().flatten().collect())
    }

    async fn roll_back(&mut self) {
        let client = &self.place.line.client;
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
        if self.state != State::Idle {
            self.place.line.retire();
        }
    }
}

type Sending<'c> = Pin<Box<dyn Future<Output = Result<Option<Rows>, DriverError>> + Send + 'c>>;

/// Polls the futures in their order, so that their requests are written in it, says so, and waits for all of them.
async fn in_order(
    mut sending: Vec<Sending<'_>>,
    written: impl FnOnce(),
) -> Vec<Result<Option<Rows>, DriverError>> {
    let mut done: Vec<Option<Result<Option<Rows>, DriverError>>> =
        sending.iter().map(|_| None).collect();
    let mut written = Some(written);
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
        // A request is written when its future is polled for the first time.
        if let Some(written) = written.take() {
            written();
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
