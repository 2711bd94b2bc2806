//! Whose turn it is: chunks run side by side, but at each table they queue in the order in which they were read.
//!
//!   lane "club":    chunk 4 writes ── 5 waits ── 6 waits          lane "match":   chunks 2 and 3 fly ── 4 waits: it has a key of 2's
//!
//! So "the first row wins" and "the last row wins" mean the order of the feed, with any number of workers; the chunks still
//! overlap, each at another table, or at one table with other keys.
//!
//! T1. In every lane, every chunk takes its turn, flies or skips it, exactly once.
//! T2. Turns come in the order of the numbers. One that is taken begins when all that flew off before it have landed.
//! T3. A chunk flies off in its turn; no two that fly at once cross: say different things of one key.
//! T4. Those that joined each other's flights take their answers in the order of their numbers.

use parking_lot::Mutex;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// The lanes, one for each place where chunks queue.
#[derive(Debug)]
pub(crate) struct Turns(Vec<Mutex<Lane>>);

/// A key that a chunk speaks of, and what it says. Chunks that say the same of it may be under way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    /// A hash of the key.
    pub(crate) key: u64,
    /// A hash of all that is said; one of the chunk's own where the same is not to be said by another meanwhile.
    pub(crate) said: u64,
}

#[derive(Debug, Default)]
struct Lane {
    next: u64,
    ahead: BTreeMap<u64, Ahead>,
    /// The chunks in flight, and their marks, sorted.
    flying: Vec<(u64, Vec<Mark>)>,
    /// Who waits for a landing: the chunk whose turn it is, and who only looks on.
    landing: Vec<oneshot::Sender<()>>,
}

/// A chunk that came to the lane before its turn.
#[derive(Debug)]
enum Ahead {
    Waits(oneshot::Sender<()>),
    Skips,
}

/// The turn of a chunk in a lane; the next one's begins when this is dropped.
#[must_use = "the turn ends when this is dropped"]
#[derive(Debug)]
pub(crate) struct Turn<'t> {
    lane: &'t Mutex<Lane>,
}

/// A chunk that writes while others of the same lane do; it lands when this is dropped.
#[must_use = "it lands when this is dropped"]
#[derive(Debug)]
pub(crate) struct Flying<'t> {
    lane: &'t Mutex<Lane>,
    chunk: u64,
}

impl Turns {
    pub(crate) fn new(lanes: usize) -> Self {
        Self((0..lanes).map(|_| Mutex::default()).collect())
    }

    /// Waits until all chunks before `chunk` have had their turn in `lane` and have landed, and takes its own.
    pub(crate) async fn take(&self, lane: usize, chunk: u64) -> Turn<'_> {
        let turn = self.begin(lane, chunk).await;
        landed(&self.0[lane], |_| true).await;
        turn
    }

    /// Waits until all chunks before `chunk` have had their turn in `lane` and none of those that fly would cross `marks`; then
    /// flies off (T3). It still has its turn, so that it may do something before the next one comes.
    pub(crate) async fn fly(
        &self,
        lane: usize,
        chunk: u64,
        mut marks: Vec<Mark>,
    ) -> (Turn<'_>, Flying<'_>) {
        marks.sort_unstable();
        let turn = self.begin(lane, chunk).await;
        loop {
            let landing = {
                let mut state = self.0[lane].lock();
                let mut flying = state.flying.iter();
                let is_free = flying.all(|(_, others)| !cross(&marks, others));
                if is_free {
                    state.flying.push((chunk, marks));
                    break;
                }
                state.await_landing()
            };
            // The sender is dropped only with the lanes themselves, which we borrow.
            let _ = landing.await;
        }
        let lane = &self.0[lane];
        (turn, Flying { lane, chunk })
    }

    /// Waits until all chunks before `chunk` have had their turn in `lane` and have landed. Its own is still to be taken or
    /// skipped.
    pub(crate) async fn wait(&self, lane: usize, chunk: u64) {
        self.come(lane, chunk).await;
        landed(&self.0[lane], |flying| flying < chunk).await;
    }

    /// Says that `chunk` has nothing to do in `lane`.
    pub(crate) fn skip(&self, lane: usize, chunk: u64) {
        let mut state = self.0[lane].lock();
        if state.next == chunk {
            state.advance();
        } else {
            state.ahead.insert(chunk, Ahead::Skips);
        }
    }

    async fn begin(&self, lane: usize, chunk: u64) -> Turn<'_> {
        self.come(lane, chunk).await;
        Turn {
            lane: &self.0[lane],
        }
    }

    /// Waits until it is the turn of `chunk`.
    async fn come(&self, lane: usize, chunk: u64) {
        let wait = {
            let mut state = self.0[lane].lock();
            debug_assert!(chunk >= state.next, "T1: chunk {chunk} comes twice");
            (state.next != chunk).then(|| {
                let (tell, told) = oneshot::channel();
                state.ahead.insert(chunk, Ahead::Waits(tell));
                told
            })
        };
        if let Some(told) = wait {
            // The sender is dropped only with the lanes themselves, which we borrow.
            let _ = told.await;
        }
    }
}

