//! The autopilot: a task that is one more waiter and never stops polling, so that a flight goes on even if none of its callers
//! is polled any more.

use super::drive::{self, Step};
use super::node::Shared;
use super::state::Who;
use super::table::Table;
use crate::sync::Arc;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The task.
pub(crate) struct Pilot<K, V, E, S> {
    pub(crate) table: Arc<Table<K, V, E, S>>,
    /// None once the flight is over.
    pub(crate) flight: Option<Shared<K, V, E>>,
    pub(crate) slot: u32,
    /// True if it keeps the flight up by itself (a detached one).
    pub(crate) counts: bool,
}

impl<K, V: Clone, E, S> Future for Pilot<K, V, E, S> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let Some(flight) = &this.flight else {
            return Poll::Ready(());
        };
        match drive::step(&this.table, flight, &mut this.slot, context) {
            Step::Pending => Poll::Pending,
            Step::Landed(_) | Step::Abandoned => {
                this.flight = None;
                Poll::Ready(())
            }
        }
    }
}

impl<K, V, E, S> Drop for Pilot<K, V, E, S> {
    // The runtime may end under us: then the callers go on by themselves, and without callers the flight is abandoned.
    fn drop(&mut self) {
        if let Some(flight) = self.flight.take() {
            let counts = self.counts;
            drive::leave(&self.table, flight, self.slot, Who::Pilot { counts });
        }
    }
}
