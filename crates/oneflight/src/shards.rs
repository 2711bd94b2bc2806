//! What stands in a table of flights is spread over shards, each under a lock of its own.
//!
//! U1. A shard is chosen by the middle of the hash: the table inside takes its bits from both ends.
//! U2. A peak is given back: no table stays eight times as large as it need be, but for a few hundred entries.

use crate::sync::{Mutex, OnceLock};
use hashbrown::HashTable;

/// Entries that a table has room for without giving it back.
const ROOM: usize = 512;

/// Values under locks.
pub(crate) struct Shards<T>(Box<[Padded<Mutex<T>>]>);

/// Keeps its neighbours out of its cache lines (two of them: the prefetcher fetches pairs).
#[repr(align(128))]
struct Padded<T>(T);

impl<T> Shards<T> {
    /// So many, rounded up to a power of two. With 0, as usual: four for each core, between 4 and 64.
    pub(crate) fn new(count: usize, make: impl Fn() -> T) -> Self {
        let count = if count == 0 { usual() } else { count };
        let shards = 0..count.next_power_of_two();
        Self(shards.map(|_| Padded(Mutex::new(make()))).collect())
    }

    /// The one for this hash (U1).
    #[inline]
    pub(crate) fn of(&self, hash: u64) -> &Mutex<T> {
        let at = (hash >> 32) as usize & (self.0.len() - 1);
        &self.0[at].0
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mutex<T>> {
        self.0.iter().map(|shard| &shard.0)
    }
}

fn usual() -> usize {
    // Asked for once: a group may be made for each request, and the system takes its time to tell.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
    (4 * cores).clamp(4, 64)
}

/// Takes out the entry with this hash that is `which`; gives room back (U2).
#[inline]
pub(crate) fn take<T>(
    entries: &mut HashTable<T>,
    hash: u64,
    which: impl FnMut(&T) -> bool,
    hash_of: impl Fn(&T) -> u64,
) -> Option<T> {
    let taken = entries.find_entry(hash, which).ok()?.remove().0;
    if entries.capacity() > ROOM && entries.len() < entries.capacity() / 8 {
        shrink(entries, hash_of);
    }
    Some(taken)
}

#[cold]
fn shrink<T>(entries: &mut HashTable<T>, hash_of: impl Fn(&T) -> u64) {
    entries.shrink_to(2 * entries.len(), hash_of);
}
