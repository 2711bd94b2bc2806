//! What is kept when room is short, and what of it is given back.

use crate::script::HandClock;
use crate::sizes::bytes;
use futures_util::FutureExt;
use oneflight::cache::{Cache, Lifetime};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn no_more_is_kept_than_there_is_room() {
    let cache: Cache<u32, u32> = Cache::new(100);
    (0..10_000).for_each(|key| cache.insert(key, key));
    let stats = cache.stats();
    assert!(stats.entries <= 100 && stats.entries > 50, "{stats:?}");
    assert_eq!(stats.evicted + stats.entries as u64, 10_000);
    assert_eq!(stats.weight, stats.entries as u64);
}

#[test]
fn what_is_used_stays() {
    let cache: Cache<u32, u32> = Cache::new(1000);
    (0..500).for_each(|key| cache.insert(key, key));
    for scan in 1..20 {
        (0..500).for_each(|key| _ = cache.get(&key));
        (0..500).for_each(|key| cache.insert(1000 * scan + key, key));
    }
    let there = (0..500).filter(|key| cache.peek(key).is_some()).count();
    assert!(there > 400, "{there} of 500 have stayed");
}

#[test]
fn a_cache_with_room_for_one_keeps_one() {
    let cache: Cache<u32, u32> = Cache::new(1);
    cache.insert(1, 7);
    assert_eq!((cache.get(&1), cache.len()), (Some(7), 1));
    cache.insert(2, 8);
    assert_eq!(cache.len(), 1);
}

#[test]
fn a_cache_without_room_still_coalesces() {
    let cache: Cache<u32, u32> = Cache::new(0);
    let ask = |value| cache.get_or_load(&1, move || async move { Ok(value) });
    let (a, b) = futures_util::future::join(ask(1), ask(2))
        .now_or_never()
        .expect("landed");
    assert!(matches!((a, b), (Ok(1), Ok(1 | 2))));
    assert_eq!(cache.len(), 0);
}

#[test]
fn entries_weigh_what_is_said_and_what_is_too_heavy_is_not_kept() {
    let cache: Cache<u32, String> = Cache::builder(100)
        .expected_keys(10)
        .weigher(|_, value: &String| u32::try_from(value.len()).unwrap_or(u32::MAX))
        .build();
    cache.insert(1, "x".repeat(40));
    cache.insert(2, "x".repeat(40));
    assert_eq!((cache.len(), cache.stats().weight), (2, 80));
    cache.insert(3, "x".repeat(40));
    assert_eq!((cache.len(), cache.stats().weight), (2, 80));
    cache.insert(4, "x".repeat(400));
    assert_eq!((cache.get(&4), cache.stats().weight), (None, 80));
    cache.insert(5, String::new());
    assert_eq!(cache.stats().weight, 81, "nothing weighs nothing");
    cache.insert(5, "x".repeat(10));
    assert_eq!(cache.stats().weight, 90);
}

#[test]
fn a_value_decides_how_long_it_lives() {
    let clock = HandClock::new();
    let cache: Cache<&str, u64> = Cache::builder(100)
        .clock(clock.clone())
        .ttl(Duration::from_secs(60))
        .stale_if_error(Duration::from_secs(5))
        .lifetime(|_, value, usual| match value {
            0 => usual,
            1 => Lifetime::forever(),
            value => Lifetime::of(Duration::from_secs(*value)),
        })
        .build();
    for (key, value) in [("usual", 0), ("for ever", 1), ("short", 2), ("long", 600)] {
        cache.insert(key, value);
    }
    let fresh = || ["usual", "for ever", "short", "long"].map(|key| cache.get(key).is_some());
    clock.advance(Duration::from_secs(2));
    assert_eq!(fresh(), [true, true, false, true]);
    clock.advance(Duration::from_secs(58));
    assert_eq!(fresh(), [false, true, false, true]);
    assert!(cache.peek("usual").is_some() && cache.peek("short").is_none());
    clock.advance(Duration::from_secs(540));
    assert_eq!(fresh(), [false, true, false, false]);
}

#[test]
fn a_value_that_is_replaced_evicted_or_invalidated_is_dropped() {
    let cache: Cache<u32, Arc<()>> = Cache::new(10);
    let value = Arc::new(());
    cache.insert(1, value.clone());
    cache.insert(1, value.clone());
    assert_eq!(Arc::strong_count(&value), 2);
    cache.invalidate(&1);
    assert_eq!(Arc::strong_count(&value), 1);
    (0..1000).for_each(|key| cache.insert(key, value.clone()));
    assert_eq!(Arc::strong_count(&value), 1 + cache.len());
    cache.invalidate_all();
    cache.purge();
    assert_eq!((Arc::strong_count(&value), cache.is_empty()), (1, true));
}

#[test]
fn a_cache_without_a_clock_knows_no_ages() {
    let cache: Cache<u32, u32> = Cache::new(10);
    cache.insert(1, 7);
    assert_eq!(cache.peek(&1).and_then(|kept| kept.age), None);
}

#[test]
#[should_panic(expected = "`negative_ttl` needs a clock")]
fn what_is_timed_needs_a_clock() {
    let builder = Cache::<u32, u32>::builder(1).negative_ttl(Duration::from_secs(1));
    drop(builder.build());
}

#[test]
#[should_panic(expected = "`detached` needs a spawner")]
fn what_is_detached_needs_a_spawner() {
    drop(Cache::<u32, u32>::builder(1).detached().build());
}

#[test]
#[should_panic(expected = "`soft_timeout` needs a spawner")]
fn what_goes_on_behind_needs_a_spawner() {
    let builder = Cache::<u32, u32>::builder(1).clock(HandClock::new());
    drop(builder.soft_timeout(Duration::from_secs(1)).build());
}

#[test]
#[should_panic(expected = "`Builder::expected_keys`")]
fn entries_with_weights_need_an_idea_of_how_many_they_are() {
    drop(
        Cache::<u32, u32>::builder(1 << 30)
            .weigher(|_, _| 1000)
            .build(),
    );
}

/// What the store remembers of keys that had to go is bounded, too.
#[test]
fn more_keys_than_there_is_room_for_are_not_expected() {
    let keep = |expected| {
        let before = bytes();
        let cache: Cache<u32, u32> = Cache::builder(1000)
            .shards(1)
            .expected_keys(expected)
            .weigher(|_, _| 1)
            .build();
        (0..100_000).for_each(|key| cache.insert(key, key));
        bytes() - before
    };
    let (few, many) = (keep(1000), keep(usize::MAX));
    assert!(
        many <= few,
        "{many} bytes, and {few} with as many keys as there is room for"
    );
}

#[test]
#[should_panic(expected = "between 0 and 1")]
fn no_more_than_all_of_a_life_is_jitter() {
    drop(Cache::<u32, u32>::builder(1).jitter(1.1).build());
}

#[test]
#[should_panic(expected = "a value is refreshed after a part of its life")]
fn a_refresh_at_random_needs_a_number() {
    drop(
        Cache::<u32, u32>::builder(1)
            .refresh_ahead_at_random(f64::NAN)
            .build(),
    );
}

#[test]
fn nothing_of_values_is_shown() {
    let cache: Cache<u32, &str> = Cache::new(10);
    cache.insert(1, "secret");
    let call = cache.get_or_load(&1, || async { Ok("secret") });
    let shown = format!("{cache:?} {call:?} {:?}", Cache::<u32, &str>::builder(1));
    assert!(!shown.contains("secret"), "{shown}");
}
