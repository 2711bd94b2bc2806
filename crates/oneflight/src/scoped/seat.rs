//! A caller's seat in a flight: it waits, or it leads. What it owes the others is paid when it is dropped.
//!
//! C1. A seat counts as a waiter of its flight until it leads; it has a slot once it has waited, and none while it leads.
//! C2. The entry has left the table before an answer can be seen (K1), so whoever calls then starts anew.
//! C3. A seat that leads and is dropped hands over; its owner drops the work first, so that two runs of a key never overlap.
//! C4. A seat that is pending inside a work, waiting or leading, is an edge of the graph of who waits for whom; one that would close
//!     a ring is refused.

use super::state::{Left, Turn};
use super::table::{Flight, Table};
use crate::clock::Clock;
use crate::error::Error;
use crate::flight::Stats;
use crate::observe::Since;
use crate::sync::Arc;
use crate::waiting::panics::hushed;
use crate::waiting::queue::NOBODY;
use crate::waiting::waits::{self, Ring, Target, Wait};
use std::fmt;
use std::task::Waker;
use std::time::Instant;

/// The seat.
#[must_use = "a seat that is dropped is free"]
pub(crate) struct Seat<'s, K, V, E> {
    table: &'s Table<K, V, E>,
    at: At<K, V, E>,
    /// Until it has its answer: how many nanoseconds after the flight it came, if that is measured. Then: how many share the flight.
    note: u64,
}

enum At<K, V, E> {
    Waiting {
        flight: Arc<Flight<K, V, E>>,
        slot: u32,
        /// Its place among those who wait inside of a work (C4).
        wait: Wait,
    },
    Leading {
        flight: Arc<Flight<K, V, E>>,
        /// The graph of who waits for whom knows of the work: its end is to be told there.
        noted: bool,
        /// As above: who polls it waits for its own run, too.
        wait: Wait,
    },
    Failed(Error<E>),
    /// It has got its answer. `led`: by its own work.
    Done {
        led: bool,
    },
}

/// What a poll of a seat comes to.
pub(crate) enum Step<V, E> {
    Wait,
    /// Make the work, and drive it.
    Lead,
    Ready(Result<V, Error<E>>),
}

impl<'s, K, V, E> Seat<'s, K, V, E> {
    /// The seat of a call that came so many nanoseconds after its flight began, if that is measured.
    pub(crate) fn waiting(
        table: &'s Table<K, V, E>,
        flight: Arc<Flight<K, V, E>>,
        came: u64,
    ) -> Self {
        let (slot, wait) = (NOBODY, Wait::none());
        Self {
            table,
            at: At::Waiting { flight, slot, wait },
            note: came,
        }
    }

    /// A seat that was refused.
    pub(crate) fn failed(table: &'s Table<K, V, E>, error: Error<E>) -> Self {
        Self {
            table,
            at: At::Failed(error),
            note: 0,
        }
    }

    /// The flight, while there is one.
    pub(crate) fn flight(&self) -> Option<&Arc<Flight<K, V, E>>> {
        match &self.at {
            At::Waiting { flight, .. } | At::Leading { flight, .. } => Some(flight),
            At::Failed(_) | At::Done { .. } => None,
        }
    }

    pub(crate) fn is_leading(&self) -> bool {
        matches!(self.at, At::Leading { .. })
    }

