//! A flight as it lies in memory: one allocation with key, state, answer and the work itself. The room with the unsafe code.
//!
//! ```text
//!   Node { Head { refs, key, state, answer }, work }
//!     ▲        ▲
//!     │        └── Shared: a counted reference that knows nothing of the work's type
//!     └─────────── the same pointer is the data of the waker that the work is polled with; such a waker holds a reference, too
//! ```
//!
//! N1. The work is touched only by the one who put the phase to Polling (or began with Making), or who found it over and nobody
//!     having it in hand: the state's S1 makes that one at a time.
//! N2. The work is pinned: it never leaves the node, and is dropped where it lies.
//! N3. The answer is written once, by the one who put the phase to Landing, before it is Landed; it is read after.
//! N4. `refs` counts every `Shared` and every waker that owns its reference; the node is freed by the last one.
//!
//! Why not `Arc<dyn Flight>`: an `Arc` is counted up for the table's reference and down twice; a flight that nobody joined is
//! made with two references and freed with both, without an atomic step. It is one word, too, in the table and in every caller.

use super::state::State;
use crate::clock::Task;
use crate::error::{Error, Other};
use crate::sync::{Arc, AtomicUsize, Ordering, UnsafeCell};
use crate::waiting::panics::{guarded, hushed};
use crate::waiting::waits::{self, Id, Named};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::Instant;

/// A counted reference to a flight, whatever its work is.
pub(crate) struct Shared<K, V, E> {
    head: NonNull<Head<K, V, E>>,
    owns: PhantomData<Head<K, V, E>>,
}

/// All of a flight but its work.
pub(crate) struct Head<K, V, E> {
    refs: AtomicUsize,
    of_work: NonNull<OfWork<K, V, E>>,
    pub(crate) key: K,
    pub(crate) hash: u64,
    /// The group's epoch when the flight began.
    pub(crate) born: u64,
    /// When it began; none if nobody measures it.
    pub(crate) began: Option<Instant>,
    pub(crate) state: State,
    answer: UnsafeCell<Option<Answer<V, E>>>,
}

/// A flight with its work. The head comes first, so that a pointer to the one is a pointer to the other.
#[repr(C)]
struct Node<K, V, E, F> {
    head: Head<K, V, E>,
    work: UnsafeCell<Work<F>>,
}

struct Work<F> {
    /// None while it is being made, and when it is over.
    future: Option<F>,
    /// Ready when the flight is overdue.
    limit: Option<Task>,
}

/// What is done with the work by those who do not know its type.
struct OfWork<K, V, E> {
    poll: PollWork<K, V, E>,
    drop: unsafe fn(Pointer<K, V, E>),
    free: unsafe fn(Pointer<K, V, E>),
    named: fn(&Shared<K, V, E>) -> Arc<dyn Named>,
}

type Pointer<K, V, E> = NonNull<Head<K, V, E>>;
type Answer<V, E> = Result<V, Error<E>>;
type PollWork<K, V, E> = unsafe fn(Pointer<K, V, E>) -> Poll<Answer<V, E>>;

/// A flight whose work is being made, by the one who has this.
pub(crate) struct Fresh<K, V, E, F> {
    flight: Shared<K, V, E>,
    work: PhantomData<fn(F)>,
}

/// What a flight is born with.
#[derive(Debug)]
pub(crate) struct Birth<K> {
    pub(crate) key: K,
    pub(crate) hash: u64,
    pub(crate) born: u64,
    pub(crate) began: Option<Instant>,
}

// SAFETY: a `Shared` gives access to key, value and error from any thread, and the last one drops them there. The work is `Send`
// (`Fresh::new` asks for it) and used by one thread at a time (N1).
unsafe impl<K: Send + Sync, V: Send + Sync, E: Send + Sync> Send for Shared<K, V, E> {}
// SAFETY: as for `Send`.
unsafe impl<K: Send + Sync, V: Send + Sync, E: Send + Sync> Sync for Shared<K, V, E> {}

