//! Callers of a loader against the end of a batch.

use crate::harness::{Bound, block_on, end_of, explore, glance, spawn};
use crate::parts::Ringer;
use oneflight::batch::Loader;
use std::convert::Infallible;

type Rows = Loader<u32, u32, Infallible>;

/// A loader whose batches are ready when they are polled first.
fn loader() -> Rows {
    Loader::builder().build(|keys: Vec<u32>| async move {
        keys.into_iter()
            .map(|key| (key, key + 10))
            .collect::<Vec<_>>()
    })
}

/// A loader whose batches wait to be rung for.
fn waiting(ringer: &Ringer) -> Rows {
    let ringer = ringer.clone();
    Loader::builder().build(move |keys: Vec<u32>| {
        let rung = ringer.work(0);
        async move {
            let _ = rung.await;
            keys.into_iter()
                .map(|key| (key, key + 10))
                .collect::<Vec<_>>()
        }
    })
}

fn is_idle(loader: &Rows) {
    let stats = loader.stats();
    assert_eq!((stats.queued, stats.running, stats.waiting), (0, 0, 0));
}

/// Another asks for the same key, and for a second one, while the first batch ends.
fn joining() {
    let loader = loader();
    let there = loader.clone();
    let other = spawn(move || {
        let rows = block_on(there.load_many([1, 2]));
        let rows: Vec<_> = rows.into_iter().map(|row| row.ok().flatten()).collect();
        assert_eq!(rows, [Some(11), Some(12)]);
    });
    assert_eq!(block_on(loader.load(1)).ok().flatten(), Some(11));
    end_of(other);
    is_idle(&loader);
}

/// The one who drives leaves while its batch is woken and another waits for it.
fn leaving() {
    let ringer = Ringer::new();
    let loader = waiting(&ringer);
    let mut driver = loader.load(1);
    assert!(glance(&mut driver).is_pending());
    let there = loader.clone();
    let other = spawn(move || assert_eq!(block_on(there.load(1)).ok().flatten(), Some(11)));
    let rings = spawn(move || ringer.ring());
    drop(driver);
    end_of(other);
    end_of(rings);
    is_idle(&loader);
}

/// A second key waits for the only slot while the first batch is woken, and while the last who wanted that batch leaves.
fn queued() {
    let ringer = Ringer::new();
    let loader = waiting(&ringer);
    let mut driver = loader.load(1);
    assert!(glance(&mut driver).is_pending());
    let there = loader.clone();
    let again = ringer.clone();
    let other = spawn(move || assert_eq!(block_on(there.load(2)).ok().flatten(), Some(12)));
    let rings = spawn(move || again.ring());
    drop(driver);
    end_of(rings);
    end_of(other);
    is_idle(&loader);
}

/// More callers than are woken at once leave while their batch is woken, and one stays: what they were woken for is its to do.
fn a_crowd_leaves() {
    let ringer = Ringer::new();
    let loader = waiting(&ringer);
    let mut crowd: Vec<_> = (0..9).map(|_| loader.load(1)).collect();
    let (first, last) = crowd.split_at_mut(7);
    for call in first {
        assert!(glance(call).is_pending());
    }
    let there = loader.clone();
    let stays = spawn(move || assert_eq!(block_on(there.load(1)).ok().flatten(), Some(11)));
    let rings = spawn(move || ringer.ring());
    // Woken are the last of those who wait, and seven from the front: the one who stays may be neither.
    for call in last {
        let _ = glance(call);
    }
    drop(crowd);
    end_of(stays);
    end_of(rings);
    is_idle(&loader);
}

#[test]
fn loader_crowd_leaves_against_wake() {
    explore(
        "loader_crowd_leaves_against_wake",
        Bound::Preemptions(2),
        a_crowd_leaves,
    );
}

#[test]
fn loader_joined_against_landing() {
    explore("loader_joined_against_landing", Bound::None, joining);
}

#[test]
fn loader_left_against_wake() {
    explore("loader_left_against_wake", Bound::None, leaving);
}

#[test]
fn loader_queue_against_abandoned_batch() {
    explore("loader_queue_against_abandoned_batch", Bound::None, queued);
}
