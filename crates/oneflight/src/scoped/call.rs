//! A scoped call, as a future: it holds the closure, then the work itself if it leads.
//!
//! D1. The work is dropped before the seat: before another begins (C3), and before anybody sees the answer.

use super::seat::{Seat, Step};
use crate::clock::{Task, sleep};
use crate::error::{Error, Other};
use crate::flight::Outcome;
use crate::waiting::nest::{self, Polled};
use crate::waiting::panics::{guarded, hushed};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

pin_project! {
    /// A call that waits for its flight, or leads it: the future that [`Scoped::run`](super::Scoped::run) returns.
    ///
    /// It has joined its flight from the call on. It leads once it is polled while nobody does; then it makes its work, and holds
    /// it. So it is at most 48 bytes bigger than the work or the closure, whichever is bigger.
    ///
    /// # Cancel safety
    /// Dropping a call that waits changes nothing for the others. Dropping the one that leads drops its work and wakes one of
    /// those who wait, whose own work then begins from the start.
    ///
    /// # Panics
    /// If it is polled after it was ready.
    #[must_use = "a call does nothing until it is awaited"]
    pub struct Call<'s, K, V, E, W, F> {
        // Before the seat, so that it is dropped before (D1).
        #[pin]
        stage: Stage<W, F>,
        seat: Seat<'s, K, V, E>,
    }
}

pin_project! {
    #[project = View]
    #[project_replace = Taken]
    enum Stage<W, F> {
        Waiting { work: W },
        Leading { #[pin] future: F },
        Gone,
    }
}

impl<'s, K, V, E, W, F> Call<'s, K, V, E, W, F> {
    pub(crate) fn new(seat: Seat<'s, K, V, E>, work: W) -> Self {
        Self {
            stage: Stage::Waiting { work },
            seat,
        }
    }

    /// True if this call leads now.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Scoped;
    /// # use futures_util::poll;
    /// # futures_util::FutureExt::now_or_never(async {
    /// let scoped: Scoped<u32, u32, ()> = Scoped::new();
    /// let mut call = Box::pin(scoped.run(&1, || std::future::pending()));
    /// assert!(!call.is_leading());
    /// assert!(poll!(&mut call).is_pending());
    /// assert!(call.is_leading());
    /// # }).unwrap();
    /// ```
    pub fn is_leading(&self) -> bool {
        self.seat.is_leading()
    }

    /// Waits, and tells the caller's part along with the value. `led` is true if the answer is that of the caller's own work.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Scoped;
    /// # futures_util::FutureExt::now_or_never(async {
    /// let scoped: Scoped<u32, u32, ()> = Scoped::new();
    /// let (a, b) = (scoped.run(&1, || async { Ok(7) }), scoped.run(&1, || async { Ok(8) }));
    /// let (a, b) = tokio::join!(a.outcome(), b.outcome());
    /// let (a, b) = (a.unwrap(), b.unwrap());
    /// assert_eq!((a.value, a.led, a.shared), (7, true, 2));
    /// assert_eq!((b.value, b.led, b.shared), (7, false, 2));
    /// # }).unwrap();
    /// ```
    pub fn outcome(self) -> WithOutcome<'s, K, V, E, W, F> {
        WithOutcome { call: self }
    }

    /// Waits no longer than `limit`. Past it this caller gets an error ([`Error::is_timeout`]) and leaves: if it led, one of the
    /// others begins its own work. A limit shorter than the work therefore helps nobody.
    ///
    /// # Panics
    /// If there is no clock ([`Scoped::with_clock`](super::Scoped::with_clock)).
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "tokio")] {
    /// # use oneflight::{Scoped, Tokio};
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let scoped: Scoped<u32, u32, ()> = Scoped::new().with_clock(Tokio);
    /// let error = scoped.run(&1, || std::future::pending()).within(Duration::from_millis(5)).await.unwrap_err();
    /// assert!(error.is_timeout());
    /// # });
    /// # }
    /// ```
    pub fn within(self, limit: Duration) -> Within<'s, K, V, E, W, F> {
        let Some(clock) = self.seat.clock() else {
            panic!("a time limit needs a clock: `Scoped::with_clock`")
        };
        let sleep = sleep(clock, limit);
        Within {
            call: Some(self),
            sleep,
        }
    }
}

