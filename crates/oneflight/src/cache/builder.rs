//! How a cache is made.

use super::behind::{Behind, Counting};
use super::face::Cache;
use super::inner::Inner;
use super::policy::{Ahead, Failure, Lifetime, Overflow, Policy};
use super::store::{Room, Store};
use crate::clock::{Clock, Spawn};
use crate::flight::Group;
use crate::hash::RandomState;
use crate::observe::{Observer, Observing};
use crate::sync::Arc;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

/// The longest that a load takes, if nothing else is said.
const MAX_FLIGHT: Duration = Duration::from_secs(60);

/// Makes a [`Cache`]; from [`Cache::builder`].
///
/// # Examples
/// ```
/// # #[cfg(feature = "tokio")] {
/// use oneflight::Tokio;
/// use oneflight::cache::Cache;
/// use std::time::Duration;
///
/// let prices: Cache<String, u32, std::io::Error> = Cache::builder(10_000)
///     .clock(Tokio)
///     .spawner(Tokio)
///     .ttl(Duration::from_secs(60))
///     .jitter(0.1)
///     .refresh_ahead(0.8)
///     .stale_while_revalidate(Duration::from_secs(30))
///     .stale_if_error(Duration::from_secs(3600))
///     .error_backoff(Duration::from_secs(1), Duration::from_secs(60))
///     .build();
/// # }
/// ```
#[must_use = "a builder does nothing until it builds"]
pub struct Builder<K, V, E, S = RandomState> {
    policy: Policy<K, V, E>,
    room: Room,
    keys: Option<usize>,
    clock: Option<Arc<dyn Clock>>,
    spawn: Option<Arc<dyn Spawn>>,
    observer: Observing<K>,
    hasher: S,
}

impl<K, V, E> Builder<K, V, E> {
    pub(super) fn new(capacity: u64) -> Self {
        Self {
            policy: Policy {
                usual: Lifetime::forever(),
                jitter: 0.0,
                ahead: Ahead::Never,
                soft_timeout: None,
                wait_timeout: None,
                max_flight: MAX_FLIGHT,
                negative: Duration::ZERO,
                backoff: None,
                waiters: None,
                detached: false,
                count_hits: false,
                classify: None,
                lifetime: None,
                weigh: None,
                chance: None,
            },
            room: Room {
                capacity,
                keys: 0,
                shards: 0,
            },
            keys: None,
            clock: None,
            spawn: None,
            observer: Observing(None),
            hasher: RandomState::default(),
        }
    }
}

impl<K, V, E, S> Builder<K, V, E, S> {
    /// The clock that ages and time limits are measured by.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Where refreshes run: behind, for no caller, and to their end. A load that its caller stops waiting for, since its time is over,
    /// goes on there too.
    ///
    /// Without one nothing runs that no caller waits for. Then the caller that finds a value due for a refresh loads it, and waits;
    /// all others get the old value meanwhile.
    pub fn spawner(mut self, spawn: impl Spawn) -> Self {
        self.spawn = Some(Arc::new(spawn));
        self
    }

    /// Every load goes on to its end, also if all its callers have left. Needs a [`spawner`](Self::spawner).
    pub fn detached(mut self) -> Self {
        self.policy.detached = true;
        self
    }

    /// How long a value is fresh. With zero it is given to those who wait for it, and not kept. Without, it is fresh until it is
    /// invalidated.
    pub fn ttl(mut self, fresh: Duration) -> Self {
        self.policy.usual = Lifetime::of(fresh)
            .stale_while_revalidate(self.policy.usual.while_revalidate())
            .stale_if_error(self.policy.usual.if_error());
        self
    }

    /// Shortens each value's [`ttl`](Self::ttl) by up to this part, at random: what was loaded together does not expire together.
    pub fn jitter(mut self, part: f64) -> Self {
        self.policy.jitter = part;
        self
    }

    /// So long after a value was fresh, it serves at once, while it is loaded anew (RFC 5861).
    pub fn stale_while_revalidate(mut self, window: Duration) -> Self {
        self.policy.usual = self.policy.usual.stale_while_revalidate(window);
        self
    }

    /// So long after a value was fresh, it serves if loading it anew fails (RFC 5861). The window begins where freshness ends, as that
    /// of [`stale_while_revalidate`](Self::stale_while_revalidate) does.
    pub fn stale_if_error(mut self, window: Duration) -> Self {
        self.policy.usual = self.policy.usual.stale_if_error(window);
        self
    }

