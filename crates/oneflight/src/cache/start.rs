//! What a call does first: look, and then serve, refresh behind, or load.

use super::entry::{Age, Stored, Time, What};
use super::face::Cache;
use super::flying::{Answer, Flying, Waits};
use super::inner::{Glance, Load, Start};
use super::loading::{Landed, Loading, Ticket};
use super::outcome::{Outcome, Source};
use super::own::{Own, beside_the_flight};
use super::policy::{Overflow, nanos};
use crate::error::{Error, Other};
use crate::flight::{Mark, Terms};
use crate::sync::Arc;
use crate::waiting::panics::{guarded, overheard};
use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};

/// What a look into the store comes to.
pub(super) enum Look<V, E> {
    /// A fresh value, and when it was loaded.
    Hit(V, Time),
    /// Something else is to be done, with what is kept.
    Miss(Option<Box<Stored<V, E>>>),
}

/// What a call that was no hit comes to at first.
pub(super) enum Begun<'c, K, V, E, S> {
    Now(Answer<V, E>),
    Flying(Flying<'c, K, V, E, S>),
}

/// A key that is asked for.
pub(super) struct Asked<'q, Q: ?Sized> {
    pub(super) key: &'q Q,
    /// What began before this is too old for the caller.
    pub(super) since: Mark,
}

