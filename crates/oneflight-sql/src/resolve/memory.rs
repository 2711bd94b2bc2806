//! What is remembered: which id a key had when a batch with it was last committed.
//!
//! ```text
//!   begin ──▶ Watch (a batch is under way) ──remember──▶ shard:  index (print ▶ place) ▶ rows, in pages ◀── hand of the clock
//!                  ▲
//!   forget ────────┘ whatever is under way when `forget` comes is not stored
//! ```
//!
//! M1. Only what has been committed is stored; a creation that failed leaves nothing.
//! M2. An answer that was asked for before `forget(key)` returned is not stored after it.
//! M3. No more entries than the capacity; none at all if that is 0. What is not there takes no room.
//! M4. When a shard is full, a row that was not asked for since the hand last passed it makes room.

use super::identity::Print;
use crate::value::Value;
use hashbrown::HashTable;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

/// Shards of a memory that is worth dividing.
const SHARDS: usize = 16;
/// Rows for which one shard is enough.
const SMALL: usize = 4_096;
/// Rows that are allocated at once: the rows stay where they are when more come.
const PAGE: usize = 256;

/// The remembered rows, and the batches that are under way.
#[derive(Debug)]
pub(crate) struct Memory {
    /// None if nothing is to be remembered.
    shards: Box<[Mutex<Shard>]>,
    // LOCK: taken once a batch and once a `forget`, before that of a shard; rows are changed under it, so that a `forget` comes
    // before a batch stores or after it, never in between (M2).
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
    forgotten: HashSet<Print>,
}

impl Memory {
    pub(crate) fn new(capacity: usize) -> Self {
        let shards = match capacity {
            0 => 0,
            1..SMALL => 1,
            _ => SHARDS,
        };
        let shard = |_| Mutex::new(Shard::new(capacity / shards));
        Self {
            shards: (0..shards).map(shard).collect(),
            watches: Mutex::default(),
        }
    }

    pub(crate) fn get(&self, print: Print) -> Option<Remembered> {
        self.shard(print)?.lock().get(print)
    }

    /// Many at once, in the order of the prints. Shard by shard: with a lock around each look-up, the processor would wait for the
    /// memory of one before it asks for that of the next.
    pub(crate) fn get_many(&self, prints: &[Print]) -> Vec<Option<Remembered>> {
        let mut found = vec![None; prints.len()];
        let mut of_shard: Vec<Vec<u32>> = vec![Vec::new(); self.shards.len()];
        for (at, print) in (0u32..).zip(prints) {
            if let Some(of_shard) = of_shard.get_mut(self.shard_of(*print)) {
                of_shard.push(at);
            }
        }
        for (shard, asked) in self.shards.iter().zip(of_shard) {
            let mut shard = shard.lock();
            for at in asked {
                found[at as usize] = shard.get(prints[at as usize]);
            }
        }
        found
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len).sum()
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

    pub(crate) fn forget(&self, print: Print) {
        let Some(shard) = self.shard(print) else {
            return;
        };
        let mut watches = self.watches.lock();
        for batch in &mut watches.under_way {
            batch.forgotten.insert(print);
        }
        shard.lock().remove(print);
    }

    pub(crate) fn forget_all(&self) {
        let mut watches = self.watches.lock();
        for batch in &mut watches.under_way {
            batch.all_forgotten = true;
        }
        for shard in &self.shards {
            let mut shard = shard.lock();
            *shard = Shard::new(shard.capacity);
        }
    }

    fn shard(&self, print: Print) -> Option<&Mutex<Shard>> {
        self.shards.get(self.shard_of(print))
    }

