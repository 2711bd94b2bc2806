//! The scoped flights that are up, by key.
//!
//! K1. A flight is in the table from before anybody waits for it until before anybody sees its answer.
//! K2. A flight is taken out by identity, never by key: its end does not remove a newer one.
//! K3. Locks nest in one order, shard then flight; nothing is woken and nothing of the user's is dropped under either. Of a key,
//!     `Borrow`, `Eq` and `ToOwned` are used under the shard's.

use super::state::State;
use crate::clock::Clock;
use crate::error::Error;
use crate::flight::Stats;
use crate::observe::{Event, Watch};
use crate::shards::{self, Shards};
use crate::sync::{Arc, Mutex, OnceLock};
use crate::waiting::waits::{Id, Named, Text};
use hashbrown::HashTable;
use std::fmt;
use std::time::Instant;

/// A flight: all that its callers share. The work is not in it.
#[derive(Debug)]
pub(crate) struct Flight<K, V, E> {
    pub(crate) key: K,
    pub(crate) hash: u64,
    /// When it began; none if nobody measures it.
    pub(crate) began: Option<Instant>,
    pub(crate) state: Mutex<State>,
    /// Set before the state is over, with the number of those who share it; empty if the leader is alone and takes it.
    pub(crate) answer: OnceLock<(Result<V, Error<E>>, u32)>,
}

/// The shards.
pub(crate) struct Table<K, V, E> {
    shards: Shards<Shard<K, V, E>>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    /// Who is told what happens.
    pub(crate) watch: Option<Watch<K>>,
}

/// One shard.
pub(crate) struct Shard<K, V, E> {
    pub(crate) flights: HashTable<Arc<Flight<K, V, E>>>,
    pub(crate) stats: Stats,
}

impl<K, V, E> Flight<K, V, E> {
    pub(crate) fn new(key: K, hash: u64, began: Option<Instant>) -> Arc<Self> {
        Arc::new(Self {
            key,
            hash,
            began,
            state: Mutex::new(State::vacant()),
            answer: OnceLock::new(),
        })
    }

    /// The identity of a flight.
    pub(crate) fn id(self: &Arc<Self>) -> Id {
        Id::of(Arc::as_ptr(self).cast())
    }

    /// The flight as one that others wait for. Its key may be borrowed: the graph, which outlives it, gets what is told of it.
    pub(crate) fn named(&self) -> Arc<dyn Named>
    where
        K: fmt::Debug,
    {
        Arc::new(Text(format!("{:?}", self.key)))
    }
}

impl<K, V, E> Table<K, V, E> {
    pub(crate) fn new() -> Self {
        let shard = || Shard {
            flights: HashTable::new(),
            stats: Stats::default(),
        };
        Self {
            shards: Shards::new(0, shard),
            clock: None,
            watch: None,
        }
    }

    pub(crate) fn shard(&self, hash: u64) -> &Mutex<Shard<K, V, E>> {
        self.shards.of(hash)
    }

    pub(crate) fn shards(&self) -> impl Iterator<Item = &Mutex<Shard<K, V, E>>> {
        self.shards.iter()
    }

    /// Counts another run of a flight: that of the leader before has come to nothing.
    pub(crate) fn restart(&self, flight: &Flight<K, V, E>) {
        {
            let stats = &mut self.shard(flight.hash).lock().stats;
            stats.abandoned += 1;
            stats.started += 1;
        }
        self.tell_abandoned(flight);
        if let Some(watch) = &self.watch {
            watch.tell(&flight.key, Event::Started);
        }
    }

    /// Tells the observer, if there is one, of a run that came to nothing.
    pub(crate) fn tell_abandoned(&self, flight: &Flight<K, V, E>) {
        if let Some(watch) = &self.watch {
            let callers = flight.state.lock().callers();
            watch.abandoned(&flight.key, flight.began, callers);
        }
    }

    /// Counts the end of a flight and takes it out of the table, if it is still there (K2).
    pub(crate) fn end(&self, flight: &Arc<Flight<K, V, E>>, count: impl FnOnce(&mut Stats)) {
        let taken = {
            let mut shard = self.shard(flight.hash).lock();
            count(&mut shard.stats);
            shard.take(flight.hash, |other| Arc::ptr_eq(other, flight))
        };
        drop(taken);
    }
}

impl<K, V, E> Shard<K, V, E> {
    /// Takes out the flight with this hash that is `which`.
    pub(crate) fn take(
        &mut self,
        hash: u64,
        which: impl FnMut(&Arc<Flight<K, V, E>>) -> bool,
    ) -> Option<Arc<Flight<K, V, E>>> {
        shards::take(&mut self.flights, hash, which, |flight| flight.hash)
    }
}