impl Flying<'_> {
    /// Waits until those have landed that flew off before (T4).
    pub(crate) async fn is_next(&self) {
        landed(self.lane, |chunk| chunk < self.chunk).await;
    }
}

/// Waits until none of these chunks flies.
async fn landed(lane: &Mutex<Lane>, which: impl Fn(u64) -> bool) {
    loop {
        let landing = {
            let mut state = lane.lock();
            if !state.flying.iter().any(|(chunk, _)| which(*chunk)) {
                return;
            }
            state.await_landing()
        };
        // The sender is dropped only with the lanes themselves, which we borrow.
        let _ = landing.await;
    }
}

impl Lane {
    fn advance(&mut self) {
        self.next += 1;
        while let Some(ahead) = self.ahead.remove(&self.next) {
            match ahead {
                Ahead::Skips => self.next += 1,
                // A waiter that is gone (its run was given up) has no turn to take.
                Ahead::Waits(tell) => match tell.send(()) {
                    Ok(()) => return,
                    Err(()) => self.next += 1,
                },
            }
        }
    }

    fn await_landing(&mut self) -> oneshot::Receiver<()> {
        let (tell, told) = oneshot::channel();
        self.landing.push(tell);
        told
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.lane.lock().advance();
    }
}

impl Drop for Flying<'_> {
    fn drop(&mut self) {
        let mut lane = self.lane.lock();
        lane.flying.retain(|(chunk, _)| *chunk != self.chunk);
        for tell in lane.landing.drain(..) {
            // Who does not wait any more has nothing to be told.
            let _ = tell.send(());
        }
    }
}