impl<K, V, E, F> Fresh<K, V, E, F>
where
    K: fmt::Debug + Send + Sync + 'static,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    F: Future<Output = Result<V, E>> + Send + 'static,
{
    /// A flight in phase Making, and a second reference to it.
    #[inline]
    pub(crate) fn new(birth: Birth<K>) -> (Self, Shared<K, V, E>) {
        // A borrow that is held to be one of a constant: the compiler would not let it be shorter.
        let of_work: &'static OfWork<K, V, E> = &Node::<K, V, E, F>::OF_WORK;
        let node = Box::new(Node {
            head: Head {
                refs: AtomicUsize::new(2),
                of_work: NonNull::from(of_work),
                key: birth.key,
                hash: birth.hash,
                born: birth.born,
                began: birth.began,
                state: State::making(),
                answer: UnsafeCell::new(None),
            },
            work: UnsafeCell::new(Work::<F> {
                future: None,
                limit: None,
            }),
        });
        let head: NonNull<Head<K, V, E>> = NonNull::from(Box::leak(node)).cast();
        let reference = || Shared {
            head,
            owns: PhantomData,
        };
        let fresh = Self {
            flight: reference(),
            work: PhantomData,
        };
        (fresh, reference())
    }

    /// The flight, which has no work yet.
    pub(crate) fn flight(&self) -> &Shared<K, V, E> {
        &self.flight
    }

    /// The key of the flight.
    pub(crate) fn key(&self) -> &K {
        &self.flight.key
    }

    /// Puts the work in its place.
    #[inline]
    pub(crate) fn put(self, future: F, limit: Option<Task>) -> Shared<K, V, E> {
        let node = self.flight.head.cast::<Node<K, V, E, F>>();
        // SAFETY: the flight was made with work of this type (`new`), and `self.flight` keeps it alive.
        let node = unsafe { node.as_ref() };
        node.work.with_mut(|place| {
            // SAFETY: the flight was made in phase Making by the caller, who alone may touch the work until it is published (N1).
            let place = unsafe { &mut *place };
            debug_assert!(place.future.is_none(), "N2: the work is put once");
            // Field by field: what is there is `None`, and need not be dropped.
            place.future = Some(future);
            place.limit = limit;
        });
        self.flight
    }

    /// The flight, if there is no work to put.
    pub(crate) fn without_work(self) -> Shared<K, V, E> {
        self.flight
    }
}

// It is a pointer; what it points to never moves (N2).
impl<K, V, E> Unpin for Shared<K, V, E> {}

impl<K, V, E> Shared<K, V, E> {
    /// The identity of the flight.
    pub(crate) fn id(&self) -> Id {
        Id::of(self.head.as_ptr().cast_const().cast())
    }

    /// The flight as one that others wait for.
    pub(crate) fn named(&self) -> Arc<dyn Named> {
        // SAFETY: `of_work` points to a constant.
        let of_work = unsafe { self.of_work.as_ref() };
        (of_work.named)(self)
    }

