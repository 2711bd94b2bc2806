//! A flight as it lies in memory: one allocation with key, state, answer and the work itself. The room with the unsafe code.
//!
//!   Arc<Node<K, V, E, F>>  seen as  Arc<dyn Flight<K, V, E>>      and, by the work, as the waker that it is polled with
//!
//! N1. The work is touched only by the one who put the phase to Polling, or who found it over and not Polling: the state's S1
//!     makes that one at a time.
//! N2. The work is pinned: it never leaves the node, and is dropped where it lies.

use super::panics::{guarded, hushed};
use super::state::{Phase, State};
use crate::clock::Task;
use crate::error::{Error, Other};
use crate::sync::{Arc, Mutex, OnceLock};
use std::cell::UnsafeCell;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::Instant;

/// A flight, whatever its work is.
pub(crate) trait Flight<K, V, E>: Send + Sync {
    fn head(&self) -> &Head<K, V, E>;

    /// Polls the work once, with a waker made of `this`; see [`poll_work`]. Does not unwind.
    ///
    /// # Safety
    /// `this` is what `Arc::as_ptr` gives for the flight, and the caller has put the phase to Polling (N1).
    unsafe fn poll_as(&self, this: *const ()) -> Poll<Result<V, Error<E>>>;

    /// Drops the work. Only for the one who has put the phase to Polling, or ended the flight while nobody was polling (N1).
    fn drop_work(&self);
}

/// Polls the work of a flight once. Only for the one who has put its phase to Polling (N1).
pub(crate) fn poll_work<K, V, E>(flight: &Arc<dyn Flight<K, V, E>>) -> Poll<Result<V, Error<E>>> {
    // The waker counts references, so it must come from the `Arc` itself: a pointer made from `&self` may not reach the counts.
    let this = Arc::as_ptr(flight).cast();
    // SAFETY: `this` is of this very flight; the caller has put the phase to Polling.
    unsafe { flight.poll_as(this) }
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
        Self {
            key,
            hash,
            born,
            deadline,
            state: Mutex::new(State::making()),
            answer: OnceLock::new(),
        }
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
        Arc::new(Self {
            head,
            work: UnsafeCell::new(Work {
                future: None,
                limit: None,
            }),
        })
    }

    /// Puts the work in its place. Only for the leader, while the phase is Polling from the start.
    pub(crate) fn put(&self, future: F, limit: Option<Task>) {
        debug_assert_ne!(
            self.head.state.lock().phase(),
            Phase::Idle,
            "N1: put by somebody who is not the leader"
        );
        // SAFETY: the flight was made in phase Polling by the caller, who alone may touch the work until it is Idle (N1).
        let place = unsafe { &mut *self.work.get() };
        debug_assert!(place.future.is_none(), "N2: the work is put once");
        *place = Work {
            future: Some(future),
            limit,
        };
    }
}

impl<K, V, E, F> Node<K, V, E, F>
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    F: Future<Output = Result<V, E>> + Send + 'static,
{
    const WAKER: RawWakerVTable = RawWakerVTable::new(
        Self::clone_waker,
        Self::wake,
        Self::wake_by_ref,
        Self::drop_waker,
    );

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

    unsafe fn poll_as(&self, this: *const ()) -> Poll<Result<V, Error<E>>> {
        // SAFETY: `this` comes from an `Arc` of this node, and the vtable counts. This waker owns no count, which `ManuallyDrop`
        // makes up for, and it does not outlive `&self`.
        let waker = ManuallyDrop::new(unsafe { Waker::new(this, &Self::WAKER) });
        let mut context = Context::from_waker(&waker);
        // SAFETY: the caller has put the phase to Polling (N1).
        let place = unsafe { &mut *self.work.get() };
        let Some(work) = place.future.as_mut() else {
            debug_assert!(false, "N1: polled without work");
            return Poll::Ready(Err(Error::lost("the work of a flight is gone")));
        };
        // SAFETY: the work lies in the node, is never moved out of it, and is dropped in place (N2).
        let work = unsafe { Pin::new_unchecked(work) };
        let polled = guarded(|| match (work.poll(&mut context), &mut place.limit) {
            (Poll::Ready(result), _) => Poll::Ready(result.map_err(Error::from_work)),
            (Poll::Pending, Some(limit)) => limit
                .as_mut()
                .poll(&mut context)
                .map(|()| Err(Error::from_other(Other::Overdue))),
            (Poll::Pending, None) => Poll::Pending,
        });
        polled.unwrap_or_else(|panic| Poll::Ready(Err(panic)))
    }

    fn drop_work(&self) {
        // SAFETY: the caller has put the phase to Polling, or has ended the flight while nobody polled (N1).
        let place = unsafe { &mut *self.work.get() };
        // Each on its own, so that both are dropped even if both panic.
        hushed(|| place.future = None);
        hushed(|| place.limit = None);
    }
}
