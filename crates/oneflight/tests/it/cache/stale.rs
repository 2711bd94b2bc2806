//! Old values: while they are loaded anew, when loading fails, and when it is slow.

use super::script::{Desk, Part, at_once, fill, seconds, waits};

#[test]
fn a_value_is_fresh_for_its_time_and_no_longer() {
    let desk = Desk::new(|it| it);
    let mut s = desk.script();
    let call = waits(&mut s, "a");
    desk.clock.advance(seconds(10));
    s.finish_work("a", 1);
    assert_eq!((s.answer(call), desk.source(call)), (Some(1), "loaded"));
    desk.clock.advance(seconds(59));
    let call = s.call("a");
    assert_eq!(s.answer(call), Some(1));
    let age = Some(seconds(59));
    let part = desk.part(call);
    assert_eq!(
        (part.source, part.age),
        ("fresh", age),
        "its age counts from the landing"
    );
    desk.clock.advance(seconds(1));
    waits(&mut s, "a");
    assert_eq!((s.starts("a"), desk.cache.stats().hits), (2, 1));
}

#[test]
fn callers_that_wait_together_are_told_who_loaded() {
    let desk = Desk::new(|it| it);
    let mut s = desk.script();
    let (a, b) = (waits(&mut s, "a"), waits(&mut s, "a"));
    s.finish_work("a", 1);
    s.settle();
    assert_eq!((desk.source(a), desk.source(b)), ("loaded", "joined"));
    let stats = desk.cache.stats();
    assert_eq!((stats.loads, stats.joined, stats.landed), (1, 1, 1));
}

#[test]
fn b1_all_but_one_reader_of_a_stale_value_get_it_at_once() {
    let desk = Desk::new(|it| it.stale_while_revalidate(seconds(30)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    // Without a spawner, the first one loads.
    let first = waits(&mut s, "a");
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    s.finish_work("a", 2);
    assert_eq!((s.answer(first), s.starts("a")), (Some(2), 2));
    assert_eq!(at_once(&mut s, "a"), (2, "fresh"));
}

#[test]
fn b1_with_a_spawner_every_reader_of_a_stale_value_gets_it_at_once() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(30)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(89));
    for _ in 0..5 {
        assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    }
    assert_eq!((s.starts("a"), desk.tasks.spawned()), (2, 1), "one refresh");
    s.finish_work("a", 2);
    desk.run_behind();
    assert_eq!(at_once(&mut s, "a"), (2, "fresh"));
    let stats = desk.cache.stats();
    assert_eq!((stats.stale, stats.loads, stats.refreshes), (5, 2, 1));
}

#[test]
fn a_cold_caller_joins_a_refresh() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(30)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    desk.clock.advance(seconds(30));
    let call = waits(&mut s, "a");
    s.finish_work("a", 2);
    assert_eq!((s.answer(call), s.starts("a")), (Some(2), 2));
    assert_eq!(desk.source(call), "joined");
}

#[test]
fn b8_what_is_invalidated_is_not_served_as_stale() {
    let desk = Desk::behind(|it| {
        it.stale_while_revalidate(seconds(600))
            .stale_if_error(seconds(600))
    });
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.cache.invalidate("a");
    let call = waits(&mut s, "a");
    s.fail_work("a", "oops");
    assert!(s.error(call).is_work());
    desk.cache.insert("a".to_owned(), 2);
    desk.cache.invalidate_all();
    let call = waits(&mut s, "a");
    s.fail_work("a", "oops");
    assert!(s.error(call).is_work());
}

#[test]
fn b10_an_outage_keeps_the_stale_value_and_not_found_takes_it_away() {
    let desk = Desk::new(|it| it.stale_if_error(seconds(600)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(61));
    let (call, joins) = (waits(&mut s, "a"), waits(&mut s, "a"));
    s.fail_work("a", "outage");
    assert_eq!((s.answer(call), s.answer(joins)), (Some(1), Some(1)));
    let part = Part {
        source: "stale on error",
        age: Some(seconds(61)),
        error: Some("outage".to_owned()),
    };
    assert_eq!((desk.part(call), desk.part(joins)), (part.clone(), part));
    let call = waits(&mut s, "a");
    s.fail_work("a", "not found");
    assert_eq!(s.error(call).to_string(), "not found");
    assert_eq!((desk.cache.peek("a"), desk.cache.len()), (None, 0));
    let stats = desk.cache.stats();
    assert_eq!((stats.stale_on_error, stats.failed), (2, 2));
}

#[test]
fn a_permanent_error_is_told_and_ends_the_windows() {
    let desk = Desk::behind(|it| {
        it.stale_while_revalidate(seconds(600))
            .stale_if_error(seconds(600))
    });
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(61));
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    s.fail_work("a", "forbidden");
    desk.run_behind();
    let call = waits(&mut s, "a");
    s.fail_work("a", "forbidden");
    assert_eq!(s.error(call).to_string(), "forbidden");
}

