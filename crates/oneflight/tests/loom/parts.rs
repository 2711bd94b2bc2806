//! What the models put into a group: keys, values and works that loom watches.
//!
//! W1. Each of them is read whenever it is used, and written, as by its only owner, when it is dropped: a use that does not
//!     happen before the drop is a violation that loom finds.
//! W2. All of them are counted: none is left at the end, and none is dropped twice.

use loom::sync::Mutex;
use loom::sync::atomic::AtomicU32;
use oneflight::{Error, Group};
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll, Waker};

/// The same in every run, as all that a model does must be.
pub(crate) type Hashes = BuildHasherDefault<DefaultHasher>;
pub(crate) type Flights = Group<Watched, Watched, (), Hashes>;
pub(crate) type Answer = Result<u32, Error<()>>;

static ALIVE: AtomicI64 = AtomicI64::new(0);

/// Fails if something that was made is not dropped (W2).
pub(crate) fn nothing_is_left() {
    assert_eq!(ALIVE.load(Ordering::SeqCst), 0, "W2");
}

/// A group with one lock.
pub(crate) fn group() -> Flights {
    Group::builder().shards(1).hasher(Hashes::default()).build()
}

/// A number under watch.
pub(crate) struct Watched {
    number: AtomicU32,
}

impl Watched {
    pub(crate) fn new(number: u32) -> Self {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        let number = AtomicU32::new(number);
        Self { number }
    }

    pub(crate) fn number(&self) -> u32 {
        // Relaxed: it brings no order of its own about (W1).
        self.number.load(Ordering::Relaxed)
    }
}

impl Clone for Watched {
    fn clone(&self) -> Self {
        Self::new(self.number())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.number.with_mut(|number| *number = u32::MAX);
        let before = ALIVE.fetch_sub(1, Ordering::SeqCst);
        assert!(before > 0, "W2: dropped twice");
    }
}

impl PartialEq for Watched {
    fn eq(&self, other: &Self) -> bool {
        self.number() == other.number()
    }
}

impl Eq for Watched {}

impl Hash for Watched {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number().hash(state);
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// Work that is ready when it is polled first.
pub(crate) fn ready(number: u32) -> impl Future<Output = Result<Watched, ()>> + Send + 'static {
    let work = Watched::new(number);
    std::future::poll_fn(move |_| Poll::Ready(Ok(work.clone())))
}

/// Work that yields once: it wakes itself while it is polled.
pub(crate) fn yielding(number: u32) -> impl Future<Output = Result<Watched, ()>> + Send + 'static {
    let work = Watched::new(number);
    let mut yielded = false;
    std::future::poll_fn(move |context| {
        if !std::mem::replace(&mut yielded, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(work.clone()))
    })
}

/// What ends the works of a model, from another thread.
#[derive(Clone)]
pub(crate) struct Ringer(Arc<Mutex<Rung>>);

#[derive(Default)]
struct Rung {
    done: bool,
    waker: Option<Waker>,
}

impl Ringer {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Rung::default())))
    }

    /// Work that is ready once it was rung for.
    pub(crate) fn work(&self, number: u32) -> Waits {
        Waits {
            ringer: self.clone(),
            answer: Watched::new(number),
        }
    }

    /// Lets the work be ready, and wakes it if it has been polled.
    pub(crate) fn ring(&self) {
        let waker = {
            let mut rung = self.0.lock().expect("nobody panics with it");
            rung.done = true;
            rung.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The waker of the work, if it has been polled.
    pub(crate) fn waker(&self) -> Option<Waker> {
        self.0.lock().expect("nobody panics with it").waker.take()
    }
}

/// Work that waits to be rung for.
pub(crate) struct Waits {
    ringer: Ringer,
    answer: Watched,
}

impl Future for Waits {
    type Output = Result<Watched, ()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = context.waker().clone();
        let _old = {
            let mut rung = self.ringer.0.lock().expect("nobody panics with it");
            if rung.done {
                return Poll::Ready(Ok(self.answer.clone()));
            }
            rung.waker.replace(waker)
        };
        Poll::Pending
    }
}

/// The number that a call got.
pub(crate) fn number(answer: Result<Watched, Error<()>>) -> Answer {
    answer.map(|value| value.number())
}
