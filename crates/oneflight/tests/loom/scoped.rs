//! Scoped calls: leading is handed over, left and landed.
//!
//! Their flights are shared by `Arc` and answered in a `OnceLock`, std's both, of which loom knows nothing: so their keys and
//! values are plain numbers, and no order is held to account but that of the locks.

use crate::harness::{Bound, block_on, end_of, explore, spawn};
use crate::parts::Hashes;
use oneflight::Scoped;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

type Flights = Scoped<u32, u32, (), Hashes>;

fn scoped() -> Arc<Flights> {
    Arc::new(Scoped::with_hasher(Hashes::default()))
}

/// Leads or waits for one poll, and leaves.
fn glances(scoped: &Flights) {
    let mut call = pin!(scoped.run(&1, std::future::pending::<Result<u32, ()>>));
    let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Pending | Poll::Ready(Ok(_))));
}

/// Two lead and land.
fn landing() {
    let scoped = scoped();
    let there = scoped.clone();
    let other = spawn(move || block_on(there.run(&1, || async { Ok(7) })).ok());
    assert_eq!(block_on(scoped.run(&1, || async { Ok(7) })).ok(), Some(7));
    assert_eq!(end_of(other), Some(7));
    let stats = scoped.stats();
    assert_eq!(stats.started + stats.joined, 2);
    assert_eq!((stats.landed, scoped.in_flight()), (stats.started, 0));
}

/// The leader leaves, and so does another, who may have been woken to lead; a third waits.
fn handing_over() {
    let scoped = scoped();
    let leaves = scoped.clone();
    let leaves = spawn(move || glances(&leaves));
    let there = scoped.clone();
    let other = spawn(move || block_on(there.run(&1, || async { Ok(7) })).ok());
    glances(&scoped);
    end_of(leaves);
    assert_eq!(end_of(other), Some(7));
    assert_eq!(scoped.in_flight(), 0);
}

/// The flight is forgotten while its leader leaves and another waits.
fn forgetting() {
    let scoped = scoped();
    let there = scoped.clone();
    let other = spawn(move || block_on(there.run(&1, || async { Ok(7) })).ok());
    let forgets = scoped.clone();
    let forgets = spawn(move || forgets.forget(&1));
    glances(&scoped);
    assert_eq!(end_of(other), Some(7));
    end_of(forgets);
    assert_eq!(scoped.in_flight(), 0);
}

#[test]
fn scoped_join_against_landing() {
    explore("scoped_join_against_landing", Bound::None, landing);
}

#[test]
fn scoped_hand_over_against_leaving() {
    explore(
        "scoped_hand_over_against_leaving",
        Bound::None,
        handing_over,
    );
}

#[test]
fn scoped_forget_against_hand_over() {
    explore("scoped_forget_against_hand_over", Bound::None, forgetting);
}
