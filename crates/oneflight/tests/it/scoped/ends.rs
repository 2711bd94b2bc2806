//! Errors, panics, and what becomes of a flight that is forgotten.

use super::script::{End, Flights, Script};
use futures_util::FutureExt;
use oneflight::Scoped;
use std::future::{Ready, pending, poll_fn, ready};
use std::sync::Arc;
use std::task::Poll;

#[test]
fn a28_error_with_ten_callers_is_one_run_and_one_error_for_all() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..10).map(|_| s.call("k")).collect();
    s.settle();
    s.end("k", End::Fails("no fuel"));
    s.settle();
    let first = s.error(calls[0]);
    assert_eq!(first.to_string(), "no fuel");
    assert!(std::error::Error::source(&first).is_some(), "E1");
    for &call in &calls {
        let (mine, theirs) = (s.error(call), first.clone());
        assert!(Arc::ptr_eq(mine.work().unwrap(), theirs.work().unwrap()));
    }
    assert_eq!((s.starts("k"), group.stats().failed), (1, 1));
}

#[test]
fn a27_error_is_not_kept_for_the_next_caller() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let first = s.call("k");
    s.poll(first);
    s.end("k", End::Fails("no fuel"));
    s.settle();
    let next = s.call("k");
    s.poll(next);
    s.end("k", End::Value(7));
    s.settle();
    assert!(s.error(first).is_work());
    assert_eq!(s.value(next), Some(7));
}

#[test]
fn a1_a2_panic_of_the_work_reaches_all_with_its_message_and_frees_the_key() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..100).map(|_| s.call("k")).collect();
    s.settle();
    s.end("k", End::Panics("no fuel"));
    s.settle();
    for &call in &calls {
        assert_eq!(s.error(call).panic_message(), Some("no fuel"));
    }
    assert!(s.run(0, |run| run.dropped));
    let next = s.call("k");
    s.poll(next);
    s.end("k", End::Value(7));
    s.settle();
    assert_eq!((s.value(next), s.starts("k")), (Some(7), 2));
    assert_eq!((group.stats().panicked, group.stats().landed), (1, 1));
}

#[test]
fn a1_panic_of_the_function_that_makes_the_work_is_an_error_for_all() {
    let group: Scoped<u32, u32, ()> = Scoped::new();
    let make = || -> Ready<Result<u32, ()>> { panic!("no plan") };
    let (a, b) = (group.run(&1, make), group.run(&1, make));
    for call in [a, b] {
        let error = call.now_or_never().expect("ready").unwrap_err();
        assert_eq!(error.panic_message(), Some("no plan"));
    }
    assert_eq!((group.in_flight(), group.stats().panicked), (0, 1));
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "boom");
    }
}

#[test]
fn a_work_that_panics_while_it_is_dropped_after_its_end_takes_nothing_from_anybody() {
    let group: Scoped<u32, u32, ()> = Scoped::new();
    let work = || {
        let bomb = Bomb;
        poll_fn(move |_| {
            let _bomb = &bomb;
            Poll::Ready(Ok(7))
        })
    };
    let (a, b) = (group.run(&1, work), group.run(&1, work));
    assert_eq!(a.now_or_never().expect("ready").unwrap(), 7);
    assert_eq!(b.now_or_never().expect("ready").unwrap(), 7);
}

#[test]
fn a_leader_whose_work_panics_in_its_drop_hands_over_all_the_same() {
    let group: Scoped<u32, u32, ()> = Scoped::new();
    let mut leader = Box::pin(group.run(&1, || {
        let bomb = Bomb;
        poll_fn(move |_| {
            let _bomb = &bomb;
            Poll::<Result<u32, ()>>::Pending
        })
    }));
    assert!((&mut leader).now_or_never().is_none());
    let waiter = group.run(&1, || ready(Ok(8)));
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(leader)));
    assert!(dropped.is_err(), "a panic in a drop is the owner's");
    assert_eq!(waiter.now_or_never().expect("ready").unwrap(), 8);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn a13_forget_during_a_flight_starts_a_newer_one_that_the_older_does_not_remove() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (old, with_old) = (s.call("k"), s.call("k"));
    s.settle();
    assert!(group.forget("k") && !group.forget("k"));
    let (new, with_new) = (s.call("k"), s.call("k"));
    s.settle();
    let runs = s.runs("k");
    s.end_run(runs[0], End::Value(1));
    s.settle();
    assert_eq!((s.value(old), s.value(with_old)), (Some(1), Some(1)));
    assert_eq!(group.in_flight(), 1, "K2");
    let late = s.call("k");
    s.end_run(runs[1], End::Value(2));
    s.settle();
    for call in [new, with_new, late] {
        assert_eq!(s.value(call), Some(2));
    }
    assert_eq!((s.starts("k"), group.stats().forgotten), (2, 1));
}

#[test]
fn a13_forgotten_flight_is_passed_on_among_its_own() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (leader, heir) = (s.call("k"), s.call("k"));
    s.settle();
    group.forget("k");
    let newer = s.call("k");
    s.settle();
    s.drop_call(leader);
    assert!(s.is_woken(heir) && !s.is_woken(newer));
    s.settle();
    let runs = s.runs("k");
    s.end_run(runs[2], End::Value(1));
    s.end_run(runs[1], End::Value(2));
    s.settle();
    assert_eq!((s.value(heir), s.value(newer)), (Some(1), Some(2)));
    let stats = group.stats();
    assert_eq!((stats.started, stats.landed, stats.abandoned), (3, 2, 1));
}

#[test]
fn a13_forgotten_and_left_by_all_removes_nothing_newer() {
    let group: Scoped<u32, u32, ()> = Scoped::new();
    let old = group.run(&1, pending);
    group.forget(&1);
    let new = group.run(&1, || ready(Ok(2)));
    drop(old);
    assert_eq!(group.in_flight(), 1);
    assert_eq!(new.now_or_never().expect("ready").unwrap(), 2);
}

#[test]
fn a18_call_right_after_a_landing_starts_anew_also_while_others_have_not_looked() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (leader, waiter) = (s.call("k"), s.call("k"));
    s.settle();
    s.end("k", End::Value(1));
    s.poll(leader);
    let next = s.call("k");
    s.poll(next);
    assert_eq!((s.leader("k"), s.value(next)), (Some(next), None));
    s.poll(waiter);
    assert_eq!(s.value(waiter), Some(1));
}

#[test]
#[should_panic(expected = "a call was polled after it was ready")]
fn a_call_that_is_polled_after_it_was_ready_panics() {
    let group: Scoped<u32, u32, ()> = Scoped::new();
    let mut call = Box::pin(group.run(&1, || ready(Ok(1))));
    assert!((&mut call).now_or_never().is_some());
    let _ = (&mut call).now_or_never();
}
