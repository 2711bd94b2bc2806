//! Fences: which loads may still store what they bring.
//!
//! A load in flight has a ticket here, by the hash of its key; whoever changes the key tears them. So what has to be remembered of
//! an invalidated key is bounded by what is in flight. Two keys with one hash tear each other's tickets: then a value is loaded that
//! is not kept, and nothing is wrong.

use crate::flight::Mark;
use crate::shards::{self, Shards};
use hashbrown::HashTable;

/// The tickets, in shards.
pub(super) struct Fences(Shards<Fence>);

struct Fence {
    tickets: HashTable<Ticket>,
    /// The last number that was given out (F3).
    last: u64,
}

/// A load in flight.
struct Ticket {
    hash: u64,
    number: u64,
}

impl Fences {
    pub(super) fn new(shards: usize) -> Self {
        let fence = || Fence {
            tickets: HashTable::new(),
            last: 0,
        };
        Self(Shards::new(shards, fence))
    }

    /// Gives a load a ticket, by its number (F1), and says when it was born: under the lock, or a higher number could be the elder.
    pub(super) fn begin(&self, hash: u64, born: impl FnOnce() -> Mark) -> (u64, Mark) {
        let mut fence = self.0.of(hash).lock();
        let (number, born) = (fence.next(), born());
        let ticket = Ticket { hash, number };
        fence
            .tickets
            .insert_unique(hash, ticket, |ticket| ticket.hash);
        (number, born)
    }

    /// Ends a load. If its ticket was there, `then` is done under the lock.
    pub(super) fn end<R>(&self, hash: u64, number: u64, then: impl FnOnce() -> R) -> Option<R> {
        // LOCK: held while the store is changed: between the look at the ticket and that, nobody may tear it (F2).
        let mut fence = self.0.of(hash).lock();
        fence.take(hash, |ticket| ticket.number == number)?;
        Some(then())
    }

    /// Tears the tickets of a key, and does `then` under the lock (F2), with a number for what it stores.
    pub(super) fn overtake<R>(&self, hash: u64, then: impl FnOnce(u64) -> R) -> R {
        // LOCK: as in `end`.
        let mut fence = self.0.of(hash).lock();
        while fence.take(hash, |ticket| ticket.hash == hash).is_some() {}
        let number = fence.next();
        then(number)
    }
}

impl Fence {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn take(&mut self, hash: u64, which: impl FnMut(&Ticket) -> bool) -> Option<Ticket> {
        shards::take(&mut self.tickets, hash, which, |ticket| ticket.hash)
    }
}
