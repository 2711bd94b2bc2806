//! Which batches this thread is making or polling right now, one inside the other.
//!
//! I1. A batch stands here exactly while its function or its work runs on this thread.

use std::cell::RefCell;

thread_local! {
    static RUNNING: RefCell<Vec<(usize, u64)>> = const { RefCell::new(Vec::new()) };
}

/// Stands for one batch that is being made or polled; it ends when this is dropped.
#[must_use = "the batch stands for running until this is dropped"]
pub(super) struct Inside(());

/// Notes that a batch of the loader at this address runs on this thread.
pub(super) fn enter(loader: *const (), serial: u64) -> Inside {
    RUNNING.with(|running| running.borrow_mut().push((loader.addr(), serial)));
    Inside(())
}

/// The innermost batch of the loader at this address that runs on this thread.
pub(super) fn innermost(loader: *const ()) -> Option<u64> {
    // A thread on its way out runs no batch.
    let found = RUNNING.try_with(|running| {
        let running = running.borrow();
        let mut own = running.iter().rev().filter(|(at, _)| *at == loader.addr());
        own.next().map(|(_, serial)| *serial)
    });
    found.ok().flatten()
}

impl Drop for Inside {
    fn drop(&mut self) {
        RUNNING.with(|running| running.borrow_mut().pop());
    }
}
