//! Writes against loads in flight: what began before a write is neither kept after it, nor joined.

use super::script::{Desk, Prepared, Prices, at_once, fill, seconds, waits};
use oneflight::Event;
use oneflight::cache::{Lifetime, Overflow};
use std::sync::{Arc, Mutex};

#[test]
fn a14_what_is_invalidated_while_it_is_loaded_is_not_kept() {
    let desk = Desk::new(|it| it);
    let mut s = desk.script();
    let old = waits(&mut s, "a");
    desk.cache.invalidate("a");
    let new = waits(&mut s, "a");
    assert_eq!(s.starts("a"), 2, "a later call joins no older load");
    s.finish_run("a", 0, 1);
    assert_eq!(
        s.answer(old),
        Some(1),
        "who asked before gets what it brings"
    );
    assert_eq!(desk.cache.get("a"), None);
    s.finish_run("a", 1, 2);
    assert_eq!((s.answer(new), desk.cache.get("a")), (Some(2), Some(2)));
    assert_eq!(desk.cache.stats().fenced, 1);
}

#[test]
fn a14_a_late_load_does_not_take_the_place_of_a_newer_one() {
    let desk = Desk::new(|it| it);
    let mut s = desk.script();
    let old = waits(&mut s, "a");
    desk.cache.invalidate("a");
    fill(&mut s, "a", 2);
    s.finish_run("a", 0, 1);
    assert_eq!((s.answer(old), desk.cache.get("a")), (Some(1), Some(2)));
}

#[test]
fn a14_an_older_load_is_not_kept_after_a_newer_one_that_left_nothing() {
    let zero = Lifetime::of(seconds(0));
    for newer in ["not found", "forbidden", "a value that is not kept"] {
        let desk = Desk::new(|it| {
            it.lifetime(move |_, value, usual| if *value == 2 { zero } else { usual })
        });
        let mut s = desk.script();
        let old = waits(&mut s, "a");
        let mark = desk.cache.mark();
        let work = s.work("a");
        let new = s.seat(desk.ask("a", Some(mark), None, work));
        assert!(!s.poll(new));
        match newer {
            "a value that is not kept" => s.finish_run("a", 1, 2),
            error => s.fail_run("a", 1, error),
        }
        s.settle();
        assert!(s.has_answer(new));
        s.finish_run("a", 0, 1);
        assert_eq!(s.answer(old), Some(1), "who asked before gets it");
        assert_eq!(desk.cache.peek("a"), None, "after {newer}");
        assert_eq!(desk.cache.stats().fenced, 1);
    }
}

#[test]
fn a14_an_older_load_that_lands_after_one_that_failed_for_good_serves_while_it_is_fresh() {
    let desk = Desk::new(|it| {
        it.stale_if_error(seconds(600))
            .max_waiters(1, Overflow::Load)
    });
    let mut s = desk.script();
    desk.cache.insert("a".to_owned(), 1);
    desk.cache.expire("a");
    let (_flies, lands, fails) = (waits(&mut s, "a"), waits(&mut s, "a"), waits(&mut s, "a"));
    s.fail_run("a", 2, "forbidden");
    assert!(s.error(fails).is_work());
    s.finish_run("a", 1, 2);
    assert_eq!((s.answer(lands), desk.cache.get("a")), (Some(2), Some(2)));
    desk.clock.advance(seconds(60));
    assert_eq!(desk.cache.peek("a"), None, "its windows are gone");
}

#[test]
fn a14_a_newer_load_that_failed_for_now_leaves_an_older_one_its_right() {
    let desk = Desk::new(|it| {
        it.max_waiters(1, Overflow::Load)
            .error_backoff(seconds(10), seconds(10))
    });
    let mut s = desk.script();
    let (old, fails, dropped) = (waits(&mut s, "a"), waits(&mut s, "a"), waits(&mut s, "a"));
    s.fail_run("a", 1, "outage");
    assert!(s.error(fails).is_work());
    s.drop_call(dropped);
    s.finish_run("a", 0, 1);
    assert_eq!((s.answer(old), desk.cache.get("a")), (Some(1), Some(1)));
    assert_eq!(at_once(&mut s, "a"), (1, "fresh"), "and the pause is over");
}

