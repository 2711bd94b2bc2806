//! The references to a flight (a call's, the table's, its work's wakers') end on several threads: it is freed once, after all.

use crate::harness::{Bound, block_on, end_of, explore, glance, spawn};
use crate::parts::{Ringer, Watched, group, number, yielding};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The last call, the table's entry and a waker end on three threads.
fn three_ends() {
    let group = group();
    let ringer = Ringer::new();
    let work = ringer.clone();
    let mut call = group.run(&Watched::new(1), || work.work(7));
    assert!(glance(&mut call).is_pending());
    let waker = ringer.waker().expect("it was polled");
    let again = waker.clone();
    let there = group.clone();
    let forgets = spawn(move || there.forget(&Watched::new(1)));
    let wakes = spawn(move || waker.wake());
    drop(call);
    drop(again);
    let forgotten = end_of(forgets);
    end_of(wakes);
    let stats = group.stats();
    assert_eq!(
        (stats.abandoned, stats.forgotten),
        (1, u64::from(forgotten))
    );
    assert_eq!(group.in_flight(), 0);
}

/// Tells that the work it is part of is gone.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Two read the answer, each with a reference of its own, and the last of them frees it. The work is gone before (V1).
fn two_read() {
    let group = group();
    let gone = Arc::new(AtomicBool::new(false));
    let (seen, part) = (gone.clone(), Gone(gone.clone()));
    let mut work = Box::pin(yielding(7));
    let call = group.run(&Watched::new(1), || {
        std::future::poll_fn(move |context| {
            let _with_it = &part;
            work.as_mut().poll(context)
        })
    });
    let other = {
        let there = group.clone();
        spawn(move || {
            let call = there.join(&Watched::new(1));
            call.map(|call| {
                let answer = number(block_on(call)).ok();
                assert!(seen.load(Ordering::SeqCst), "V1");
                answer
            })
        })
    };
    assert_eq!(number(block_on(call)).ok(), Some(7));
    assert!(gone.load(Ordering::SeqCst), "V1");
    assert!(end_of(other).is_none_or(|answer| answer == Some(7)));
    assert_eq!(group.in_flight(), 0);
}

/// The work's waker is called, and goes, when the flight has ended.
fn late_wake() {
    let group = group();
    let ringer = Ringer::new();
    let work = ringer.clone();
    let mut call = group.run(&Watched::new(1), || work.work(7));
    assert!(glance(&mut call).is_pending());
    let waker = ringer.waker().expect("it was polled");
    ringer.ring();
    let late = spawn(move || {
        waker.wake_by_ref();
        drop(waker.clone());
        waker.wake();
    });
    // It is polled once more, or may leave if that was too early.
    if glance(&mut call).is_ready() {
        assert_eq!(group.stats().landed, 1);
    }
    drop(call);
    end_of(late);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn references_end_on_three_threads() {
    explore("references_end_on_three_threads", Bound::None, three_ends);
}

#[test]
fn answers_are_read_before_they_are_freed() {
    explore(
        "answers_are_read_before_they_are_freed",
        Bound::Preemptions(4),
        two_read,
    );
}

#[test]
fn wake_after_the_end() {
    explore("wake_after_the_end", Bound::None, late_wake);
}