    /// How long a value serves is decided by itself, given what is usual. Told for each value that is loaded or inserted.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "tokio")] {
    /// # use oneflight::Tokio;
    /// # use oneflight::cache::{Cache, Lifetime};
    /// # use std::time::Duration;
    /// struct Page { text: String, max_age: Option<Duration> }
    /// # impl Clone for Page { fn clone(&self) -> Self { unreachable!() } }
    ///
    /// let pages: Cache<String, Page> = Cache::builder(1_000)
    ///     .clock(Tokio)
    ///     .ttl(Duration::from_secs(60))
    ///     .lifetime(|_key: &String, page: &Page, usual| page.max_age.map_or(usual, Lifetime::of))
    ///     .build();
    /// # }
    /// ```
    pub fn lifetime<F>(mut self, lifetime: F) -> Self
    where
        F: Fn(&K, &V, Lifetime) -> Lifetime + Send + Sync + 'static,
    {
        self.policy.lifetime = Some(Arc::new(lifetime));
        self
    }

    /// Loads a value anew after this part of its life, while it is fresh: whoever asks for it then gets it at once, and a refresh runs
    /// behind. Replaces [`refresh_ahead_at_random`](Self::refresh_ahead_at_random).
    pub fn refresh_ahead(mut self, part: f64) -> Self {
        self.policy.ahead = Ahead::After(part);
        self
    }

    /// Loads a value anew while it is fresh, at a random moment before it expires: the sooner, the longer its load took, times `beta`
    /// (XFetch; 1 is usual). The refresh is one for all who ask. Replaces [`refresh_ahead`](Self::refresh_ahead).
    ///
    /// The load's time is taken to be at least a thousandth and at most a quarter of the value's life, and nothing is due in the first
    /// half of it.
    pub fn refresh_ahead_at_random(mut self, beta: f64) -> Self {
        self.policy.ahead = Ahead::AtRandom(beta);
        self
    }

    /// If a stale value is there that may still serve, a caller waits so long for a better one, and then takes it; the load goes on.
    /// Needs a [`spawner`](Self::spawner), for it to go on there.
    pub fn soft_timeout(mut self, limit: Duration) -> Self {
        self.policy.soft_timeout = Some(limit);
        self
    }

    /// A caller waits no longer than this for a load. Past it, it gets a stale value that may serve on errors, or an error
    /// ([`is_timeout`](crate::Error::is_timeout)); the load goes on for the others. A call may say something else
    /// ([`Lookup::within`](super::Lookup::within)).
    pub fn wait_timeout(mut self, limit: Duration) -> Self {
        self.policy.wait_timeout = Some(limit);
        self
    }

    /// The longest that a load may take, if there is a clock; 60 seconds, if nothing else is said. Past it, it is dropped, has failed
    /// ([`is_overdue`](crate::Error::is_overdue)), and its key is free: what hangs wedges nothing.
    pub fn max_flight(mut self, limit: Duration) -> Self {
        self.policy.max_flight = limit;
        self
    }

    /// How long it is remembered that there is no value: an error that is [classified](Self::classify) so, or a key that a batch
    /// function leaves out. `insert` and `invalidate` end it at once.
    pub fn negative_ttl(mut self, time: Duration) -> Self {
        self.policy.negative = time;
        self
    }

