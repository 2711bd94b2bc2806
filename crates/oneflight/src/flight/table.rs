//! The flights that are up, by key: a hash table in each shard.
//!
//! G1. A flight is in the table from before anybody waits for it until before anybody sees its answer.
//! G2. A flight is taken out by identity, never by key: its end does not remove a newer one.
//! G3. No lock is taken under a shard's: a flight is joined in one atomic step. Nothing is woken there, and nothing of the user's
//!     is dropped; of a key, `Borrow`, `Eq` and `ToOwned` are used.

use super::node::Shared;
use super::stats::Stats;
use crate::observe::{Event, Watch};
use crate::shards::{self, Shards};
use crate::sync::{AtomicU64, Mutex, Ordering};
use hashbrown::HashTable;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

/// The shards.
pub(crate) struct Table<K, V, E, S> {
    hasher: S,
    shards: Shards<Shard<K, V, E>>,
    epoch: AtomicU64,
    /// Who is told what happens.
    pub(crate) watch: Option<Watch<K>>,
}

/// One shard.
pub(crate) struct Shard<K, V, E> {
    pub(crate) flights: HashTable<Shared<K, V, E>>,
    /// No new flights. Stands here so that it is read under the lock under which flights begin.
    pub(crate) closed: bool,
    pub(crate) stats: Stats,
}

impl<K, V, E, S: BuildHasher> Table<K, V, E, S> {
    pub(crate) fn new(hasher: S, shards: usize, watch: Option<Watch<K>>) -> Self {
        let shard = || Shard {
            flights: HashTable::new(),
            closed: false,
            stats: Stats::default(),
        };
        Self {
            hasher,
            shards: Shards::new(shards, shard),
            epoch: AtomicU64::new(0),
            watch,
        }
    }

    pub(crate) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Takes out the flight for a key, if there is one and it is `which`: nobody joins it any more. True if there was one.
    pub(crate) fn forget<Q>(&self, key: &Q, which: impl Fn(&Shared<K, V, E>) -> bool) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hash(key);
        let forgotten = {
            let mut shard = self.shard(hash).lock();
            let taken = shard.take(hash, |flight| flight.key.borrow() == key && which(flight));
            shard.stats.forgotten += u64::from(taken.is_some());
            taken
        };
        if let Some((flight, watch)) = forgotten.as_ref().zip(self.watch.as_ref()) {
            watch.tell(&flight.key, Event::Forgotten);
        }
        forgotten.is_some()
    }
}

impl<K, V, E, S> Table<K, V, E, S> {
    pub(crate) fn shard(&self, hash: u64) -> &Mutex<Shard<K, V, E>> {
        self.shards.of(hash)
    }

    pub(crate) fn shards(&self) -> impl Iterator<Item = &Mutex<Shard<K, V, E>>> {
        self.shards.iter()
    }

    /// The epoch that flights are born in now.
    pub(crate) fn epoch(&self) -> u64 {
        // ORDERING: Acquire pairs with the Release in `next_epoch`: the work of a flight with this number sees all that was done
        // before the mark.
        self.epoch.load(Ordering::Acquire)
    }

    pub(crate) fn next_epoch(&self) -> u64 {
        // ORDERING: Release, see `epoch`; nothing is read through it.
        self.epoch.fetch_add(1, Ordering::Release) + 1
    }

    /// Counts the end of a flight and takes it out of the table, if it is still there (G2). What is taken is handed out, to be
    /// dropped after the lock.
    pub(crate) fn end(
        &self,
        flight: &Shared<K, V, E>,
        count: impl FnOnce(&mut Stats),
    ) -> Option<Shared<K, V, E>> {
        let mut shard = self.shard(flight.hash).lock();
        count(&mut shard.stats);
        shard.take(flight.hash, |other| other.is(flight))
    }
}

impl<K, V, E> Shard<K, V, E> {
    /// Takes out the flight with this hash that is `which`.
    pub(crate) fn take(
        &mut self,
        hash: u64,
        which: impl FnMut(&Shared<K, V, E>) -> bool,
    ) -> Option<Shared<K, V, E>> {
        shards::take(&mut self.flights, hash, which, |flight| flight.hash)
    }
}
