//! Whose turn it is: chunks run side by side, but at each table they queue in the order in which they were read.
//!
//!   lane "club":   chunk 4 writes ── 5 waits ── 6 waits          lane "match":   chunk 3 writes ── 4 …
//!
//! So "the first row wins" and "the last row wins" mean the order of the feed, with any number of workers; the chunks still
//! overlap, each at another table.
//!
//! T1. In every lane, every chunk takes its turn or skips it, exactly once.   T2. Turns come in the order of the numbers.

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

impl Turns {
    pub(crate) fn new(lanes: usize) -> Self {
        Self((0..lanes).map(|_| Mutex::default()).collect())
    }

    /// Waits until all chunks before `chunk` have had their turn in `lane`, and takes its own.
    pub(crate) async fn take(&self, lane: usize, chunk: u64) -> Turn<'_> {
        self.wait(lane, chunk).await;
        Turn {
            lane: &self.0[lane],
        }
    }

    /// Waits until all chunks before `chunk` have had their turn in `lane`. Its own is still to be taken or skipped.
    pub(crate) async fn wait(&self, lane: usize, chunk: u64) {
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

    /// Says that `chunk` has nothing to do in `lane`.
    pub(crate) fn skip(&self, lane: usize, chunk: u64) {
        let mut state = self.0[lane].lock();
        if state.next == chunk {
            state.advance();
        } else {
            state.ahead.insert(chunk, Ahead::Skips);
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
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.lane.lock().advance();
    }
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
}
