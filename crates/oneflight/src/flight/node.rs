//! A flight as it lies in memory: one allocation with key, state, answer and the work itself. The room with the unsafe code.
//!
//!   Arc<Node<K, V, E, F>>  seen as  Arc<dyn Flight<K, V, E>>      and, by the work, as the waker that it is polled with
//!
//! N1. The work is touched only by the one who put the phase to Polling, or who found it over and not Polling: the state's S1
//!     makes that one at a time.
//! N2. The work is pinned: it never leaves the node, and is dropped where it lies.

use super::panics::caught;
use super::state::{Phase, State};
use crate::clock::Task;
use crate::error::{Error, Other};
use crate::sync::{Arc, Mutex, OnceLock};
use std::cell::UnsafeCell;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::Instant;

/// A flight, whatever its work is.
pub(crate) trait Flight<K, V, E>: Send + Sync {
    fn head(&self) -> &Head<K, V, E>;

    /// Polls the work once. Only for the one who has put the phase to Polling (N1).
    fn poll_work(&self) -> Poll<Result<V, Error<E>>>;

    /// Drops the work. Only for the one who has put the phase to Polling, or ended the flight while nobody was polling (N1).
    fn drop_work(&self);
}

/// All of a flight but its work.
#[derive(Debug)]
pub(crate) struct Head<K, V, E> {
    pub(crate) key: K,
    pub(crate) hash: u64,
    /// The group's epoch when the flight began.
    pub(crate) born: u64,
    /// When it is overdue.
    pub(crate) deadline: Option<Instant>,
    pub(crate) state: Mutex<State>,
    /// Set before the phase is Landed; empty if the only caller took the answer with it.
    pub(crate) answer: OnceLock<Result<V, Error<E>>>,
}

impl<K, V, E> Head<K, V, E> {
    pub(crate) fn new(key: K, hash: u64, born: u64, deadline: Option<Instant>) -> Self {
        Self { key, hash, born, deadline, state: Mutex::new(State::making()), answer: OnceLock::new() }
    }
}

/// A flight with its work.
pub(crate) struct Node<K, V, E, F> {
    head: Head<K, V, E>,
    work: UnsafeCell<Work<F>>,
}

struct Work<F> {
    /// None while it is being made, and when it is over.
    future: Option<F>,
    /// Ready when the flight is overdue.
    limit: Option<Task>,
}

// SAFETY: everything but `work` is shared as its types allow; `work` is moved between threads but used by one at a time (N1), so
// `F: Send` is enough.
unsafe impl<K: Send + Sync, V: Send + Sync, E: Send + Sync, F: Send> Sync for Node<K, V, E, F> {}

impl<K, V, E, F> Node<K, V, E, F> {
    pub(crate) fn new(head: Head<K, V, E>) -> Arc<Self> {
        Arc::new(Self { head, work: UnsafeCell::new(Work { future: None, limit: None }) })
    }

    /// Puts the work in its place. Only for the leader, while the phase is Polling from the start.
    pub(crate) fn put(&self, future: F, limit: Option<Task>) {
        debug_assert_ne!(self.head.state.lock().phase(), Phase::Idle, "N1: put by somebody who is not the leader");
        // SAFETY: the flight was made in phase Polling by the caller, who alone may touch the work until it is Idle (N1).
        let place = unsafe { &mut *self.work.get() };
        debug_assert!(place.future.is_none(), "N2: the work is put once");
        *place = Work { future: Some(future), limit };
    }
}

impl<K, V, E, F> Node<K, V, E, F>
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    F: Future<Output = Result<V, E>> + Send + 'static,
{
    const WAKER: RawWakerVTable = RawWakerVTable::new(Self::clone_waker, Self::wake, Self::wake_by_ref, Self::drop_waker);

    unsafe fn clone_waker(data: *const ()) -> RawWaker {
        // SAFETY: `data` is what `Arc::as_ptr` gave for a node that the waker keeps alive, or `poll_work` does.
        unsafe { Arc::increment_strong_count(data.cast::<Self>()) };
        RawWaker::new(data, &Self::WAKER)
    }

    unsafe fn wake(data: *const ()) {
        // SAFETY: a waker that is woken by value owns one count of the node.
        let node = unsafe { Arc::from_raw(data.cast::<Self>()) };
        node.woken();
    }

    unsafe fn wake_by_ref(data: *const ()) {
        // SAFETY: the waker is borrowed, so the node is alive.
        let node = unsafe { &*data.cast::<Self>() };
        node.woken();
    }

    unsafe fn drop_waker(data: *const ()) {
        // SAFETY: a waker that is dropped owns one count of the node.
        drop(unsafe { Arc::from_raw(data.cast::<Self>()) });
    }

    fn woken(&self) {
        let call = self.head.state.lock().wake();
        call.wake();
    }
}

impl<K, V, E, F> Flight<K, V, E> for Node<K, V, E, F>
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    F: Future<Output = Result<V, E>> + Send + 'static,
{
    fn head(&self) -> &Head<K, V, E> {
        &self.head
    }

    fn poll_work(&self) -> Poll<Result<V, Error<E>>> {
        let raw = RawWaker::new(std::ptr::from_ref(self).cast(), &Self::WAKER);
        // SAFETY: a node lives in an `Arc` only (`new`), so the pointer is one that `Arc::as_ptr` gives; the vtable counts. This
        // waker owns no count, which `ManuallyDrop` makes up for, and it does not outlive `&self`.
        let waker = ManuallyDrop::new(unsafe { Waker::from_raw(raw) });
        let mut context = Context::from_waker(&waker);
        // SAFETY: the caller has put the phase to Polling (N1).
        let place = unsafe { &mut *self.work.get() };
        let Some(work) = place.future.as_mut() else {
            debug_assert!(false, "N1: polled without work");
            return Poll::Ready(Err(Error::lost("the work of a flight is gone")));
        };
        // SAFETY: the work lies in the node, is never moved out of it, and is dropped in place (N2).
        let work = unsafe { Pin::new_unchecked(work) };
        match catch_unwind(AssertUnwindSafe(|| work.poll(&mut context))) {
            Ok(Poll::Ready(result)) => Poll::Ready(result.map_err(Error::from_work)),
            Ok(Poll::Pending) => match &mut place.limit {
                Some(limit) => limit.as_mut().poll(&mut context).map(|()| Err(Error::from_other(Other::Overdue))),
                None => Poll::Pending,
            },
            Err(panic) => Poll::Ready(Err(caught(&*panic))),
        }
    }

    fn drop_work(&self) {
        // SAFETY: the caller has put the phase to Polling, or has ended the flight while nobody polled (N1).
        let place = unsafe { &mut *self.work.get() };
        // Work that panics while it is dropped has nobody left to tell; the others must not suffer for it.
        let _ = catch_unwind(AssertUnwindSafe(|| *place = Work { future: None, limit: None }));
    }
}