    /// The index of a shard goes by the other half of the print.
    fn shard_of(&self, print: Print) -> usize {
        print.1 as usize % self.shards.len().max(1)
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
    pub(crate) fn remember(&self, rows: impl Iterator<Item = (Print, Remembered)>) {
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
            if let Some(shard) = self.memory.shard(print) {
                shard.lock().insert(print, remembered);
            }
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

/// A part of the rows: those whose prints lead here.
#[derive(Debug)]
struct Shard {
    capacity: usize,
    len: usize,
    /// The place of each row.
    index: HashTable<u32>,
    /// All pages are full but the last one.
    pages: Vec<Vec<Row>>,
    /// The place that is looked at next when room is needed.
    hand: usize,
}

#[derive(Debug)]
struct Row {
    print: Print,
    id: Value,
    detail: u64,
    conflicts: u32,
    /// True if somebody asked for it since the hand last passed.
    is_used: bool,
}

impl Shard {
    fn new(capacity: usize) -> Self {
        Self {
            // A place is 32 bits.
            capacity: capacity.min(u32::MAX as usize),
            len: 0,
            index: HashTable::new(),
            pages: Vec::new(),
            hand: 0,
        }
    }

    fn get(&mut self, print: Print) -> Option<Remembered> {
        let at = self.place(print)?;
        let row = &mut self.pages[at / PAGE][at % PAGE];
        row.is_used = true;
        Some(Remembered {
            id: row.id.clone(),
            detail: row.detail,
            conflicts: row.conflicts,
        })
    }

    fn insert(&mut self, print: Print, remembered: Remembered) {
        let Remembered {
            id,
            detail,
            conflicts,
        } = remembered;
        let row = Row {
            print,
            id,
            detail,
            conflicts,
            is_used: false,
        };
        let at = match self.place(print) {
            Some(at) => {
                self.pages[at / PAGE][at % PAGE] = row;
                return;
            }
            None if self.len == self.capacity => self.free(),
            None => self.len,
        };
        if at < self.len {
            self.pages[at / PAGE][at % PAGE] = row;
        } else {
            if self.len == self.pages.len() * PAGE {
                let room = PAGE.min(self.capacity - self.len);
                self.pages.push(Vec::with_capacity(room));
            }
            self.pages[at / PAGE].push(row);
            self.len += 1;
        }
        let Self { index, pages, .. } = self;
        let hash = |at: &u32| pages[*at as usize / PAGE][*at as usize % PAGE].print.0;
        index.insert_unique(print.0, at as u32, hash);
    }

    fn remove(&mut self, print: Print) {
        let Some(at) = self.unlist(print) else { return };
        self.len -= 1;
        // The last row takes the place that is free now, so that all pages but the last stay full.
        let Some(last) = self.pages[self.len / PAGE].pop() else {
            return;
        };
        if at != self.len {
            let is_last = |place: &u32| *place as usize == self.len;
            if let Some(place) = self.index.find_mut(last.print.0, is_last) {
                *place = at as u32;
            }
            self.pages[at / PAGE][at % PAGE] = last;
        }
        self.pages.truncate(self.len.div_ceil(PAGE));
    }

    /// Makes a place free (M4), and says which. The hand passes each row twice at most.
    fn free(&mut self) -> usize {
        loop {
            let at = self.hand % self.len;
            self.hand = at + 1;
            let row = &mut self.pages[at / PAGE][at % PAGE];
            if !std::mem::take(&mut row.is_used) {
                let print = row.print;
                self.unlist(print);
                return at;
            }
        }
    }

    /// Takes a row out of the index, and says where it is.
    fn unlist(&mut self, print: Print) -> Option<usize> {
        let Self { index, pages, .. } = self;
        let is_it = |at: &u32| pages[*at as usize / PAGE][*at as usize % PAGE].print == print;
        let entry = index.find_entry(print.0, is_it).ok()?;
        Some(entry.remove().0 as usize)
    }

    fn place(&self, print: Print) -> Option<usize> {
        let is_it = |at: &u32| self.pages[*at as usize / PAGE][*at as usize % PAGE].print == print;
        self.index.find(print.0, is_it).map(|at| *at as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A print like those of keys: both halves look random.
    fn print(n: u64) -> Print {
        Print(
            n.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            n.wrapping_mul(0xd1b5_4a32_d192_ed03) >> 7,
        )
    }

    fn row(id: i64) -> Remembered {
        Remembered {
            id: Value::Int(id),
            detail: 0,
            conflicts: 0,
        }
    }

    fn id(memory: &Memory, n: u64) -> Option<i64> {
        memory.get(print(n)).map(|row| match row.id {
            Value::Int(id) => id,
            other => panic!("{other:?}"),
        })
    }

    fn rows<const N: usize>(rows: [(u64, i64); N]) -> impl Iterator<Item = (Print, Remembered)> {
        rows.into_iter().map(|(n, id)| (print(n), row(id)))
    }

    #[test]
    fn what_is_in_the_air_when_forget_comes_is_not_stored() {
        let memory = Arc::new(Memory::new(10));
        let early = memory.begin();
        memory.forget(print(1));
        let late = memory.begin();
        early.remember(rows([(1, 10), (2, 20)]));
        assert_eq!((id(&memory, 1), id(&memory, 2)), (None, Some(20)));
        late.remember(rows([(1, 11)]));
        assert_eq!(id(&memory, 1), Some(11));
        memory.forget_all();
        late.remember(rows([(1, 11), (3, 30)]));
        assert_eq!(memory.len(), 0);
        memory.begin().remember(rows([(1, 12)]));
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
        for capacity in [1, 100, 5_000] {
            let memory = Arc::new(Memory::new(capacity));
            memory
                .begin()
                .remember((0..20_000).map(|n| (print(n), row(1))));
            assert!(memory.len() <= capacity, "M3: {}", memory.len());
            assert!(memory.len() > capacity / 2, "M3: {}", memory.len());
        }
        let off = Arc::new(Memory::new(0));
        off.begin().remember(rows([(1, 1)]));
        off.forget(print(1));
        off.forget_all();
        assert_eq!((off.len(), id(&off, 1)), (0, None));
    }

    #[test]
    fn what_is_asked_for_again_and_again_stays_when_much_passes_by() {
        let memory = Arc::new(Memory::new(100));
        for n in 0..5_000 {
            memory.begin().remember(rows([(1_000_000 + n, 1)]));
            if n == 0 {
                memory.begin().remember(rows([(1, 1), (2, 2)]));
            }
            assert_eq!((id(&memory, 1), id(&memory, 2)), (Some(1), Some(2)), "M4");
        }
    }

    #[test]
    fn any_order_of_storing_and_forgetting_leaves_what_was_stored_last() {
        let memory = Arc::new(Memory::new(40_000));
        let mut expected = std::collections::HashMap::new();
        let mut dice = 7_u64;
        for step in 0..60_000 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let n = (dice >> 33) % 1_500;
            if dice >> 62 == 0 {
                memory.forget(print(n));
                expected.remove(&n);
            } else {
                memory.begin().remember(rows([(n, step)]));
                expected.insert(n, step);
            }
        }
        assert_eq!(memory.len(), expected.len());
        for n in 0..1_500 {
            assert_eq!(id(&memory, n), expected.get(&n).copied(), "row {n}");
        }
        let asked: Vec<Print> = (0..1_500).rev().map(print).collect();
        let found = memory.get_many(&asked).into_iter().rev();
        for (n, found) in (0..1_500).zip(found) {
            let found = found.map(|row| row.id);
            let expected = expected.get(&n).map(|id| Value::Int(*id));
            assert_eq!(found, expected, "row {n} of many");
        }
    }
}
