//! Which flights this thread is polling right now, one inside the other: a call that would join one of them would wait for
//! itself.
//!
//! O1. A flight stands here exactly while its work is being made or polled on this thread.

use crate::sync::thread_local;
use std::cell::RefCell;

thread_local! {
    static POLLED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Stands for one flight that is being polled; it ends when this is dropped.
#[must_use = "the flight stands for polled until this is dropped"]
#[derive(Debug)]
pub(crate) struct Polled(());

/// Notes that the flight at this address is being polled.
#[inline]
pub(crate) fn enter(flight: *const ()) -> Polled {
    // A thread on its way out has no list any more: then nothing is noted, and nothing is found.
    let _ = POLLED.try_with(|polled| polled.borrow_mut().push(flight.addr()));
    Polled(())
}

/// How many flights deep the flight at this address is being polled; none if it is not.
#[inline]
pub(crate) fn depth(flight: *const ()) -> Option<usize> {
    let found = POLLED.try_with(|polled| {
        let polled = polled.borrow();
        polled
            .iter()
            .rposition(|&at| at == flight.addr())
            .map(|at| polled.len() - at)
    });
    found.ok().flatten()
}

impl Drop for Polled {
    #[inline]
    fn drop(&mut self) {
        let _ = POLLED.try_with(|polled| polled.borrow_mut().pop());
    }
}
