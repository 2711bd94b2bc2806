//! Refreshes: ahead of expiry and behind callers, one a key, with a life of their own.

use super::script::{Desk, at_once, fill, seconds, waits};
use crate::script::HandClock;
use futures_util::FutureExt;
use oneflight::cache::Cache;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn a_value_is_refreshed_after_its_part_of_life_while_it_is_fresh() {
    let desk = Desk::behind(|it| it.refresh_ahead(0.8));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(47));
    assert_eq!(
        (at_once(&mut s, "a"), desk.tasks.spawned()),
        ((1, "fresh"), 0)
    );
    desk.clock.advance(seconds(1));
    assert_eq!(
        (at_once(&mut s, "a"), desk.tasks.spawned()),
        ((1, "fresh"), 1)
    );
    assert_eq!(
        (at_once(&mut s, "a"), desk.tasks.spawned()),
        ((1, "fresh"), 1)
    );
    s.finish_work("a", 2);
    desk.run_behind();
    assert_eq!((at_once(&mut s, "a"), s.starts("a")), ((2, "fresh"), 2));
}

#[test]
fn without_a_spawner_the_caller_that_finds_it_due_refreshes() {
    let desk = Desk::new(|it| it.refresh_ahead(0.5));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(30));
    let refreshes = waits(&mut s, "a");
    assert_eq!(at_once(&mut s, "a"), (1, "fresh"));
    s.drop_call(refreshes);
    let refreshes = waits(&mut s, "a");
    s.finish_work("a", 2);
    assert_eq!(s.answer(refreshes), Some(2));
    assert_eq!((at_once(&mut s, "a"), s.starts("a")), ((2, "fresh"), 3));
}

#[test]
fn b14_refreshing_ahead_is_one_load_for_each_expiry() {
    for at_random in [false, true] {
        let random = AtomicU64::new(1);
        let desk = Desk::behind(|it| match at_random {
            false => it.refresh_ahead(0.8),
            true => it
                .refresh_ahead_at_random(1.0)
                .chance(move || random.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed)),
        });
        let mut s = desk.script();
        let call = waits(&mut s, "a");
        desk.clock.advance(seconds(2));
        s.finish_work("a", 0);
        assert_eq!(s.answer(call), Some(0));
        let (mut landed, mut waited, mut flown) = (1, 0, 0);
        for tick in 1..=600 {
            desk.clock.advance(seconds(1));
            // A load takes two seconds.
            flown += u64::from(s.starts("a") > landed);
            if flown == 2 {
                s.finish_work("a", tick);
                desk.run_behind();
                (landed, flown) = (landed + 1, 0);
            }
            // Ten callers a second.
            for _ in 0..10 {
                let call = s.call("a");
                waited += u64::from(!s.poll(call));
            }
            assert!(s.starts("a") - landed <= 1, "one at a time");
        }
        assert_eq!(waited, 0, "nobody ever waits");
        let loads = s.starts("a");
        assert!(
            (10..=21).contains(&loads),
            "{loads} loads in ten lifetimes, at random: {at_random}"
        );
    }
}

#[test]
fn b2_a_refresh_outlives_the_request_that_caused_it() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    let call = s.call("a");
    assert!(s.poll(call));
    s.drop_call(call);
    desk.run_behind();
    assert!(!s.is_dropped("a", 1));
    s.finish_work("a", 2);
    desk.run_behind();
    assert_eq!(at_once(&mut s, "a"), (2, "fresh"));
}

