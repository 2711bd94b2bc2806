//! The work that every subject is given: the same small future, a value that comes at once, after a yield, when a gate opens, or
//! never.
//!
//! W1. There is one gate in the process: one test runs in it, and holds one flight at the gate at a time.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Work that ends in `value`.
#[derive(Debug)]
pub struct Work {
    value: u64,
    until: Until,
}

/// What work waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Nothing: it is ready when it is polled first.
    Now,
    /// Pending once, having woken itself.
    Yielded,
    /// Until the gate opens (W1).
    Open,
    /// What never comes.
    Never,
}

impl Work {
    /// Work that ends in `value`.
    #[must_use]
    pub fn new(value: u64, until: Until) -> Self {
        Self { value, until }
    }

    /// The same, for those who want a result.
    #[must_use]
    pub fn fallible(self) -> Fallible {
        Fallible(self)
    }
}

impl Future for Work {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        match self.until {
            Until::Now => Poll::Ready(self.value),
            Until::Yielded => {
                self.until = Until::Now;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Until::Open if GATE.pass(context.waker()) => Poll::Ready(self.value),
            Until::Open | Until::Never => Poll::Pending,
        }
    }
}

/// Work that could fail, and does not.
#[derive(Debug)]
pub struct Fallible(Work);

impl Future for Fallible {
    type Output = Result<u64, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(Ok)
    }
}

/// Where work waits until it is let through.
#[derive(Debug)]
pub struct Gate {
    open: AtomicBool,
    passed: AtomicU64,
    waiting: Mutex<Option<Waker>>,
}

/// The gate (W1).
pub static GATE: Gate = Gate {
    open: AtomicBool::new(false),
    passed: AtomicU64::new(0),
    waiting: Mutex::new(None),
};

impl Gate {
    /// Closes it, and forgets who waits.
    pub fn close(&self) {
        // ORDERING: one thread opens, closes and passes.
        self.open.store(false, Ordering::Relaxed);
        drop(self.waker());
    }

    /// Opens it without waking anybody.
    pub fn open(&self) {
        // ORDERING: as in `close`.
        self.open.store(true, Ordering::Relaxed);
    }

    /// Wakes the work that waits; false if none does.
    pub fn wake(&self) -> bool {
        self.waker().map(Waker::wake).is_some()
    }

    /// How many pieces of work have come through.
    pub fn passed(&self) -> u64 {
        // ORDERING: a counter.
        self.passed.load(Ordering::Relaxed)
    }

    fn waker(&self) -> Option<Waker> {
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn pass(&self, waker: &Waker) -> bool {
        // ORDERING: as in `close`.
        if self.open.load(Ordering::Relaxed) {
            // ORDERING: a counter.
            self.passed.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // What a waker costs when it is dropped is the subject's; it is paid outside the lock.
        let old = waiting.replace(waker.clone());
        drop(waiting);
        drop(old);
        false
    }
}
