//! What a call costs in memory: bytes of a join, allocations of a flight, and that nothing stays behind.

use oneflight::{Group, Join};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;
use std::future::{pending, ready};
use std::pin::Pin;
use std::task::{Context, Waker};

/// Counts the allocations of each thread apart, so that other tests do not disturb.
struct Counting;

thread_local! {
    static MADE: Cell<isize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static BYTES: Cell<isize> = const { Cell::new(0) };
    static WATCHED: Cell<Option<&'static [u8]>> = const { Cell::new(None) };
    static SEEN: Cell<usize> = const { Cell::new(0) };
}

/// Counts the blocks that this thread gives back with `mark` in them, of those that it takes and gives back during `call`.
#[cfg(all(feature = "token", feature = "tokio"))]
pub(crate) fn given_back_with(mark: &'static [u8], call: impl FnOnce()) -> usize {
    SEEN.set(0);
    WATCHED.set(Some(mark));
    call();
    WATCHED.set(None);
    SEEN.get()
}

/// Notes so many bytes more, or less.
fn grow(by: usize, less: usize) {
    let by = by.wrapping_sub(less).cast_signed();
    let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + by));
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = MADE.try_with(|made| made.set(made.get() + 1));
        let _ = LIVE.try_with(|live| live.set(live.get() + 1));
        grow(layout.size(), 0);
        match WATCHED.try_with(Cell::get) {
            // What is looked at later must have been written to.
            // SAFETY: the caller's promise, passed on.
            Ok(Some(_)) => unsafe { System.alloc_zeroed(layout) },
            // SAFETY: as above.
            _ => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        let _ = LIVE.try_with(|live| live.set(live.get() - 1));
        grow(0, layout.size());
        if let Ok(Some(mark)) = WATCHED.try_with(Cell::get) {
            // SAFETY: the block is the caller's until it is given back, and was zeroed when it was taken.
            let block = unsafe { std::slice::from_raw_parts(place, layout.size()) };
            if block.windows(mark.len()).any(|part| part == mark) {
                SEEN.set(SEEN.get() + 1);
            }
        }
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if let Ok(Some(_)) = WATCHED.try_with(Cell::get) {
            return move_over(self, place, layout, size);
        }
        let _ = MADE.try_with(|made| made.set(made.get() + 1));
        grow(size, layout.size());
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// Grows a block by taking another, so that what it leaves behind is looked at.
fn move_over(allocator: &Counting, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    // SAFETY: the caller of `realloc` promises that the size is not zero and not too large.
    let layout_of_new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
    // SAFETY: the size is not zero.
    let new = unsafe { allocator.alloc(layout_of_new) };
    if !new.is_null() {
        // SAFETY: both blocks are at least this long, and the new one is nobody else's.
        unsafe { std::ptr::copy_nonoverlapping(place, new, layout.size().min(size)) };
        // SAFETY: the caller of `realloc` gives it up.
        unsafe { allocator.dealloc(place, layout) };
    }
    new
}

/// How many bytes live, of those that this thread has allocated.
pub(crate) fn bytes() -> isize {
    BYTES.get()
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
fn a_join_is_forty_bytes() {
    assert_eq!(
        size_of::<Join<'static, String, [u64; 32], String, oneflight::RandomState>>(),
        40
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

/// What lives: allocations, and bytes.
fn living() -> (isize, isize) {
    (LIVE.get(), BYTES.get())
}

/// As many as the behaviour asks for.
const KEYS: u64 = 1_000_000;

#[test]
fn a38_a_million_keys_leave_nothing_behind_at_whatever_stage_they_end() {
    // A thread keeps a list of what it polls; it comes into being with the first flight.
    assert!(poll(
        &mut Group::<u64, u64, ()>::new().run(&1, || ready(Ok(1)))
    ));
    let before = living();
    let group: Group<String, u64, ()> = Group::new();
    let mut name = String::new();
    for key in 0..KEYS {
        name.clear();
        let _ = write!(name, "{key}");
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
    assert_eq!((group.in_flight(), group.stats().started), (0, KEYS));
    drop((group, name));
    assert_eq!(living(), before, "not all was given back");
}

#[test]
fn a38_a_million_keys_at_once_leave_nothing_behind() {
    assert!(poll(
        &mut Group::<u64, u64, ()>::new().run(&1, || ready(Ok(1)))
    ));
    let before = living();
    let group: Group<u64, u64, ()> = Group::new();
    let mut calls: Vec<_> = (0..KEYS).map(|key| group.run(&key, pending)).collect();
    assert_eq!(group.in_flight() as u64, KEYS);
    let (flights, bytes) = (LIVE.get() - before.0, BYTES.get() - before.1);
    (calls.iter_mut().step_by(2)).for_each(|call| assert!(!poll(call)));
    drop(calls);
    assert_eq!((group.in_flight(), group.stats().abandoned), (0, KEYS));
    let (kept, kept_bytes) = (LIVE.get() - before.0, BYTES.get() - before.1);
    // The room of the peak is given back; what is left is what a few hundred flights need.
    assert!(kept < 100 && kept_bytes < 100_000, "{kept_bytes} bytes");
    drop(group);
    assert_eq!(living(), before, "not all was given back");
    // Last, since what is printed takes memory too.
    println!(
        "{flights} allocations and {bytes} bytes at the peak, {kept} and {kept_bytes} when idle"
    );
}
