//! The observer hook: who hands one in is told what becomes of every flight and of every call, as it happens.
//!
//! ```text
//!   Started ─▶ Joined* ─▶ Landed | Failed | Panicked | Overdue | Cancelled ─▶ Waited, for each caller that got the answer
//!                   └───▶ TimedOut*, the callers that gave up ─▶ Abandoned, if the last one left
//!                   └───▶ Forgotten, at most once: the flight goes on without its place in the table
//! ```
//!
//! L1. An observer is told exactly what `stats` counts, and `TimedOut` and `Waited` besides.
//! L2. No lock is held while it is told. A panic in it, or in the clock that times are taken by, harms nobody.
//! L3. A flight's end is told before any caller can see its answer.
//! L4. A group without an observer pays one look at an `Option` for each event, and no look at the clock.

use crate::clock::Clock;
use crate::error::Error;
use crate::sync::Arc;
use crate::waiting::panics::{guarded, hushed};
use std::convert::Infallible;
use std::fmt;
use std::time::{Duration, Instant};

/// Is told what a group does: handed in by [`Builder::observer`](crate::Builder::observer) or
/// [`Scoped::with_observer`](crate::Scoped::with_observer).
///
/// It is told by whoever did it, on that thread and at once: before the call, the poll or the drop that it comes of returns. So it
/// should be quick, and never wait. No lock is held meanwhile: it may use the group, and be told of that in turn. If it panics, the
/// panic ends there; the flight and its callers never hear of it.
///
/// Anything that takes a key and an event is one; a closure needs its types written out. So is an [`Arc`](std::sync::Arc) of one,
/// to keep a hand on it, and a pair, of which both are told.
///
/// # The order of events
///
/// What is told for one flight comes in this order:
///
/// 1. [`Started`](Event::Started), before the work is made. If the flight takes the place of an older one for its key, that one's
///    [`Forgotten`](Event::Forgotten) or [`Overdue`](Event::Overdue) comes first.
/// 2. [`Joined`](Event::Joined), once for each call that joins; [`TimedOut`](Event::TimedOut), for each that gave up.
/// 3. One end: [`Landed`](Event::Landed), [`Failed`](Event::Failed), [`Panicked`](Event::Panicked), [`Overdue`](Event::Overdue),
///    [`Cancelled`](Event::Cancelled) or [`Abandoned`](Event::Abandoned). The work is gone by then.
/// 4. [`Waited`](Event::Waited), once for each caller that gets its answer, when it gets it.
///
/// Calls on several threads are told by several threads. Even then a flight's end comes before the first `Waited`, and what one
/// call tells comes in order: its `Started` or `Joined`, then its `Waited` or `TimedOut`. But a `Joined` may come in just before the
/// `Started`, or just after the end, that another thread is telling at that moment.
///
/// # Examples
/// ```
/// use oneflight::{Event, Group};
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::Arc;
///
/// let saved = Arc::new(AtomicU64::new(0));
/// let counter = saved.clone();
/// let group: Group<String, u32> = Group::builder()
///     .observer(move |key: &String, event: &Event<'_>| match event {
///         Event::Joined => drop(counter.fetch_add(1, Ordering::Relaxed)),
///         Event::Panicked { message, .. } => eprintln!("the work for {key} panicked: {message}"),
///         _ => {}
///     })
///     .build();
///
/// # let wait = futures_util::FutureExt::now_or_never;
/// let (a, b) = (group.run("tea", || async { Ok(350) }), group.run("tea", || async { Ok(350) }));
/// assert_eq!((wait(a).unwrap().unwrap(), wait(b).unwrap().unwrap()), (350, 350));
/// assert_eq!(saved.load(Ordering::Relaxed), 1);
/// ```
pub trait Observer<K>: Send + Sync {
    /// Is told of one event, of a flight for `key`.
    fn observe(&self, key: &K, event: &Event<'_>);
}

/// What happened; see [`Observer`].
///
/// Times are told if the group has a clock ([`Builder::clock`](crate::Builder::clock),
/// [`Scoped::with_clock`](crate::Scoped::with_clock)), and are `None` otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A call found no flight that it could join, and started one.
    Started,
    /// A call joined a flight.
    Joined,
    /// The flight ended with a value.
    #[non_exhaustive]
    Landed {
        /// Since it was started.
        took: Option<Duration>,
        /// How many calls have shared it, those that have left too.
        callers: u32,
    },
    /// The flight ended with an error of the work.
    #[non_exhaustive]
    Failed {
        /// Since it was started.
        took: Option<Duration>,
        /// How many calls have shared it, those that have left too.
        callers: u32,
    },
    /// The work, or what makes it, panicked.
    #[non_exhaustive]
    Panicked {
        /// The message of the panic.
        message: &'a str,
        /// Where it was raised, if that is recorded ([`record_panic_locations`](crate::record_panic_locations)).
        location: Option<&'a str>,
        /// Since it was started.
        took: Option<Duration>,
        /// How many calls have shared it, those that have left too.
        callers: u32,
    },
    /// The flight took longer than it may ([`Builder::max_flight`](crate::Builder::max_flight)).
    #[non_exhaustive]
    Overdue {
        /// Since it was started.
        took: Option<Duration>,
        /// How many calls have shared it, those that have left too.
        callers: u32,
    },
    /// The last caller left, and the work was dropped.
    #[non_exhaustive]
    Abandoned {
        /// Since it was started.
        took: Option<Duration>,
        /// How many calls have shared it.
        callers: u32,
    },
    /// The flight was ended by [`Group::cancel_all`](crate::Group::cancel_all).
    #[non_exhaustive]
    Cancelled {
        /// Since it was started.
        took: Option<Duration>,
        /// How many calls have shared it, those that have left too.
        callers: u32,
    },
    /// The flight left its place to others, by [`Group::forget`](crate::Group::forget) or for a caller that wanted a fresher one.
    /// It goes on for those who wait for it, and its end is told later.
    Forgotten,
    /// A caller gave up at its own limit ([`Join::within`](crate::Join::within), and those of a cache); the flight goes on for the
    /// others.
    #[non_exhaustive]
    TimedOut {
        /// Since it called.
        waited: Option<Duration>,
    },
    /// A caller got its answer.
    #[non_exhaustive]
    Waited {
        /// Since it called.
        time: Option<Duration>,
        /// True if this call started the flight (of a [`Scoped`](crate::Scoped) one: if the answer is that of its own work).
        led: bool,
        /// How many calls have shared the flight.
        shared: u32,
    },
}

