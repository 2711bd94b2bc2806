//! Fences: which loads may still store what they bring.
//!
//! A load in flight has a ticket here, by the hash of its key; whoever changes the key tears them. So what has to be remembered of
//! an invalidated key is bounded by what is in flight. Two keys with one hash tear each other's tickets: then a value is loaded that
//! is not kept, and nothing is wrong.

use super::entry::Time;
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
    pass: Pass,
}

/// The right to store what a load brings, and how far it goes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pass {
    /// When its key was expired, if it was: what it brings is stale from then on (F2).
    pub(super) expired: Option<Time>,
    /// A newer load has failed for good: what this one brings does not serve once it is stale.
    pub(super) cut: bool,
}

/// What the end of a load means for those of its key that began before it, and are still up (F3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Older {
    /// Nothing.
    Stays,
    /// What they bring serves only while it is fresh.
    IsCut,
    /// Nothing that they bring is stored.
    Goes,
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
        let pass = Pass::default();
        let ticket = Ticket { hash, number, pass };
        fence
            .tickets
            .insert_unique(hash, ticket, |ticket| ticket.hash);
        (number, born)
    }

    /// Ends a load; false if its ticket was not there. Else `then` is done under the lock, and says what becomes of the tickets of
    /// older loads.
    pub(super) fn end(&self, hash: u64, number: u64, then: impl FnOnce(Pass) -> Older) -> bool {
        // LOCK: held while the store is changed: between the look at the ticket and that, nobody may tear it (F2).
        let mut fence = self.0.of(hash).lock();
        let Some(ticket) = fence.take(hash, |ticket| ticket.number == number) else {
            return false;
        };
        match then(ticket.pass) {
            // Nearly always there is no other load.
            _ if fence.tickets.is_empty() => {}
            Older::Stays => {}
            Older::IsCut => fence.mark(hash, number, |pass| pass.cut = true),
            Older::Goes => {
                let is_older = |it: &Ticket| it.hash == hash && it.number < number;
                while fence.take(hash, is_older).is_some() {}
            }
        }
        true
    }

    /// Gives a ticket back, unused.
    pub(super) fn give_back(&self, hash: u64, number: u64) {
        let mut fence = self.0.of(hash).lock();
        fence.take(hash, |ticket| ticket.number == number);
    }

    /// Tears the tickets of a key, and does `then` under the lock (F2), with a number for what it stores.
    pub(super) fn overtake(&self, hash: u64, then: impl FnOnce(u64)) {
        // LOCK: as in `end`.
        let mut fence = self.0.of(hash).lock();
        while fence.take(hash, |ticket| ticket.hash == hash).is_some() {}
        let number = fence.next();
        then(number);
    }

    /// What the loads of a key bring is stale from now on; does `then` under the lock (F2).
    pub(super) fn expire(&self, hash: u64, now: Time, then: impl FnOnce()) {
        // LOCK: as in `end`.
        let mut fence = self.0.of(hash).lock();
        fence.mark(hash, u64::MAX, |pass| {
            pass.expired.get_or_insert(now);
        });
        then();
    }
}

impl Fence {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Marks the tickets of a key with lower numbers.
    fn mark(&mut self, hash: u64, below: u64, mark: impl Fn(&mut Pass)) {
        let tickets = self.tickets.iter_hash_mut(hash);
        let older = tickets.filter(|it| it.hash == hash && it.number < below);
        older.for_each(|ticket| mark(&mut ticket.pass));
    }

    fn take(&mut self, hash: u64, which: impl FnMut(&Ticket) -> bool) -> Option<Ticket> {
        shards::take(&mut self.tickets, hash, which, |ticket| ticket.hash)
    }
}