    /// True if both are the same flight.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.head == other.head
    }

    /// Polls the work once. Only for the one who has put the phase to Polling (N1).
    pub(crate) fn poll_work(&self) -> Poll<Answer<V, E>> {
        // SAFETY: `of_work` points to a constant.
        let of_work = unsafe { self.of_work.as_ref() };
        // SAFETY: the function is that of this node's work; the flight is alive; the caller has put the phase to Polling.
        unsafe { (of_work.poll)(self.head) }
    }

    /// Drops the work. Only for the one who has it in hand, or who ended the flight while nobody had (N1).
    pub(crate) fn drop_work(&self) {
        // SAFETY: `of_work` points to a constant.
        let of_work = unsafe { self.of_work.as_ref() };
        // SAFETY: the function is that of this node's work; the flight is alive; the caller may touch the work.
        unsafe { (of_work.drop)(self.head) };
        if self.state.is_noted() {
            waits::ended(self.id());
        }
    }

    /// Writes the answer. Only for the one who has put the phase to Landing, once, before it is Landed (N3).
    pub(crate) fn put_answer(&self, answer: Answer<V, E>) {
        self.answer.with_mut(|place| {
            // SAFETY: the caller alone is landing the flight; nobody reads before it has landed (N3).
            let place = unsafe { &mut *place };
            debug_assert!(place.is_none(), "N3: a flight is answered once");
            *place = Some(answer);
        });
    }

    /// The answer. Only for those who have seen the phase Landed (N3).
    pub(crate) fn answer(&self) -> Option<Answer<V, E>>
    where
        V: Clone,
    {
        self.answer.with(|place| {
            // SAFETY: the phase is Landed: the answer was written before, and is never written again (N3).
            let place = unsafe { &*place };
            place.clone()
        })
    }

    /// Drops two references to one flight at once. If there are no others, it takes no atomic step.
    #[inline]
    pub(crate) fn drop_both(one: Self, other: Option<Self>) {
        let Some(other) = other else { return };
        debug_assert!(one.is(&other), "N4: two references to two flights");
        // ORDERING: Acquire pairs with the Release of those who gave their references back: what they did comes before the end.
        if one.is(&other) && one.refs.load(Ordering::Acquire) == 2 {
            let one = ManuallyDrop::new(one);
            std::mem::forget(other);
            // SAFETY: both references were ours, and nobody can make another from nothing (N4).
            unsafe { one.free() };
        }
    }

    /// Frees the node.
    ///
    /// # Safety
    /// The caller has the last reference, and never uses it again.
    unsafe fn free(&self) {
        // SAFETY: `of_work` points to a constant.
        let of_work = unsafe { self.of_work.as_ref() };
        // SAFETY: the function is that of this node; the caller has the last reference.
        unsafe { (of_work.free)(self.head) };
    }
}

impl<K, V, E> Named for Shared<K, V, E>
where
    K: fmt::Debug + Send + Sync,
    V: Send + Sync,
    E: Send + Sync,
{
    fn is_over(&self) -> bool {
        self.state.is_over()
    }

    fn name(&self) -> String {
        format!("{:?}", self.key)
    }
}

impl<K, V, E> Deref for Shared<K, V, E> {
    type Target = Head<K, V, E>;

    fn deref(&self) -> &Head<K, V, E> {
        // SAFETY: the reference that `self` counts for keeps the node alive (N4); all of it that changes is in cells.
        unsafe { self.head.as_ref() }
    }
}

impl<K, V, E> Clone for Shared<K, V, E> {
    fn clone(&self) -> Self {
        Head::count_up(self);
        Self {
            head: self.head,
            owns: PhantomData,
        }
    }
}

impl<K, V, E> Drop for Shared<K, V, E> {
    fn drop(&mut self) {
        // The step is done on the count alone: no function that has borrowed the head may be running when another thread, whose
        // reference is the last by then, frees it.
        // ORDERING: AcqRel: what each one did with the node comes before its end, which is the last one's.
        if self.refs.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: that was the last reference (N4).
            unsafe { self.free() };
        }
    }
}

impl<K, V, E> Head<K, V, E> {
    fn count_up(&self) {
        // ORDERING: Relaxed: whoever counts up has a reference already, and hands the new one on by other means.
        let before = self.refs.fetch_add(1, Ordering::Relaxed);
        // A program that forgets references by the billion would come round to nought: as with `Arc`, that ends it.
        if before > usize::MAX / 2 {
            std::process::abort();
        }
    }

    fn woken(&self) {
        if !self.state.note_wake() {
            self.state.wake().wake();
        }
    }

    const WAKER: RawWakerVTable = RawWakerVTable::new(
        Self::clone_waker,
        Self::wake,
        Self::wake_by_ref,
        Self::drop_waker,
    );

