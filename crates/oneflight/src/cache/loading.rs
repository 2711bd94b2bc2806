//! What a flight of a cache does: the work, and then the store.

use super::entry::Time;
use super::inner::{Inner, Load};
use super::policy::nanos;
use crate::error::{Error, Other};
use crate::sync::Arc;
use crate::waiting::panics::overheard;
use pin_project_lite::pin_project;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What a flight brings.
#[derive(Clone, Debug)]
pub(super) struct Landed<V> {
    pub(super) value: V,
    /// When it was loaded.
    pub(super) at: Time,
    /// False if it was there already (F5).
    pub(super) loaded: bool,
}

/// The right to store what a load brings, or to note that it failed. A load that ends in neither gives it back.
pub(super) struct Ticket<K, V, E, S>
where
    K: Hash,
    K: Eq,
    V: Clone,
    S: BuildHasher,
    S: Clone,
{
    inner: Arc<Inner<K, V, E, S>>,
    load: Load,
    /// None once it is used.
    key: Option<K>,
}

pin_project! {
    /// The work of a flight.
    #[project = Part]
    pub(super) enum Loading<K, V, E, S, F>
    where
        K: Hash,
        K: Eq,
        V: Clone,
        S: BuildHasher,
        S: Clone,
    {
        There {
            answer: Option<Result<Landed<V>, Error<E>>>,
        },
        Load {
            #[pin]
            work: F,
            ticket: Ticket<K, V, E, S>,
        },
    }
}

impl<K, V, E, S> Ticket<K, V, E, S>
where
    K: Hash + Eq,
    V: Clone,
    S: BuildHasher + Clone,
{
    pub(super) fn new(inner: &Arc<Inner<K, V, E, S>>, key: K, load: Load) -> Self {
        Self {
            inner: Arc::clone(inner),
            load,
            key: Some(key),
        }
    }

    fn land(&mut self, value: V) -> Landed<V> {
        let (inner, load) = (&self.inner, self.load);
        // What may panic comes before the key is taken: then the ticket is still given back.
        let now = inner.now();
        let key = self.key.as_ref();
        let entry = key.and_then(|key| inner.entry(key, value.clone(), load.born, load.began, now));
        if let Some(key) = self.key.take() {
            inner.land(key, load, now, entry);
        }
        Landed {
            value,
            at: now,
            loaded: true,
        }
    }

    pub(super) fn fail(&mut self, error: &Error<E>) {
        let class = self.inner.policy.class_of(error);
        if let Some(key) = self.key.take() {
            self.inner.fail(key, self.load, class, error);
        }
    }

    /// True if it was ended because it took too long. That was found by an earlier look at the clock, and the flight began by the one
    /// that this load began by: so what was found holds here, too.
    fn is_overdue(&self) -> bool {
        let flown = self.inner.now().saturating_sub(self.load.began);
        self.inner.clock().is_some() && flown >= nanos(self.inner.policy.max_flight)
    }
}

impl<K, V, E, S> Drop for Ticket<K, V, E, S>
where
    K: Hash,
    K: Eq,
    V: Clone,
    S: BuildHasher,
    S: Clone,
{
    fn drop(&mut self) {
        if self.key.is_none() {
            return;
        }
        if self.is_overdue() {
            self.fail(&Error::from_other(Other::Overdue));
        } else {
            let Load { hash, number, .. } = self.load;
            self.inner.fences.give_back(hash, number);
        }
    }
}

impl<K, V, E, S, F> Future for Loading<K, V, E, S, F>
where
    K: Hash + Eq,
    V: Clone,
    S: BuildHasher + Clone,
    F: Future<Output = Result<V, Error<E>>>,
{
    type Output = Result<Landed<V>, Error<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (work, ticket) = match self.project() {
            Part::Load { work, ticket } => (work, ticket),
            Part::There { answer } => {
                let answer = answer.take();
                return Poll::Ready(answer.unwrap_or_else(|| Err(Error::lost("taken already"))));
            }
        };
        let polled = overheard(|| work.poll(context), |panic| ticket.fail(&panic));
        Poll::Ready(match ready!(polled) {
            Ok(value) => Ok(ticket.land(value)),
            Err(error) => {
                ticket.fail(&error);
                Err(error)
            }
        })
    }
}

pin_project! {
    /// The work of one caller, whose error is made one that can be shared.
    pub(super) struct Single<F> {
        #[pin]
        pub(super) work: F,
    }
}

impl<V, E, F: Future<Output = Result<V, E>>> Future for Single<F> {
    type Output = Result<V, Error<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().work.poll(context).map_err(Error::from_work)
    }
}
