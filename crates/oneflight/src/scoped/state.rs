//! The state of a scoped flight, as pure transitions: who leads, who is woken, when it is over. Everything here happens under
//! the flight's lock; wakers are handed out, to be woken or dropped after it.
//!
//! ```text
//!             begin              land
//!   Vacant ──────────▶ Led ──────────────▶ Over
//!    │   ▲  hand over   │                   ▲
//!    │   └──────────────┘                   │
//!    └───────────── last one left ──────────┘      (the leader too may be the last)
//! ```
//!
//! P1. One caller leads at a time: between `begin` and `land` or `hand_over`. It holds no slot, since nobody has to wake it.
//! P2. While a flight that was led is vacant, one of its waiters is woken for it, the candidate; if the candidate leaves, the
//!     next. A waiter that has not been polled yet needs no wake. Whoever is polled first begins.
//! P3. Over is final. Nobody joins from then on.

use crate::waiting::queue::{NOBODY, Queue, Wakers};
use std::task::Waker;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Vacant,
    Led,
    Over,
}

/// The state of a flight.
#[derive(Debug)]
pub(crate) struct State {
    phase: Phase,
    /// Somebody has led it.
    begun: bool,
    /// The waiter that was woken to lead.
    candidate: u32,
    /// Callers that wait now; a leader is none.
    waiters: u32,
    /// Callers that have waited or led, ever.
    callers: u32,
    queue: Queue,
}

/// What a polled waiter has to do. Wakers in here are to be dropped after the lock.
#[derive(Debug)]
pub(crate) enum Turn {
    Wait(#[allow(dead_code, reason = "held to be dropped after the lock")] Option<Waker>),
    /// Lead. `again`: another has led before, and left.
    Begin {
        again: bool,
        _old: Option<Waker>,
    },
    /// Take the answer.
    Over,
}

/// What it comes to when somebody leaves, a waiter or the leader.
#[derive(Debug)]
pub(crate) enum Left {
    /// Others are there; this one is to be woken, to lead.
    Goes(Option<Waker>),
    /// It was the last.
    Last,
    /// It was over already.
    Over,
}

impl State {
    /// A flight with one waiter.
    pub(crate) fn vacant() -> Self {
        Self {
            phase: Phase::Vacant,
            begun: false,
            candidate: NOBODY,
            waiters: 1,
            callers: 1,
            queue: Queue::default(),
        }
    }

    /// How many callers have shared the flight so far.
    pub(crate) fn callers(&self) -> u32 {
        self.callers
    }

    /// One more waiter, unless it is over (P3).
    pub(crate) fn join(&mut self) -> bool {
        let in_time = self.phase != Phase::Over;
        self.waiters += u32::from(in_time);
        self.callers += u32::from(in_time);
        in_time
    }

    /// A waiter is polled.
    pub(crate) fn turn(&mut self, slot: &mut u32, waker: &Waker) -> Turn {
        match self.phase {
            Phase::Led => Turn::Wait(self.queue.set(slot, waker)),
            Phase::Over => Turn::Over,
            Phase::Vacant => {
                self.phase = Phase::Led;
                self.waiters -= 1;
                self.candidate = NOBODY;
                Turn::Begin {
                    again: std::mem::replace(&mut self.begun, true),
                    _old: self.queue.remove(std::mem::replace(slot, NOBODY)),
                }
            }
        }
    }

    /// A waiter leaves; its waker comes along.
    pub(crate) fn leave(&mut self, slot: u32) -> (Left, Option<Waker>) {
        if self.phase == Phase::Over {
            return (Left::Over, None);
        }
        let old = self.queue.remove(slot);
        self.waiters -= 1;
        let left = match self.phase {
            Phase::Vacant if self.waiters == 0 => self.end(),
            Phase::Vacant if slot != NOBODY && self.candidate == slot => self.elect(),
            Phase::Vacant | Phase::Led | Phase::Over => Left::Goes(None),
        };
        (left, old)
    }

    /// The leader leaves.
    pub(crate) fn hand_over(&mut self) -> Left {
        debug_assert_eq!(self.phase, Phase::Led, "P1: handed over by somebody else");
        if self.waiters == 0 {
            return self.end();
        }
        self.phase = Phase::Vacant;
        self.elect()
    }

    /// The leader has the answer.
    pub(crate) fn land(&mut self) -> Wakers {
        debug_assert_eq!(self.phase, Phase::Led, "P1: landed by somebody else");
        self.phase = Phase::Over;
        self.queue.take()
    }

    fn end(&mut self) -> Left {
        self.phase = Phase::Over;
        Left::Last
    }

    /// Finds somebody to wake (P2).
    fn elect(&mut self) -> Left {
        let next = self.queue.any();
        self.candidate = next.as_ref().map_or(NOBODY, |&(at, _)| at);
        Left::Goes(next.map(|(_, waker)| waker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(state: &mut State, slot: &mut u32) -> bool {
        matches!(state.turn(slot, Waker::noop()), Turn::Begin { .. })
    }

    fn wakes(left: &Left) -> bool {
        matches!(left, Left::Goes(Some(_)))
    }

    #[test]
    fn whoever_is_polled_first_leads_and_the_next_in_line_when_it_leaves() {
        let mut state = State::vacant();
        let [mut a, mut b, mut c] = [NOBODY; 3];
        assert!(state.join() && state.join());
        assert!(begins(&mut state, &mut b));
        assert!(!begins(&mut state, &mut a) && !begins(&mut state, &mut c));
        assert!(wakes(&state.hand_over()));
        let candidate = state.candidate;
        let (left, _) = state.leave(candidate);
        assert!(wakes(&left), "the next one is woken");
        let mut last = state.candidate;
        assert_ne!(last, candidate);
        assert!(begins(&mut state, &mut last));
        assert!(matches!(state.hand_over(), Left::Last));
        assert!(!state.join());
    }

    #[test]
    fn nobody_is_woken_when_somebody_leaves_who_was_not_to_lead() {
        let mut state = State::vacant();
        let [mut a, mut b, mut c] = [NOBODY; 3];
        assert!(state.join() && state.join());
        assert!(begins(&mut state, &mut a));
        assert!(!begins(&mut state, &mut b) && !begins(&mut state, &mut c));
        assert!(wakes(&state.hand_over()));
        let other = if state.candidate == b { c } else { b };
        assert!(matches!(state.leave(other).0, Left::Goes(None)));
    }

    #[test]
    fn what_is_over_is_over() {
        let mut state = State::vacant();
        let [mut a, mut b] = [NOBODY; 2];
        assert!(state.join());
        assert!(begins(&mut state, &mut a));
        drop(state.land());
        assert!(!state.join());
        assert!(matches!(state.turn(&mut b, Waker::noop()), Turn::Over));
        assert!(matches!(state.leave(b).0, Left::Over));
    }

    #[test]
    fn those_who_were_not_polled_yet_are_not_woken_but_may_lead() {
        let mut state = State::vacant();
        let [mut a, mut b] = [NOBODY; 2];
        assert!(state.join());
        assert!(begins(&mut state, &mut a));
        assert!(matches!(state.hand_over(), Left::Goes(None)));
        assert!(begins(&mut state, &mut b));
    }
}
