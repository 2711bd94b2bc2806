//! What a resolver has done, in numbers.

use crate::record::{Effect, Outcome};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a [`Resolver`](crate::Resolver) has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Records that were asked for.
    pub asked: u64,
    /// Answered from memory.
    pub hits: u64,
    /// Records that had to be sent to the database: each led a flight.
    pub led: u64,
    /// Records that joined a flight which another one led.
    pub joined: u64,
    /// Batches that were sent.
    pub batches: u64,
    /// Rows that were created.
    pub created: u64,
    /// Stubs that were completed.
    pub completed: u64,
    /// Rows that got new values.
    pub updated: u64,
    /// Values that differed from the one that was kept.
    pub conflicts: u64,
    /// Records that failed.
    pub failed: u64,
    /// Ids that are remembered now.
    pub remembered: u64,
}

/// The counters behind [`Stats`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) asked: Counter,
    pub(crate) hits: Counter,
    pub(crate) batches: Counter,
    created: Counter,
    completed: Counter,
    updated: Counter,
    conflicts: Counter,
    pub(crate) failed: Counter,
}

impl Counters {
    /// Counts what became of a record that was sent.
    pub(crate) fn count(&self, outcome: &Outcome) {
        self.conflicts.add(outcome.conflicts.into());
        match outcome.effect {
            Effect::Found => {}
            Effect::Created => self.created.add(1),
            Effect::Completed => self.completed.add(1),
            Effect::Updated => self.updated.add(1),
        }
    }

    pub(crate) fn read(&self, (led, joined): (u64, u64), remembered: usize) -> Stats {
        Stats {
            asked: self.asked.get(),
            hits: self.hits.get(),
            led,
            joined,
            batches: self.batches.get(),
            created: self.created.get(),
            completed: self.completed.get(),
            updated: self.updated.get(),
            conflicts: self.conflicts.get(),
            failed: self.failed.get(),
            remembered: remembered as u64,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        // ORDERING: Relaxed; a counter orders nothing.
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        // ORDERING: Relaxed; the numbers are each right, not a snapshot of one moment.
        self.0.load(Ordering::Relaxed)
    }
}
