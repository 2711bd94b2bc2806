//! Writes to a cache against a load that lands. The store itself is a library's, with locks that loom does not know: a lock that only
//! models have stands in front of it (`store`), and keys and values are plain.

use crate::harness::{Bound, block_on, end_of, explore, spawn};
use crate::parts::Hashes;
use loom::sync::atomic::{AtomicU32, Ordering};
use oneflight::cache::{Cache, Lifetime};
use oneflight::{Clock, Task};
use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Rows = Cache<u32, u32, Infallible, Hashes>;

fn rows() -> Rows {
    Cache::builder(10)
        .shards(1)
        .hasher(Hashes::default())
        .build()
}

/// What a call for the key gets that reads the source when its load begins.
fn read(rows: &Rows, source: &Arc<AtomicU32>) -> u32 {
    let source = Arc::clone(source);
    let call = rows.get_or_load(&1, move || ready(Ok(source.load(Ordering::Relaxed))));
    block_on(call).expect("works do not fail")
}

/// Whoever has written and then invalidated reads what it wrote, now and later.
fn invalidating() {
    let (rows, source) = (rows(), Arc::new(AtomicU32::new(7)));
    let (there, reads) = (rows.clone(), Arc::clone(&source));
    let other = spawn(move || read(&there, &reads));
    source.store(8, Ordering::Relaxed);
    rows.invalidate(&1);
    assert_eq!(read(&rows, &source), 8);
    assert!(matches!(end_of(other), 7 | 8));
    assert_eq!(rows.get(&1), Some(8));
}

fn invalidating_all() {
    let (rows, source) = (rows(), Arc::new(AtomicU32::new(7)));
    let (there, reads) = (rows.clone(), Arc::clone(&source));
    let other = spawn(move || read(&there, &reads));
    source.store(8, Ordering::Relaxed);
    rows.invalidate_all();
    assert_eq!(read(&rows, &source), 8);
    assert!(matches!(end_of(other), 7 | 8));
    assert!(matches!(rows.get(&1), Some(8)));
}

/// As `invalidating`, where what is kept would serve as stale if it had a window for that.
fn expiring() {
    let (rows, source) = (rows(), Arc::new(AtomicU32::new(7)));
    let (there, reads) = (rows.clone(), Arc::clone(&source));
    let other = spawn(move || read(&there, &reads));
    source.store(8, Ordering::Relaxed);
    rows.expire(&1);
    assert_eq!(read(&rows, &source), 8);
    assert!(matches!(end_of(other), 7 | 8));
    assert_eq!(rows.get(&1), Some(8));
}

/// A load that began before another one, which has brought what is not to be kept, leaves nothing after it.
fn older_load_after_a_newer() {
    let kept = |_: &u32, value: &u32, usual| match value {
        8 => Lifetime::of(Duration::ZERO),
        _ => usual,
    };
    let builder = Cache::builder(10).shards(1).hasher(Hashes::default());
    let rows: Rows = builder.clock(Still(Instant::now())).lifetime(kept).build();
    let source = Arc::new(AtomicU32::new(7));
    let (there, reads) = (rows.clone(), Arc::clone(&source));
    let other = spawn(move || read(&there, &reads));
    source.store(8, Ordering::Relaxed);
    let mark = rows.mark();
    let reads = Arc::clone(&source);
    let call = rows.get_or_load(&1, move || ready(Ok(reads.load(Ordering::Relaxed))));
    assert_eq!(
        block_on(call.fresh_since(mark)).expect("works do not fail"),
        8
    );
    assert!(matches!(end_of(other), 7 | 8));
    assert_eq!(rows.get(&1), None);
}

/// A clock that stands still.
#[derive(Debug)]
struct Still(Instant);

impl Clock for Still {
    fn now(&self) -> Instant {
        self.0
    }

    // SLEEP: part of a clock that nobody waits for.
    fn sleep_until(&self, _: Instant) -> Task {
        Box::pin(std::future::pending())
    }
}

/// What is inserted while a load lands stays.
fn inserting() {
    let (rows, source) = (rows(), Arc::new(AtomicU32::new(7)));
    let (there, reads) = (rows.clone(), Arc::clone(&source));
    let other = spawn(move || read(&there, &reads));
    rows.insert(1, 8);
    assert_eq!(read(&rows, &source), 8);
    assert!(matches!(end_of(other), 7 | 8));
    assert_eq!(rows.get(&1), Some(8));
}

/// Two callers of a cold key load it once, however their calls fall.
fn loading_once() {
    let (rows, source) = (rows(), Arc::new(AtomicU32::new(7)));
    let (there, reads) = (rows.clone(), Arc::clone(&source));
    let other = spawn(move || read(&there, &reads));
    assert_eq!(read(&rows, &source), 7);
    assert_eq!(end_of(other), 7);
    let stats = rows.stats();
    assert_eq!((stats.loads, stats.landed, stats.loading), (1, 1, 0));
}

#[test]
fn cache_invalidate_against_landing() {
    explore(
        "cache_invalidate_against_landing",
        Bound::Preemptions(3),
        invalidating,
    );
}

#[test]
fn cache_invalidate_all_against_landing() {
    explore(
        "cache_invalidate_all_against_landing",
        Bound::Preemptions(3),
        invalidating_all,
    );
}

#[test]
fn cache_expire_against_landing() {
    explore(
        "cache_expire_against_landing",
        Bound::Preemptions(3),
        expiring,
    );
}

#[test]
fn cache_older_load_against_newer() {
    explore(
        "cache_older_load_against_newer",
        Bound::Preemptions(3),
        older_load_after_a_newer,
    );
}

#[test]
fn cache_insert_against_landing() {
    explore(
        "cache_insert_against_landing",
        Bound::Preemptions(3),
        inserting,
    );
}

#[test]
fn cache_load_against_landing() {
    explore(
        "cache_load_against_landing",
        Bound::Preemptions(3),
        loading_once,
    );
}
