//! A caller that waits for a load, and what it falls back on.

use super::behind::Behind;
use super::entry::{Age, Stored};
use super::face::Cache;
use super::inner::Inner;
use super::loading::Landed;
use super::outcome::{Outcome, Source};
use super::own::Own;
use super::policy::Failure;
use crate::clock::{self, Task};
use crate::error::{Error, Other};
use crate::flight::Join;
use crate::sync::Arc;
use crate::waiting::panics::hushed;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// What a call gets.
pub(super) type Answer<V, E> = Result<Outcome<V, E>, Error<E>>;

/// A caller that waits.
pub(super) struct Flying<'c, K, V, E, S> {
    waits: Waits<'c, K, V, E, S>,
    /// What is kept, and may serve if loading fails or is slow.
    pub(super) fallback: Option<Box<Stored<V, E>>>,
}

pub(super) enum Waits<'c, K, V, E, S> {
    For(Join<'c, K, Landed<V>, Error<E>, S>),
    /// A load of its own, beside the flight.
    Own(Own<V, E>),
}

impl<'c, K, V, E, S> Flying<'c, K, V, E, S> {
    pub(super) fn new(waits: Waits<'c, K, V, E, S>, kept: Option<Box<Stored<V, E>>>) -> Self {
        Self {
            waits,
            fallback: kept.filter(|kept| kept.value().is_some()),
        }
    }
}

impl<K, V, E, S> Flying<'_, K, V, E, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    /// What the load brings, as it is.
    #[inline]
    pub(super) fn poll_load(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Landed<V>, Error<E>>> {
        match &mut self.waits {
            Waits::For(join) => Pin::new(join).poll(context).map_err(Error::flatten),
            Waits::Own(own) => Pin::new(own).poll(context),
        }
    }

    /// What the load brings, or what serves instead, with where it is from.
    #[inline]
    pub(super) fn poll(
        &mut self,
        inner: &Inner<K, V, E, S>,
        context: &mut Context<'_>,
    ) -> Poll<Answer<V, E>> {
        Poll::Ready(match ready!(self.poll_load(context)) {
            Ok(landed) => Ok(Outcome {
                source: match (landed.loaded, self.led()) {
                    (false, _) => Source::Fresh,
                    (true, true) => Source::Loaded,
                    (true, false) => Source::Joined,
                },
                age: inner.age_of(landed.at),
                value: landed.value,
            }),
            Err(error) => self.failed(inner, error),
        })
    }

    fn led(&self) -> bool {
        match &self.waits {
            Waits::For(join) => join.led(),
            Waits::Own(_) => true,
        }
    }

    /// Loading has failed: what is kept serves if it may, and the failure may pass.
    #[cold]
    pub(super) fn failed(&mut self, inner: &Inner<K, V, E, S>, error: Error<E>) -> Answer<V, E> {
        let Some(kept) = self.fallback.take() else {
            return Err(error);
        };
        let now = inner.now();
        let may_serve = kept.times.age(now) == Age::Stale || kept.times.serves_on_error(now);
        let serves = match inner.policy.class_of(&error) {
            Failure::Transient => may_serve,
            // It ends the windows, and not what is fresh.
            Failure::Permanent => kept.times.age(now) == Age::Fresh,
            Failure::NotFound => false,
        };
        match kept.value() {
            Some(value) if serves => Ok(Outcome {
                value: value.clone(),
                age: inner.since(kept.times.at, now),
                source: match kept.times.age(now) {
                    // It was to be refreshed ahead.
                    Age::Fresh => Source::Fresh,
                    Age::Stale | Age::Grace | Age::Dead => {
                        inner.counters.stale_on_error.more();
                        Source::StaleOnError(error)
                    }
                },
            }),
            _ => Err(error),
        }
    }

    /// It has waited long enough for a better value than the one that is there; none if there is none any more.
    pub(super) fn settle_for_stale(&mut self, inner: &Inner<K, V, E, S>) -> Option<Outcome<V, E>> {
        let now = inner.now();
        let kept = self.fallback.as_ref()?;
        let value = kept.value().filter(|_| kept.times.serves_stale(now))?;
        Some(Outcome {
            value: value.clone(),
            age: inner.since(kept.times.at, now),
            source: match kept.times.age(now) {
                Age::Fresh => Source::Fresh,
                Age::Stale | Age::Grace | Age::Dead => {
                    inner.counters.stale.more();
                    Source::Stale
                }
            },
        })
    }

    /// It has waited as long as it may.
    pub(super) fn give_up(&mut self, inner: &Inner<K, V, E, S>) -> Answer<V, E> {
        inner.counters.timed_out.more();
        self.failed(inner, Error::from_other(Other::TimedOut))
    }

    /// Leaves, since its time is over; the load goes on behind, if anything runs there.
    pub(super) fn leave(self, behind: Option<&Arc<Behind>>)
    where
        K: std::fmt::Debug,
    {
        match (self.waits, behind) {
            (Waits::For(join), behind) => {
                join.gives_up();
                let pilot = behind.and_then(|behind| Some((behind, join.hand_over()?)));
                if let Some((behind, pilot)) = pilot {
                    behind.run(pilot);
                }
            }
            (Waits::Own(own), Some(behind)) => behind.run(async move {
                let answer = own.await;
                hushed(|| drop(answer));
            }),
            (Waits::Own(_), None) => {}
        }
    }
}

/// How long callers wait.
pub(super) struct Timers {
    /// For something better than what is there.
    soft: Option<Task>,
    /// At all.
    wait: Option<Task>,
}

/// What has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rings {
    Soft,
    Wait,
}

impl Timers {
    /// None if nothing is limited. `wait` is the caller's own limit.
    #[inline]
    pub(super) fn new<K, V, E, S>(
        cache: &Cache<K, V, E, S>,
        is_kept: bool,
        wait: Option<Duration>,
    ) -> Option<Box<Self>> {
        let policy = &cache.inner.policy;
        let soft = policy.soft_timeout.filter(|_| is_kept);
        let wait = wait.or(policy.wait_timeout);
        match (soft, wait) {
            (None, None) => None,
            (soft, wait) => Self::begin(cache, soft, wait),
        }
    }

    #[inline(never)]
    fn begin<K, V, E, S>(
        cache: &Cache<K, V, E, S>,
        soft: Option<Duration>,
        wait: Option<Duration>,
    ) -> Option<Box<Self>> {
        let clock = cache.inner.clock()?;
        let sleep = |limit| clock::sleep(clock, limit);
        Some(Box::new(Self {
            soft: soft.map(sleep),
            wait: wait.map(sleep),
        }))
    }

    /// The first that has passed, once.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Option<Rings> {
        for (timer, rings) in [(&mut self.wait, Rings::Wait), (&mut self.soft, Rings::Soft)] {
            let over = timer
                .as_mut()
                .is_some_and(|sleep| sleep.as_mut().poll(context).is_ready());
            if over {
                *timer = None;
                return Some(rings);
            }
        }
        None
    }
}