#[test]
fn b2_a_refresh_that_its_caller_drops_frees_the_key() {
    let desk = Desk::new(|it| it.stale_while_revalidate(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    let refreshes = waits(&mut s, "a");
    s.drop_call(refreshes);
    assert!(s.is_dropped("a", 1));
    let refreshes = waits(&mut s, "a");
    s.finish_work("a", 2);
    assert_eq!(s.answer(refreshes), Some(2));
}

#[test]
fn b2_a_refresh_whose_runtime_ends_frees_the_key() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    desk.tasks.drop_all();
    assert!(s.is_dropped("a", 1));
    assert_eq!(
        (desk.cache.stats().behind, desk.cache.stats().loading),
        (0, 0)
    );
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    assert_eq!(s.starts("a"), 3);
}

#[test]
fn b3_loads_longer_than_the_refresh_interval_still_advance_the_value() {
    let desk = Desk::behind(|it| {
        it.ttl(seconds(10))
            .refresh_ahead(0.1)
            .max_flight(seconds(600))
    });
    let mut s = desk.script();
    fill(&mut s, "a", 0);
    for turn in 1..5 {
        desk.clock.advance(seconds(1));
        assert_eq!(at_once(&mut s, "a"), (turn - 1, "fresh"));
        desk.clock.advance(seconds(5));
        assert_eq!(at_once(&mut s, "a"), (turn - 1, "fresh"));
        s.finish_work("a", turn);
        desk.run_behind();
        assert_eq!(at_once(&mut s, "a"), (turn, "fresh"));
    }
    assert_eq!(s.starts("a"), 5);
}

#[test]
fn b4_a_refresh_that_hangs_frees_its_place() {
    let desk = Desk::behind(|it| {
        it.stale_while_revalidate(seconds(600))
            .max_flight(seconds(5))
    });
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    desk.run_behind();
    desk.clock.advance(seconds(5));
    desk.run_behind();
    assert!(s.is_dropped("a", 1));
    let stats = desk.cache.stats();
    assert_eq!(
        (stats.behind, stats.failed, stats.refreshes_failed),
        (0, 1, 1)
    );
    desk.clock.advance(seconds(1));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    s.finish_work("a", 2);
    desk.run_behind();
    assert_eq!((at_once(&mut s, "a"), s.starts("a")), ((2, "fresh"), 3));
}

#[test]
fn b4_what_hangs_is_bounded_though_nobody_says_so() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(600)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    desk.run_behind();
    desk.clock.advance(seconds(60));
    desk.run_behind();
    assert!(s.is_dropped("a", 1));
}

/// Work that a request lends something to cannot be handed to a refresh: see the compile-time half in the docs of `Cache`.
#[test]
fn b5_a_refresh_uses_nothing_of_the_request_and_is_polled_by_its_own_task() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    let request = Arc::new(());
    let lent = Arc::downgrade(&request);
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    drop(request);
    assert_eq!(s.polls("a", 1), 0, "the request does not poll it");
    assert!(lent.upgrade().is_none());
    desk.run_behind();
    assert_eq!(s.polls("a", 1), 1);
    s.finish_work("a", 2);
    desk.run_behind();
    assert_eq!(desk.cache.get("a"), Some(2));
}

#[test]
fn b6_a_refresh_that_fails_backs_off_and_recovers() {
    let desk = Desk::behind(|it| {
        it.stale_while_revalidate(seconds(6000))
            .error_backoff(seconds(10), seconds(35))
    });
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    for (turn, pause) in (1..).zip([10, 20, 35, 35]) {
        assert_eq!(at_once(&mut s, "a"), (1, "stale"));
        s.fail_work("a", "outage");
        desk.run_behind();
        assert_eq!(s.starts("a"), 1 + turn);
        for _ in 0..pause {
            assert_eq!(at_once(&mut s, "a"), (1, "stale on error"), "too early");
            assert_eq!(s.starts("a"), 1 + turn);
            desk.clock.advance(seconds(1));
        }
    }
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    s.finish_work("a", 2);
    desk.run_behind();
    assert_eq!(at_once(&mut s, "a"), (2, "fresh"));
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (2, "stale"));
    s.fail_work("a", "outage");
    desk.run_behind();
    desk.clock.advance(seconds(9));
    assert_eq!(at_once(&mut s, "a"), (2, "stale on error"));
    desk.clock.advance(seconds(1));
    assert_eq!(
        at_once(&mut s, "a"),
        (2, "stale"),
        "as after the first failure"
    );
    assert_eq!(desk.cache.stats().refreshes_failed, 5);
}

#[test]
fn b6_a_refresh_that_fails_backs_off_though_nobody_says_so() {
    let desk = Desk::behind(|it| it.refresh_ahead(0.5).stale_while_revalidate(seconds(6000)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(30));
    let mut put_off = 0;
    for (turn, pause) in (1..).zip([1, 2, 4, 8, 16, 32, 60, 60]) {
        let call = s.call("a");
        assert!(s.poll(call) && s.value(call) == Some(1));
        assert_eq!(s.starts("a"), 1 + turn, "a refresh is due again");
        s.fail_work("a", "outage");
        desk.run_behind();
        for _ in 0..pause {
            let (value, source) = at_once(&mut s, "a");
            assert!(value == 1 && matches!(source, "fresh" | "stale on error"));
            assert_eq!(s.starts("a"), 1 + turn, "too early");
            desk.clock.advance(seconds(1));
            put_off += 1;
        }
    }
    let stats = desk.cache.stats();
    assert_eq!(
        (stats.refreshes_failed, stats.refreshes_put_off),
        (8, put_off)
    );
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    s.finish_work("a", 2);
    desk.run_behind();
    assert_eq!(at_once(&mut s, "a"), (2, "fresh"));
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (2, "stale"));
    s.fail_work("a", "outage");
    desk.run_behind();
    desk.clock.advance(seconds(1));
    assert_eq!(
        at_once(&mut s, "a"),
        (2, "stale"),
        "as after the first failure"
    );
}