#[test]
fn a14_what_is_inserted_while_it_is_loaded_stays() {
    let desk = Desk::new(|it| it);
    let mut s = desk.script();
    let old = waits(&mut s, "a");
    desk.cache.insert("a".to_owned(), 2);
    assert_eq!(at_once(&mut s, "a"), (2, "fresh"));
    s.finish_work("a", 1);
    assert_eq!((s.answer(old), desk.cache.get("a")), (Some(1), Some(2)));
    assert_eq!(desk.cache.stats().fenced, 1);
}

#[test]
fn a14_after_an_insert_that_is_gone_again_no_older_load_is_joined() {
    let desk = Desk::new(|it| it);
    let mut s = desk.script();
    let old = waits(&mut s, "a");
    desk.cache.insert("a".to_owned(), 2);
    desk.clock.advance(seconds(60));
    let new = waits(&mut s, "a");
    s.finish_run("a", 0, 1);
    s.finish_run("a", 1, 3);
    assert_eq!((s.answer(old), s.answer(new)), (Some(1), Some(3)));
    assert_eq!(desk.cache.get("a"), Some(3));
}

#[test]
fn a15_invalidate_overtakes_a_refresh() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    desk.run_behind();
    desk.cache.invalidate("a");
    s.finish_run("a", 1, 2);
    desk.run_behind();
    assert_eq!(desk.cache.peek("a"), None, "the refresh began before");
    let call = waits(&mut s, "a");
    s.finish_run("a", 2, 3);
    assert_eq!((s.answer(call), desk.cache.get("a")), (Some(3), Some(3)));
}

#[test]
fn a15_insert_overtakes_a_refresh() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    desk.cache.insert("a".to_owned(), 3);
    s.finish_work("a", 2);
    desk.run_behind();
    assert_eq!(at_once(&mut s, "a"), (3, "fresh"));
}

#[test]
fn invalidating_all_takes_every_value_and_overtakes_every_load() {
    let desk = Desk::new(|it| it.stale_if_error(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.cache.insert("b".to_owned(), 2);
    let old = waits(&mut s, "c");
    desk.cache.invalidate_all();
    assert_eq!((desk.cache.get("a"), desk.cache.peek("b")), (None, None));
    let new = waits(&mut s, "c");
    s.finish_run("c", 0, 3);
    assert_eq!((s.answer(old), desk.cache.get("c")), (Some(3), None));
    s.finish_run("c", 1, 4);
    assert_eq!((s.answer(new), desk.cache.get("c")), (Some(4), Some(4)));
    assert_eq!(desk.cache.len(), 3, "they take up room");
    desk.cache.purge();
    assert_eq!(desk.cache.len(), 1, "until somebody sweeps");
}

#[test]
fn an_insert_after_invalidating_all_counts() {
    let desk = Desk::new(|it| it);
    desk.cache.invalidate_all();
    desk.cache.insert("a".to_owned(), 1);
    assert_eq!(desk.cache.get("a"), Some(1));
}

#[test]
fn expire_keeps_the_value_as_stale_and_no_later_call_joins_a_load() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.cache.expire("a");
    assert_eq!(desk.cache.get("a"), None);
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    desk.run_behind();
    desk.cache.expire("a");
    assert_eq!((at_once(&mut s, "a"), s.starts("a")), ((1, "stale"), 3));
    s.finish_run("a", 2, 3);
    desk.run_behind();
    s.finish_run("a", 1, 2);
    desk.run_behind();
    assert_eq!(
        at_once(&mut s, "a"),
        (3, "fresh"),
        "the older one lands late"
    );
}

#[test]
fn what_a_load_brings_that_was_expired_meanwhile_is_kept_as_stale() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    desk.run_behind();
    desk.cache.expire("a");
    desk.clock.advance(seconds(20));
    s.finish_run("a", 1, 2);
    desk.run_behind();
    assert_eq!(desk.cache.get("a"), None, "that load began before");
    assert_eq!(
        at_once(&mut s, "a"),
        (2, "stale"),
        "no older than what it has brought"
    );
    assert_eq!(s.starts("a"), 3, "it is loaded anew");
    desk.clock.advance(seconds(39));
    assert_eq!(at_once(&mut s, "a"), (2, "stale"));
    desk.clock.advance(seconds(1));
    assert_eq!(
        desk.cache.peek("a"),
        None,
        "its windows begin with the expiry"
    );
}

