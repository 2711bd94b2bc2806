//! What is remembered: which id a key had when a batch with it was last committed.
//!
//!   begin ──▶ Watch (a batch is under way) ──remember──▶ the bounded cache
//!                  ▲
//!   forget ────────┘ whatever is under way when `forget` comes is not stored
//!
//! M1. Only what has been committed is stored; a creation that failed leaves nothing.
//! M2. An answer that was asked for before `forget(key)` returned is not stored after it.
//! M3. No more entries than the capacity; none at all if that is 0.

use crate::value::Value;
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use std::collections::HashSet;
use std::sync::Arc;

/// The cache, and the batches that are under way.
#[derive(Debug)]
pub(crate) struct Memory {
    cache: Option<Cache<u128, Remembered>>,
    // LOCK: taken once a batch and once a `forget`; the cache is changed under it, so that a `forget` comes before a batch
    // stores or after it, never in between (M2).
    watches: Mutex<Watches>,
}

/// What a row was when it was last seen.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    /// Its id.
    pub(crate) id: Value,
    /// What was last said of it, see [`super::identity`].
    pub(crate) detail: u64,
    /// How much of that differed from what it keeps.
    pub(crate) conflicts: u32,
}

#[derive(Debug, Default)]
struct Watches {
    next: u64,
    under_way: Vec<UnderWay>,
}

#[derive(Debug)]
struct UnderWay {
    number: u64,
    all_forgotten: bool,
    forgotten: HashSet<u128>,
}

impl Memory {
    pub(crate) fn new(capacity: usize) -> Self {
        let cache = (capacity > 0).then(|| Cache::new(capacity));
        Self {
            cache,
            watches: Mutex::default(),
        }
    }

    pub(crate) fn get(&self, print: u128) -> Option<Remembered> {
        self.cache.as_ref()?.get(&print)
    }

    pub(crate) fn len(&self) -> usize {
        self.cache.as_ref().map_or(0, Cache::len)
    }

    /// Says that a batch begins: from now on its answers are in the air.
    pub(crate) fn begin(self: &Arc<Self>) -> Watch {
        let mut watches = self.watches.lock();
        watches.next += 1;
        let number = watches.next;
        watches.under_way.push(UnderWay {
            number,
            all_forgotten: false,
            forgotten: HashSet::new(),
        });
        Watch {
            memory: Arc::clone(self),
            number,
        }
    }

    pub(crate) fn forget(&self, print: u128) {
        let Some(cache) = &self.cache else { return };
        let mut watches = self.watches.lock();
        for batch in &mut watches.under_way {
            batch.forgotten.insert(print);
        }
        cache.remove(&print);
    }

    pub(crate) fn forget_all(&self) {
        let Some(cache) = &self.cache else { return };
        let mut watches = self.watches.lock();
        for batch in &mut watches.under_way {
            batch.all_forgotten = true;
        }
        cache.clear();
    }
}

/// A batch that is under way. Dropping it ends that.
#[derive(Debug)]
#[must_use = "what is forgotten is noted while the watch lives"]
pub(crate) struct Watch {
    memory: Arc<Memory>,
    number: u64,
}

impl Watch {
    /// Stores what has been committed (M1), but for what was forgotten meanwhile (M2).
    pub(crate) fn remember(&self, rows: impl Iterator<Item = (u128, Remembered)>) {
        let Some(cache) = &self.memory.cache else {
            return;
        };
        let watches = self.memory.watches.lock();
        let Some(batch) = watches
            .under_way
            .iter()
            .find(|batch| batch.number == self.number)
        else {
            return;
        };
        if batch.all_forgotten {
            return;
        }
        for (print, remembered) in rows.filter(|(print, _)| !batch.forgotten.contains(print)) {
            cache.insert(print, remembered);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.memory
            .watches
            .lock()
            .under_way
            .retain(|batch| batch.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: i64) -> Remembered {
        Remembered {
            id: Value::Int(id),
            detail: 0,
            conflicts: 0,
        }
    }

    fn id(memory: &Memory, print: u128) -> Option<i64> {
        memory.get(print).map(|row| match row.id {
            Value::Int(id) => id,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn what_is_in_the_air_when_forget_comes_is_not_stored() {
        let memory = Arc::new(Memory::new(10));
        let early = memory.begin();
        memory.forget(1);
        let late = memory.begin();
        early.remember([(1, row(10)), (2, row(20))].into_iter());
        assert_eq!((id(&memory, 1), id(&memory, 2)), (None, Some(20)));
        late.remember([(1, row(11))].into_iter());
        assert_eq!(id(&memory, 1), Some(11));
        memory.forget_all();
        late.remember([(1, row(11)), (3, row(30))].into_iter());
        assert_eq!(memory.len(), 0);
        memory.begin().remember([(1, row(12))].into_iter());
        assert_eq!(id(&memory, 1), Some(12));
    }

    #[test]
    fn a_watch_that_ends_leaves_nothing_behind() {
        let memory = Arc::new(Memory::new(10));
        drop((memory.begin(), memory.begin()));
        assert!(memory.watches.lock().under_way.is_empty());
    }

    #[test]
    fn the_memory_is_bounded_and_can_be_off() {
        let memory = Arc::new(Memory::new(100));
        memory
            .begin()
            .remember((0..10_000).map(|print| (print, row(1))));
        assert!(memory.len() <= 100, "M3: {}", memory.len());
        let off = Arc::new(Memory::new(0));
        off.begin().remember([(1, row(1))].into_iter());
        off.forget(1);
        off.forget_all();
        assert_eq!((off.len(), id(&off, 1)), (0, None));
    }
}
