//! A leader that leaves passes the key on, to one.

use super::script::{End, Flights, Script};
use futures_util::FutureExt;
use oneflight::Scoped;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};

#[test]
fn one_run_answers_all_who_wait() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..10).map(|_| s.call("k")).collect();
    s.settle();
    s.end("k", End::Value(7));
    s.settle();
    for &call in &calls {
        let outcome = s.outcome(call).expect("an answer");
        assert_eq!((outcome.value, outcome.shared), (7, 10));
        assert_eq!(outcome.led, call == calls[0]);
    }
    let stats = group.stats();
    assert_eq!((s.starts("k"), group.in_flight()), (1, 0));
    assert_eq!((stats.started, stats.joined, stats.landed), (1, 9, 1));
}

#[test]
fn a3_a4_leader_dropped_and_one_of_three_waiters_is_woken_and_begins_its_own_work() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..4).map(|_| s.call("k")).collect();
    s.settle();
    let first = s.runs("k")[0];
    s.drop_call(calls[0]);
    assert!(
        s.run(first, |run| run.dropped),
        "the work of the leader is dropped with it"
    );
    let woken = s.woken(&calls);
    assert_eq!(woken.len(), 1, "one candidate, and nobody else");
    assert_eq!(
        s.starts("k"),
        1,
        "its work begins when it is polled, not in the drop"
    );
    s.settle();
    assert_eq!((s.starts("k"), s.leader("k")), (2, Some(woken[0])));
    s.end("k", End::Value(7));
    s.settle();
    for &call in &calls[1..] {
        let outcome = s.outcome(call).expect("an answer");
        assert_eq!((outcome.value, outcome.led), (7, call == woken[0]));
        assert_eq!(outcome.shared, 4, "the one who left counts");
    }
    let stats = group.stats();
    assert_eq!((stats.started, stats.abandoned, stats.landed), (2, 1, 1));
}

#[test]
fn a5_candidates_that_die_one_after_another_pass_the_key_to_the_next() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..100).map(|_| s.call("k")).collect();
    s.settle();
    s.drop_call(calls[0]);
    for _ in 0..98 {
        let woken = s.woken(&calls);
        assert_eq!(woken.len(), 1);
        s.drop_call(woken[0]);
    }
    assert_eq!(s.starts("k"), 1, "none of them had begun");
    let last = s.woken(&calls);
    assert_eq!(last.len(), 1);
    s.settle();
    s.end("k", End::Value(7));
    s.settle();
    assert_eq!((s.value(last[0]), s.starts("k")), (Some(7), 2));
    let wakes: usize = calls.iter().map(|&call| s.wakes(call)).sum();
    assert_eq!(wakes, 99 + 1, "99 to lead, and one by the work");
}

#[test]
fn a3_leader_aborted_ten_thousand_times_in_a_row_has_no_cap_and_leaks_nothing() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let mut last = s.call("k");
    s.poll(last);
    for round in 1..=10_000 {
        let next = s.call("k");
        s.poll(next);
        s.drop_call(last);
        assert!(s.is_woken(next));
        s.poll(next);
        assert_eq!(s.leader("k"), Some(next), "round {round}");
        last = next;
    }
    s.end("k", End::Value(7));
    s.settle();
    assert_eq!((s.value(last), s.starts("k")), (Some(7), 10_001));
    assert_eq!((group.in_flight(), group.stats().abandoned), (0, 10_000));
}

#[test]
fn a10_all_dropped_and_the_work_and_the_entry_are_gone_at_once() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..4).map(|_| s.call("k")).collect();
    s.settle();
    for &call in calls.iter().rev() {
        assert_eq!(group.in_flight(), 1);
        s.drop_call(call);
    }
    assert!(s.run(0, |run| run.dropped));
    assert_eq!((group.in_flight(), group.stats().abandoned), (0, 1));
    let again = s.call("k");
    s.poll(again);
    s.end("k", End::Value(8));
    s.settle();
    assert_eq!((s.value(again), s.starts("k")), (Some(8), 2));
}

#[test]
fn a10_leader_first_and_then_all_who_were_to_follow_leave_nothing_behind() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..4).map(|_| s.call("k")).collect();
    s.settle();
    for &call in &calls {
        assert_eq!(group.in_flight(), 1);
        s.drop_call(call);
    }
    let stats = group.stats();
    assert_eq!((s.starts("k"), group.in_flight()), (1, 0));
    assert_eq!((stats.started, stats.abandoned), (1, 1));
}