    /// After a load has failed, it is not tried again for the time of `first`, which doubles with each further failure, up to
    /// `longest`. Who asks meanwhile gets a stale value, if one may serve, or the last error. A load that lands ends it.
    ///
    /// Without, only refreshes that run behind wait: for a second after one of them has failed, twice as long after each further one,
    /// up to a minute. Who asks gets what is kept, as long as it serves at once; who would have to wait loads it, and waits. With
    /// zero, refreshes do not wait either.
    pub fn error_backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.policy.backoff = Some((first, longest));
        self
    }

    /// What an error means for what is kept; without, all are [transient](Failure::Transient).
    ///
    /// # Examples
    /// ```
    /// use oneflight::cache::{Cache, Failure};
    /// use std::io::{Error, ErrorKind};
    ///
    /// let files: Cache<String, String, Error> = Cache::builder(100)
    ///     .classify(|error: &Error| match error.kind() {
    ///         ErrorKind::NotFound => Failure::NotFound,
    ///         ErrorKind::PermissionDenied => Failure::Permanent,
    ///         _ => Failure::Transient,
    ///     })
    ///     .build();
    /// ```
    pub fn classify<F>(mut self, classify: F) -> Self
    where
        F: Fn(&E) -> Failure + Send + Sync + 'static,
    {
        self.policy.classify = Some(Arc::new(classify));
        self
    }

    /// No more than so many calls wait for a key; `overflow` says what becomes of the others. A result that is ready is never refused.
    pub fn max_waiters(mut self, most: u32, overflow: Overflow) -> Self {
        self.policy.waiters = Some((most, overflow));
        self
    }

    /// What an entry weighs, at least 1; told once for each value that is loaded or inserted. An entry that is heavier than a shard of
    /// the store has room for is not kept. Needs [`expected_keys`](Self::expected_keys).
    pub fn weigher<F>(mut self, weigh: F) -> Self
    where
        F: Fn(&K, &V) -> u32 + Send + Sync + 'static,
    {
        self.policy.weigh = Some(Arc::new(weigh));
        self
    }

    /// About how many keys there will be, if entries have weights; within a factor of ten is good enough. The store remembers half as
    /// many keys that had to go (eight bytes and a place in the table for each), to know them when they come again; and it has no
    /// more shards than makes sense for so many.
    pub fn expected_keys(mut self, keys: usize) -> Self {
        self.keys = Some(keys);
        self
    }

    /// How many locks the store, the fences and the table of flights each have, rounded up to a power of two, at most 65,536. With 0, as
    /// usual, as many as the cores ask for.
    pub fn shards(mut self, shards: usize) -> Self {
        self.room.shards = shards.min(1 << 16);
        self
    }

    /// Where chance comes from, for [`jitter`](Self::jitter) and [`refresh_ahead_at_random`](Self::refresh_ahead_at_random): each call
    /// returns another number, all equally likely. Without, it comes from the hasher's seed.
    pub fn chance<F>(mut self, chance: F) -> Self
    where
        F: Fn() -> u64 + Send + Sync + 'static,
    {
        self.policy.chance = Some(Arc::new(chance));
        self
    }

    /// Counts hits, too ([`Stats::hits`](super::Stats::hits)): an atomic step for each.
    pub fn count_hits(mut self) -> Self {
        self.policy.count_hits = true;
        self
    }

    /// Tells `observer` what becomes of every load and of every call that waits for one. A call that finds its value, or gets a stale
    /// one at once, is no flight, and is not told.
    pub fn observer(mut self, observer: impl Observer<K> + 'static) -> Self {
        self.observer = Observing(Some(Arc::new(observer)));
        self
    }

    /// The hasher. The usual one is fast and seeded at random, but not made to withstand keys chosen by an attacker with access to
    /// timings; `std::hash::RandomState` is.
    pub fn hasher<T>(self, hasher: T) -> Builder<K, V, E, T> {
        Builder {
            policy: self.policy,
            room: self.room,
            keys: self.keys,
            clock: self.clock,
            spawn: self.spawn,
            observer: self.observer,
            hasher,
        }
    }

    /// Makes the cache.
    ///
    /// # Panics
    /// If something is timed and there is no [`clock`](Self::clock); if loads are [`detached`](Self::detached) or callers leave them
    /// ([`soft_timeout`](Self::soft_timeout)) and there is no [`spawner`](Self::spawner); if entries have weights
    /// ([`weigher`](Self::weigher)) and nobody says how many there will be ([`expected_keys`](Self::expected_keys)); if the part of
    /// [`jitter`](Self::jitter) or [`refresh_ahead`](Self::refresh_ahead) is not between 0 and 1, or that of
    /// [`refresh_ahead_at_random`](Self::refresh_ahead_at_random) is negative or not a number.
    pub fn build(self) -> Cache<K, V, E, S>
    where
        K: Hash + Eq,
        V: Clone,
        S: BuildHasher + Clone,
    {
        self.check();
        let behind = self.spawn.map(Behind::new);
        let mut group = Group::builder()
            .shards(self.room.shards)
            .hasher(self.hasher.clone())
            .observing(self.observer);
        if let Some(clock) = &self.clock {
            group = group
                .clock(Arc::clone(clock))
                .max_flight(self.policy.max_flight);
        }
        if let (true, Some(behind)) = (self.policy.detached, &behind) {
            group = group.detached(Counting(Arc::clone(behind)));
        }
        let most = usize::try_from(self.room.capacity).unwrap_or(usize::MAX);
        let room = Room {
            // No entry weighs less than 1.
            keys: self.keys.map_or(most, |keys| keys.min(most)),
            ..self.room
        };
        let store = Store::new(room, self.hasher.clone());
        let inner = Inner::new(
            store,
            self.policy,
            self.clock,
            self.hasher,
            self.room.shards,
        );
        Cache {
            group: group.build(),
            inner: Arc::new(inner),
            behind,
        }
    }

    fn check(&self) {
        if self.clock.is_none()
            && let Some(option) = self.policy.needs_clock()
        {
            panic!("{option} needs a clock: `Builder::clock`");
        }
        if self.spawn.is_none()
            && let Some(option) = self.policy.needs_spawner()
        {
            panic!("{option} needs a spawner: `Builder::spawner`");
        }
        assert!(
            self.policy.weigh.is_none() || self.keys.is_some(),
            "a weigher needs to know about how many keys there will be: `Builder::expected_keys`"
        );
        let part = 0.0..=1.0;
        assert!(
            part.contains(&self.policy.jitter),
            "the part that jitter takes is between 0 and 1"
        );
        let is_fit = match self.policy.ahead {
            Ahead::Never => true,
            Ahead::After(after) => part.contains(&after),
            Ahead::AtRandom(beta) => beta >= 0.0 && beta.is_finite(),
        };
        assert!(
            is_fit,
            "a value is refreshed after a part of its life between 0 and 1, or at random with a factor of at least 0"
        );
    }
}

impl<K, V, E, S> fmt::Debug for Builder<K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("policy", &self.policy)
            .field("room", &self.room)
            .finish_non_exhaustive()
    }
}
