//! A caller's part in a flight, as a future.
//!
//! J1. A join counts as a waiter of its flight from the call until it is ready or dropped; it has a slot once it has waited.
//! J2. A join that is pending inside a work is an edge of the graph of who waits for whom; one that would close a ring fails.

use super::drive::{self, Step};
use super::group::Group;
use super::node::Shared;
#[cfg(feature = "cache")]
use super::pilot::Pilot;
use super::state::Who;
use crate::clock::{Task, sleep};
use crate::error::{Error, Other};
use crate::hash::RandomState;
use crate::observe::Since;
#[cfg(feature = "cache")]
use crate::sync::Arc;
use crate::waiting::queue::NOBODY;
use crate::waiting::waits::{Target, Wait};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A call that waits for its flight: the future that [`Group::run`](super::Group::run) returns.
///
/// The flight is up, or joined, from the call on; nothing of it is done before somebody who waits for it is polled.
///
/// # Cancel safety
/// Dropping it changes nothing for the others. Dropping the last one drops the work, unless the group is detached.
///
/// # Panics
/// If it is polled after it was ready.
#[must_use = "a call does nothing until it is awaited"]
pub struct Join<'g, K, V, E, S = RandomState> {
    group: &'g Group<K, V, E, S>,
    at: At<K, V, E>,
    slot: u32,
    /// Its place among those who wait inside of a work (J2).
    wait: Wait,
    led: bool,
    /// While it flies: how many nanoseconds after the flight it came. After: how many share it. In one place, so that a call is not
    /// larger for an observer that few have.
    note: u64,
}

pub(crate) enum At<K, V, E> {
    Flying(Shared<K, V, E>),
    Failed(Error<E>),
    Done,
}

/// A value, and the caller's part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome<V> {
    /// The value.
    pub value: V,
    /// True if this call started the flight; false if it joined.
    pub led: bool,
    /// How many calls shared the flight, this one among them.
    pub shared: u32,
}

impl<'g, K, V, E, S> Join<'g, K, V, E, S> {
    /// A call that came so many nanoseconds after its flight began, if that is measured.
    pub(crate) fn new(group: &'g Group<K, V, E, S>, at: At<K, V, E>, led: bool, came: u64) -> Self {
        Self {
            group,
            at,
            slot: NOBODY,
            wait: Wait::none(),
            led,
            note: came,
        }
    }

    /// True if this call started the flight; false if it joined.
    pub fn led(&self) -> bool {
        self.led
    }

    /// It is pending: if it is polled inside of a work, that work waits for this flight. Ready if that closes a ring (J2).
    #[inline]
    fn waits(&mut self) -> Poll<Result<V, Error<E>>> {
        let At::Flying(flight) = &self.at else {
            return Poll::Pending;
        };
        let target = || Target {
            id: flight.id(),
            name: flight.named(),
        };
        match self.wait.pending(target) {
            Ok(()) => Poll::Pending,
            Err(ring) => {
                self.leave();
                Poll::Ready(Err(ring.error()))
            }
        }
    }

    fn leave(&mut self) {
        if let At::Flying(flight) = std::mem::replace(&mut self.at, At::Done) {
            drive::leave(&self.group.table, flight, self.slot, Who::Caller);
        }
    }

    /// Waits, and tells the caller's part along with the value.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Group;
    /// # let wait = futures_util::FutureExt::now_or_never;
    /// let group: Group<u32, u32, ()> = Group::new();
    /// let (a, b) = (group.run(&1, || async { Ok(7) }), group.run(&1, || async { Ok(8) }));
    /// let (a, b) = (wait(a.outcome()).unwrap().unwrap(), wait(b.outcome()).unwrap().unwrap());
    /// assert_eq!((a.value, a.led, a.shared), (7, true, 2));
    /// assert_eq!((b.value, b.led, b.shared), (7, false, 2));
    /// ```
    pub fn outcome(self) -> WithOutcome<'g, K, V, E, S> {
        WithOutcome(self)
    }

    /// Waits no longer than `limit`. Past it this caller gets an error ([`Error::is_timeout`]) and leaves; the flight goes on for
    /// the others.
    ///
    /// # Panics
    /// If the group has no clock ([`Builder::clock`](super::Builder::clock)).
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "tokio")] {
    /// # use oneflight::{Group, Tokio};
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let group: Group<u32, u32, ()> = Group::builder().clock(Tokio).build();
    /// let error = group.run(&1, || std::future::pending()).within(Duration::from_millis(5)).await.unwrap_err();
    /// assert!(error.is_timeout());
    /// # });
    /// # }
    /// ```
    pub fn within(self, limit: Duration) -> Within<'g, K, V, E, S> {
        let Some(clock) = &self.group.options.clock else {
            panic!("a time limit needs a clock: give the group one, `Builder::clock`")
        };
        let sleep = sleep(clock.as_ref(), limit);
        Within {
            join: Some(self),
            sleep,
        }
    }
}