#[test]
fn a_panic_and_a_load_that_takes_too_long_are_failures_that_pass() {
    let desk = Desk::new(|it| it.stale_if_error(seconds(600)).max_flight(seconds(5)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    let call = waits(&mut s, "a");
    s.panic_work("a", "boom");
    assert_eq!(s.answer(call), Some(1));
    // Where it panicked is told, too, once another test has asked for that.
    let error = desk.part(call).error.unwrap_or_default();
    assert!(
        error.starts_with("the work panicked") && error.ends_with(": boom"),
        "{error}"
    );
    let call = waits(&mut s, "a");
    desk.clock.advance(seconds(5));
    assert_eq!(
        (s.answer(call), desk.source(call)),
        (Some(1), "stale on error")
    );
    assert!(s.is_dropped("a", 2));
    assert_eq!(desk.cache.stats().failed, 2);
}

#[test]
fn a_panic_of_a_cold_load_reaches_all_with_its_message() {
    let desk = Desk::new(|it| it);
    let mut s = desk.script();
    let calls = [waits(&mut s, "a"), waits(&mut s, "a")];
    s.panic_work("a", "boom");
    for call in calls {
        assert_eq!(s.error(call).panic_message(), Some("boom"));
    }
    fill(&mut s, "a", 1);
}

#[test]
fn the_window_for_errors_ends() {
    let desk = Desk::new(|it| it.stale_if_error(seconds(10)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(65));
    let call = waits(&mut s, "a");
    desk.clock.advance(seconds(5));
    s.fail_work("a", "oops");
    assert!(s.error(call).is_work(), "it counts when the load fails");
}

#[test]
fn b11_that_there_is_none_is_remembered_for_its_time_and_a_write_ends_it() {
    let desk = Desk::new(|it| it.negative_ttl(seconds(5)));
    let mut s = desk.script();
    let call = waits(&mut s, "a");
    s.fail_work("a", "not found");
    assert!(s.error(call).is_work());
    let call = s.call("a");
    assert_eq!(s.error(call).to_string(), "not found", "remembered");
    assert_eq!((s.starts("a"), desk.cache.stats().negative), (1, 1));
    assert_eq!((desk.cache.get("a"), desk.cache.peek("a")), (None, None));
    desk.cache.insert("a".to_owned(), 1);
    assert_eq!(at_once(&mut s, "a"), (1, "fresh"));
    desk.cache.invalidate("a");
    let call = waits(&mut s, "a");
    s.fail_work("a", "not found");
    assert!(s.error(call).is_work());
    desk.cache.invalidate("a");
    let call = waits(&mut s, "a");
    s.fail_work("a", "not found");
    assert!(s.error(call).is_work());
    desk.clock.advance(seconds(5));
    fill(&mut s, "a", 2);
}

#[test]
fn b11_a_load_that_finds_none_does_not_hide_what_was_inserted_meanwhile() {
    let desk = Desk::new(|it| it.negative_ttl(seconds(5)));
    let mut s = desk.script();
    let call = waits(&mut s, "a");
    desk.cache.insert("a".to_owned(), 1);
    s.fail_work("a", "not found");
    assert!(s.error(call).is_work());
    assert_eq!(at_once(&mut s, "a"), (1, "fresh"));
}

#[test]
fn a27_an_error_is_not_kept_unless_asked() {
    let desk = Desk::new(|it| it);
    let mut s = desk.script();
    let call = waits(&mut s, "a");
    s.fail_work("a", "not found");
    assert!(s.error(call).is_work());
    assert_eq!(desk.cache.len(), 0);
    fill(&mut s, "a", 1);
}

#[test]
fn a32_a_cache_that_keeps_nothing_still_coalesces() {
    let desk = Desk::new(|it| it.ttl(seconds(0)));
    let mut s = desk.script();
    let (a, b) = (waits(&mut s, "a"), waits(&mut s, "a"));
    s.finish_work("a", 1);
    assert_eq!(
        (s.answer(a), s.answer(b), s.starts("a")),
        (Some(1), Some(1), 1)
    );
    assert_eq!(desk.cache.len(), 0);
    waits(&mut s, "a");
    assert_eq!(desk.cache.stats().fenced, 0);
}

#[test]
fn b12_a_cold_key_with_stale_windows_is_one_load() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(30)));
    let mut s = desk.script();
    let calls: Vec<_> = (0..100).map(|_| waits(&mut s, "a")).collect();
    s.finish_work("a", 1);
    for call in calls {
        assert_eq!(s.answer(call), Some(1));
    }
    assert_eq!((s.starts("a"), desk.tasks.spawned()), (1, 0));
}

