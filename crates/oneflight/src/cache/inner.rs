//! What a cache and the works of its flights share: store, fences, policy, time. It knows no flight, so that no flight keeps its own
//! group alive.

use super::counters::Counters;
use super::entry::{NEVER, Stored, Time, Trouble, What};
use super::fence::Fences;
use super::loading::Landed;
use super::policy::{Policy, nanos};
use super::store::Store;
use crate::clock::Clock;
use crate::error::Error;
use crate::flight::Mark;
use crate::sync::{Arc, AtomicU64, Ordering, Tally};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};

/// What is shared.
pub(super) struct Inner<K, V, E, S> {
    pub(super) store: Store<K, V, E, S>,
    pub(super) fences: Fences,
    pub(super) policy: Policy<K, V, E>,
    pub(super) counters: Counters,
    clock: Option<(Arc<dyn Clock>, Instant)>,
    hasher: S,
    /// What began before this counts no more (F4).
    valid_from: AtomicU64,
    /// What the usual chance comes of.
    turns: Tally,
}

/// What a first look comes to.
pub(super) enum Glance<V> {
    Nothing,
    Calm(V, Time),
    /// All of the entry is to be looked at.
    Other,
}

/// Which load, of which key: what a [`Ticket`](super::loading::Ticket) knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) hash: u64,
    pub(super) number: u64,
    pub(super) born: Mark,
    /// By the look at the clock by which its flight began.
    pub(super) began: Time,
    /// It began for no caller.
    pub(super) behind: bool,
}

/// What a caller knows when it begins a load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// The number of what it has seen of the key.
    pub(super) seen: Option<u64>,
    pub(super) behind: bool,
    pub(super) now: Time,
}

impl<K, V, E, S> Inner<K, V, E, S> {
    /// True if that time is to come. A call of its own: a hit that asks no clock does not pay for one that does.
    #[inline(never)]
    fn is_before(&self, at: Time) -> bool {
        self.now() < at
    }

    /// The time now; zero if there is no clock.
    #[inline]
    pub(super) fn now(&self) -> Time {
        match &self.clock {
            Some((clock, start)) => nanos(clock.now().saturating_duration_since(*start)),
            None => 0,
        }
    }

    /// A time as others know it, if there is a clock.
    pub(super) fn instant(&self, at: Time) -> Option<Instant> {
        let (_, start) = self.clock.as_ref()?;
        start.checked_add(Duration::from_nanos(at))
    }

    /// How long ago that was, if there is a clock.
    #[inline]
    pub(super) fn since(&self, at: Time, now: Time) -> Option<Duration> {
        let age = Duration::from_nanos(now.saturating_sub(at));
        self.clock.is_some().then_some(age)
    }

    /// As [`since`](Self::since), until now.
    #[inline]
    pub(super) fn age_of(&self, at: Time) -> Option<Duration> {
        self.clock.as_ref().and_then(|_| self.since(at, self.now()))
    }

    pub(super) fn clock(&self) -> Option<&dyn Clock> {
        self.clock.as_ref().map(|(clock, _)| clock.as_ref())
    }

    /// Nothing that began before this counts.
    #[inline]
    pub(super) fn valid_from(&self) -> Mark {
        // ORDERING: Acquire pairs with the Release in `count_from`.
        Mark(self.valid_from.load(Ordering::Acquire))
    }

    /// Nothing that began before this counts from now on (F4).
    pub(super) fn count_from(&self, mark: Mark) {
        // ORDERING: Release: who sees it sees what was done before.
        self.valid_from.fetch_max(mark.0, Ordering::Release);
    }
}

impl<K, V, E, S> Inner<K, V, E, S>
where
    K: Hash + Eq,
    V: Clone,
    S: BuildHasher + Clone,
{
    pub(super) fn new(
        store: Store<K, V, E, S>,
        policy: Policy<K, V, E>,
        clock: Option<Arc<dyn Clock>>,
        hasher: S,
        shards: usize,
    ) -> Self {
        let clock = clock.map(|clock| {
            let start = clock.now();
            (clock, start)
        });
        Self {
            store,
            fences: Fences::new(shards),
            policy,
            counters: Counters::default(),
            clock,
            hasher,
            valid_from: AtomicU64::new(0),
            turns: Tally::new(0),
        }
    }

    pub(super) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    /// A number of chance: as handed in, or what the hasher, which has a seed of its own, makes of a counter.
    pub(super) fn chance(&self) -> u64 {
        match &self.policy.chance {
            Some(chance) => chance(),
            // ORDERING: Relaxed: only that each gets another one.
            None => self
                .hasher
                .hash_one(self.turns.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// A value that serves, with when it was loaded, and needs no second thought (F7).
    #[inline(always)]
    pub(super) fn glance<Q>(&self, key: &Q, since: Mark) -> Glance<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let Some(kept) = self.store.glance(key) else {
            return Glance::Nothing;
        };
        let counts = kept.born >= since && kept.born >= self.valid_from();
        let is_calm = counts && (kept.calm_until == NEVER || self.is_before(kept.calm_until));
        match kept.value {
            Some(value) if is_calm => Glance::Calm(value, kept.at),
            _ => Glance::Other,
        }
    }

    /// What is kept for a key and did not begin before `since`. That is no use of it.
    pub(super) fn peek<Q>(&self, key: &Q, since: Mark) -> Option<Stored<V, E>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let stored = self.store.peek(key)?;
        (stored.born >= since && stored.born >= self.valid_from()).then_some(stored)
    }

    /// An answer that makes a load needless (F5): stored since its caller looked.
    pub(super) fn recheck<Q>(
        &self,
        key: &Q,
        since: Mark,
        start: Start,
    ) -> Option<Result<Landed<V>, Error<E>>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let Stored {
            what,
            times,
            number,
            trouble,
            ..
        } = self.peek(key, since)?;
        // By numbers: what was stored in the moment of what was seen is newer, too.
        let is_newer = start.seen.is_none_or(|seen| seen < number);
        match what {
            What::Value(value) if is_newer && start.now < times.fresh_until => Some(Ok(Landed {
                value,
                at: times.at,
                loaded: false,
            })),
            What::Missing(error) if is_newer && start.now < times.fresh_until => Some(Err(error)),
            _ => {
                let holds = |it: &Arc<Trouble<E>>| it.for_all || start.behind;
                let trouble = trouble.filter(|it| holds(it) && start.now < it.until)?;
                Some(Err(trouble.error.clone()))
            }
        }
    }

    /// What is to be kept of a value that is there `now`; nothing, if its lifetime is over at once.
    pub(super) fn entry(
        &self,
        key: &K,
        value: V,
        born: Mark,
        began: Time,
        now: Time,
    ) -> Option<Stored<V, E>> {
        let lifetime = self.policy.lifetime_of(key, &value);
        if lifetime.is_over() {
            return None;
        }
        let part = match self.policy.jitter > 0.0 {
            true => 1.0 - self.policy.jitter * (self.chance() as f64 / u64::MAX as f64),
            false => 1.0,
        };
        let took = now.saturating_sub(began) / 1_000;
        Some(Stored {
            weight: self.policy.weight_of(key, &value),
            what: What::Value(value),
            times: lifetime.times(now, part),
            born,
            number: 0,
            trouble: None,
            took: u32::try_from(took).unwrap_or(u32::MAX),
        })
    }
}