    /// The clock that limits are measured by.
    pub(crate) fn clock(&self) -> Option<&'s dyn Clock> {
        self.table.clock.as_deref()
    }

    /// True if it leads, or has landed its own work.
    pub(crate) fn led(&self) -> bool {
        matches!(self.at, At::Leading { .. } | At::Done { led: true })
    }

    /// How many callers shared the answer that it has got.
    pub(crate) fn shared(&self) -> u32 {
        u32::try_from(self.note).unwrap_or(u32::MAX)
    }

    /// A seat that waits is polled.
    pub(crate) fn step(&mut self, waker: &Waker) -> Step<V, E>
    where
        K: fmt::Debug,
        V: Clone,
    {
        let At::Waiting { flight, slot, wait } = &mut self.at else {
            return match self.finish(false) {
                At::Failed(error) => Step::Ready(Err(error)),
                At::Waiting { .. } | At::Leading { .. } | At::Done { .. } => {
                    panic!("a call was polled after it was ready")
                }
            };
        };
        if flight.answer.get().is_some() {
            return Step::Ready(self.take());
        }
        let turn = flight.state.lock().turn(slot, waker);
        match turn {
            Turn::Wait(_) => {
                let target = || Target {
                    id: flight.id(),
                    name: flight.named(),
                };
                match wait.pending(target) {
                    Ok(()) => Step::Wait,
                    Err(ring) => {
                        self.leave();
                        Step::Ready(Err(ring.error()))
                    }
                }
            }
            Turn::Begin { again, .. } => {
                if again {
                    // The run of the leader before has come to nothing; this is another.
                    self.table.restart(flight);
                }
                self.lead();
                Step::Lead
            }
            Turn::Over => Step::Ready(self.take()),
        }
    }

    /// From waiting to leading.
    fn lead(&mut self) {
        self.at = match self.finish(false) {
            At::Waiting { flight, .. } => At::Leading {
                flight,
                noted: false,
                wait: Wait::none(),
            },
            other => other,
        };
    }

    /// The leader has its result: everybody gets it.
    pub(crate) fn land(&mut self, result: Result<V, Error<E>>) -> Result<V, Error<E>>
    where
        V: Clone,
    {
        let At::Leading { flight, .. } = self.finish(true) else {
            debug_assert!(false, "C1: landed by a seat that does not lead");
            return result;
        };
        self.table.end(&flight, Stats::counter(&result));
        if let Some(watch) = &self.table.watch {
            let callers = flight.state.lock().callers();
            watch.ended(&flight.key, flight.began, callers, &result);
        }
        // Nobody joins from here on (C2), and who waits holds the flight: without others the answer goes with the leader.
        let flight = match Arc::try_unwrap(flight) {
            Ok(alone) => {
                let shared = alone.state.into_inner().callers();
                self.told(&alone.key, alone.began, true, shared);
                return result;
            }
            Err(flight) => flight,
        };
        let mut state = flight.state.lock();
        let shared = state.callers();
        let unset = flight.answer.set((result, shared));
        let wakers = state.land();
        drop(state);
        debug_assert!(unset.is_ok(), "P1: a flight lands once");
        drop(unset);
        wakers.wake();
        self.told(&flight.key, flight.began, true, shared);
        answer(&flight).0
    }

    /// The answer, which is there.
    fn take(&mut self) -> Result<V, Error<E>>
    where
        V: Clone,
    {
        match self.finish(false) {
            At::Waiting { flight, .. } | At::Leading { flight, .. } => {
                let (answer, shared) = answer(&flight);
                self.told(&flight.key, flight.began, false, shared);
                answer
            }
            At::Failed(error) => Err(error),
            At::Done { .. } => Err(Error::lost("the answer of a flight was taken")),
        }
    }

    /// It has its answer: from here on the note is how many share it.
    fn told(&mut self, key: &K, began: Option<Instant>, led: bool, shared: u32) {
        if let Some(watch) = &self.table.watch {
            let came = self.note;
            watch.waited(key, Since { began, came }, led, shared);
        }
        self.note = shared.into();
    }

    /// Tells that its caller gives up, before it leaves.
    pub(crate) fn tell_timed_out(&self) {
        if let (Some(watch), Some(flight)) = (&self.table.watch, self.flight()) {
            let (began, came) = (flight.began, self.note);
            watch.timed_out(&flight.key, Since { began, came });
        }
    }

    /// A seat that leads is pending: its run may wait for the work that it is polled in, by way of what others poll (C4).
    pub(crate) fn pending(&mut self) -> Result<(), Ring>
    where
        K: fmt::Debug,
    {
        let At::Leading { flight, wait, .. } = &mut self.at else {
            return Ok(());
        };
        wait.pending(|| Target {
            id: flight.id(),
            name: flight.named(),
        })
    }

    /// The graph of who waits for whom knows of the work.
    pub(crate) fn noted(&mut self) {
        if let At::Leading { noted, .. } = &mut self.at {
            *noted = true;
        }
    }

    /// Its edge is gone before its flight may be (H2 of the graph).
    fn finish(&mut self, led: bool) -> At<K, V, E> {
        match &mut self.at {
            At::Waiting { wait, .. } => wait.end(),
            At::Leading {
                flight,
                noted,
                wait,
            } => {
                wait.end();
                if *noted {
                    waits::ended(flight.id());
                }
            }
            At::Failed(_) | At::Done { .. } => {}
        }
        std::mem::replace(&mut self.at, At::Done { led })
    }

    /// Gives the seat up.
    pub(crate) fn leave(&mut self) {
        match self.finish(false) {
            At::Waiting { flight, slot, .. } => {
                let (left, _old) = flight.state.lock().leave(slot);
                self.left(&flight, left);
            }
            At::Leading { flight, .. } => {
                let left = flight.state.lock().hand_over();
                self.left(&flight, left);
            }
            At::Failed(_) | At::Done { .. } => {}
        }
    }

    fn left(&self, flight: &Arc<Flight<K, V, E>>, left: Left) {
        match left {
            Left::Goes(Some(next)) => hushed(|| next.wake()),
            Left::Last => {
                self.table.end(flight, |stats| stats.abandoned += 1);
                self.table.tell_abandoned(flight);
            }
            Left::Goes(None) | Left::Over => {}
        }
    }
}

impl<K, V, E> Drop for Seat<'_, K, V, E> {
    fn drop(&mut self) {
        self.leave();
    }
}

fn answer<K, V: Clone, E>(flight: &Flight<K, V, E>) -> (Result<V, Error<E>>, u32) {
    match flight.answer.get() {
        Some(answer) => answer.clone(),
        None => (Err(Error::lost("the answer of a flight is gone")), 0),
    }
}
