//! The flights that are in the air, by key: shards of hash tables, each under a lock of its own.
//!
//! G1. A flight is in the table from before anybody waits for it until before anybody sees its answer.
//! G2. A flight is taken out by identity, never by key: its end does not remove a newer one.
//! G3. No lock is taken under a shard's: a flight is joined in one atomic step. Nothing is woken there, and nothing of the user's
//!     is dropped; of a key, `Borrow`, `Eq` and `ToOwned` are used.

use super::node::Shared;
use super::stats::Stats;
use crate::observe::Watch;
use crate::sync::{AtomicU64, Mutex, Ordering};
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};

/// A shard under its lock.
type Locked<K, V, E> = Padded<Mutex<Shard<K, V, E>>>;

/// Entries that a shard has room for without giving it back.
const ROOM: usize = 512;

/// The shards.
pub(crate) struct Table<K, V, E, S> {
    hasher: S,
    shards: Box<[Locked<K, V, E>]>,
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

/// Keeps its neighbours out of its cache lines (two of them: the prefetcher fetches pairs).
#[repr(align(128))]
struct Padded<T>(T);

impl<K, V, E, S: BuildHasher> Table<K, V, E, S> {
    pub(crate) fn new(hasher: S, shards: usize, watch: Option<Watch<K>>) -> Self {
        let shard = || {
            Padded(Mutex::new(Shard {
                flights: HashTable::new(),
                closed: false,
                stats: Stats::default(),
            }))
        };
        let shards = (0..shards.next_power_of_two()).map(|_| shard()).collect();
        Self {
            hasher,
            shards,
            epoch: AtomicU64::new(0),
            watch,
        }
    }

    pub(crate) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }
}

impl<K, V, E, S> Table<K, V, E, S> {
    pub(crate) fn shard(&self, hash: u64) -> &Mutex<Shard<K, V, E>> {
        // The table inside takes its bits from both ends of the hash; these are from the middle.
        let at = (hash >> 32) as usize & (self.shards.len() - 1);
        &self.shards[at].0
    }

    pub(crate) fn shards(&self) -> impl Iterator<Item = &Mutex<Shard<K, V, E>>> {
        self.shards.iter().map(|shard| &shard.0)
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
        let taken = self.flights.find_entry(hash, which).ok()?.remove().0;
        // A peak is given back: the table is never eight times as large as it need be, but for a few hundred entries.
        if self.flights.capacity() > ROOM && self.flights.len() < self.flights.capacity() / 8 {
            self.shrink();
        }
        Some(taken)
    }

    #[cold]
    fn shrink(&mut self) {
        self.flights
            .shrink_to(2 * self.flights.len(), |flight| flight.hash);
    }
}