/// True if two sorted lists have a key in common and do not say the same of it.
fn cross(a: &[Mark], b: &[Mark]) -> bool {
    let same_key = |one: &Mark, other: &Mark| one.key == other.key;
    let mut a = a.chunk_by(same_key).peekable();
    let mut b = b.chunk_by(same_key).peekable();
    while let (Some(&left), Some(&right)) = (a.peek(), b.peek()) {
        let said = left[0].said;
        match left[0].key.cmp(&right[0].key) {
            Ordering::Less => drop(a.next()),
            Ordering::Greater => drop(b.next()),
            Ordering::Equal if left.iter().chain(right).any(|mark| mark.said != said) => {
                return true;
            }
            Ordering::Equal => drop((a.next(), b.next())),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use std::pin::pin;

    /// Flies off with keys that the chunk says itself, and lets the next one come.
    async fn fly(turns: &Turns, chunk: u64, keys: Vec<u64>) -> Flying<'_> {
        let marks = keys.into_iter().map(|key| Mark { key, said: chunk });
        let (_, flying) = turns.fly(0, chunk, marks.collect()).await;
        flying
    }

    #[test]
    fn turns_come_in_order_and_skips_are_passed_over() {
        let turns = Turns::new(1);
        let mut third = pin!(turns.take(0, 3));
        assert!(third.as_mut().now_or_never().is_none());
        turns.skip(0, 1);
        turns.skip(0, 2);
        assert!(third.as_mut().now_or_never().is_none());
        let first = turns
            .take(0, 0)
            .now_or_never()
            .expect("T2: it is chunk 0's turn");
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.as_mut().now_or_never().is_some());
    }

    #[test]
    fn lanes_do_not_know_of_each_other() {
        let turns = Turns::new(2);
        let _busy = turns.take(0, 0).now_or_never().expect("free");
        assert!(turns.take(1, 0).now_or_never().is_some());
    }

    #[test]
    fn a_waiter_that_is_gone_is_passed_over() {
        let turns = Turns::new(1);
        let first = turns.take(0, 0).now_or_never().expect("free");
        {
            let mut gone = Box::pin(turns.take(0, 1));
            assert!(gone.as_mut().now_or_never().is_none());
        }
        drop(first);
        assert!(turns.take(0, 2).now_or_never().is_some());
    }

    #[test]
    fn chunks_with_other_keys_write_side_by_side() {
        let turns = Turns::new(1);
        let first = fly(&turns, 0, vec![3, 1]).now_or_never();
        let second = fly(&turns, 1, vec![2, 4]).now_or_never();
        assert!(first.is_some() && second.is_some());
        drop((first, second));
        assert!(turns.take(0, 2).now_or_never().is_some());
    }

    #[test]
    fn a_chunk_waits_for_one_that_has_a_key_of_its_own_and_the_next_queue_behind_it() {
        let turns = Turns::new(1);
        let first = fly(&turns, 0, vec![1, 2]).now_or_never();
        let other = fly(&turns, 1, vec![5]).now_or_never();
        let mut meets = pin!(fly(&turns, 2, vec![9, 2]));
        let mut behind = pin!(fly(&turns, 3, vec![7]));
        assert!(meets.as_mut().now_or_never().is_none(), "T3");
        assert!(behind.as_mut().now_or_never().is_none(), "T2");
        drop(other);
        assert!(meets.as_mut().now_or_never().is_none(), "T3");
        drop(first);
        let _meets = meets.as_mut().now_or_never().expect("its key is free");
        assert!(behind.as_mut().now_or_never().is_some());
    }

    #[test]
    fn chunks_that_say_the_same_of_a_key_write_side_by_side() {
        let turns = Turns::new(1);
        let marks = |marks: &[(u64, u64)]| {
            let marks = marks.iter().map(|&(key, said)| Mark { key, said });
            marks.collect::<Vec<_>>()
        };
        let first = turns.fly(0, 0, marks(&[(1, 10), (2, 20)]));
        let (turn, first) = first.now_or_never().expect("nobody flies");
        let mut second = pin!(turns.fly(0, 1, marks(&[(3, 30), (2, 20)])));
        assert!(
            second.as_mut().now_or_never().is_none(),
            "T2: its turn is not over"
        );
        drop(turn);
        let second = second.as_mut().now_or_never();
        assert!(second.is_some_and(|(turn, _)| {
            drop(turn);
            true
        }));
        let mut third = pin!(turns.fly(0, 2, marks(&[(2, 21)])));
        assert!(third.as_mut().now_or_never().is_none(), "T3");
        drop(first);
        assert!(third.as_mut().now_or_never().is_some());
    }

    #[test]
    fn who_waits_for_all_before_it_waits_for_those_in_flight() {
        let turns = Turns::new(1);
        let flying = fly(&turns, 0, vec![1]).now_or_never();
        let mut looks = pin!(turns.wait(0, 1));
        assert!(looks.as_mut().now_or_never().is_none(), "T2");
        drop(flying);
        assert!(looks.as_mut().now_or_never().is_some());
        let flying = fly(&turns, 1, vec![1]).now_or_never();
        let mut takes = pin!(turns.take(0, 2));
        assert!(takes.as_mut().now_or_never().is_none(), "T2");
        drop(flying);
        assert!(takes.as_mut().now_or_never().is_some());
    }

    #[test]
    fn one_that_is_given_up_while_it_waits_for_a_key_lets_the_next_come() {
        let turns = Turns::new(1);
        let _first = fly(&turns, 0, vec![1]).now_or_never();
        {
            let mut gone = Box::pin(fly(&turns, 1, vec![1]));
            assert!(gone.as_mut().now_or_never().is_none());
        }
        assert!(fly(&turns, 2, vec![2]).now_or_never().is_some());
    }
}
