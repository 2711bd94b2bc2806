//! One turn of a session: a pipeline put into messages, sent, and rolled back if anything fails.
//!
//! ```text
//!   pipeline ──▶ [Begin, Run, Run] ─send─▶ rows ─decide─▶ [Run, End, Run] ─send─▶ rows
//! ```

use super::error::{DriverError, Fault};
use super::pipeline::{Mode, Pipeline, Rows, Statement, Step};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is sent to a session.
#[derive(Debug)]
pub(super) enum Message {
    /// Begin a transaction, or set a savepoint inside one.
    Begin,
    /// Run a statement.
    Run(Statement),
    /// Commit, or release the savepoint.
    End,
}

/// One connection, for as long as a pipeline takes.
pub(super) trait Session: Send {
    /// Sends the messages in order and returns the rows of each [`Message::Run`]. The first error ends it.
    fn send(
        &mut self,
        messages: Vec<Message>,
    ) -> impl Future<Output = Result<Vec<Rows>, DriverError>> + Send;

    /// The lock that the next [`Message::Begin`] takes and its [`Message::End`] gives back.
    fn set_lock(&mut self, _lock: Option<Arc<str>>) {}

    /// Rolls back what is open; if that fails, the connection must not be used again.
    fn roll_back(&mut self) -> impl Future<Output = ()> + Send;
}

/// Runs a pipeline in a session.
pub(super) async fn run(
    session: &mut impl Session,
    pipeline: Pipeline,
) -> Result<Vec<Rows>, DriverError> {
    let done = try_run(session, pipeline).await;
    if done.is_err() {
        session.roll_back().await;
    }
    done
}

async fn try_run(session: &mut impl Session, pipeline: Pipeline) -> Result<Vec<Rows>, DriverError> {
    let Pipeline { mode, steps, after } = pipeline;
    let mut rows = Vec::new();
    let mut messages = Vec::new();
    let is_transaction = match mode {
        Mode::Plain => false,
        Mode::Write { lock } => {
            session.set_lock(lock);
            messages.push(Message::Begin);
            true
        }
    };
    for step in steps {
        match step {
            Step::Run(statement) => messages.push(Message::Run(statement)),
            Step::Then(decide) => {
                rows.extend(session.send(std::mem::take(&mut messages)).await?);
                messages.extend(decide.0(&rows)?.into_iter().map(Message::Run));
            }
        }
    }
    if is_transaction {
        messages.push(Message::End);
    }
    messages.extend(after.into_iter().map(Message::Run));
    rows.extend(session.send(messages).await?);
    Ok(rows)
}

/// Runs `work` in a task of its own, to its end, whoever waits (D1).
pub(super) async fn detached<T, F>(work: F) -> Result<T, DriverError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, DriverError>> + Send + 'static,
{
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            // A client library that panics (as sqlx does over a packet that is cut short) has lost its connection.
            Ok(panic) => Err(DriverError::new(
                Fault::Lost,
                format!("the connection broke: {}", told(&*panic)),
            )),
            Err(_) => Err(DriverError::new(
                Fault::Lost,
                "the runtime shut down under a transaction",
            )),
        },
    }
}

fn told(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}

/// Counts round trips.
#[derive(Clone, Debug, Default)]
pub(super) struct Trips(Arc<AtomicU64>);

impl Trips {
    pub(super) fn count(&self) {
        // ORDERING: Relaxed, a counter that orders nothing.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        // ORDERING: Relaxed, as above.
        self.0.load(Ordering::Relaxed)
    }
}