#[test]
fn what_a_load_says_that_was_expired_meanwhile_is_not_remembered() {
    for error in ["not found", "outage", "forbidden"] {
        let desk = Desk::new(|it| {
            it.error_backoff(seconds(10), seconds(10))
                .negative_ttl(seconds(10))
                .stale_if_error(seconds(60))
        });
        let mut s = desk.script();
        let call = waits(&mut s, "a");
        desk.cache.expire("a");
        s.fail_run("a", 0, error);
        assert!(s.error(call).is_work());
        fill(&mut s, "a", 2);
        desk.cache.expire("a");
        let call = waits(&mut s, "a");
        desk.cache.expire("a");
        s.fail_run("a", 2, error);
        s.settle();
        assert!(s.has_answer(call));
        let kept = desk.cache.peek("a").map(|kept| kept.value);
        let expected = if error == "outage" { Some(2) } else { None };
        assert_eq!(kept, expected, "after {error}");
        fill(&mut s, "a", 3);
    }
}

#[test]
fn a_value_that_is_expired_serves_as_long_as_its_windows_from_then_on() {
    let desk = Desk::new(|it| it.stale_while_revalidate(seconds(5)));
    desk.cache.insert("a".to_owned(), 1);
    desk.cache.expire("a");
    desk.clock.advance(seconds(4));
    desk.cache.expire("a");
    assert!(desk.cache.peek("a").is_some());
    desk.clock.advance(seconds(1));
    assert_eq!(desk.cache.peek("a"), None, "twice is not longer");
}

#[test]
fn expire_of_what_serves_only_fresh_ends_it() {
    let desk = Desk::new(|it| it);
    desk.cache.insert("a".to_owned(), 1);
    desk.cache.expire("a");
    desk.cache.expire("b");
    assert_eq!((desk.cache.peek("a"), desk.cache.peek("b")), (None, None));
}

