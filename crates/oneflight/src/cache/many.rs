//! A call for many keys: what is kept, what is in flight elsewhere, and the rest in one batch.

use super::face::Cache;
use super::flying::{Answer, Flying, Rings, Timers};
use super::outcome::{Outcome, Source};
use super::start::{Asked, Begun, Look};
use crate::batch::{Load, Loader};
use crate::error::{Error, Other};
use crate::flight::Mark;
use crate::hash::RandomState;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
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
type Each<V, E> = Result<Option<Outcome<V, E>>, Error<E>>;

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

    /// As [`Lookup::outcome`](super::Lookup::outcome), for each key: tells where its value is from, and how old it is.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::{batch::Loader, cache::{Cache, Source}};
    /// # let wait = |future| futures_util::FutureExt::now_or_never(future).unwrap();
    /// let rows: Loader<u32, u32> = Loader::builder().build(|keys: Vec<u32>| async move {
    ///     keys.into_iter().map(|key| (key, 10 * key)).collect::<Vec<_>>()
    /// });
    /// let cache: Cache<u32, u32> = Cache::new(100);
    /// cache.insert(1, 10);
    /// let got = wait(cache.get_or_load_many([1, 2], &rows).outcome());
    /// let sources: Vec<_> = got.into_iter().map(|row| row.unwrap().unwrap().source).collect();
    /// assert!(matches!(sources[..], [Source::Fresh, Source::Loaded]));
    /// ```
    pub fn outcome(self) -> ManyWithOutcome<'c, K, V, E, S> {
        ManyWithOutcome(self)
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
        let inner = &*self.cache.inner;
        let mut answers = Vec::with_capacity(keys.len());
        let mut flying = Vec::new();
        let mut now = None;
        for (place, key) in keys.into_iter().enumerate() {
            let asked = Asked {
                key: &key,
                since: self.since,
            };
            let kept = match self.cache.look(&asked) {
                Look::Hit(value, at) => {
                    // One look at the clock for all hits.
                    let now = *now.get_or_insert_with(|| inner.now());
                    let (source, age) = (Source::Fresh, inner.since(at, now));
                    answers.push(Some(Ok(Some(Outcome { value, source, age }))));
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

    /// Polls it; what each key gets, once all have something.
    fn step(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<impl Iterator<Item = Each<V, E>> + use<K, V, E, S>> {
        if let At::Start(keys) = &mut self.at {
            let keys = std::mem::take(keys);
            self.at = At::Flying(self.start(keys));
        }
        let At::Flying(seats) = &mut self.at else {
            panic!("a call was polled after it was ready")
        };
        if !seats.poll(self.cache, context) {
            return Poll::Pending;
        }
        let answers = std::mem::take(&mut seats.answers);
        self.at = At::Done;
        let lost = || Err(Error::lost("a key got neither an answer nor an error"));
        let answers = answers.into_iter();
        Poll::Ready(answers.map(move |answer| answer.unwrap_or_else(lost)))
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
        Ok(outcome) => Ok(Some(outcome)),
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
        let answers = ready!(self.get_mut().step(context));
        let value = |answer: Each<V, E>| Ok(answer?.map(|outcome| outcome.value));
        Poll::Ready(answers.map(value).collect())
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

/// A call for many keys that tells of each where its value is from along with it; see [`Many::outcome`].
#[must_use = "a call does nothing until it is awaited"]
pub struct ManyWithOutcome<'c, K, V, E, S = RandomState>(Many<'c, K, V, E, S>);

impl<K, V, E, S> Future for ManyWithOutcome<'_, K, V, E, S>
where
    K: Hash + Eq + Clone + fmt::Debug + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    type Output = Vec<Result<Option<Outcome<V, E>>, Error<E>>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answers = ready!(self.get_mut().0.step(context));
        Poll::Ready(answers.collect())
    }
}

impl<K, V, E, S> fmt::Debug for ManyWithOutcome<'_, K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ManyWithOutcome").field(&self.0).finish()
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