#[test]
fn b6_what_backs_off_by_default_is_refreshes_and_nobody_who_waits() {
    let desk = Desk::behind(|it| {
        it.stale_while_revalidate(seconds(10))
            .stale_if_error(seconds(20))
    });
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(69));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    s.fail_work("a", "outage");
    desk.run_behind();
    assert_eq!(at_once(&mut s, "a"), (1, "stale on error"));
    desk.clock.advance(seconds(1));
    let call = waits(&mut s, "a");
    s.fail_work("a", "outage");
    assert_eq!(
        (s.answer(call), desk.source(call)),
        (Some(1), "stale on error")
    );
    desk.clock.advance(seconds(10));
    let call = waits(&mut s, "a");
    s.finish_work("a", 2);
    assert_eq!((s.answer(call), desk.source(call)), (Some(2), "loaded"));
}

#[test]
fn b6_a_pause_of_nothing_is_none() {
    let desk = Desk::behind(|it| {
        it.stale_while_revalidate(seconds(600))
            .error_backoff(seconds(0), seconds(0))
    });
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    for turn in 1..5 {
        assert_eq!(
            (at_once(&mut s, "a"), s.starts("a")),
            ((1, "stale"), 1 + turn)
        );
        s.fail_work("a", "outage");
        desk.run_behind();
    }
}

#[test]
fn b6_a_panic_and_an_overdue_refresh_back_off_too() {
    let desk = Desk::behind(|it| {
        it.stale_while_revalidate(seconds(6000))
            .error_backoff(seconds(10), seconds(10))
            .max_flight(seconds(5))
    });
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    s.panic_work("a", "boom");
    desk.run_behind();
    assert_eq!(at_once(&mut s, "a"), (1, "stale on error"));
    desk.clock.advance(seconds(10));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    desk.run_behind();
    desk.clock.advance(seconds(5));
    desk.run_behind();
    let call = s.call("a");
    assert_eq!(s.answer(call), Some(1));
    let told = desk.part(call).error;
    assert_eq!(told.as_deref(), Some("the flight took longer than it may"));
}

#[test]
fn b6_a_cold_key_backs_off_with_its_error() {
    let desk = Desk::new(|it| it.error_backoff(seconds(10), seconds(60)));
    let mut s = desk.script();
    let call = waits(&mut s, "a");
    s.fail_work("a", "outage");
    assert!(s.error(call).is_work());
    let call = s.call("a");
    assert_eq!(s.error(call).to_string(), "outage");
    assert_eq!((s.starts("a"), desk.cache.stats().backed_off), (1, 1));
    desk.clock.advance(seconds(10));
    let call = waits(&mut s, "a");
    s.fail_work("a", "outage");
    assert!(s.error(call).is_work());
    desk.clock.advance(seconds(10));
    let call = s.call("a");
    assert!(s.error(call).is_work(), "twice as long");
    desk.cache.invalidate("a");
    fill(&mut s, "a", 1);
}

