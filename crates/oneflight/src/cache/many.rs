//! A call for many keys: what is kept, what is in flight elsewhere, and the rest in one batch.

use super::face::Cache;
use super::flying::{Answer, Flying, Rings, Timers};
use super::start::{Asked, Begun, Look};
use crate::batch::{Load, Loader};
use crate::error::{Error, Other};
use crate::flight::Mark;
use crate::hash::RandomState;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A call for many keys: the future that [`Cache::get_or_load_many`] returns.
///
/// Nothing is done before it is polled for the first time.
///
/// # Cancel safety
/// As [`Lookup`](super::Lookup): dropping it changes nothing for the others.
///
/// # Panics
/// If it is polled after it was ready.
#[must_use = "a call does nothing until it is awaited"]
pub struct Many<'c, K, V, E, S = RandomState> {
    cache: &'c Cache<K, V, E, S>,
    loader: &'c Loader<K, V, E>,
    since: Mark,
    limit: Option<Duration>,
    at: At<'c, K, V, E, S>,
}

enum At<'c, K, V, E, S> {
    Start(Vec<K>),
    Flying(Seats<'c, K, V, E, S>),
    Done,
}

/// The keys of a call, in order, and those that are not answered yet.
struct Seats<'c, K, V, E, S> {
    answers: Vec<Option<Each<V, E>>>,
    flying: Vec<(usize, Flying<'c, K, V, E, S>)>,
    timers: Option<Box<Timers>>,
}

/// What a key gets.
type Each<V, E> = Result<Option<V>, Error<E>>;

impl<'c, K, V, E, S> Many<'c, K, V, E, S> {
    pub(super) fn new(
        cache: &'c Cache<K, V, E, S>,
        loader: &'c Loader<K, V, E>,
        keys: Vec<K>,
    ) -> Self {
        Self {
            cache,
            loader,
            since: Mark::FIRST,
            limit: None,
            at: At::Start(keys),
        }
    }

    /// As [`Lookup::fresh_since`](super::Lookup::fresh_since), for all the keys.
    pub fn fresh_since(mut self, mark: Mark) -> Self {
        self.since = mark;
        self
    }

    /// As [`Lookup::within`](super::Lookup::within): what is not there after `limit` gets a stale value or an error, each key for
    /// itself.
    ///
    /// # Panics
    /// If the cache has no clock.
    pub fn within(mut self, limit: Duration) -> Self {
        assert!(
            self.cache.inner.clock().is_some(),
            "a time limit needs a clock: give the cache one, `Builder::clock`"
        );
        self.limit = Some(limit);
        self
    }
}

impl<'c, K, V, E, S> Many<'c, K, V, E, S>
where
    K: Hash + Eq + Clone + fmt::Debug + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    /// Asks for all keys: what is to be loaded is queued before anything is polled, and so goes together.
    fn start(&self, keys: Vec<K>) -> Seats<'c, K, V, E, S> {
        let mut answers = Vec::with_capacity(keys.len());
        let mut flying = Vec::new();
        for (place, key) in keys.into_iter().enumerate() {
            let asked = Asked {
                key: &key,
                since: self.since,
            };
            let kept = match self.cache.look(&asked) {
                Look::Hit(value, _) => {
                    answers.push(Some(Ok(Some(value))));
                    continue;
                }
                Look::Miss(kept) => kept,
            };
            let load = || {
                // This load has a ticket by now; a batch that was sent before would bring what a write has overtaken (F2).
                self.loader.forget(&key);
                One(self.loader.load(key.clone()))
            };
            match self.cache.begin(&asked, kept, load) {
                Begun::Now(answer) => answers.push(Some(each(answer))),
                Begun::Flying(seat) => {
                    answers.push(None);
                    flying.push((place, seat));
                }
            }
        }
        let is_kept = flying.iter().any(|(_, seat)| seat.fallback.is_some());
        let timers = match flying.is_empty() {
            true => None,
            false => Timers::new(self.cache, is_kept, self.limit),
        };
        Seats {
            answers,
            flying,
            timers,
        }
    }
}

impl<K, V, E, S> Seats<'_, K, V, E, S>
where
    K: Hash + Eq + Clone + fmt::Debug + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    /// Polls those that wait; true if none does any more.
    fn poll(&mut self, cache: &Cache<K, V, E, S>, context: &mut Context<'_>) -> bool {
        let answers = &mut self.answers;
        self.flying.retain_mut(|(place, seat)| {
            let Poll::Ready(answer) = seat.poll(&cache.inner, context) else {
                return true;
            };
            answers[*place] = Some(each(answer));
            false
        });
        while !self.flying.is_empty() {
            let timers = self.timers.as_mut();
            match timers.and_then(|timers| timers.poll(context)) {
                None => break,
                Some(rings) => self.ring(cache, rings),
            }
        }
        self.flying.is_empty()
    }

    /// Those that have waited long enough leave.
    fn ring(&mut self, cache: &Cache<K, V, E, S>, rings: Rings) {
        for (place, mut seat) in std::mem::take(&mut self.flying) {
            let answer = match rings {
                Rings::Wait => Some(seat.give_up(&cache.inner)),
                Rings::Soft => seat.settle_for_stale(&cache.inner).map(Ok),
            };
            match answer {
                Some(answer) => {
                    self.answers[place] = Some(each(answer));
                    seat.leave(cache.behind.as_ref());
                }
                None => self.flying.push((place, seat)),
            }
        }
    }
}

/// That there is none is no error to a call for many keys.
fn each<V, E>(answer: Answer<V, E>) -> Each<V, E> {
    match answer {
        Ok(outcome) => Ok(Some(outcome.value)),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error),
    }
}

impl<K, V, E, S> Future for Many<'_, K, V, E, S>
where
    K: Hash + Eq + Clone + fmt::Debug + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    type Output = Vec<Result<Option<V>, Error<E>>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let At::Start(keys) = &mut this.at {
            let keys = std::mem::take(keys);
            this.at = At::Flying(this.start(keys));
        }
        let At::Flying(seats) = &mut this.at else {
            panic!("a call was polled after it was ready")
        };
        if !seats.poll(this.cache, context) {
            return Poll::Pending;
        }
        let answers = std::mem::take(&mut seats.answers);
        this.at = At::Done;
        let lost = || Err(Error::lost("a key got neither an answer nor an error"));
        let answers = answers
            .into_iter()
            .map(|answer| answer.unwrap_or_else(lost));
        Poll::Ready(answers.collect())
    }
}

// Nothing is pinned: what a call waits for is elsewhere.
impl<K, V, E, S> Unpin for Many<'_, K, V, E, S> {}

impl<K, V, E, S> fmt::Debug for Many<'_, K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = match &self.at {
            At::Start(keys) => keys.len(),
            At::Flying(seats) => seats.answers.len(),
            At::Done => 0,
        };
        f.debug_struct("Many")
            .field("keys", &keys)
            .finish_non_exhaustive()
    }
}

/// One key of a batch, as a work.
struct One<K, V, E>(Load<K, V, E>);

impl<K, V, E> Future for One<K, V, E>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    type Output = Result<V, Error<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = Pin::new(&mut self.0).poll(context);
        polled.map(|answer| answer?.ok_or_else(|| Error::from_other(Other::Absent)))
    }
}
