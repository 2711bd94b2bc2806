//! What a scoped call costs in memory.

use crate::sizes::{bytes, made};
use oneflight::Scoped;
use oneflight::scoped::Call;
use std::future::{Pending, pending, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

type Work = Pending<Result<[u64; 32], String>>;
type Small = Call<'static, String, [u64; 32], String, fn() -> Work, Work>;
type Large = Call<'static, String, [u64; 32], String, [u8; 1024], Work>;

#[test]
fn a_call_is_its_closure_or_its_work_and_at_most_forty_eight_bytes() {
    assert_eq!(size_of::<Small>(), 56);
    assert!(size_of::<Large>() <= 1024 + 48);
}

#[test]
fn a_flight_is_one_allocation_and_a_waiter_none_beyond_the_slab() {
    let scoped: Scoped<u64, u64, ()> = Scoped::new();
    for key in 0..1000 {
        assert!(poll(pin!(scoped.run(&key, || ready(Ok(key))))).is_ready()); // The table has its room now.
    }
    let (alone, answer) = made(|| poll(pin!(scoped.run(&1, || ready(Ok(7))))));
    assert!(matches!((alone, answer), (1, Poll::Ready(Ok(7)))));
    let (flight, leader) = made(|| scoped.run(&1, pending::<Result<u64, ()>>));
    let mut leader = pin!(leader);
    let (pair, ()) = made(|| {
        assert!(poll(leader.as_mut()).is_pending());
        let mut waiter = pin!(scoped.run(&1, pending::<Result<u64, ()>>));
        assert!(poll(waiter.as_mut()).is_pending());
        assert!(poll(waiter).is_pending());
    });
    assert_eq!(
        (flight, pair),
        (1, 0),
        "the first waiter has its slot in the flight"
    );
    let first: Vec<_> = (0..100)
        .map(|_| scoped.run(&1, pending::<Result<u64, ()>>))
        .collect();
    drop(first);
    let (again, more) = made(|| [0; 50].map(|_| scoped.run(&1, pending::<Result<u64, ()>>)));
    assert_eq!(again, 0, "the slots of those who left are used again");
    drop(more);
    let (polls, ()) = made(|| (0..100).for_each(|_| assert!(poll(leader.as_mut()).is_pending())));
    assert_eq!(polls, 0);
}

#[test]
fn a38_many_keys_at_once_leave_no_room_behind() {
    let scoped: Scoped<u64, u64, ()> = Scoped::new();
    let before = bytes();
    let calls: Vec<_> = (0..100_000)
        .map(|key| scoped.run(&key, pending::<Result<u64, ()>>))
        .collect();
    assert_eq!(scoped.in_flight(), 100_000);
    drop(calls);
    assert_eq!(scoped.in_flight(), 0);
    let kept = bytes() - before;
    // What is left is what a few hundred flights need.
    assert!(kept < 100_000, "{kept} bytes");
}
