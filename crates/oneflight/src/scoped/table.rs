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
use crate::flight::waits::{Id, Named, Text};
use crate::observe::{Event, Watch};
use crate::sync::{Arc, Mutex, OnceLock};
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
    shards: Box<[Locked<K, V, E>]>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    /// Who is told what happens.
    pub(crate) watch: Option<Watch<K>>,
}

/// A shard under its lock.
type Locked<K, V, E> = Padded<Mutex<Shard<K, V, E>>>;

/// One shard.
pub(crate) struct Shard<K, V, E> {
    pub(crate) flights: HashTable<Arc<Flight<K, V, E>>>,
    pub(crate) stats: Stats,
}

/// Keeps its neighbours out of its cache lines.
#[repr(align(128))]
struct Padded<T>(T);

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
    /// A table with this many shards, a power of two.
    pub(crate) fn new(shards: usize) -> Self {
        debug_assert!(shards.is_power_of_two());
        let shard = || {
            Padded(Mutex::new(Shard {
                flights: HashTable::new(),
                stats: Stats::default(),
            }))
        };
        Self {
            shards: (0..shards).map(|_| shard()).collect(),
            clock: None,
            watch: None,
        }
    }

    pub(crate) fn shard(&self, hash: u64) -> &Mutex<Shard<K, V, E>> {
        // The table inside takes its bits from both ends of the hash; these are from the middle.
        &self.shards[(hash >> 32) as usize & (self.shards.len() - 1)].0
    }

    pub(crate) fn shards(&self) -> impl Iterator<Item = &Mutex<Shard<K, V, E>>> {
        self.shards.iter().map(|shard| &shard.0)
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
            let same = |other: &Arc<Flight<K, V, E>>| Arc::ptr_eq(other, flight);
            shard
                .flights
                .find_entry(flight.hash, same)
                .ok()
                .map(|entry| entry.remove().0)
        };
        drop(taken);
    }
}
