//! Callers with time limits, on a clock that is moved by hand.

use super::script::{End, Flights, Script};
use crate::script::HandClock;
use futures_util::FutureExt;
use oneflight::{Clock, Outcome, Scoped};
use std::cell::Cell;
use std::future::{pending, ready};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Calls arrive 20 ms apart, for work that takes 100 ms, each with its own patience; returns who was served, and the starts.
fn arrivals(patience: &[u32]) -> (Vec<usize>, u32) {
    let clock = HandClock::new();
    let group = Flights::new().with_clock(clock.clone());
    let starts = Cell::new(0);
    let mut s = Script::new(&group);
    let mut calls = Vec::new();
    let mut due = patience.iter();
    for step in 0..100 {
        if step % 2 == 0
            && let Some(&patience) = due.next()
        {
            let (clock, starts) = (clock.clone(), &starts);
            let work = move || async move {
                starts.set(starts.get() + 1);
                clock.sleep_until(clock.now() + 100 * MS).await; // SLEEP: on the clock of the script, which moves by hand.
                Ok(7)
            };
            let call = group.run("k", work).within(patience * MS);
            calls.push(s.seat(Box::pin(call.map(|answer| answer.map(plain)))));
        }
        s.settle();
        clock.advance(10 * MS);
    }
    s.settle();
    assert!(calls.iter().all(|&call| !s.is_waiting(call)));
    assert_eq!(group.in_flight(), 0);
    let served = |&call: &usize| s.value(call).is_some() || !s.error(call).is_timeout();
    (calls.iter().copied().filter(served).collect(), starts.get())
}

/// An outcome of which only the value is known.
fn plain(value: u64) -> Outcome<u64> {
    let group: Scoped<u32, u64> = Scoped::new();
    let outcome = group.run(&1, || ready(Ok(value))).outcome();
    outcome.now_or_never().expect("ready").expect("a value")
}

#[test]
fn staggered_callers_that_leave_before_the_work_can_end_are_not_served() {
    // The limit of a work that stays with its caller: no call is there for 100 ms, so none of their works comes to its end.
    let (served, starts) = arrivals(&[50; 20]);
    assert_eq!(served, []);
    assert_eq!(starts, 20, "each of them leads in its turn");
}

#[test]
fn a_caller_with_patience_serves_itself_and_those_who_come_later() {
    let mut patience = [50; 20];
    patience[3] = 1_000;
    let (served, starts) = arrivals(&patience);
    assert!(served.contains(&3) && served.len() >= 3, "{served:?}");
    assert!(starts < 20, "{starts}");
}

#[test]
fn a8_leader_with_the_shorter_limit_hands_over_at_it() {
    let clock = HandClock::new();
    let group = Flights::new().with_clock(clock.clone());
    let mut s = Script::new(&group);
    let hurried = group.run("k", pending).within(10 * MS);
    let hurried = s.seat(Box::pin(hurried.map(|answer| answer.map(plain))));
    let patient = s.call("k");
    s.settle();
    clock.advance(10 * MS);
    s.settle();
    assert!(s.error(hurried).is_timeout() && !s.error(hurried).is_overdue());
    assert_eq!(s.leader("k"), Some(patient));
    s.end("k", End::Value(7));
    s.settle();
    assert_eq!(s.value(patient), Some(7));
}

#[test]
fn a9_waiter_past_its_limit_leaves_and_the_flight_goes_on() {
    let clock = HandClock::new();
    let group = Flights::new().with_clock(clock.clone());
    let mut s = Script::new(&group);
    let leader = s.call("k");
    s.poll(leader);
    let waiter = group.run("k", pending).within(10 * MS);
    let waiter = s.seat(Box::pin(waiter.map(|answer| answer.map(plain))));
    s.settle();
    clock.advance(10 * MS);
    s.settle();
    assert!(s.error(waiter).is_timeout());
    s.end("k", End::Value(7));
    s.settle();
    assert_eq!((s.value(leader), s.starts("k")), (Some(7), 1));
}

#[test]
fn a6_limit_frees_those_who_wait_for_a_leader_that_is_never_polled() {
    let clock = HandClock::new();
    let group = Flights::new().with_clock(clock.clone());
    let mut s = Script::new(&group);
    let kept = s.call("k");
    s.poll(kept);
    s.keep(kept);
    let waiter = group.run("k", pending).within(10 * MS);
    let waiter = s.seat(Box::pin(waiter.map(|answer| answer.map(plain))));
    s.settle();
    s.end("k", End::Value(7));
    clock.advance(10 * MS);
    s.settle();
    assert!(s.error(waiter).is_timeout());
}

#[test]
fn a_leader_past_its_limit_hands_over_though_its_future_is_kept() {
    let clock = HandClock::new();
    let group: Scoped<u32, u32> = Scoped::new().with_clock(clock.clone());
    let mut kept = Box::pin(group.run(&1, pending).within(10 * MS));
    assert!((&mut kept).now_or_never().is_none());
    let waiter = group.run(&1, || ready(Ok(7)));
    clock.advance(10 * MS);
    let late = (&mut kept).now_or_never().expect("late");
    assert!(late.unwrap_err().is_timeout());
    assert_eq!(waiter.now_or_never().expect("ready").unwrap(), 7);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn an_answer_that_is_there_is_not_refused_for_being_late() {
    let clock = HandClock::new();
    let group: Scoped<u32, u32> = Scoped::new().with_clock(clock.clone());
    let call = group.run(&1, || ready(Ok(7))).within(10 * MS);
    clock.advance(20 * MS);
    assert_eq!(call.now_or_never().expect("ready").unwrap(), 7);
}

#[test]
#[should_panic(expected = "a time limit needs a clock")]
fn a_limit_without_a_clock_panics() {
    let group: Scoped<u32, u32> = Scoped::new();
    drop(group.run(&1, || ready(Ok(7))).within(MS));
}
