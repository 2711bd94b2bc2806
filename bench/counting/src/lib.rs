//! The system's allocator, with counters that run only while they are asked to: a program that times itself pays one load for it.
//!
//!   count(|| …)  ──▶  Counts { made, bytes, live }       between two counts: nothing but the system's allocator
//!
//! C1. What is freed while counting was not always made while counting: `live` may be negative.
#![deny(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// What was allocated in a span of time, by all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Allocations and reallocations.
    pub made: i64,
    /// Bytes asked for; a reallocation asks for what it adds.
    pub bytes: i64,
    /// Bytes asked for and not given back (C1).
    pub live: i64,
}

static COUNTING: AtomicBool = AtomicBool::new(false);
static MADE: AtomicI64 = AtomicI64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);
static LIVE: AtomicI64 = AtomicI64::new(0);

/// Counts what is allocated while `call` runs.
pub fn count<T>(call: impl FnOnce() -> T) -> (Counts, T) {
    let before = read();
    // ORDERING: nothing is published by the flag; a few allocations of other threads more or less do not matter.
    let was = COUNTING.swap(true, Ordering::Relaxed);
    let result = call();
    // ORDERING: as above.
    COUNTING.store(was, Ordering::Relaxed);
    let after = read();
    let counts = Counts {
        made: after.made - before.made,
        bytes: after.bytes - before.bytes,
        live: after.live - before.live,
    };
    (counts, result)
}

/// Starts to count, and counts on; `read` tells how far.
pub fn start() {
    // ORDERING: as in `count`.
    COUNTING.store(true, Ordering::Relaxed);
}

/// The counters as they stand; only differences mean something.
pub fn read() -> Counts {
    // ORDERING: counters, each for itself.
    let [made, bytes, live] = [&MADE, &BYTES, &LIVE].map(|counter| counter.load(Ordering::Relaxed));
    Counts { made, bytes, live }
}

fn note(made: i64, asked: i64, kept: i64) {
    // ORDERING: a flag and counters, each for itself.
    if COUNTING.load(Ordering::Relaxed) {
        MADE.fetch_add(made, Ordering::Relaxed);
        BYTES.fetch_add(asked, Ordering::Relaxed);
        LIVE.fetch_add(kept, Ordering::Relaxed);
    }
}

#[expect(
    unsafe_code,
    reason = "an allocator is an unsafe trait; this one passes everything on"
)]
mod allocator {
    use super::note;
    use std::alloc::{GlobalAlloc, Layout, System};

    struct Counting;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    fn size(bytes: usize) -> i64 {
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }

    // SAFETY: everything is passed on to the system's allocator as it came.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            note(1, size(layout.size()), size(layout.size()));
            // SAFETY: the caller's promise, passed on.
            unsafe { System.alloc(layout) }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            note(1, size(layout.size()), size(layout.size()));
            // SAFETY: the caller's promise, passed on.
            unsafe { System.alloc_zeroed(layout) }
        }

        unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
            note(0, 0, -size(layout.size()));
            // SAFETY: the caller's promise, passed on.
            unsafe { System.dealloc(place, layout) }
        }

        unsafe fn realloc(&self, place: *mut u8, layout: Layout, new: usize) -> *mut u8 {
            let more = size(new) - size(layout.size());
            note(1, more.max(0), more);
            // SAFETY: the caller's promise, passed on.
            unsafe { System.realloc(place, layout, new) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_and_given_back_is_counted_only_in_between() {
        let (counts, kept) = count(|| {
            drop(vec![0_u8; 100]);
            vec![0_u8; 50]
        });
        assert!(counts.made >= 2 && counts.bytes >= 150 && counts.live >= 50);
        let before = read();
        drop((kept, vec![0_u8; 1000]));
        assert_eq!(read(), before);
    }
}
