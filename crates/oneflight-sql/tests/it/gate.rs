//! A driver in front of another one, with a gate: it lets pipelines through one by one, or fails them, as the test says.

use futures_util::future::BoxFuture;
use oneflight_sql::Dialect;
use oneflight_sql::driver::{Driver, DriverError, Fault, Pipeline, Rows};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::Semaphore;

#[derive(Debug)]
pub(crate) struct Gate {
    behind: Arc<dyn Driver>,
    tickets: Semaphore,
    to_fail: AtomicU32,
    arrived: AtomicU32,
}

impl Gate {
    /// A gate that is open.
    pub(crate) fn before(behind: Arc<dyn Driver>) -> Arc<Self> {
        Arc::new(Self {
            behind,
            tickets: Semaphore::new(Semaphore::MAX_PERMITS),
            to_fail: AtomicU32::new(0),
            arrived: AtomicU32::new(0),
        })
    }

    /// Closes the gate: pipelines wait until it is opened.
    pub(crate) fn close(&self) {
        self.tickets.forget_permits(usize::MAX);
    }

    /// Opens it for good.
    pub(crate) fn open(&self) {
        self.tickets
            .add_permits(Semaphore::MAX_PERMITS - self.tickets.available_permits());
    }

    /// Fails the next pipelines in a way that is not tried again.
    pub(crate) fn fail_next(&self, pipelines: u32) {
        self.to_fail.store(pipelines, Ordering::SeqCst);
    }

    /// How many pipelines have come to the gate.
    pub(crate) fn arrived(&self) -> u32 {
        self.arrived.load(Ordering::SeqCst)
    }
}

impl Driver for Gate {
    fn dialect(&self) -> Dialect {
        self.behind.dialect()
    }

    fn run(&self, pipeline: Pipeline) -> BoxFuture<'_, Result<Vec<Rows>, DriverError>> {
        self.arrived.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let ticket = self
                .tickets
                .acquire()
                .await
                .map_err(|_| DriverError::new(Fault::Other, "the gate is gone"))?;
            ticket.forget();
            let fail = self
                .to_fail
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                    left.checked_sub(1)
                });
            match fail {
                Ok(_) => Err(DriverError::new(Fault::Other, "out of order")),
                Err(_) => self.behind.run(pipeline).await,
            }
        })
    }

    fn round_trips(&self) -> u64 {
        self.behind.round_trips()
    }

    fn is_pipelined(&self) -> bool {
        self.behind.is_pipelined()
    }

    fn rehearse(&self) -> BoxFuture<'_, Result<Arc<dyn Driver>, DriverError>> {
        self.behind.rehearse()
    }
}
