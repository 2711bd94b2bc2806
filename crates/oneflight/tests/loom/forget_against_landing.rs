//! A flight is forgotten, and another begun in its place, while the first lands: the second stays in the table.

use crate::harness::{Bound, block_on, end_of, explore, glance, spawn};
use crate::parts::{Watched, group, number, ready};
use loom::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

fn forgetting() {
    let group = group();
    let old = group.run(&Watched::new(1), || ready(7));
    let there = group.clone();
    let other = spawn(move || {
        let was_up = there.forget(&Watched::new(1));
        let new = there.run(&Watched::new(1), || ready(8));
        assert!(new.led(), "a forgotten flight was joined");
        let joined = there.join(&Watched::new(1));
        assert!(
            joined.is_some(),
            "a newer flight was taken out of the table"
        );
        let answers = (
            number(block_on(new)),
            joined.map(|call| number(block_on(call))),
        );
        let answers = (answers.0.ok(), answers.1.and_then(Result::ok));
        assert_eq!(answers, (Some(8), Some(8)));
        was_up
    });
    assert_eq!(number(block_on(old)).ok(), Some(7));
    let was_up = end_of(other);
    let stats = group.stats();
    assert_eq!(stats.forgotten, u64::from(was_up));
    assert_eq!((stats.started, stats.landed, group.in_flight()), (2, 2, 0));
}

/// As `forget`, for a caller that has written: what began before it is never for it.
fn marking() {
    let group = group();
    let old = group.run(&Watched::new(1), || ready(7));
    let there = group.clone();
    let other = spawn(move || {
        let mark = there.mark();
        let new = there.run_since(mark, &Watched::new(1), || ready(8));
        assert!(there.join(&Watched::new(1)).is_some());
        assert_eq!(number(block_on(new)).ok(), Some(8));
    });
    assert_eq!(number(block_on(old)).ok(), Some(7));
    end_of(other);
    let stats = group.stats();
    assert_eq!((stats.started, stats.landed, group.in_flight()), (2, 2, 0));
}

/// Who has written, and then joins a flight that began after its mark, gets what was read after the write.
fn marking_what_was_written() {
    let group = group();
    let written = Arc::new(AtomicU32::new(7));
    let (there, reads) = (group.clone(), written.clone());
    let other = spawn(move || {
        let call = there.run(&Watched::new(1), || ready(reads.load(Ordering::Relaxed)));
        number(block_on(call)).expect("works do not fail")
    });
    written.store(8, Ordering::Relaxed);
    let mark = group.mark();
    let call = group.run_since(mark, &Watched::new(1), || {
        ready(written.load(Ordering::Relaxed))
    });
    assert_eq!(number(block_on(call)).ok(), Some(8));
    assert!(matches!(end_of(other), 7 | 8));
}

/// A flight that nobody shares is forgotten, and nobody shares it later; or somebody has joined.
fn forgetting_unshared() {
    let group = group();
    let mut call = group.run(&Watched::new(1), || ready(7));
    let there = group.clone();
    let other = spawn(move || {
        let call = there.join(&Watched::new(1));
        call.map(|call| number(block_on(call)).ok())
    });
    let forgotten = group.forget_unshared(&Watched::new(1));
    assert!(
        glance(&mut call).is_ready() || !forgotten,
        "another polls what nobody shares"
    );
    let shared = end_of(other);
    assert_ne!(shared.is_some(), forgotten && shared != Some(Some(7)));
    drop(call);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn forget_against_landing() {
    explore("forget_against_landing", Bound::None, forgetting);
}

#[test]
fn run_since_against_landing() {
    explore("run_since_against_landing", Bound::None, marking);
}

#[test]
fn run_since_against_start() {
    explore(
        "run_since_against_start",
        Bound::Preemptions(3),
        marking_what_was_written,
    );
}

#[test]
fn forget_unshared_against_join() {
    explore(
        "forget_unshared_against_join",
        Bound::None,
        forgetting_unshared,
    );
}
