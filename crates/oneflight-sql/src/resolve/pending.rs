//! An answer that is on its way, or is there already.

use futures_util::FutureExt as _;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A future that has asked already: the question went out when it was made, not when it is first polled.
///
/// It owns what it needs, so it can be spawned.
///
/// # Cancel safety
/// Dropping it at any point is harmless: others who wait for the same keys go on. A batch that nobody waits for any more is not
/// sent; one that was sent runs to its end, so that no transaction is left open.
#[must_use = "the answer is thrown away, and the question may be taken back"]
pub struct Pending<T>(State<T>);

enum State<T> {
    Known(Option<T>),
    /// The database has not answered yet.
    Flying(Boxed<Boxed<T>>),
    /// It has, and the answer is being taken: that may be one more question.
    Landed(Boxed<T>),
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<T> Pending<T> {
    pub(crate) fn known(answer: T) -> Self {
        Self(State::Known(Some(answer)))
    }

    /// An answer that `settle` makes of what has landed.
    pub(crate) fn flying<L, F>(
        landing: impl Future<Output = L> + Send + 'static,
        settle: impl FnOnce(L) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = T> + Send + 'static,
    {
        let settle = |landed| Box::pin(settle(landed)) as Boxed<T>;
        Self(State::Flying(Box::pin(landing.map(settle))))
    }

    /// Waits until the database has answered, and does not take the answer yet. What is known already has landed.
    ///
    /// Of several who wait for the same creation, the first who takes the answer is told of it. Who wants to be told in some order
    /// lets all land, and then takes the answers in it.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing: the answer is still on its way.
    pub async fn landed(&mut self) {
        if let State::Flying(landing) = &mut self.0 {
            self.0 = State::Landed(landing.as_mut().await);
        }
    }
}

// Nothing is pinned in place: what is asked for is in a box of its own.
impl<T> Unpin for Pending<T> {}

impl<T> Future for Pending<T> {
    type Output = T;

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            State::Known(answer) => Poll::Ready(answer.take().expect("polled after it was ready")),
            State::Flying(landing) => {
                let mut answer = ready!(landing.as_mut().poll(cx));
                let settled = answer.as_mut().poll(cx);
                self.0 = State::Landed(answer);
                settled
            }
            State::Landed(answer) => answer.as_mut().poll(cx),
        }
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            State::Known(_) => "Pending(known)",
            State::Flying(_) => "Pending(asked)",
            State::Landed(_) => "Pending(landed)",
        })
    }
}