    /// The flight behind a waker.
    ///
    /// # Safety
    /// `data` is a waker's of a flight with these types, and the waker is alive, and so is what is returned.
    unsafe fn of_waker(data: *const ()) -> ManuallyDrop<Shared<K, V, E>> {
        // SAFETY: a waker's data is the flight's head, which is never null.
        let head = unsafe { NonNull::new_unchecked(data.cast_mut().cast()) };
        ManuallyDrop::new(Shared {
            head,
            owns: PhantomData,
        })
    }

    unsafe fn clone_waker(data: *const ()) -> RawWaker {
        // SAFETY: the waker is borrowed, so it is alive.
        let flight = unsafe { Self::of_waker(data) };
        flight.count_up();
        RawWaker::new(data, &Self::WAKER)
    }

    unsafe fn wake(data: *const ()) {
        // SAFETY: the waker is handed over, and its reference with it.
        let flight = unsafe { Self::of_waker(data) };
        let flight = ManuallyDrop::into_inner(flight);
        flight.woken();
    }

    unsafe fn wake_by_ref(data: *const ()) {
        // SAFETY: the waker is borrowed, so it is alive.
        let flight = unsafe { Self::of_waker(data) };
        flight.woken();
    }

    unsafe fn drop_waker(data: *const ()) {
        // SAFETY: the waker is handed over, and its reference with it.
        let flight = unsafe { Self::of_waker(data) };
        drop(ManuallyDrop::into_inner(flight));
    }
}

impl<K, V, E, F> Node<K, V, E, F>
where
    K: fmt::Debug + Send + Sync + 'static,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    F: Future<Output = Result<V, E>>,
{
    const OF_WORK: OfWork<K, V, E> = OfWork {
        poll: Self::poll,
        drop: Self::drop_work,
        free: Self::free,
        named: |flight| Arc::new(flight.clone()),
    };

    /// Polls the work once, with a waker that is the flight itself. Does not unwind.
    ///
    /// # Safety
    /// `head` is of a live node of this type, and the caller has put the phase to Polling (N1).
    unsafe fn poll(head: Pointer<K, V, E>) -> Poll<Answer<V, E>> {
        let data = head.as_ptr().cast_const().cast();
        // SAFETY: the vtable's functions are those for such a head. This waker owns no reference, which `ManuallyDrop` makes up
        // for, and it does not outlive the call, during which the node is alive.
        let waker = ManuallyDrop::new(unsafe { Waker::new(data, &Head::<K, V, E>::WAKER) });
        let mut context = Context::from_waker(&waker);
        // SAFETY: the head is the first field of a node of this type.
        let node = unsafe { head.cast::<Self>().as_ref() };
        node.work.with_mut(|place| {
            // SAFETY: the caller has put the phase to Polling (N1).
            let place = unsafe { &mut *place };
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
        })
    }

    /// Drops the work. Does not unwind.
    ///
    /// # Safety
    /// `head` is of a live node of this type, and the caller may touch the work (N1).
    unsafe fn drop_work(head: Pointer<K, V, E>) {
        // SAFETY: the head is the first field of a node of this type.
        let node = unsafe { head.cast::<Self>().as_ref() };
        node.work.with_mut(|place| {
            // SAFETY: the caller may touch the work (N1).
            let place = unsafe { &mut *place };
            // Each on its own, so that both are dropped even if both panic.
            hushed(|| place.future = None);
            if place.limit.is_some() {
                hushed(|| place.limit = None);
            }
        });
    }

    /// Frees the node.
    ///
    /// # Safety
    /// `head` is of a node of this type, and nobody has a reference to it any more.
    unsafe fn free(head: Pointer<K, V, E>) {
        // SAFETY: the node was made by `Box::leak` in `Fresh::new`, and this is its end.
        drop(unsafe { Box::from_raw(head.cast::<Self>().as_ptr()) });
    }
}
