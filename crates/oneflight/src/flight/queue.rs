//! The waiters of a flight: a slot each, O(1) to join, to re-poll and to leave.
//!
//!   first: a slot in the flight itself (a lone caller allocates nothing)      rest: a slab with a free list
//!
//! Q1. A slot belongs to one waiter from `add` until `remove`.
//! Q2. No waker is dropped or woken in here: what leaves the queue is handed out, to be dropped or woken after the lock.

use super::panics::hushed;
use std::task::Waker;

const NONE: u32 = u32::MAX;

/// The slots of a flight's waiters.
#[derive(Debug)]
pub(crate) struct Queue {
    first: Slot,
    rest: Vec<Slot>,
    free: u32,
    /// Where the search for somebody to wake goes on.
    cursor: u32,
}

#[derive(Debug)]
enum Slot {
    /// Nobody's; the next free one of `rest`.
    Free(u32),
    /// A waiter's that has not been polled yet.
    Unpolled,
    Waiting(Waker),
}

/// All wakers of a queue.
#[derive(Debug)]
pub(crate) struct Wakers {
    first: Option<Waker>,
    rest: Vec<Slot>,
}

impl Queue {
    /// A queue with one waiter, in slot 0.
    pub(crate) fn with_one() -> Self {
        Self {
            first: Slot::Unpolled,
            rest: Vec::new(),
            free: NONE,
            cursor: 0,
        }
    }

    /// A slot for one more waiter.
    pub(crate) fn add(&mut self) -> u32 {
        if matches!(self.first, Slot::Free(_)) {
            self.first = Slot::Unpolled;
            return 0;
        }
        if self.free == NONE {
            self.rest.push(Slot::Unpolled);
            return u32::try_from(self.rest.len()).unwrap_or(NONE);
        }
        let at = self.free;
        if let Slot::Free(next) = std::mem::replace(self.slot(at), Slot::Unpolled) {
            self.free = next;
        } else {
            debug_assert!(false, "Q1: the free list leads to a slot in use");
        }
        at
    }

    /// Puts the waker of the waiter in slot `at`; hands out the one it replaces (Q2).
    pub(crate) fn set(&mut self, at: u32, waker: &Waker) -> Option<Waker> {
        let slot = self.slot(at);
        debug_assert!(!matches!(slot, Slot::Free(_)), "Q1: slot {at} is nobody's");
        if matches!(slot, Slot::Waiting(there) if there.will_wake(waker)) {
            return None;
        }
        std::mem::replace(slot, Slot::Waiting(waker.clone())).waker()
    }

    /// Frees slot `at`; hands out its waker (Q2).
    pub(crate) fn remove(&mut self, at: u32) -> Option<Waker> {
        let free = if at == 0 {
            NONE
        } else {
            std::mem::replace(&mut self.free, at)
        };
        std::mem::replace(self.slot(at), Slot::Free(free)).waker()
    }

    /// A copy of the waker in slot `at`.
    pub(crate) fn waker(&mut self, at: u32) -> Option<Waker> {
        if at as usize > self.rest.len() {
            return None;
        }
        match self.slot(at) {
            Slot::Waiting(waker) => Some(waker.clone()),
            Slot::Free(_) | Slot::Unpolled => None,
        }
    }

    /// The next waiter in turn that has a waker, and is not in slot `but`.
    ///
    /// It goes on where it stopped, so that a mass of waiters that leave one by one costs one walk, not one each.
    pub(crate) fn next(&mut self, but: u32) -> Option<(u32, Waker)> {
        let slots = u32::try_from(self.rest.len() + 1).unwrap_or(NONE);
        for _ in 0..slots {
            self.cursor = (self.cursor + 1) % slots;
            let at = self.cursor;
            if at != but
                && let Slot::Waiting(waker) = self.slot(at)
            {
                return Some((at, waker.clone()));
            }
        }
        None
    }

    /// Empties the queue.
    pub(crate) fn take(&mut self) -> Wakers {
        self.free = NONE;
        let first = std::mem::replace(&mut self.first, Slot::Unpolled).waker();
        Wakers {
            first,
            rest: std::mem::take(&mut self.rest),
        }
    }

    fn slot(&mut self, at: u32) -> &mut Slot {
        if at == 0 {
            &mut self.first
        } else {
            &mut self.rest[at as usize - 1]
        }
    }
}

impl Slot {
    fn waker(self) -> Option<Waker> {
        match self {
            Self::Waiting(waker) => Some(waker),
            Self::Free(_) | Self::Unpolled => None,
        }
    }
}

impl Wakers {
    /// Wakes them all. Never under a lock.
    pub(crate) fn wake(self) {
        wake_all(
            self.first
                .into_iter()
                .chain(self.rest.into_iter().filter_map(Slot::waker)),
        );
    }
}

/// Wakes them all, also when one of them panics. Never under a lock.
pub(crate) fn wake_all(wakers: impl Iterator<Item = Waker>) {
    wakers.for_each(|waker| hushed(|| waker.wake()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again_and_never_shared() {
        let mut queue = Queue::with_one();
        assert_eq!((queue.add(), queue.add(), queue.add()), (1, 2, 3));
        queue.remove(2);
        queue.remove(0);
        queue.remove(1);
        let mut again = [queue.add(), queue.add(), queue.add(), queue.add()];
        again.sort_unstable();
        assert_eq!(again, [0, 1, 2, 4]);
    }

    #[test]
    fn the_search_goes_round_and_skips_the_one_it_is_told_to() {
        let mut queue = Queue::with_one();
        for at in 1..4 {
            assert_eq!(queue.add(), at);
        }
        for at in [0, 1, 3] {
            queue.set(at, Waker::noop());
        }
        let found: Vec<u32> = (0..4)
            .filter_map(|_| queue.next(0))
            .map(|(at, _)| at)
            .collect();
        assert_eq!(found, [1, 3, 1, 3]);
        assert!(queue.take().first.is_some());
    }

    #[test]
    fn a_slot_is_no_more_than_a_waker_and_a_word() {
        assert!(size_of::<Slot>() <= size_of::<Waker>() + size_of::<usize>());
    }
}
