//! How long callers wait, and how many.

use super::script::{Desk, at_once, fill, seconds, waits};
use crate::observe::Log;
use crate::script::{Call, HandClock, muted};
use futures_util::FutureExt;
use oneflight::batch::Loader;
use oneflight::cache::{Cache, Overflow};
use oneflight::{Clock, Task};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

#[test]
fn a8_a_caller_that_gives_up_takes_nothing_from_the_others() {
    let desk = Desk::new(|it| it.wait_timeout(seconds(5)));
    let mut s = desk.script();
    let first = waits(&mut s, "a");
    desk.clock.advance(seconds(3));
    let second = waits(&mut s, "a");
    desk.clock.advance(seconds(2));
    assert!(s.error(first).is_timeout());
    assert!(s.is_waiting(second));
    s.finish_work("a", 1);
    assert_eq!((s.answer(second), s.starts("a")), (Some(1), 1));
    assert_eq!(desk.cache.stats().timed_out, 1);
}

#[test]
fn a_caller_may_have_a_limit_of_its_own() {
    let desk = Desk::new(|it| it.wait_timeout(seconds(5)));
    let mut s = desk.script();
    let (short, long) = (s.work("a"), s.work("a"));
    let short = s.seat(desk.ask("a", None, Some(seconds(1)), short));
    let long = s.seat(desk.ask("a", None, Some(seconds(60)), long));
    assert!(!s.poll(short) && !s.poll(long));
    desk.clock.advance(seconds(1));
    assert!(s.error(short).is_timeout());
    desk.clock.advance(seconds(6));
    s.settle();
    assert!(s.is_waiting(long));
}

#[test]
fn the_last_caller_that_gives_up_drops_the_load_unless_there_is_a_spawner() {
    for has_spawner in [false, true] {
        let limit = |it: super::script::Prepared| it.wait_timeout(seconds(5));
        let desk = match has_spawner {
            true => Desk::behind(limit),
            false => Desk::new(limit),
        };
        let mut s = desk.script();
        let call = waits(&mut s, "a");
        desk.clock.advance(seconds(5));
        assert!(s.error(call).is_timeout());
        assert_eq!(s.is_dropped("a", 0), !has_spawner);
        if has_spawner {
            s.finish_work("a", 1);
            desk.run_behind();
            assert_eq!(
                at_once(&mut s, "a"),
                (1, "fresh"),
                "callers in a hurry fill the cache"
            );
        }
    }
}

#[test]
fn staggered_callers_with_short_limits_end_in_one_load() {
    let desk = Desk::behind(|it| it.wait_timeout(seconds(5)).max_flight(seconds(600)));
    let mut s = desk.script();
    let calls: Vec<Call> = (0..20)
        .map(|_| {
            let call = waits(&mut s, "a");
            desk.clock.advance(seconds(2));
            s.settle();
            desk.run_behind();
            call
        })
        .collect();
    s.finish_work("a", 1);
    desk.run_behind();
    let served = calls
        .into_iter()
        .filter(|&call| s.answer(call) == Some(1))
        .count();
    assert_eq!((served, s.starts("a")), (2, 1));
    assert_eq!(at_once(&mut s, "a"), (1, "fresh"));
}