#[test]
fn a6_unpolled_leader_holds_up_the_others_until_it_is_polled_or_dropped() {
    // The limit of a work that stays with its caller; the docs say it.
    for drops in [false, true] {
        let group = Flights::new();
        let mut s = Script::new(&group);
        let (kept, waiter) = (s.call("k"), s.call("k"));
        s.settle();
        s.keep(kept);
        s.end("k", End::Value(7));
        s.settle();
        assert!(s.is_waiting(waiter));
        if drops {
            s.drop_call(kept);
            s.settle();
            s.end("k", End::Value(8));
        } else {
            s.poll(kept);
        }
        s.settle();
        assert_eq!(s.value(waiter), Some(if drops { 8 } else { 7 }));
    }
}

#[test]
fn a6_call_that_was_never_polled_leads_nothing_and_holds_up_nobody() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (first, second) = (s.call("k"), s.call("k"));
    s.poll(second);
    assert_eq!(s.leader("k"), Some(second));
    s.end("k", End::Value(7));
    s.poll(second);
    assert_eq!(s.value(second), Some(7));
    s.poll(first);
    let outcome = s.outcome(first).expect("an answer");
    assert_eq!((outcome.value, outcome.led, s.starts("k")), (7, false, 1));
}

#[test]
fn a7_waiters_that_leave_wake_nobody_and_change_nothing() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..10).map(|_| s.call("k")).collect();
    s.settle();
    for &call in &calls[1..9] {
        s.drop_call(call);
    }
    assert_eq!(s.woken(&calls), []);
    s.end("k", End::Value(7));
    s.settle();
    assert_eq!((s.value(calls[0]), s.value(calls[9])), (Some(7), Some(7)));
    assert_eq!(s.wakes(calls[9]), 1);
}

#[test]
fn a_newcomer_may_lead_before_the_candidate_and_the_candidate_waits_again() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (leader, candidate) = (s.call("k"), s.call("k"));
    s.settle();
    s.drop_call(leader);
    let newcomer = s.call("k");
    s.poll(newcomer);
    assert_eq!(s.leader("k"), Some(newcomer));
    assert!(s.is_woken(candidate) && !s.poll(candidate));
    s.drop_call(newcomer);
    assert!(s.is_woken(candidate), "it is woken anew");
    s.settle();
    s.end("k", End::Value(7));
    s.settle();
    assert_eq!((s.value(candidate), s.starts("k")), (Some(7), 3));
}

#[test]
fn a_waiter_that_was_not_polled_yet_leads_when_it_is() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (leader, waiter) = (s.call("k"), s.call("k"));
    s.poll(leader);
    s.drop_call(leader);
    assert_eq!(s.wakes(waiter), 0, "it has no waker yet");
    s.poll(waiter);
    assert_eq!(s.leader("k"), Some(waiter));
}

#[test]
fn a23_keys_do_not_touch_each_other() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (a, b) = (s.call("a"), s.call("b"));
    s.settle();
    s.drop_call(a);
    assert!(!s.is_woken(b));
    s.end("b", End::Value(2));
    s.settle();
    assert_eq!((s.value(b), group.in_flight()), (Some(2), 0));
}

#[test]
fn a_wake_of_the_work_polls_its_leader_alone() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..100).map(|_| s.call("k")).collect();
    s.settle();
    s.wake_run(0);
    assert_eq!(s.woken(&calls), [calls[0]]);
    s.settle();
    assert_eq!(s.run(0, |run| run.polls), 2);
}

/// Sets a flag when it is dropped.
struct Flag(Arc<AtomicBool>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A waker that counts the wakes that come after the flag is set, and refuses those before.
struct After {
    flag: Arc<AtomicBool>,
    wakes: AtomicU32,
}

impl Wake for After {
    fn wake(self: Arc<Self>) {
        assert!(self.flag.load(Ordering::SeqCst), "D1: woken too early");
        self.wakes.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn the_work_of_a_leader_is_dropped_before_anybody_is_woken() {
    for lands in [false, true] {
        let group: Scoped<u32, u32> = Scoped::new();
        let flag = Arc::new(AtomicBool::new(false));
        let after = Arc::new(After {
            flag: flag.clone(),
            wakes: AtomicU32::new(0),
        });
        let mut ends = false;
        let mut leader = Box::pin(group.run(&1, || {
            let flag = Flag(flag);
            poll_fn(move |_| {
                let _flag = &flag;
                let ended = std::mem::replace(&mut ends, lands);
                if ended {
                    Poll::Ready(Ok(7))
                } else {
                    Poll::Pending
                }
            })
        }));
        assert!((&mut leader).now_or_never().is_none());
        let waker = Waker::from(after.clone());
        let mut waiter = pin!(group.run(&1, pending));
        assert!(
            waiter
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        if lands {
            assert!((&mut leader).now_or_never().is_some());
        }
        drop(leader);
        assert_eq!(after.wakes.load(Ordering::SeqCst), 1);
    }
}
