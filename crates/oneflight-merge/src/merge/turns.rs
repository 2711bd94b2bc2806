//! Whose turn it is: chunks run side by side, but at each table they queue in the order in which they were read.
//!
//!   lane "club":    chunk 4 writes ── 5 waits ── 6 waits          lane "match":   chunks 2 and 3 fly ── 4 waits: it has a key of 2's
//!
//! So "the first row wins" and "the last row wins" mean the order of the feed, with any number of workers; the chunks still
//! overlap, each at another table, or at one table with other keys.
//!
//! T1. In every lane, every chunk takes its turn, flies or skips it, exactly once.
//! T2. Turns come in the order of the numbers. A turn begins when all that flew off before it have landed.
//! T3. A chunk flies off in its turn, which ends with that; no two that fly at once have a key in common.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// The lanes, one for each place where chunks queue.
#[derive(Debug)]
pub(crate) struct Turns(Vec<Mutex<Lane>>);

#[derive(Debug, Default)]
struct Lane {
    next: u64,
    ahead: BTreeMap<u64, Ahead>,
    /// The chunks in flight, and the hashes of their keys, sorted.
    flying: Vec<(u64, Vec<u64>)>,
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
        self.landed(lane, |_| true).await;
        turn
    }

    /// Waits until all chunks before `chunk` have had their turn in `lane`, fewer than `most` fly, and none of those has one of
    /// `keys`; then flies off (T3).
    pub(crate) async fn fly(
        &self,
        lane: usize,
        chunk: u64,
        mut keys: Vec<u64>,
        most: usize,
    ) -> Flying<'_> {
        keys.sort_unstable();
        let turn = self.begin(lane, chunk).await;
        loop {
            let landing = {
                let mut state = self.0[lane].lock();
                let is_free = state.flying.len() < most.max(1)
                    && state.flying.iter().all(|(_, others)| !meet(&keys, others));
                if is_free {
                    state.flying.push((chunk, keys));
                    break;
                }
                state.await_landing()
            };
            // The sender is dropped only with the lanes themselves, which we borrow.
            let _ = landing.await;
        }
        drop(turn);
        let lane = &self.0[lane];
        Flying { lane, chunk }
    }

    /// Waits until all chunks before `chunk` have had their turn in `lane` and have landed. Its own is still to be taken or
    /// skipped.
    pub(crate) async fn wait(&self, lane: usize, chunk: u64) {
        self.come(lane, chunk).await;
        self.landed(lane, |flying| flying < chunk).await;
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

    /// Waits until none of these chunks flies.
    async fn landed(&self, lane: usize, which: impl Fn(u64) -> bool) {
        loop {
            let landing = {
                let mut state = self.0[lane].lock();
                if !state.flying.iter().any(|(chunk, _)| which(*chunk)) {
                    return;
                }
                state.await_landing()
            };
            // The sender is dropped only with the lanes themselves, which we borrow.
            let _ = landing.await;
        }
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

/// True if two sorted lists have something in common.
fn meet(a: &[u64], b: &[u64]) -> bool {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(&&left), Some(&&right)) = (a.peek(), b.peek()) {
        match left.cmp(&right) {
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Less => a.next(),
            std::cmp::Ordering::Greater => b.next(),
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use std::pin::pin;

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
        let first = turns.fly(0, 0, vec![3, 1], 4).now_or_never();
        let second = turns.fly(0, 1, vec![2, 4], 4).now_or_never();
        assert!(first.is_some() && second.is_some());
        drop((first, second));
        assert!(turns.take(0, 2).now_or_never().is_some());
    }

    #[test]
    fn a_chunk_waits_for_one_that_has_a_key_of_its_own_and_the_next_queue_behind_it() {
        let turns = Turns::new(1);
        let first = turns.fly(0, 0, vec![1, 2], 4).now_or_never();
        let other = turns.fly(0, 1, vec![5], 4).now_or_never();
        let mut meets = pin!(turns.fly(0, 2, vec![9, 2], 4));
        let mut behind = pin!(turns.fly(0, 3, vec![7], 4));
        assert!(meets.as_mut().now_or_never().is_none(), "T3");
        assert!(behind.as_mut().now_or_never().is_none(), "T2");
        drop(other);
        assert!(meets.as_mut().now_or_never().is_none(), "T3");
        drop(first);
        let _meets = meets.as_mut().now_or_never().expect("its key is free");
        assert!(behind.as_mut().now_or_never().is_some());
    }

    #[test]
    fn no_more_fly_than_may() {
        let turns = Turns::new(1);
        let first = turns.fly(0, 0, vec![1], 1).now_or_never();
        let mut second = pin!(turns.fly(0, 1, vec![2], 1));
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        assert!(second.as_mut().now_or_never().is_some());
    }

    #[test]
    fn who_waits_for_all_before_it_waits_for_those_in_flight() {
        let turns = Turns::new(1);
        let flying = turns.fly(0, 0, vec![1], 4).now_or_never();
        let mut looks = pin!(turns.wait(0, 1));
        assert!(looks.as_mut().now_or_never().is_none(), "T2");
        drop(flying);
        assert!(looks.as_mut().now_or_never().is_some());
        let flying = turns.fly(0, 1, vec![1], 4).now_or_never();
        let mut takes = pin!(turns.take(0, 2));
        assert!(takes.as_mut().now_or_never().is_none(), "T2");
        drop(flying);
        assert!(takes.as_mut().now_or_never().is_some());
    }

    #[test]
    fn one_that_is_given_up_while_it_waits_for_a_key_lets_the_next_come() {
        let turns = Turns::new(1);
        let _first = turns.fly(0, 0, vec![1], 4).now_or_never();
        {
            let mut gone = Box::pin(turns.fly(0, 1, vec![1], 4));
            assert!(gone.as_mut().now_or_never().is_none());
        }
        assert!(turns.fly(0, 2, vec![2], 4).now_or_never().is_some());
    }
}
