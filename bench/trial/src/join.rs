//! 1,000 callers join one flight, the work ends, and all get the answer.
//!
//!   leader ── 1,000 × (call, first poll) ── the gate opens ── 1,000 × (poll, drop)
//!                     "join"                                      "resolve"
//!
//! The wakers are empty: what a wake of a caller costs is the runtime's affair, and the same for all.

use crate::samples::Figures;
use crate::size::{Size, alone, check, keys, let_tasks_run, ns};
use crate::slots::Slots;
use crate::subject::Subject;
use crate::work::{GATE, Until, Work};
use counting::Counts;
use reporting::median;
use std::future::Future;
use std::task::{Context, Waker};
use std::time::Instant;

/// Callers that join; the leader is one more.
pub const CALLERS: usize = 1_000;

/// Times that callers are polled before they count as never served.
const PATIENCE: usize = 1_000;

/// One flight after the other, each with all its callers.
///
/// # Errors
/// If an answer is wrong.
pub fn run<S: Subject>(size: Size) -> Result<Figures, String> {
    let rounds = size.pick(200, 2);
    let keys = keys(rounds + 1);
    alone(async move {
        let subject = S::leaked();
        let call = |round: usize| subject.call(&keys[round], Work::new(round as u64, Until::Open));
        let mut slots = Slots::<S, _>::new(CALLERS + 1, &call);
        let mut flights = Vec::new();
        for round in 0..rounds {
            flights.push(fly(&mut slots, &call, round).await?);
        }
        let (mut made, mut live) = (0, 0);
        if !matches!(size, Size::Exactly(_)) {
            counting::start();
            let before = counting::read();
            let flight = fly(&mut slots, &call, rounds).await?;
            made = counting::read().made - before.made - flight.led.made;
            live = flight.joined.live;
        }
        let per = |count: i64| count as f64 / CALLERS as f64;
        let middle =
            |part: fn(&Flight) -> f64| median(&flights.iter().map(part).collect::<Vec<_>>());
        Ok(Figures::from([
            ("join ns".to_owned(), middle(|flight| flight.join)),
            ("resolve ns".to_owned(), middle(|flight| flight.resolve)),
            (
                "ns".to_owned(),
                middle(|flight| flight.join + flight.resolve),
            ),
            ("allocations".to_owned(), per(made)),
            ("heap bytes".to_owned(), per(live)),
            ("future bytes".to_owned(), slots.future_bytes() as f64),
        ]))
    })?
}

/// What a flight took, for each caller.
struct Flight {
    join: f64,
    resolve: f64,
    /// Allocated for the leader, and for those who joined, where allocations are counted.
    led: Counts,
    joined: Counts,
}

async fn fly<S: Subject, F: Future<Output = S::Answer>>(
    slots: &mut Slots<S, F>,
    call: &impl Fn(usize) -> F,
    round: usize,
) -> Result<Flight, String> {
    let mut context = Context::from_waker(Waker::noop());
    GATE.close();
    let passed = GATE.passed();
    let start = counting::read();
    slots.put(0, call(round));
    let early = slots.poll(0, &mut context);
    check("answers before the gate", u64::from(early.is_ready()), 0)?;
    let_tasks_run().await;

    let lone = counting::read();
    let began = Instant::now();
    for at in 1..=CALLERS {
        slots.put(at, call(round));
        let _pending = slots.poll(at, &mut context);
    }
    let join = ns(began) / CALLERS as f64;
    let all = counting::read();
    let_tasks_run().await;

    GATE.open();
    let began = Instant::now();
    GATE.wake();
    let sum = resolve(slots).await?;
    let resolve = ns(began) / CALLERS as f64;
    check(
        "the sum of the answers",
        sum,
        (CALLERS as u64 + 1) * round as u64,
    )?;
    check("runs of the work", GATE.passed() - passed, 1)?;
    Ok(Flight {
        join,
        resolve,
        led: difference(start, lone),
        joined: difference(lone, all),
    })
}

/// Polls all callers until all have their answer; the sum of the answers.
async fn resolve<S: Subject, F: Future<Output = S::Answer>>(
    slots: &mut Slots<S, F>,
) -> Result<u64, String> {
    let mut context = Context::from_waker(Waker::noop());
    let mut sum = 0;
    for _ in 0..PATIENCE {
        for at in 0..slots.count() {
            if let std::task::Poll::Ready(value) = slots.poll(at, &mut context) {
                sum += value;
            }
        }
        if (0..slots.count()).all(|at| slots.is_empty(at)) {
            return Ok(sum);
        }
        let_tasks_run().await;
    }
    Err("callers that are never served".to_owned())
}

fn difference(before: Counts, after: Counts) -> Counts {
    Counts {
        made: after.made - before.made,
        bytes: after.bytes - before.bytes,
        live: after.live - before.live,
    }
}