impl<K, V, E, S> Join<'_, K, V, E, S> {
    /// Leaves the flight to a task that goes on with it, also if nobody else waits. None if it has one, or is over.
    #[cfg(feature = "cache")]
    pub(crate) fn hand_over(self) -> Option<Pilot<K, V, E, S>> {
        let At::Flying(flight) = &self.at else {
            return None;
        };
        let slot = flight.state.board(true)?;
        Some(Pilot {
            table: Arc::clone(&self.group.table),
            flight: Some(flight.clone()),
            slot,
            counts: true,
        })
    }

    /// The flight has landed: from here on the note is how many share it.
    fn told(&mut self, callers: u32) {
        if let (Some(watch), At::Flying(flight)) = (&self.group.table.watch, &self.at) {
            watch.waited(&flight.key, self.since(flight), self.led, callers);
        }
        self.note = callers.into();
    }

    /// Tells that its limit has passed. It is about to leave.
    pub(crate) fn gives_up(&self) {
        if let (Some(watch), At::Flying(flight)) = (&self.group.table.watch, &self.at) {
            watch.timed_out(&flight.key, self.since(flight));
        }
    }

    fn since(&self, flight: &Shared<K, V, E>) -> Since {
        Since {
            began: flight.began,
            came: self.note,
        }
    }

    /// How many share the flight, once it has landed.
    fn shared(&self) -> u32 {
        u32::try_from(self.note).unwrap_or(u32::MAX)
    }
}

impl<K, V: Clone, E, S> Future for Join<'_, K, V, E, S> {
    type Output = Result<V, Error<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let step = match &this.at {
            At::Flying(flight) => drive::step(&this.group.table, flight, &mut this.slot, context),
            At::Failed(_) => match std::mem::replace(&mut this.at, At::Done) {
                At::Failed(error) => return Poll::Ready(Err(error)),
                At::Flying(_) | At::Done => return Poll::Pending,
            },
            At::Done => panic!("a call was polled after it was ready"),
        };
        let (answer, spare) = match step {
            Step::Pending => return this.waits(),
            Step::Landed(landing) => {
                this.told(landing.callers);
                (landing.answer, landing.spare)
            }
            Step::Abandoned => {
                debug_assert!(false, "S3: a flight was abandoned while a caller waited");
                (Err(Error::lost("the flight was abandoned")), None)
            }
        };
        if let At::Flying(flight) = std::mem::replace(&mut this.at, At::Done) {
            Shared::drop_both(flight, spare);
        }
        this.wait.end();
        Poll::Ready(answer)
    }
}

impl<K, V, E, S> Drop for Join<'_, K, V, E, S> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<K: fmt::Debug, V, E, S> fmt::Debug for Join<'_, K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = match &self.at {
            At::Flying(flight) => Some(&flight.key),
            At::Failed(_) | At::Done => None,
        };
        f.debug_struct("Join")
            .field("key", &key)
            .field("led", &self.led)
            .finish_non_exhaustive()
    }
}

/// A call that tells its part along with the value; see [`Join::outcome`].
#[must_use = "a call does nothing until it is awaited"]
pub struct WithOutcome<'g, K, V, E, S = RandomState>(Join<'g, K, V, E, S>);

impl<K, V: Clone, E, S> Future for WithOutcome<'_, K, V, E, S> {
    type Output = Result<Outcome<V>, Error<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let join = &mut self.0;
        Pin::new(&mut *join).poll(context).map_ok(|value| Outcome {
            value,
            led: join.led,
            shared: join.shared(),
        })
    }
}

impl<K: fmt::Debug, V, E, S> fmt::Debug for WithOutcome<'_, K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WithOutcome").field(&self.0).finish()
    }
}

/// A call that waits no longer than a limit; see [`Join::within`].
#[must_use = "a call does nothing until it is awaited"]
pub struct Within<'g, K, V, E, S = RandomState> {
    join: Option<Join<'g, K, V, E, S>>,
    sleep: Task,
}

impl<K, V: Clone, E, S> Future for Within<'_, K, V, E, S> {
    type Output = Result<V, Error<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(join) = &mut this.join else {
            panic!("a call was polled after it was ready")
        };
        // An answer that is there is never refused for being late.
        if let Poll::Ready(answer) = Pin::new(join).poll(context) {
            return Poll::Ready(answer);
        }
        this.sleep.as_mut().poll(context).map(|()| {
            if let Some(join) = this.join.take() {
                join.gives_up();
            }
            Err(Error::from_other(Other::TimedOut))
        })
    }
}

impl<K: fmt::Debug, V, E, S> fmt::Debug for Within<'_, K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Within")
            .field("join", &self.join)
            .finish_non_exhaustive()
    }
}
