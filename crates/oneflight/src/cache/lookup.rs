//! A call for one key, as a future.

use super::entry::Stored;
use super::face::Cache;
use super::flying::{Answer, Flying, Rings, Timers};
use super::loading::Single;
use super::outcome::Outcome;
use super::start::{Asked, Begun, Look};
use crate::error::Error;
use crate::flight::Mark;
use crate::hash::RandomState;
use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A call for a key: the future that [`Cache::get_or_load`] returns.
///
/// Nothing is done before it is polled for the first time.
///
/// # Cancel safety
/// Dropping it changes nothing for the others. Dropping the last one that waits for a load drops the load, unless the cache is
/// [detached](super::Builder::detached), or the load began behind.
///
/// # Panics
/// If it is polled after it was ready.
#[must_use = "a call does nothing until it is awaited"]
pub struct Lookup<'c, Q: ?Sized, W, K, V, E, S = RandomState> {
    cache: &'c Cache<K, V, E, S>,
    key: &'c Q,
    at: At<'c, W, K, V, E, S>,
}

/// Thousands may wait for one load: what a call needs only until it waits lies where its flight will.
enum At<'c, W, K, V, E, S> {
    Start(Start<W>),
    Flying(Flying<'c, K, V, E, S>, Option<Box<Timers>>),
    Done,
}

/// What is kept, where that is no hit.
type Kept<V, E> = Option<Box<Stored<V, E>>>;

/// What somebody did wrong who polls a call once more.
const SPENT: &str = "a call was polled after it was ready";

/// What a call was told.
struct Start<W> {
    since: Mark,
    limit: Option<Duration>,
    /// None once the call has had a hit: cheaper than to put another state in the place of this one.
    work: Option<W>,
}

impl<'c, Q: ?Sized, W, K, V, E, S> Lookup<'c, Q, W, K, V, E, S> {
    pub(super) fn new(cache: &'c Cache<K, V, E, S>, key: &'c Q, work: W) -> Self {
        let start = Start {
            since: Mark::FIRST,
            limit: None,
            work: Some(work),
        };
        let at = At::Start(start);
        Self { cache, key, at }
    }

    /// Takes no value, and joins no load, that began before `mark`: for callers that have written something and must read what they
    /// wrote. What is too old for this caller serves it neither while it is loaded anew, nor if that fails.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::cache::Cache;
    /// # let wait = |future| futures_util::FutureExt::now_or_never(future).unwrap();
    /// let cache: Cache<u32, &str> = Cache::new(100);
    /// cache.insert(1, "before the write");
    /// // … something is written …
    /// let mark = cache.mark();
    /// let read = cache.get_or_load(&1, || async { Ok("after it") }).fresh_since(mark);
    /// assert_eq!(wait(read).unwrap(), "after it");
    /// ```
    pub fn fresh_since(mut self, mark: Mark) -> Self {
        if let At::Start(start) = &mut self.at {
            start.since = mark;
        }
        self
    }

    /// Waits no longer than `limit`, whatever [`wait_timeout`](super::Builder::wait_timeout) says. Past it, this caller gets a stale
    /// value that may serve on errors, or an error ([`is_timeout`](Error::is_timeout)). The load goes on for the others; and also
    /// without any, if the cache has a [spawner](super::Builder::spawner).
    ///
    /// # Panics
    /// If the cache has no clock.
    pub fn within(mut self, limit: Duration) -> Self {
        assert!(
            self.cache.inner.clock().is_some(),
            "a time limit needs a clock: give the cache one, `Builder::clock`"
        );
        if let At::Start(start) = &mut self.at {
            start.limit = Some(limit);
        }
        self
    }

    /// Tells where the value is from, and how old it is, along with it.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::cache::{Cache, Source};
    /// # let wait = |future| futures_util::FutureExt::now_or_never(future).unwrap();
    /// let cache: Cache<u32, u32> = Cache::new(100);
    /// let ask = || cache.get_or_load(&1, || async { Ok(7) }).outcome();
    /// assert!(matches!(wait(ask()).unwrap().source, Source::Loaded));
    /// assert!(matches!(wait(ask()).unwrap().source, Source::Fresh));
    /// ```
    pub fn outcome(self) -> WithOutcome<'c, Q, W, K, V, E, S> {
        WithOutcome(self)
    }
}

