//! Two waiters, each on a thread of its own, and wakes from others: somebody always answers (S2).

use crate::harness::{Bound, block_on, block_on_steadily, end_of, explore, glance, spawn};
use crate::parts::{Ringer, Watched, group, number};

/// Both wait to the end.
fn both_wait() {
    let group = group();
    let ringer = Ringer::new();
    let work = ringer.clone();
    let call = group.run(&Watched::new(1), || work.work(7));
    let there = group.clone();
    let again = ringer.clone();
    let other = spawn(move || {
        let call = there.run(&Watched::new(1), || again.work(7));
        assert_eq!(number(block_on_steadily(call)).ok(), Some(7));
    });
    let rings = spawn(move || ringer.ring());
    assert_eq!(number(block_on(call)).ok(), Some(7));
    end_of(other);
    end_of(rings);
    assert_eq!(group.in_flight(), 0);
}

/// One of them is polled once on a thread of its own, and dropped there.
fn one_is_dropped() {
    let group = group();
    let ringer = Ringer::new();
    let work = ringer.clone();
    let call = group.run(&Watched::new(1), || work.work(7));
    let there = group.clone();
    let other = spawn(move || {
        let call = there.join(&Watched::new(1));
        if let Some(mut call) = call {
            let _ = glance(&mut call);
        }
    });
    let rings = spawn(move || ringer.ring());
    assert_eq!(number(block_on(call)).ok(), Some(7));
    end_of(other);
    end_of(rings);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn two_waiters_and_a_wake() {
    explore("two_waiters_and_a_wake", Bound::Preemptions(2), both_wait);
}

#[test]
fn two_waiters_and_a_wake_while_one_is_dropped() {
    explore(
        "two_waiters_and_a_wake_while_one_is_dropped",
        Bound::Preemptions(2),
        one_is_dropped,
    );
}