#[test]
fn b6_a_key_backs_off_whose_value_was_invalidated_with_all() {
    let desk = Desk::new(|it| it.error_backoff(seconds(10), seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.cache.invalidate_all();
    let call = waits(&mut s, "a");
    s.fail_work("a", "outage");
    assert!(s.error(call).is_work());
    let call = s.call("a");
    assert_eq!(s.error(call).to_string(), "outage");
    assert_eq!((s.starts("a"), desk.cache.stats().backed_off), (2, 1));
}

#[test]
fn who_refreshes_ahead_in_vain_gets_what_is_fresh() {
    let desk = Desk::new(|it| it.refresh_ahead(0.5));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(40));
    let call = waits(&mut s, "a");
    s.fail_work("a", "forbidden");
    assert_eq!((s.answer(call), desk.source(call)), (Some(1), "fresh"));
}

#[test]
fn b13_what_was_loaded_together_does_not_expire_together() {
    let clock = HandClock::new();
    let cache: Cache<u32, u32> = Cache::builder(20_000)
        .clock(clock.clone())
        .ttl(seconds(1000))
        .jitter(0.2)
        .build();
    (0..10_000).for_each(|key| cache.insert(key, key));
    clock.advance(seconds(800));
    let fresh = || (0..10_000).filter(|key| cache.get(key).is_some()).count();
    let mut left = fresh();
    assert_eq!(left, 10_000);
    for step in 1..=20 {
        clock.advance(seconds(10));
        let now = fresh();
        let gone = left - now;
        assert!((350..650).contains(&gone), "{gone} expire in step {step}");
        left = now;
    }
    assert_eq!(left, 0);
}

#[test]
fn jitter_comes_from_the_chance_that_is_handed_in() {
    let turn = AtomicU64::new(0);
    let chances = [0, u64::MAX / 2, u64::MAX];
    let desk = Desk::new(|it| {
        it.jitter(0.5)
            .chance(move || chances[turn.fetch_add(1, Ordering::Relaxed) as usize])
    });
    let keys = ["a", "b", "c"];
    for key in keys {
        desk.cache.insert(key.to_owned(), 1);
    }
    let fresh = || keys.map(|key| desk.cache.get(key).is_some());
    desk.clock.advance(seconds(29));
    assert_eq!(fresh(), [true, true, true]);
    desk.clock.advance(seconds(1));
    assert_eq!(fresh(), [true, true, false]);
    desk.clock.advance(seconds(15));
    assert_eq!(fresh(), [true, false, false]);
    desk.clock.advance(seconds(15));
    assert_eq!(fresh(), [false, false, false]);
}

#[test]
fn b17_a_program_can_wait_for_what_runs_behind() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(60)));
    let mut s = desk.script();
    assert!(desk.cache.idle().now_or_never().is_some(), "nothing runs");
    fill(&mut s, "a", 1);
    fill(&mut s, "b", 1);
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    assert_eq!(at_once(&mut s, "b"), (1, "stale"));
    let mut idle = desk.cache.idle();
    assert!((&mut idle).now_or_never().is_none());
    s.finish_work("a", 2);
    desk.run_behind();
    assert!((&mut idle).now_or_never().is_none(), "one is left");
    desk.cache.close();
    s.fail_work("b", "outage");
    desk.run_behind();
    assert!((&mut idle).now_or_never().is_some());
    desk.clock.advance(seconds(1));
    assert_eq!(at_once(&mut s, "b"), (1, "stale"), "what is kept is served");
    assert_eq!(
        (s.starts("b"), desk.cache.stats().behind),
        (2, 0),
        "but nothing is loaded"
    );
}

#[test]
fn b17_who_waits_for_idleness_is_woken() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    let (waker, count) = counting_waker();
    let mut context = std::task::Context::from_waker(&waker);
    let mut idle = desk.cache.idle();
    assert!(idle.poll_unpin(&mut context).is_pending());
    assert!(idle.poll_unpin(&mut context).is_pending());
    s.finish_work("a", 2);
    desk.run_behind();
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(idle.poll_unpin(&mut context).is_ready());
}

/// A waker that counts.
fn counting_waker() -> (std::task::Waker, Arc<AtomicU64>) {
    struct Counts(Arc<AtomicU64>);
    impl std::task::Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let count = Arc::new(AtomicU64::new(0));
    (Arc::new(Counts(count.clone())).into(), count)
}

#[test]
fn a_closed_cache_loads_nothing() {
    let desk = Desk::new(|it| it.stale_if_error(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.cache.close();
    let call = s.call("b");
    assert!(s.error(call).is_closed());
    assert_eq!(at_once(&mut s, "a"), (1, "fresh"));
    desk.clock.advance(seconds(60));
    let call = s.call("a");
    assert_eq!(
        (s.answer(call), desk.source(call)),
        (Some(1), "stale on error")
    );
}

#[test]
fn detached_loads_go_on_when_all_callers_have_left() {
    let desk = Desk::behind(|it| it.detached());
    let mut s = desk.script();
    let call = waits(&mut s, "a");
    s.drop_call(call);
    assert_eq!(
        (desk.cache.stats().behind, s.is_dropped("a", 0)),
        (1, false)
    );
    s.finish_work("a", 1);
    desk.run_behind();
    assert_eq!(
        (desk.cache.get("a"), desk.cache.stats().behind),
        (Some(1), 0)
    );
}