impl<Q, W, F, K, V, E, S> Lookup<'_, Q, W, K, V, E, S>
where
    K: Borrow<Q> + Hash + Eq + Clone + fmt::Debug + Send + Sync + 'static,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    W: FnOnce() -> F,
    F: Future<Output = Result<V, E>> + Send + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    /// Looks, if it has not done so yet. All that there is to a hit is here and in line, the rest elsewhere.
    #[inline(always)]
    fn look(&mut self) -> Option<Look<V, E>> {
        let At::Start(start) = &mut self.at else {
            return None;
        };
        assert!(start.work.is_some(), "{SPENT}");
        let (key, since) = (self.key, start.since);
        let look = self.cache.look(&Asked { key, since });
        if let Look::Hit(..) = &look {
            start.work = None;
        }
        Some(look)
    }

    /// Does what is to be done when there is no hit. None if the call is to wait.
    #[inline(always)]
    fn begin(&mut self, kept: Kept<V, E>) -> Option<Answer<V, E>> {
        let At::Start(start) = &mut self.at else {
            return None;
        };
        let (since, limit) = (start.since, start.limit);
        let work = start.work.take()?;
        let work = move || Single { work: work() };
        let asked = Asked {
            key: self.key,
            since,
        };
        match self.cache.begin(&asked, kept, work) {
            // Its work is gone: it is spent.
            Begun::Now(answer) => Some(answer),
            Begun::Flying(flying) => {
                let is_kept = flying.fallback.is_some();
                let timers = Timers::new(self.cache, is_kept, limit);
                self.at = At::Flying(flying, timers);
                None
            }
        }
    }

    /// Begins, if the look has been a miss, and waits for the value. Where it waits, it stays: what it waited for is dropped along with
    /// it, once, and says so if it is polled again.
    #[inline(never)]
    fn go_on(
        &mut self,
        miss: Option<Kept<V, E>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<V, Error<E>>> {
        if let Some(answer) = miss.and_then(|kept| self.begin(kept)) {
            return Poll::Ready(answer.map(|outcome| outcome.value));
        }
        let At::Flying(flying, timers) = &mut self.at else {
            panic!("{SPENT}")
        };
        // An answer that is there is never refused for being late.
        let answer = match flying.poll_load(context) {
            Poll::Ready(Ok(landed)) => return Poll::Ready(Ok(landed.value)),
            Poll::Ready(Err(error)) => flying.failed(&self.cache.inner, error),
            Poll::Pending if timers.is_none() => return Poll::Pending,
            Poll::Pending => ready!(self.ring(context)),
        };
        Poll::Ready(answer.map(|outcome| outcome.value))
    }

    /// As `go_on`, with where the value is from.
    #[inline(never)]
    fn go_on_to_outcome(
        &mut self,
        miss: Option<Kept<V, E>>,
        context: &mut Context<'_>,
    ) -> Poll<Answer<V, E>> {
        if let Some(answer) = miss.and_then(|kept| self.begin(kept)) {
            return Poll::Ready(answer);
        }
        let At::Flying(flying, _) = &mut self.at else {
            panic!("{SPENT}")
        };
        match flying.poll(&self.cache.inner, context) {
            Poll::Ready(answer) => Poll::Ready(answer),
            Poll::Pending => self.ring(context),
        }
    }

    /// The load has no answer yet: one if this caller's time is over.
    fn ring(&mut self, context: &mut Context<'_>) -> Poll<Answer<V, E>> {
        let inner = &*self.cache.inner;
        let At::Flying(flying, timers) = &mut self.at else {
            return Poll::Pending;
        };
        let answer = loop {
            let rings = timers.as_mut().and_then(|timers| timers.poll(context));
            match rings {
                None => return Poll::Pending,
                Some(Rings::Wait) => break flying.give_up(inner),
                Some(Rings::Soft) => {
                    if let Some(outcome) = flying.settle_for_stale(inner) {
                        break Ok(outcome);
                    }
                }
            }
        };
        if let At::Flying(flying, _) = std::mem::replace(&mut self.at, At::Done) {
            flying.leave(self.cache.behind.as_ref());
        }
        Poll::Ready(answer)
    }
}

impl<Q, W, F, K, V, E, S> Future for Lookup<'_, Q, W, K, V, E, S>
where
    K: Borrow<Q> + Hash + Eq + Clone + fmt::Debug + Send + Sync + 'static,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    W: FnOnce() -> F,
    F: Future<Output = Result<V, E>> + Send + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    type Output = Result<V, Error<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match this.look() {
            Some(Look::Hit(value, _)) => Poll::Ready(Ok(value)),
            Some(Look::Miss(kept)) => this.go_on(Some(kept), context),
            None => this.go_on(None, context),
        }
    }
}

// Nothing is pinned: the work is only made here, and polled elsewhere.
impl<Q: ?Sized, W, K, V, E, S> Unpin for Lookup<'_, Q, W, K, V, E, S> {}

impl<Q: fmt::Debug + ?Sized, W, K, V, E, S> fmt::Debug for Lookup<'_, Q, W, K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookup")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// A call that tells where the value is from along with it; see [`Lookup::outcome`].
#[must_use = "a call does nothing until it is awaited"]
pub struct WithOutcome<'c, Q: ?Sized, W, K, V, E, S = RandomState>(Lookup<'c, Q, W, K, V, E, S>);

impl<Q, W, F, K, V, E, S> Future for WithOutcome<'_, Q, W, K, V, E, S>
where
    K: Borrow<Q> + Hash + Eq + Clone + fmt::Debug + Send + Sync + 'static,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    W: FnOnce() -> F,
    F: Future<Output = Result<V, E>> + Send + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    type Output = Result<Outcome<V, E>, Error<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut self.get_mut().0;
        match this.look() {
            Some(Look::Hit(value, at)) => Poll::Ready(Ok(this.cache.outcome(value, at))),
            Some(Look::Miss(kept)) => this.go_on_to_outcome(Some(kept), context),
            None => this.go_on_to_outcome(None, context),
        }
    }
}

impl<Q: fmt::Debug + ?Sized, W, K, V, E, S> fmt::Debug for WithOutcome<'_, Q, W, K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WithOutcome").field(&self.0).finish()
    }
}
