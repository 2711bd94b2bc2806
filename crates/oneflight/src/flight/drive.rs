//! Driving a flight: what a waiter does when it is polled, and how a flight ends.
//!
//! V1. The table's entry is gone before the answer can be seen (G1), and the work is dropped before that.
//! V2. Who has the work in hand and finds the flight over drops the work: nobody else may (N1).

use super::node::Shared;
use super::state::{Left, Over, Turn, Who};
use super::stats::Stats;
use super::table::Table;
use crate::error::Error;
use crate::waiting::nest;
use crate::waiting::panics::hushed;
use std::task::{Context, Poll};

/// What a poll of a waiter comes to.
pub(crate) enum Step<K, V, E> {
    /// Wait.
    Pending,
    Landed(Landing<K, V, E>),
    /// The last caller has left (only an autopilot sees this).
    Abandoned,
}

/// What a caller gets of a flight that has landed.
pub(crate) struct Landing<K, V, E> {
    pub(crate) answer: Result<V, Error<E>>,
    /// How many callers share it.
    pub(crate) callers: u32,
    /// The table's reference to the flight, to be dropped with the caller's own.
    pub(crate) spare: Option<Shared<K, V, E>>,
}

/// Polls a waiter.
#[inline]
pub(crate) fn step<K, V: Clone, E, S>(
    table: &Table<K, V, E, S>,
    flight: &Shared<K, V, E>,
    slot: &mut u32,
    context: &mut Context<'_>,
) -> Step<K, V, E> {
    loop {
        match flight.state.begin(slot, context.waker()) {
            Turn::Wait(_old) => return Step::Pending,
            Turn::Landed => return Step::Landed(landed(flight, None)),
            Turn::Abandoned => return Step::Abandoned,
            Turn::Drive => {}
        }
        let poll = {
            let polled = nest::enter(flight.id(), || flight.named());
            let poll = flight.poll_work();
            if polled.end() {
                flight.state.note();
            }
            poll
        };
        let stepped = match poll {
            Poll::Ready(result) => finish(table, flight, result).map(Step::Landed),
            Poll::Pending => flight.state.pending(slot, context.waker()).map(|pending| {
                if pending.again {
                    hushed(|| context.waker().wake_by_ref());
                }
                pending.call.wake();
                drop(pending.old);
                Step::Pending
            }),
        };
        match stepped {
            Ok(step) => return step,
            // It was ended from outside meanwhile (V2). What came of it, the next look at the state tells.
            Err(Over) => flight.drop_work(),
        }
    }
}

/// Ends a flight whose work the caller has in hand; an error if it is over already.
#[inline]
pub(crate) fn finish<K, V: Clone, E, S>(
    table: &Table<K, V, E, S>,
    flight: &Shared<K, V, E>,
    result: Result<V, Error<E>>,
) -> Result<Landing<K, V, E>, Over> {
    let alone = flight.state.landing()?;
    flight.drop_work();
    let spare = table.end(flight, Stats::counter(&result));
    tell_end(table, flight, &result);
    if alone {
        return Ok(Landing {
            answer: result,
            callers: flight.state.callers(),
            spare,
        });
    }
    flight.put_answer(result);
    flight.state.land().wake();
    Ok(landed(flight, spare))
}

/// Ends a flight from outside, whoever has its work in hand: its waiters get `error`, a late result goes nowhere. Nothing happens,
/// and nothing is counted, if it is over already.
pub(crate) fn end_with<K, V, E, S>(
    table: &Table<K, V, E, S>,
    flight: &Shared<K, V, E>,
    error: Error<E>,
    count: impl FnOnce(&mut Stats),
) {
    let Ok(in_hand) = flight.state.settle() else {
        return;
    };
    if !in_hand {
        flight.drop_work();
    }
    // It has left the table already, or its place is taken; it is counted before anybody hears of it, as every end is.
    drop(table.end(flight, count));
    let answer = Err(error);
    tell_end(table, flight, &answer);
    flight.put_answer(answer);
    flight.state.land().wake();
}

/// A waiter leaves, with its reference to the flight.
pub(crate) fn leave<K, V, E, S>(
    table: &Table<K, V, E, S>,
    flight: Shared<K, V, E>,
    slot: u32,
    who: Who,
) {
    let (left, _old) = flight.state.leave(slot, who);
    match left {
        Left::Over | Left::Goes(None) => {}
        Left::Goes(Some(next)) => hushed(|| next.wake()),
        Left::Last { in_hand, wakers } => {
            if !in_hand {
                flight.drop_work();
            }
            let spare = table.end(&flight, |stats| stats.abandoned += 1);
            if let Some(watch) = &table.watch {
                watch.abandoned(&flight.key, flight.began, flight.state.callers());
            }
            wakers.wake();
            Shared::drop_both(flight, spare);
        }
    }
}

/// Tells the observer, if there is one. Only between the end in the table and that in the state: nobody joins any more, and nobody
/// has seen the answer yet.
fn tell_end<K, V, E, S>(
    table: &Table<K, V, E, S>,
    flight: &Shared<K, V, E>,
    result: &Result<V, Error<E>>,
) {
    if let Some(watch) = &table.watch {
        watch.ended(&flight.key, flight.began, flight.state.callers(), result);
    }
}

fn landed<K, V: Clone, E>(
    flight: &Shared<K, V, E>,
    spare: Option<Shared<K, V, E>>,
) -> Landing<K, V, E> {
    Landing {
        answer: (flight.answer())
            .unwrap_or_else(|| Err(Error::lost("the answer of a flight is gone"))),
        callers: flight.state.callers(),
        spare,
    }
}