#[test]
fn b19_loads_that_take_longer_than_values_live_leave_one_value() {
    let desk = Desk::new(|it| it.ttl(seconds(1)));
    let mut s = desk.script();
    for turn in 0..10 {
        let (a, b) = (waits(&mut s, "a"), waits(&mut s, "a"));
        desk.clock.advance(seconds(10));
        s.finish_work("a", turn);
        assert_eq!((s.answer(a), s.answer(b)), (Some(turn), Some(turn)));
        assert_eq!(
            at_once(&mut s, "a"),
            (turn, "fresh"),
            "a second from its landing"
        );
        desk.clock.advance(seconds(1));
    }
    assert_eq!((s.starts("a"), desk.cache.len()), (10, 1));
}

#[test]
fn a_soft_timeout_gives_what_is_stale_and_the_load_goes_on() {
    let desk = Desk::behind(|it| it.stale_if_error(seconds(600)).soft_timeout(seconds(1)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    let call = waits(&mut s, "a");
    desk.clock.advance(seconds(1));
    assert_eq!((s.answer(call), desk.source(call)), (Some(1), "stale"));
    assert_eq!((desk.tasks.spawned(), s.is_dropped("a", 1)), (1, false));
    s.finish_work("a", 2);
    desk.run_behind();
    assert_eq!((desk.cache.get("a"), s.starts("a")), (Some(2), 2));
    assert_eq!(desk.cache.stats().behind, 0);
}

#[test]
fn a_soft_timeout_waits_on_where_there_is_nothing_stale() {
    let desk = Desk::behind(|it| it.soft_timeout(seconds(1)));
    let mut s = desk.script();
    let call = waits(&mut s, "a");
    desk.clock.advance(seconds(30));
    s.settle();
    assert!(s.is_waiting(call));
    s.finish_work("a", 1);
    assert_eq!(s.answer(call), Some(1));
}

#[test]
fn a_result_that_is_there_is_not_refused_for_being_late() {
    let desk = Desk::behind(|it| it.stale_if_error(seconds(600)).soft_timeout(seconds(1)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    let call = waits(&mut s, "a");
    s.finish_work("a", 2);
    desk.clock.advance(seconds(1));
    assert_eq!(s.answer(call), Some(2));
}

#[test]
fn a30_a_load_that_lands_late_does_not_hide_a_newer_value() {
    let desk = Desk::behind(|it| {
        it.stale_if_error(seconds(600))
            .soft_timeout(seconds(1))
            .max_flight(seconds(600))
    });
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    let calls: Vec<_> = (0..10).map(|_| waits(&mut s, "a")).collect();
    desk.clock.advance(seconds(1));
    for call in calls {
        assert_eq!((s.answer(call), desk.source(call)), (Some(1), "stale"));
    }
    assert_eq!(desk.tasks.spawned(), 1, "one goes on for all");
    let mark = desk.cache.mark();
    let work = s.work("a");
    let newer = s.seat(desk.ask("a", Some(mark), None, work));
    assert!(!s.poll(newer));
    s.finish_run("a", 2, 3);
    assert_eq!(s.answer(newer), Some(3));
    s.finish_run("a", 1, 2);
    desk.run_behind();
    assert_eq!(
        (desk.cache.get("a"), desk.cache.stats().fenced),
        (Some(3), 1)
    );
}

#[test]
fn a39_ages_are_those_of_the_clock_that_was_handed_in() {
    let desk = Desk::new(|it| it);
    desk.cache.insert("a".to_owned(), 1);
    assert_eq!(
        desk.cache.peek("a").and_then(|kept| kept.age),
        Some(seconds(0))
    );
    desk.clock.advance(seconds(7));
    assert_eq!(
        desk.cache.peek("a").and_then(|kept| kept.age),
        Some(seconds(7))
    );
}

#[test]
fn who_refreshes_for_all_and_fails_gets_what_all_get() {
    let desk = Desk::new(|it| it.stale_while_revalidate(seconds(30)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(60));
    let refreshes = waits(&mut s, "a");
    assert_eq!(at_once(&mut s, "a"), (1, "stale"));
    s.fail_work("a", "outage");
    assert_eq!(s.answer(refreshes), Some(1));
    assert_eq!(desk.source(refreshes), "stale on error");
}

#[test]
fn a_fresh_value_that_could_not_be_refreshed_ahead_is_fresh() {
    let desk = Desk::new(|it| it.refresh_ahead(0.5).wait_timeout(seconds(5)));
    let mut s = desk.script();
    fill(&mut s, "a", 1);
    desk.clock.advance(seconds(30));
    let refreshes = waits(&mut s, "a");
    s.fail_work("a", "outage");
    assert_eq!(
        (s.answer(refreshes), desk.source(refreshes)),
        (Some(1), "fresh")
    );
    let refreshes = waits(&mut s, "a");
    desk.clock.advance(seconds(5));
    assert_eq!(
        (s.answer(refreshes), desk.source(refreshes)),
        (Some(1), "fresh")
    );
}
