//! What a call costs in memory: bytes of a join, allocations of a flight, and that nothing stays behind.

use oneflight::{Group, Join};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::{pending, ready};
use std::pin::Pin;
use std::task::{Context, Waker};

/// Counts the allocations of each thread apart, so that other tests do not disturb.
struct Counting;

thread_local! {
    static MADE: Cell<isize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = MADE.try_with(|made| made.set(made.get() + 1));
        let _ = LIVE.try_with(|live| live.set(live.get() + 1));
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        let _ = LIVE.try_with(|live| live.set(live.get() - 1));
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = MADE.try_with(|made| made.set(made.get() + 1));
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(place, layout, size) }
    }
}

pub(crate) fn made<T>(call: impl FnOnce() -> T) -> (isize, T) {
    let before = MADE.get();
    let result = call();
    (MADE.get() - before, result)
}

fn poll<F: Future + Unpin>(future: &mut F) -> bool {
    Pin::new(future)
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready()
}

#[test]
fn a_join_is_forty_eight_bytes() {
    assert_eq!(
        size_of::<Join<'static, String, [u64; 32], String, foldhash::fast::RandomState>>(),
        48
    );
}

#[test]
fn a_flight_is_one_allocation_and_a_join_none_beyond_the_slab() {
    let group: Group<u64, u64, ()> = Group::new();
    (0..1000).for_each(|key| drop(group.run(&key, || ready(Ok(key))))); // The table has its room now.
    let (flights, ready) = made(|| poll(&mut group.run(&1, || ready(Ok(7)))));
    assert_eq!((flights, ready), (1, true));
    let (flights, mut leader) = made(|| group.run(&1, pending));
    assert!(!poll(&mut leader));
    let mut joins: Vec<_> = (0..100).filter_map(|_| group.join(&1)).collect();
    joins.iter_mut().for_each(|join| assert!(!poll(join)));
    joins.truncate(50);
    let (again, more) = made(|| [0; 50].map(|_| group.join(&1)));
    assert_eq!(
        (flights, again),
        (1, 0),
        "the slots of those who left are used again"
    );
    drop((more, joins));
    let (polls, ()) = made(|| (0..100).for_each(|_| assert!(!poll(&mut leader))));
    assert_eq!(polls, 0);
}

#[test]
fn a38_keys_by_the_hundred_thousand_leave_nothing_behind_at_whatever_stage_they_end() {
    const KEYS: u64 = 100_000;
    // A thread keeps a list of what it polls; it comes into being with the first flight.
    assert!(poll(
        &mut Group::<u64, u64, ()>::new().run(&1, || ready(Ok(1)))
    ));
    let before = LIVE.get();
    {
        let group: Group<String, u64, ()> = Group::new();
        for key in 0..KEYS {
            let name = key.to_string();
            let mut call = group.run(name.as_str(), || async move {
                if key % 2 == 0 {
                    Ok(key)
                } else {
                    pending().await
                }
            });
            let mut other = group.join(name.as_str());
            match key % 7 {
                0 => drop(call),
                1 => drop(poll(&mut call)),
                2 => drop(other.take()),
                3 => drop((group.forget(name.as_str()), poll(&mut call))),
                4 => drop(other.as_mut().map(poll)),
                5 => group.cancel_all(),
                _ => drop(poll(&mut call).then(|| other.as_mut().map(poll))),
            }
        }
        assert_eq!(group.in_flight(), 0);
        let mut calls: Vec<_> = (0..KEYS)
            .map(|key| group.run(key.to_string().as_str(), pending))
            .collect();
        assert_eq!(group.in_flight(), 100_000);
        calls
            .iter_mut()
            .step_by(2)
            .for_each(|call| assert!(!poll(call)));
        drop(calls);
        assert_eq!((group.in_flight(), group.stats().started), (0, 2 * KEYS));
    }
    assert_eq!(LIVE.get(), before, "allocations that were not given back");
}