#[test]
fn a_limit_that_passes_gives_a_stale_value_that_serves_on_errors() {
    let desk = Desk::new(|it| it.wait_timeout(seconds(5)).stale_if_error(seconds(600)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    let call = waits(&mut s, "a");
    desk.clock.advance(seconds(5));
    assert_eq!(
        (s.answer(call), desk.source(call)),
        (Some(1), "stale on error")
    );
    let told = desk.part(call).error;
    assert_eq!(told.as_deref(), Some("timed out waiting for a flight"));
}

#[test]
fn a29_a_load_that_hangs_frees_its_key_and_lands_nowhere() {
    let desk = Desk::new(|it| it.max_flight(seconds(5)));
    let mut s = desk.script();
    let hangs = waits(&mut s, "a");
    s.keep(hangs);
    desk.clock.advance(seconds(5));
    let call = waits(&mut s, "a");
    assert_eq!((s.starts("a"), s.is_dropped("a", 0)), (2, true));
    s.finish_work("a", 2);
    assert_eq!(s.answer(call), Some(2));
    assert!(s.poll(hangs) && s.error(hangs).is_overdue());
    assert_eq!(desk.cache.get("a"), Some(2));
}

#[test]
fn a29_a_leader_that_is_kept_and_never_polled_freezes_no_stale_value() {
    let desk = Desk::new(|it| {
        it.stale_while_revalidate(seconds(600))
            .max_flight(seconds(5))
    });
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    let kept = waits(&mut s, "a");
    s.keep(kept);
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    desk.clock.advance(seconds(5));
    let call = waits(&mut s, "a");
    assert_eq!((s.starts("a"), s.is_dropped("a", 1)), (3, true));
    s.finish_work("a", 2);
    assert_eq!(s.answer(call), Some(2));
    assert_eq!(
        (at_once(&mut s, "a"), desk.cache.stats().failed),
        ((2, "fresh"), 1)
    );
}

/// Time that moves with each look at it, by as much as a test says.
#[derive(Clone, Debug)]
struct Ticking(HandClock, Arc<AtomicU64>);

impl Clock for Ticking {
    fn now(&self) -> Instant {
        let now = self.0.now();
        self.0.advance(seconds(self.1.load(Ordering::SeqCst)));
        now
    }

    // SLEEP: part of a clock that a script moves by hand; nobody sleeps here.
    fn sleep_until(&self, deadline: Instant) -> Task {
        self.0.sleep_until(deadline)
    }
}

#[test]
fn a29_a_load_is_overdue_by_the_look_at_the_clock_that_found_it_so() {
    let (hands, tick) = (HandClock::new(), Arc::new(AtomicU64::new(0)));
    let cache: Cache<u32, u32> = Cache::builder(10)
        .clock(Ticking(hands.clone(), tick.clone()))
        .max_flight(seconds(60))
        .build();
    let ask = || cache.get_or_load(&1, std::future::pending);
    let began = hands.now();
    tick.store(1, Ordering::SeqCst);
    let mut hangs = ask();
    assert!((&mut hangs).now_or_never().is_none());
    tick.store(0, Ordering::SeqCst);
    hands.advance(seconds(60) - (hands.now() - began));
    let mut next = ask();
    assert!((&mut next).now_or_never().is_none());
    assert!(
        (&mut hangs)
            .now_or_never()
            .is_some_and(|ended| ended.is_err_and(|error| error.is_overdue()))
    );
    assert_eq!((cache.stats().loads, cache.stats().failed), (2, 1));
}

#[test]
fn an_observer_is_told_of_those_who_give_up() {
    let log = Log::default();
    let desk = Desk::behind(|it| {
        it.wait_timeout(seconds(5))
            .soft_timeout(seconds(2))
            .stale_if_error(seconds(600))
            .observer(log.clone())
    });
    let mut s = desk.script();
    let first = waits(&mut s, "a");
    desk.clock.advance(seconds(1));
    let second = waits(&mut s, "a");
    desk.clock.advance(seconds(4));
    assert!(s.error(first).is_timeout());
    s.finish_work("a", 1);
    assert_eq!(s.answer(second), Some(1));
    desk.run_behind();
    assert_eq!(
        log.lines(),
        [
            "a started",
            "a joined",
            "a timed out, 5s",
            "a landed for 2, 5s",
            "a joined 2, 4s"
        ]
    );
    desk.clock.advance(seconds(60));
    let soft = waits(&mut s, "a");
    desk.clock.advance(seconds(2));
    assert_eq!(s.answer(soft), Some(1));
    assert_eq!(log.lines(), ["a started", "a timed out, 2s"]);
    let never = |_: Vec<String>| std::future::pending::<Vec<(String, u64)>>();
    let loader = Loader::builder().build(never);
    let mut many = desk.many(&["b"], &loader);
    assert!((&mut many).now_or_never().is_none());
    desk.clock.advance(seconds(5));
    assert!((&mut many).now_or_never().is_some());
    assert_eq!(log.lines(), ["b started", "b timed out, 5s"]);
}

#[test]
fn no_more_wait_than_may_and_the_rest_is_refused() {
    let desk = Desk::new(|it| it.max_waiters(2, Overflow::Refuse));
    let mut s = desk.script();
    let (a, b) = (waits(&mut s, "a"), waits(&mut s, "a"));
    let c = s.call("a");
    assert!(s.error(c).is_full());
    waits(&mut s, "b");
    s.drop_call(a);
    let d = waits(&mut s, "a");
    s.finish_work("a", 1);
    assert_eq!(
        (s.answer(b), s.answer(d), s.starts("a")),
        (Some(1), Some(1), 1)
    );
    assert_eq!(desk.cache.stats().refused, 1);
}

#[test]
fn a_result_that_is_ready_is_not_refused_for_the_crowd() {
    let desk = Desk::new(|it| it.max_waiters(1, Overflow::Refuse));
    let mut s = desk.script();
    let a = waits(&mut s, "a");
    s.finish_work("a", 1);
    assert_eq!(s.answer(a), Some(1));
    for _ in 0..10 {
        assert_eq!(at_once(&mut s, "a"), (1, "fresh"));
    }
    assert_eq!(desk.cache.stats().refused, 0);
}

#[test]
fn a_crowd_may_be_given_what_is_stale() {
    let desk = Desk::new(|it| {
        it.max_waiters(1, Overflow::Stale)
            .stale_if_error(seconds(600))
    });
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    let loads = waits(&mut s, "a");
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    s.finish_work("a", 2);
    assert_eq!(s.answer(loads), Some(2));
    waits(&mut s, "b");
    let call = s.call("b");
    assert!(s.error(call).is_full(), "there is nothing stale");
}

#[test]
fn a_crowd_may_load_by_itself() {
    let desk = Desk::new(|it| it.max_waiters(1, Overflow::Load));
    let mut s = desk.script();
    let (a, b) = (waits(&mut s, "a"), waits(&mut s, "a"));
    assert_eq!(s.starts("a"), 2);
    s.finish_run("a", 1, 2);
    assert_eq!((s.answer(b), desk.source(b)), (Some(2), "loaded"));
    assert_eq!(desk.cache.get("a"), Some(2));
    s.finish_run("a", 0, 1);
    assert_eq!(
        (s.answer(a), desk.cache.get("a")),
        (Some(1), Some(2)),
        "the later load counts"
    );
    desk.cache.invalidate("a");
    let (_c, d) = (waits(&mut s, "a"), waits(&mut s, "a"));
    desk.cache.invalidate("a");
    s.finish_run("a", 3, 4);
    assert_eq!(
        (s.answer(d), desk.cache.get("a")),
        (Some(4), None),
        "it is fenced, too"
    );
}

#[test]
fn a_later_call_joins_no_flight_older_than_what_a_load_of_ones_own_has_brought() {
    let desk = Desk::behind(|it| it.max_waiters(1, Overflow::Load).max_flight(seconds(600)));
    let mut s = desk.script();
    let work = s.work("a");
    let leaves = s.seat(desk.ask("a", None, Some(seconds(1)), work));
    assert!(!s.poll(leaves));
    let own = waits(&mut s, "a");
    s.finish_run("a", 1, 2);
    assert_eq!(s.answer(own), Some(2));
    // The flight goes on behind, with room for a caller, when what was brought beside it is kept no more.
    desk.clock.advance(seconds(60));
    assert!(s.error(leaves).is_timeout());
    let call = waits(&mut s, "a");
    assert_eq!(s.starts("a"), 3);
    s.finish_run("a", 0, 1);
    s.finish_run("a", 2, 3);
    desk.run_behind();
    assert_eq!((s.answer(call), desk.cache.get("a")), (Some(3), Some(3)));
}

#[test]
fn a29_a_load_of_ones_own_takes_no_longer_than_it_may() {
    for leaves in [false, true] {
        let desk = Desk::behind(|it| it.max_waiters(1, Overflow::Load).max_flight(seconds(5)));
        let mut s = desk.script();
        let flies = waits(&mut s, "a");
        let work = s.work("a");
        let own = s.seat(desk.ask("a", None, leaves.then_some(seconds(1)), work));
        assert!(!s.poll(own));
        desk.clock.advance(seconds(4));
        assert_eq!(s.poll(own), leaves);
        desk.run_behind();
        assert!(!s.is_dropped("a", 1));
        desk.clock.advance(seconds(1));
        if !leaves {
            assert!(s.error(own).is_overdue());
        }
        desk.run_behind();
        assert!(s.is_dropped("a", 1), "it goes on for ever");
        assert!(s.error(flies).is_overdue());
        let stats = desk.cache.stats();
        assert_eq!((stats.failed, stats.behind), (2, 0));
    }
}

#[test]
fn a37_a_closed_cache_begins_no_load_of_ones_own() {
    let desk = Desk::new(|it| {
        it.max_waiters(1, Overflow::Load)
            .stale_if_error(seconds(60))
    });
    let mut s = desk.script();
    fill(&mut s, "b", 1);
    desk.clock.advance(seconds(60));
    let (_a, _b) = (waits(&mut s, "a"), waits(&mut s, "b"));
    desk.cache.close();
    let own = s.call("a");
    assert!(s.error(own).is_closed());
    assert_eq!(at_once(&mut s, "b"), (1, "stale on error"));
    assert_eq!((s.starts("a"), s.starts("b")), (1, 2));
}

#[test]
fn a_refresh_behind_takes_no_place_of_a_waiter() {
    let desk = Desk::behind(|it| {
        it.max_waiters(1, Overflow::Refuse)
            .stale_while_revalidate(seconds(10))
    });
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    desk.clock.advance(seconds(10));
    let call = waits(&mut s, "a");
    s.finish_work("a", 2);
    assert_eq!(s.answer(call), Some(2));
}

#[test]
fn a_call_that_is_polled_after_it_was_ready_says_so() {
    let cache: Cache<u32, u32> = Cache::new(10);
    let ask = |key| cache.get_or_load(key, || std::future::ready(Ok(7)));
    // A load, a hit, and both with their outcome.
    let (mut load, mut hit) = (ask(&1), ask(&1));
    let (mut load_with, mut hit_with) = (ask(&2).outcome(), ask(&2).outcome());
    let mut again: [&mut dyn FnMut() -> bool; 4] = [
        &mut || (&mut load).now_or_never().is_some(),
        &mut || (&mut hit).now_or_never().is_some(),
        &mut || (&mut load_with).now_or_never().is_some(),
        &mut || (&mut hit_with).now_or_never().is_some(),
    ];
    for poll in &mut again {
        assert!(poll());
        let said = muted(|| _ = poll());
        assert_eq!(said, Err("a call was polled after it was ready".to_owned()));
    }
    assert_eq!(cache.stats().loads, 2);
}

#[test]
fn a21_a_load_that_asks_for_its_own_key_gets_an_error() {
    let desk = Desk::new(|it| it);
    let cache = desk.cache.clone();
    let again = desk.cache.clone();
    let call = cache.get_or_load("a", move || async move {
        let inner = again.get_or_load("a", || async { Ok(1) }).await;
        assert!(inner.is_err_and(|error| error.is_reentrant()));
        Ok(2)
    });
    let answer = futures_util::FutureExt::now_or_never(call).expect("it hangs");
    assert_eq!(answer.ok(), Some(2));
}

#[test]
fn a_panic_of_a_load_of_ones_own_is_an_error_too() {
    let desk = Desk::new(|it| it.max_waiters(1, Overflow::Load));
    let mut s = desk.script();
    let (first, own) = (waits(&mut s, "a"), waits(&mut s, "a"));
    s.panic_run("a", 1, "boom");
    assert_eq!(s.error(own).panic_message(), Some("boom"));
    s.finish_run("a", 0, 1);
    assert_eq!(s.answer(first), Some(1));
}
