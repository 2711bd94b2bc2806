//! A trail: the flights that a task works for, carried to where another thread polls it.

use super::nest::{self, Frame};
use super::waits::admit;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The flights that the caller works for, to be carried to a task that they wait for.
///
/// A call that waits, by way of other flights, for the flight that it is made in gets an error that names the keys
/// ([`Error::is_reentrant`](crate::Error::is_reentrant)) instead of waiting for ever. What a work awaits itself is known to be its
/// own; a task that it spawns is not, since a runtime polls it anywhere. A future that follows the trail is.
///
/// Only for what the work waits for: a task that the work leaves behind, or a future that serves others too, would be told that
/// it waits for itself where it does not. A trail that was taken outside of all flights, as is the default one, lets a future
/// stand for itself even if an executor inside a work polls it.
///
/// # Examples
/// ```
/// use oneflight::{Group, Trail};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let group: Group<&str, u32> = Group::new();
/// let inner = group.clone();
/// let call = group.run_with_key("a", || async move {
///     let ask = async move { inner.run_with_key("a", || async { Ok(1) }).await };
///     let task = tokio::spawn(Trail::current().follow(ask));
///     let error = task.await.unwrap().unwrap_err();
///     assert_eq!(error.to_string(), "the work for a key waits for itself: \"a\"");
///     Ok(2)
/// });
/// assert_eq!(call.await.unwrap(), 2);
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Trail {
    frames: Vec<Frame>,
}

pin_project! {
    /// A future on a trail; see [`Trail::follow`].
    #[must_use = "a future does nothing until it is awaited"]
    pub struct Following<F> {
        frames: Vec<Frame>,
        #[pin]
        future: F,
    }
}

impl Trail {
    /// The flights whose work is being made or polled on this thread, the innermost last.
    pub fn current() -> Self {
        Self {
            frames: nest::copy(admit),
        }
    }

    /// A future that works for these flights wherever it is polled, and for no other.
    ///
    /// # Cancel safety
    /// That of `future`.
    pub fn follow<F: Future>(self, future: F) -> Following<F> {
        Following {
            frames: self.frames,
            future,
        }
    }
}

impl<F: Future> Future for Following<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _stands = Stands::new(this.frames);
        this.future.poll(context)
    }
}

/// The frames of a trail stand for polled until this is dropped, in the place of those that stood before.
struct Stands<'f>(&'f mut Vec<Frame>);

impl<'f> Stands<'f> {
    fn new(frames: &'f mut Vec<Frame>) -> Self {
        nest::swap(frames);
        Self(frames)
    }
}

impl Drop for Stands<'_> {
    fn drop(&mut self) {
        nest::swap(self.0);
    }
}

impl fmt::Debug for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trail")
            .field("flights", &self.frames.len())
            .finish()
    }
}

impl<F: fmt::Debug> fmt::Debug for Following<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Following")
            .field("future", &self.future)
            .finish_non_exhaustive()
    }
}
