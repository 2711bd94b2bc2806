//! A load of a caller's own, beside the flight of its key: for a crowd that may load by itself. It ends as a flight does: it panics
//! at nobody, takes no longer than it may, and its work is gone before its answer is seen.

use super::inner::Inner;
use super::loading::Landed;
use super::policy::Failure;
use crate::clock::Task;
use crate::error::{Error, Other};
use crate::sync::Arc;
use crate::waiting::panics::{guarded, hushed};
use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs a load beside a flight. Once it has said what its key's value is, no later call is to join the flight, which may bring what is
/// older (F3): it is to be forgotten.
pub(super) async fn beside_the_flight<K, V, E, S>(
    load: impl Future<Output = Result<Landed<V>, Error<E>>>,
    inner: Arc<Inner<K, V, E, S>>,
    forget: impl FnOnce(),
) -> Result<Landed<V>, Error<E>> {
    let answer = load.await;
    let says = match &answer {
        Ok(landed) => landed.loaded,
        Err(error) => inner.policy.class_of(error) != Failure::Transient,
    };
    if says {
        forget();
    }
    answer
}

type Load<V, E> = Pin<Box<dyn Future<Output = Result<Landed<V>, Error<E>>> + Send>>;

/// The load.
pub(super) struct Own<V, E> {
    /// None once it is over.
    load: Option<Load<V, E>>,
    /// Ready when it is overdue.
    limit: Option<Task>,
}

impl<V, E> Own<V, E> {
    pub(super) fn new(
        load: impl Future<Output = Result<Landed<V>, Error<E>>> + Send + 'static,
        limit: Option<Task>,
    ) -> Self {
        Self {
            load: Some(Box::pin(load)),
            limit,
        }
    }

    /// One that has failed before it could begin.
    pub(super) fn failed(error: Error<E>) -> Self
    where
        V: Send + 'static,
        E: Send + Sync + 'static,
    {
        Self::new(ready(Err(error)), None)
    }
}

impl<V, E> Future for Own<V, E> {
    type Output = Result<Landed<V>, Error<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { load, limit } = &mut *self;
        let Some(work) = load else {
            panic!("a call was polled after it was ready")
        };
        let polled = guarded(|| match (work.as_mut().poll(context), limit) {
            (Poll::Pending, Some(limit)) => {
                let over = limit.as_mut().poll(context);
                over.map(|()| Err(Error::from_other(Other::Overdue)))
            }
            (polled, _) => polled,
        });
        let polled = polled.unwrap_or_else(|panic| Poll::Ready(Err(panic)));
        if polled.is_ready() {
            hushed(|| *load = None);
        }
        polled
    }
}