impl<K, F> Observer<K> for F
where
    F: Fn(&K, &Event<'_>) + Send + Sync,
{
    fn observe(&self, key: &K, event: &Event<'_>) {
        self(key, event);
    }
}

impl<K, O: Observer<K> + ?Sized> Observer<K> for Arc<O> {
    fn observe(&self, key: &K, event: &Event<'_>) {
        O::observe(self, key, event);
    }
}

/// Both are told, the first one first, even if it panics.
impl<K, A: Observer<K>, B: Observer<K>> Observer<K> for (A, B) {
    fn observe(&self, key: &K, event: &Event<'_>) {
        hushed(|| self.0.observe(key, event));
        self.1.observe(key, event);
    }
}

/// An observer that was handed in, with the clock that times are taken by.
pub(crate) struct Watch<K> {
    observer: Arc<dyn Observer<K>>,
    clock: Option<Arc<dyn Clock>>,
}

/// When a flight began and how long after it a caller came, in nanoseconds. A flight that began at no time has no clock.
#[derive(Clone, Copy)]
pub(crate) struct Since {
    pub(crate) began: Option<Instant>,
    pub(crate) came: u64,
}

impl<K> Watch<K> {
    pub(crate) fn new(observer: Arc<dyn Observer<K>>, clock: Option<Arc<dyn Clock>>) -> Self {
        Self { observer, clock }
    }

    /// Times are taken by this clock from now on.
    pub(crate) fn set_clock(&mut self, clock: Arc<dyn Clock>) {
        self.clock = Some(clock);
    }

    /// The time now. It is asked for while a flight ends, too, when others wait: a panic of the clock is hushed, as the observer's
    /// is, and the time absent (L2).
    pub(crate) fn now(&self) -> Option<Instant> {
        let clock = self.clock.as_deref()?;
        guarded::<_, Infallible>(|| clock.now()).ok()
    }

    /// Tells of an event that has no more to it than its name.
    #[inline(never)]
    pub(crate) fn tell(&self, key: &K, event: Event<'_>) {
        hushed(|| self.observer.observe(key, &event));
    }

    /// Tells of a caller that joins, and says when it came.
    #[inline(never)]
    pub(crate) fn joined(&self, key: &K, began: Option<Instant>, now: Option<Instant>) -> u64 {
        self.tell(key, Event::Joined);
        let came = now.zip(began).map_or(0, |(now, began)| {
            now.saturating_duration_since(began).as_nanos()
        });
        u64::try_from(came).unwrap_or(u64::MAX)
    }

    /// Tells of a flight's end, whatever it came to.
    #[inline(never)]
    pub(crate) fn ended<V, E>(
        &self,
        key: &K,
        began: Option<Instant>,
        callers: u32,
        result: &Result<V, Error<E>>,
    ) {
        let took = self.time(Since { began, came: 0 });
        let event = match result {
            Ok(_) => Event::Landed { took, callers },
            Err(error) if error.is_overdue() => Event::Overdue { took, callers },
            Err(error) if error.is_closed() => Event::Cancelled { took, callers },
            Err(error) => match error.panic_message() {
                Some(message) => Event::Panicked {
                    message,
                    location: error.panic_location(),
                    took,
                    callers,
                },
                None => Event::Failed { took, callers },
            },
        };
        self.tell(key, event);
    }

    /// Tells of a flight whose last caller has left.
    #[inline(never)]
    pub(crate) fn abandoned(&self, key: &K, began: Option<Instant>, callers: u32) {
        let took = self.time(Since { began, came: 0 });
        self.tell(key, Event::Abandoned { took, callers });
    }

    /// Tells of a caller that has got its answer.
    #[inline(never)]
    pub(crate) fn waited(&self, key: &K, since: Since, led: bool, shared: u32) {
        let time = self.time(since);
        self.tell(key, Event::Waited { time, led, shared });
    }

    /// Tells of a caller that gives up.
    #[inline(never)]
    pub(crate) fn timed_out(&self, key: &K, since: Since) {
        let waited = self.time(since);
        self.tell(key, Event::TimedOut { waited });
    }

    fn time(&self, since: Since) -> Option<Duration> {
        let (began, now) = since.began.zip(self.now())?;
        let flown = now.saturating_duration_since(began);
        Some(flown.saturating_sub(Duration::from_nanos(since.came)))
    }
}

/// An observer that waits to be handed on, with nothing to show but that it is there.
pub(crate) struct Observing<K>(pub(crate) Option<Arc<dyn Observer<K>>>);

impl<K> fmt::Debug for Observing<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Some(..)" } else { "None" })
    }
}