#[test]
fn a17_a_caller_that_wrote_refuses_what_began_before() {
    let desk = Desk::new(|it| it.stale_if_error(seconds(600)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    let mark = desk.cache.mark();
    let work = s.work("a");
    let call = s.seat(desk.ask("a", Some(mark), None, work));
    assert!(!s.poll(call), "the value is fresh, but not for this caller");
    assert_eq!(at_once(&mut s, "a"), (1, "fresh"));
    s.fail_work("a", "oops");
    assert!(
        s.error(call).is_work(),
        "nor does it serve if loading fails"
    );
    let work = s.work("a");
    let call = s.seat(desk.ask("a", Some(mark), None, work));
    assert!(!s.poll(call));
    s.finish_work("a", 2);
    assert_eq!(s.answer(call), Some(2));
    let work = s.work("a");
    let call = s.seat(desk.ask("a", Some(mark), None, work));
    assert_eq!((s.answer(call), s.starts("a")), (Some(2), 3));
}

#[test]
fn a17_a_caller_that_wrote_joins_no_load_that_began_before() {
    let desk = Desk::new(|it| it);
    let mut s = desk.script();
    let old = waits(&mut s, "a");
    let mark = desk.cache.mark();
    let work = s.work("a");
    let new = s.seat(desk.ask("a", Some(mark), None, work));
    assert!(!s.poll(new));
    let joins = waits(&mut s, "a");
    assert_eq!(s.starts("a"), 2);
    s.finish_run("a", 1, 2);
    assert_eq!((s.answer(new), s.answer(joins)), (Some(2), Some(2)));
    s.finish_run("a", 0, 1);
    assert_eq!(
        (s.answer(old), desk.cache.get("a")),
        (Some(1), Some(2)),
        "the older one lands last"
    );
    desk.cache.insert("b".to_owned(), 5);
    let work = s.work("b");
    let call = s.seat(desk.ask("b", Some(mark), None, work));
    assert_eq!(
        s.answer(call),
        Some(5),
        "what was inserted after the mark is fresh enough"
    );
}

/// A cache whose observer inserts 2 when a flight starts, as another thread might. Or the two would keep each other: it is to be
/// emptied at the end.
fn inserting_late(
    prepare: impl FnOnce(Prepared) -> Prepared,
) -> (Desk, Arc<Mutex<Option<Prices>>>) {
    let late: Arc<Mutex<Option<Prices>>> = Arc::default();
    let there = late.clone();
    let desk = Desk::new(|it| {
        prepare(it).observer(move |key: &String, event: &Event<'_>| {
            let cache = there.lock().unwrap().clone();
            if let (Event::Started, Some(cache)) = (event, cache) {
                cache.insert(key.clone(), 2);
            }
        })
    });
    (desk, late)
}

#[test]
fn a19_what_was_stored_in_the_same_moment_as_what_was_seen_is_newer() {
    let (desk, late) = inserting_late(|it| it.stale_while_revalidate(seconds(60)));
    let mut s = desk.script();
    desk.cache.insert("a".to_owned(), 1);
    desk.cache.expire("a");
    *late.lock().unwrap() = Some(desk.cache.clone());
    assert_eq!(at_once(&mut s, "a"), (2, "fresh"));
    assert_eq!((s.starts("a"), desk.cache.stats().loads), (0, 0));
    *late.lock().unwrap() = None;
}

/// A value that comes between a caller's look and its flight, as by another thread: here by the observer, which is told that the
/// flight has started before its work is made.
#[test]
fn a19_who_becomes_a_leader_looks_once_more() {
    let (desk, late) = inserting_late(|it| it);
    let mut s = desk.script();
    *late.lock().unwrap() = Some(desk.cache.clone());
    assert_eq!(at_once(&mut s, "a"), (2, "fresh"));
    assert_eq!((s.starts("a"), desk.cache.stats().loads), (0, 0));
    *late.lock().unwrap() = None;
}

#[test]
fn a18_a_call_after_a_failure_starts_anew() {
    let desk = Desk::new(|it| it);
    let mut s = desk.script();
    let calls = [waits(&mut s, "a"), waits(&mut s, "a"), waits(&mut s, "a")];
    s.fail_work("a", "oops");
    for call in calls {
        assert!(s.error(call).is_work());
    }
    assert_eq!(s.starts("a"), 1, "one start for all who waited");
    fill(&mut s, "a", 1);
}

#[test]
fn a_load_that_is_dropped_leaves_no_ticket_and_no_value() {
    let desk = Desk::new(|it| it);
    let mut s = desk.script();
    let call = waits(&mut s, "a");
    s.drop_call(call);
    assert!(s.is_dropped("a", 0));
    assert_eq!((desk.cache.stats().loading, desk.cache.len()), (0, 0));
    fill(&mut s, "a", 1);
    assert_eq!(desk.cache.stats().fenced, 0);
}

#[test]
fn a20_two_caches_with_one_key_know_nothing_of_each_other() {
    let (prices, stocks) = (Desk::new(|it| it), Desk::new(|it| it));
    let (mut p, mut s) = (prices.script(), stocks.script());
    let (price, stock) = (waits(&mut p, "a"), waits(&mut s, "a"));
    s.finish_work("a", 2);
    p.finish_work("a", 1);
    assert_eq!((p.answer(price), s.answer(stock)), (Some(1), Some(2)));
    prices.cache.invalidate("a");
    assert_eq!(
        (prices.cache.get("a"), stocks.cache.get("a")),
        (None, Some(2))
    );
}
