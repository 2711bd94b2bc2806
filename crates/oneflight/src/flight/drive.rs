//! Driving a flight: what a waiter does when it is polled, and how a flight ends.
//!
//! V1. The table's entry is gone before the answer can be seen (G1).
//! V2. Who finds, after a poll, that the flight has ended without it drops the work: nobody else may (N1).

use super::nest;
use super::node::poll_work;
use super::state::{Left, Phase, Turn};
use super::stats::Stats;
use super::table::{Shared, Table};
use crate::error::{Error, Other};
use crate::sync::Arc;
use std::task::{Context, Poll};

/// What a poll of a waiter comes to.
pub(crate) enum Step<V, E> {
    /// Wait.
    Pending,
    /// The answer, and how many callers share it.
    Landed(Result<V, Error<E>>, u32),
    /// The last caller has left (only an autopilot sees this).
    Abandoned,
}

/// Polls a waiter.
pub(crate) fn step<K, V: Clone, E, S>(
    table: &Table<K, V, E, S>,
    flight: &Shared<K, V, E>,
    slot: u32,
    context: &mut Context<'_>,
) -> Step<V, E> {
    let turn = flight.head().state.lock().begin(slot, context.waker());
    match turn {
        Turn::Wait(_old) => return Step::Pending,
        Turn::Landed(callers) => return Step::Landed(answer(flight), callers),
        Turn::Abandoned => return Step::Abandoned,
        Turn::Drive => {}
    }
    let poll = {
        let _polled = nest::enter(address(flight));
        poll_work(flight)
    };
    match poll {
        Poll::Ready(result) => finish(table, flight, result),
        Poll::Pending => {
            let pending = flight
                .head()
                .state
                .lock()
                .pending(Some((slot, context.waker())));
            match pending {
                Ok((call, _old)) => {
                    call.wake();
                    Step::Pending
                }
                Err(()) => ended(flight),
            }
        }
    }
}

/// Ends a flight whose work the caller has in hand (its phase is Polling).
pub(crate) fn finish<K, V: Clone, E, S>(
    table: &Table<K, V, E, S>,
    flight: &Shared<K, V, E>,
    result: Result<V, Error<E>>,
) -> Step<V, E> {
    let count: fn(&mut Stats) = match &result {
        Ok(_) => |stats| stats.landed += 1,
        Err(error) if error.is_panic() => |stats| stats.panicked += 1,
        Err(error) if error.is_overdue() => |stats| stats.overdue += 1,
        Err(_) => |stats| stats.failed += 1,
    };
    if !flight.head().state.lock().landing() {
        return ended(flight);
    }
    flight.drop_work();
    table.end(flight, count);
    let mut state = flight.head().state.lock();
    if state.waiters() == 1 && !state.is_piloted() {
        // The only caller takes the answer with it; nobody has joined since the landing began (S3).
        let (wakers, callers) = (state.land(), state.callers());
        drop(state);
        drop(wakers);
        return Step::Landed(result, callers);
    }
    let unset = flight.head().answer.set(result);
    let (wakers, callers) = (state.land(), state.callers());
    drop(state);
    debug_assert!(unset.is_ok(), "S3: a flight lands once");
    drop(unset);
    wakers.wake();
    Step::Landed(answer(flight), callers)
}

/// Ends a flight from outside, whoever may be polling it: its waiters get `error`, a late result goes nowhere.
pub(crate) fn end_with<K, V, E>(flight: &Shared<K, V, E>, error: Error<E>) -> bool {
    let mut state = flight.head().state.lock();
    let polling = state.phase() == Phase::Polling;
    if state.is_over() {
        return false;
    }
    let unset = flight.head().answer.set(Err(error));
    let wakers = state.land();
    drop(state);
    drop(unset);
    if !polling {
        flight.drop_work();
    }
    wakers.wake();
    true
}

/// A waiter leaves. `counts`: it is a caller, or an autopilot that keeps the flight up.
pub(crate) fn leave<K, V, E, S>(
    table: &Table<K, V, E, S>,
    flight: &Shared<K, V, E>,
    slot: u32,
    counts: bool,
) {
    let (left, _old) = flight.head().state.lock().leave(slot, counts);
    match left {
        Left::Over => {}
        Left::Goes(next) => {
            if let Some(next) = next {
                next.wake();
            }
        }
        Left::Last { polling, wakers } => {
            table.end(flight, |stats| stats.abandoned += 1);
            if !polling {
                flight.drop_work();
            }
            wakers.wake();
        }
    }
}

/// The identity of a flight.
pub(crate) fn address<K, V, E>(flight: &Shared<K, V, E>) -> *const () {
    Arc::as_ptr(flight).cast()
}

/// What is left for the one who polled while the flight was ended from outside (V2).
fn ended<K, V: Clone, E>(flight: &Shared<K, V, E>) -> Step<V, E> {
    flight.drop_work();
    let (phase, callers) = {
        let state = flight.head().state.lock();
        (state.phase(), state.callers())
    };
    match phase {
        Phase::Landed => Step::Landed(answer(flight), callers),
        Phase::Abandoned | Phase::Idle | Phase::Polling | Phase::Landing => Step::Abandoned,
    }
}

fn answer<K, V: Clone, E>(flight: &Shared<K, V, E>) -> Result<V, Error<E>> {
    match flight.head().answer.get() {
        Some(answer) => answer.clone(),
        None => Err(Error::from_other(Other::Lost {
            why: "the answer of a flight is gone",
        })),
    }
}
