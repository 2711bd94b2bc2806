//! The trait that every driver implements.

use super::error::DriverError;
use super::pipeline::{Mode, Pipeline, Rows, Statement};
use crate::dialect::Dialect;
use futures_util::future::BoxFuture;
use std::fmt::Debug;
use std::sync::Arc;

/// A way to run statements on a database.
pub trait Driver: Debug + Send + Sync {
    /// The SQL that the database speaks.
    fn dialect(&self) -> Dialect;

    /// Runs a pipeline and returns the rows of each of its statements, in order.
    ///
    /// # Cancel safety
    /// A pipeline that has begun runs to its end, whoever waits for it: dropping the future leaves no transaction open.
    ///
    /// # Errors
    /// The first statement that failed. A transaction is rolled back then, as a whole. After [`Fault::Lost`](super::Fault::Lost)
    /// it may have been committed all the same.
    fn run(&self, pipeline: Pipeline) -> BoxFuture<'_, Result<Vec<Rows>, DriverError>>;

    /// How many times a caller had to wait for the network (or, on SQLite, for a statement) since the driver was made.
    fn round_trips(&self) -> u64;

    /// True if statements are sent without waiting for each other, so that a pipeline costs one round trip.
    fn is_pipelined(&self) -> bool {
        false
    }

    /// True if this driver was made by [`Driver::rehearse`].
    fn is_rehearsal(&self) -> bool {
        false
    }

    /// A driver over one connection inside one transaction that is never committed: what is written through it can be read
    /// through it, and is gone when it is dropped.
    ///
    /// # Cancel safety
    /// Dropping the future rolls back whatever was begun.
    ///
    /// # Errors
    /// No connection, or the transaction could not be begun.
    fn rehearse(&self) -> BoxFuture<'_, Result<Arc<dyn Driver>, DriverError>>;

    /// Runs one statement outside a transaction and returns its rows.
    ///
    /// # Cancel safety
    /// As for [`Driver::run`].
    ///
    /// # Errors
    /// As for [`Driver::run`].
    fn query(&self, statement: Statement) -> BoxFuture<'_, Result<Rows, DriverError>> {
        Box::pin(async move {
            let rows = self.run(Pipeline::new(Mode::Plain).step(statement)).await?;
            Ok(rows.into_iter().next().unwrap_or_default())
        })
    }
}
