//! A rehearsal: everything but the commit.

use super::contract::Driver;
use super::error::{DriverError, Fault};
use super::pipeline::{Pipeline, Rows};
use super::turns::{self, Session, Trips};
use crate::dialect::Dialect;
use futures_util::future::BoxFuture;
use std::fmt::Debug;
use std::sync::Arc;
use tokio::sync::Mutex;

/// A driver over one session whose transaction is open and stays so. Dropping it closes the connection, and so rolls back.
#[derive(Debug)]
pub(super) struct Rehearsal<S> {
    pub(super) dialect: Dialect,
    pub(super) session: Arc<Mutex<S>>,
    pub(super) trips: Trips,
    pub(super) is_pipelined: bool,
}

impl<S: Session + Debug + 'static> Driver for Rehearsal<S> {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn run(&self, pipeline: Pipeline) -> BoxFuture<'_, Result<Vec<Rows>, DriverError>> {
        Box::pin(async move {
            // LOCK: held for the whole pipeline, because a savepoint of one must not close around statements of another.
            let mut session = self.session.clone().lock_owned().await;
            turns::detached(async move { turns::run(&mut *session, pipeline).await }).await
        })
    }

    fn round_trips(&self) -> u64 {
        self.trips.get()
    }

    fn is_pipelined(&self) -> bool {
        self.is_pipelined
    }

    fn is_rehearsal(&self) -> bool {
        true
    }

    fn rehearse(&self) -> BoxFuture<'_, Result<Arc<dyn Driver>, DriverError>> {
        Box::pin(async {
            Err(DriverError::new(
                Fault::Other,
                "a rehearsal cannot be rehearsed",
            ))
        })
    }
}