impl<K, V, E, S> Cache<K, V, E, S>
where
    K: Hash + Eq + Clone + fmt::Debug + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    /// A look, which is all that there is to a hit (F7).
    #[inline]
    pub(super) fn look<Q>(&self, asked: &Asked<'_, Q>) -> Look<V, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        match self.inner.glance(asked.key, asked.since) {
            Glance::Calm(value, at) => self.hit(value, at),
            Glance::Nothing => Look::Miss(None),
            Glance::Other => self.look_twice(asked),
        }
    }

    #[inline]
    fn hit(&self, value: V, at: Time) -> Look<V, E> {
        if self.inner.policy.count_hits {
            self.inner.counters.hits.more();
        }
        Look::Hit(value, at)
    }

    /// Looks at all of the entry.
    #[cold]
    fn look_twice<Q>(&self, asked: &Asked<'_, Q>) -> Look<V, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let inner = &*self.inner;
        let Some(stored) = inner.peek(asked.key, asked.since) else {
            return Look::Miss(None);
        };
        let now = inner.now();
        let (times, ahead) = (stored.times, inner.policy.ahead);
        let is_due = || ahead.is_due(&times, stored.took, now, || inner.chance());
        if now >= times.fresh_until || stored.value().is_none() || is_due() {
            return Look::Miss(Some(Box::new(stored)));
        }
        match stored.what {
            What::Value(value) => self.hit(value, times.at),
            What::Missing(_) | What::Nothing => Look::Miss(None),
        }
    }

    /// A hit, with where it is from.
    #[inline]
    pub(super) fn outcome(&self, value: V, at: Time) -> Outcome<V, E> {
        Outcome {
            value,
            source: Source::Fresh,
            age: self.inner.age_of(at),
        }
    }

    /// Serves what is kept, or loads. All that it decides, it decides by one look at the clock.
    #[inline(always)]
    pub(super) fn begin<'c, Q, W, F>(
        &'c self,
        asked: &Asked<'_, Q>,
        kept: Option<Box<Stored<V, E>>>,
        work: W,
    ) -> Begun<'c, K, V, E, S>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, Error<E>>> + Send + 'static,
    {
        let now = self.inner.now();
        match kept {
            None => self.load(asked, None, now, work),
            Some(kept) => self.begin_with(asked, kept, now, work),
        }
    }

    /// As `begin`, with what is kept.
    #[inline(never)]
    fn begin_with<'c, Q, W, F>(
        &'c self,
        asked: &Asked<'_, Q>,
        kept: Box<Stored<V, E>>,
        now: Time,
        work: W,
    ) -> Begun<'c, K, V, E, S>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, Error<E>>> + Send + 'static,
    {
        let inner = &*self.inner;
        let age = kept.times.age(now);
        if let (What::Missing(error), Age::Fresh) = (&kept.what, age) {
            inner.counters.negative.more();
            return Begun::Now(Err(error.clone()));
        }
        let is_due = kept.value().is_some() && matches!(age, Age::Fresh | Age::Stale);
        let is_due_behind = is_due && self.behind.is_some();
        if let Some(trouble) = kept.backing_off(now) {
            if is_due_behind {
                inner.counters.refreshes_put_off.more();
            }
            if is_due_behind || trouble.for_all {
                return Begun::Now(self.back_off(&kept, now));
            }
        }
        if is_due && self.group.is_up(inner.instant(now), asked.key) {
            return Begun::Now(self.serve(&kept, now));
        }
        if is_due_behind {
            self.refresh(asked, &kept, now, work);
            return Begun::Now(self.serve(&kept, now));
        }
        self.load(asked, Some(kept), now, work)
    }

    /// Gives out what is kept, fresh or stale.
    fn serve(&self, kept: &Stored<V, E>, now: Time) -> Answer<V, E> {
        let source = match kept.times.age(now) {
            Age::Fresh => Source::Fresh,
            Age::Stale | Age::Grace | Age::Dead => {
                self.inner.counters.stale.more();
                Source::Stale
            }
        };
        self.give(kept, now, source)
    }

    fn give(&self, kept: &Stored<V, E>, now: Time, source: Source<E>) -> Answer<V, E> {
        let value = kept.value().cloned();
        let value = value.ok_or_else(|| Error::lost("nothing is kept"))?;
        let age = self.inner.since(kept.times.at, now);
        Ok(Outcome { value, source, age })
    }

    /// It is too early to try again.
    fn back_off(&self, kept: &Stored<V, E>, now: Time) -> Answer<V, E> {
        let age = kept.times.age(now);
        let serves = age == Age::Stale || kept.times.serves_on_error(now);
        match kept.backing_off(now) {
            _ if kept.value().is_some() && age == Age::Fresh => self.serve(kept, now),
            Some(trouble) if kept.value().is_some() && serves => {
                self.inner.counters.stale_on_error.more();
                self.give(kept, now, Source::StaleOnError(trouble.error.clone()))
            }
            Some(trouble) => {
                self.inner.counters.backed_off.more();
                Err(trouble.error.clone())
            }
            None => self.serve(kept, now),
        }
    }

    /// Loads a key anew, for nobody (F6).
    fn refresh<Q, W, F>(&self, asked: &Asked<'_, Q>, kept: &Stored<V, E>, now: Time, work: W)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, Error<E>>> + Send + 'static,
    {
        let start = Start {
            seen: Some(kept.number),
            behind: true,
            now,
        };
        let terms = self.terms(asked.since, u32::MAX, now);
        let make = || self.make(asked, start, work);
        let join = self.group.run_on(terms, asked.key, make);
        let led = join.filter(|join| join.led());
        let pilot = led.and_then(|join| join.hand_over());
        if let Some((behind, pilot)) = self.behind.as_ref().zip(pilot) {
            behind.run(pilot);
        }
    }

    /// Waits for the flight of a key, or starts it.
    #[inline(always)]
    fn load<'c, Q, W, F>(
        &'c self,
        asked: &Asked<'_, Q>,
        kept: Option<Box<Stored<V, E>>>,
        now: Time,
        work: W,
    ) -> Begun<'c, K, V, E, S>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, Error<E>>> + Send + 'static,
    {
        let most = self.inner.policy.waiters.map_or(u32::MAX, |it| it.0);
        let terms = self.terms(asked.since, most, now);
        let start = Start {
            seen: kept.as_ref().map(|kept| kept.number),
            behind: false,
            now,
        };
        let mut work = Some(work);
        let make = || match work.take() {
            Some(work) => self.make(asked, start, work),
            None => Loading::There { answer: None },
        };
        let join = self.group.run_on(terms, asked.key, make);
        match (join, work) {
            (Some(join), _) => Begun::Flying(Flying::new(Waits::For(join), kept)),
            (None, Some(work)) => self.overflow(asked, kept, start, work),
            (None, None) => Begun::Now(Err(Error::from_other(Other::Full))),
        }
    }

    /// As many wait as may.
    #[cold]
    fn overflow<'c, Q, W, F>(
        &'c self,
        asked: &Asked<'_, Q>,
        kept: Option<Box<Stored<V, E>>>,
        start: Start,
        work: W,
    ) -> Begun<'c, K, V, E, S>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, Error<E>>> + Send + 'static,
    {
        // It may have landed a moment ago.
        if let Look::Hit(value, at) = self.look(asked) {
            return Begun::Now(Ok(self.outcome(value, at)));
        }
        let overflow = self.inner.policy.waiters.map(|it| it.1);
        if overflow == Some(Overflow::Load) {
            let own = self.own(asked, start, work);
            return Begun::Flying(Flying::new(Waits::Own(own), kept));
        }
        let now = start.now;
        let serves = overflow == Some(Overflow::Stale);
        match kept.filter(|kept| kept.value().is_some() && kept.times.serves_stale(now)) {
            Some(kept) if serves => Begun::Now(self.serve(&kept, now)),
            _ => {
                self.inner.counters.refused.more();
                Begun::Now(Err(Error::from_other(Other::Full)))
            }
        }
    }

    /// A load of the caller's own, beside the flight: what bounds a flight bounds it, too.
    fn own<Q, W, F>(&self, asked: &Asked<'_, Q>, start: Start, work: W) -> Own<V, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, Error<E>>> + Send + 'static,
    {
        if self.group.is_closed(asked.key) {
            return Own::failed(Error::from_other(Other::Closed));
        }
        let inner = &self.inner;
        let deadline = inner.instant(start.now.saturating_add(nanos(inner.policy.max_flight)));
        let made = guarded(|| {
            let limit = inner.clock().zip(deadline);
            let limit = limit.map(|(clock, deadline)| clock.sleep_until(deadline));
            let load = self.make(asked, start, work);
            // Not the cache, nor its group: a load may be left to a spawner, which they hold.
            let (inner, table) = (Arc::clone(inner), Arc::clone(&self.group.table));
            let key = asked.key.to_owned();
            let forget = move || _ = table.forget::<K>(&key, |_| true);
            Own::new(beside_the_flight(load, inner, forget), limit)
        });
        made.unwrap_or_else(Own::failed)
    }

    /// Whom a call may join: nothing that is too old for it, or for all (F4).
    fn terms(&self, since: Mark, most: u32, now: Time) -> Terms {
        Terms {
            since: since.max(self.inner.valid_from()),
            most,
            now: self.inner.instant(now),
        }
    }

    /// Makes the work of a flight, which is in the table already.
    fn make<Q, W, F>(&self, asked: &Asked<'_, Q>, start: Start, work: W) -> Loading<K, V, E, S, F>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, Error<E>>> + Send + 'static,
    {
        let inner = &self.inner;
        // Who joins this flight may hold any mark up to now: what began before that is no answer for it.
        let since = self.group.epoch();
        let hash = inner.hash(asked.key);
        let (number, born) = inner.fences.begin(hash, || self.group.epoch());
        let load = Load {
            hash,
            number,
            born,
            began: start.now,
            behind: start.behind,
        };
        let mut ticket = Ticket::new(inner, asked.key.to_owned(), load);
        // With the ticket there, what is written from here on tears it, and what was written before is seen.
        let answer: Option<Result<Landed<V>, Error<E>>> = inner.recheck(asked.key, since, start);
        if answer.is_some() {
            return Loading::There { answer };
        }
        inner.counters.loads.more();
        if start.behind {
            inner.counters.refreshes.more();
        }
        let work = overheard(work, |panic| ticket.fail(&panic));
        Loading::Load { work, ticket }
    }
}
