//! Work that blocks its thread, and whoever takes it off the caller.

use super::contract::StoreError;
use crate::sync::{Arc, Mutex};
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Runs what blocks its thread somewhere where that harms nobody. With the feature `tokio`, [`Tokio`](crate::Tokio) is one.
///
/// # Examples
/// With a thread for each:
/// ```
/// use oneflight::token::store::Blocking;
///
/// #[derive(Debug)]
/// struct Threads;
///
/// impl Blocking for Threads {
///     fn run(&self, work: Box<dyn FnOnce() + Send>) {
///         std::thread::spawn(work);
///     }
/// }
/// ```
pub trait Blocking: Debug + Send + Sync + 'static {
    /// Runs `work`, best not on this thread. Work that is dropped instead fails the one who waits for it.
    fn run(&self, work: Box<dyn FnOnce() + Send>);
}

impl<T: Blocking + ?Sized> Blocking for Arc<T> {
    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        (**self).run(work);
    }
}

#[cfg(feature = "tokio")]
impl Blocking for crate::Tokio {
    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        tokio::task::spawn_blocking(work);
    }
}

/// Runs work elsewhere, or here if there is no elsewhere, and waits for what it comes to.
pub(super) async fn run<T: Send + 'static>(
    elsewhere: Option<&dyn Blocking>,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let Some(elsewhere) = elsewhere else {
        return work();
    };
    let answer = Answer(Arc::new(Mutex::new(Shared {
        result: None,
        waker: None,
    })));
    let promise = Promise(answer.0.clone());
    elsewhere.run(Box::new(move || promise.keep(work())));
    answer.await
}

struct Shared<T> {
    result: Option<Result<T, StoreError>>,
    waker: Option<Waker>,
}

/// The obligation to answer.
struct Promise<T>(Arc<Mutex<Shared<T>>>);

impl<T> Promise<T> {
    fn keep(&self, result: Result<T, StoreError>) {
        let waker = {
            let mut shared = self.0.lock();
            shared.result.get_or_insert(result);
            shared.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        // Nobody hears of it if the answer is there.
        self.keep(Err("the work was dropped before it ended".into()));
    }
}

struct Answer<T>(Arc<Mutex<Shared<T>>>);

impl<T> Future for Answer<T> {
    type Output = Result<T, StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut shared = self.0.lock();
        if let Some(result) = shared.result.take() {
            return Poll::Ready(result);
        }
        let old = shared.waker.replace(context.waker().clone());
        drop(shared);
        drop(old);
        Poll::Pending
    }
}