impl<K, V, E, W, F> Future for Call<'_, K, V, E, W, F>
where
    K: fmt::Debug,
    V: Clone,
    W: FnOnce() -> F,
    F: Future<Output = Result<V, E>>,
{
    type Output = Result<V, Error<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if !this.seat.is_leading() {
            match this.seat.step(context.waker()) {
                Step::Lead => {}
                Step::Wait => return Poll::Pending,
                Step::Ready(answer) => {
                    hushed(|| this.stage.set(Stage::Gone));
                    return Poll::Ready(answer);
                }
            }
        }
        let result = match drive(this.stage.as_mut(), this.seat, context) {
            Poll::Pending => {
                let Err(ring) = this.seat.pending() else {
                    return Poll::Pending;
                };
                // As if it were dropped (D1).
                hushed(|| this.stage.set(Stage::Gone));
                this.seat.leave();
                return Poll::Ready(Err(ring.error()));
            }
            Poll::Ready(result) => result,
        };
        hushed(|| this.stage.set(Stage::Gone));
        Poll::Ready(this.seat.land(result))
    }
}

/// Polls the work of a call that leads, after making it if it is not made yet. Does not unwind.
fn drive<K, V, E, W, F>(
    mut stage: Pin<&mut Stage<W, F>>,
    seat: &mut Seat<'_, K, V, E>,
    context: &mut Context<'_>,
) -> Poll<Result<V, Error<E>>>
where
    K: fmt::Debug,
    W: FnOnce() -> F,
    F: Future<Output = Result<V, E>>,
{
    let stood = (seat.flight()).map(|flight| nest::enter(flight.id(), || flight.named()));
    let polled = guarded(|| {
        if matches!(*stage, Stage::Waiting { .. })
            && let Taken::Waiting { work } = stage.as_mut().project_replace(Stage::Gone)
        {
            let future = work();
            stage.set(Stage::Leading { future });
        }
        match stage.project() {
            View::Leading { future } => future.poll(context).map_err(Error::from_work),
            View::Waiting { .. } | View::Gone => {
                Poll::Ready(Err(Error::lost("the work of a call is gone")))
            }
        }
    });
    if stood.is_some_and(Polled::end) {
        seat.noted();
    }
    polled.unwrap_or_else(|panic| Poll::Ready(Err(panic)))
}

impl<K: fmt::Debug, V, E, W, F> fmt::Debug for Call<'_, K, V, E, W, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("key", &self.seat.flight().map(|flight| &flight.key))
            .field("leading", &self.is_leading())
            .finish_non_exhaustive()
    }
}

pin_project! {
    /// A call that tells its part along with the value; see [`Call::outcome`].
    #[must_use = "a call does nothing until it is awaited"]
    pub struct WithOutcome<'s, K, V, E, W, F> {
        #[pin]
        call: Call<'s, K, V, E, W, F>,
    }
}

impl<K, V, E, W, F> Future for WithOutcome<'_, K, V, E, W, F>
where
    K: fmt::Debug,
    V: Clone,
    W: FnOnce() -> F,
    F: Future<Output = Result<V, E>>,
{
    type Output = Result<Outcome<V>, Error<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut call = self.project().call;
        call.as_mut().poll(context).map_ok(|value| Outcome {
            value,
            led: call.seat.led(),
            shared: call.seat.shared(),
        })
    }
}

impl<K: fmt::Debug, V, E, W, F> fmt::Debug for WithOutcome<'_, K, V, E, W, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WithOutcome").field(&self.call).finish()
    }
}

pin_project! {
    /// A call that waits no longer than a limit; see [`Call::within`].
    #[must_use = "a call does nothing until it is awaited"]
    pub struct Within<'s, K, V, E, W, F> {
        // None once the limit has passed.
        #[pin]
        call: Option<Call<'s, K, V, E, W, F>>,
        sleep: Task,
    }
}

impl<K, V, E, W, F> Future for Within<'_, K, V, E, W, F>
where
    K: fmt::Debug,
    V: Clone,
    W: FnOnce() -> F,
    F: Future<Output = Result<V, E>>,
{
    type Output = Result<V, Error<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(call) = this.call.as_mut().as_pin_mut() else {
            panic!("a call was polled after it was ready")
        };
        // An answer that is there is never refused for being late.
        if let Poll::Ready(answer) = call.poll(context) {
            return Poll::Ready(answer);
        }
        this.sleep.as_mut().poll(context).map(|()| {
            if let Some(call) = this.call.as_ref().as_pin_ref() {
                call.get_ref().seat.tell_timed_out();
            }
            // It leaves now, or hands over, and not when its owner gets to dropping it.
            this.call.set(None);
            Err(Error::from_other(Other::TimedOut))
        })
    }
}

impl<K: fmt::Debug, V, E, W, F> fmt::Debug for Within<'_, K, V, E, W, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Within")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}
