//! A lone caller leaves while another comes: it joins in time, and the work goes on; or it starts a flight of its own.

use crate::harness::{Bound, block_on, end_of, explore, glance, spawn};
use crate::parts::{Ringer, Watched, group, number, yielding};
use std::task::Poll;

fn leaving(polled: bool) {
    let group = group();
    let mut call = group.run(&Watched::new(1), || yielding(7));
    if polled {
        assert!(matches!(glance(&mut call), Poll::Pending));
    }
    let other = group.clone();
    let other = spawn(move || {
        let call = other.run(&Watched::new(1), || yielding(8));
        (
            call.led(),
            number(block_on(call)).expect("works do not fail"),
        )
    });
    drop(call);
    let theirs = end_of(other);
    assert!(matches!(theirs, (true, 8) | (false, 7)), "{theirs:?}");
    let stats = group.stats();
    assert_eq!(stats.abandoned, u64::from(theirs.0));
    assert_eq!(stats.started, stats.landed + stats.abandoned);
    assert_eq!(group.in_flight(), 0);
}

/// Both leave, while a third thread wakes the work.
fn both_leave() {
    let group = group();
    let ringer = Ringer::new();
    let work = ringer.clone();
    let mut call = group.run(&Watched::new(1), || work.work(7));
    assert!(matches!(glance(&mut call), Poll::Pending));
    let there = group.clone();
    let other = spawn(move || {
        let mut call = there.join(&Watched::new(1));
        call.as_mut().map(|call| glance(call).is_ready())
    });
    let rings = spawn(move || ringer.ring());
    drop(call);
    end_of(other);
    end_of(rings);
    let stats = group.stats();
    assert_eq!((stats.started, stats.landed + stats.abandoned), (1, 1));
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn join_against_last_leave() {
    explore("join_against_last_leave", Bound::None, || leaving(false));
}

#[test]
fn join_against_last_leave_polled() {
    explore("join_against_last_leave_polled", Bound::None, || {
        leaving(true)
    });
}

#[test]
fn last_leave_against_last_leave() {
    explore(
        "last_leave_against_last_leave",
        Bound::Preemptions(3),
        both_leave,
    );
}
