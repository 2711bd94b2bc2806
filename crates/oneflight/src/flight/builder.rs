//! How a group is made.

use super::group::{Autopilot, Group, Options};
use crate::clock::{Clock, Spawn};
use crate::hash::RandomState;
use crate::observe::{Observer, Observing, Watch};
use crate::sync::Arc;
use std::fmt;
use std::hash::BuildHasher;
use std::marker::PhantomData;
use std::time::Duration;

/// Makes a [`Group`]; from [`Group::builder`].
///
/// # Examples
/// ```
/// # #[cfg(feature = "tokio")] {
/// use oneflight::{Group, Tokio};
/// use std::time::Duration;
///
/// let group: Group<u32, String> = Group::builder()
///     .clock(Tokio)
///     .max_flight(Duration::from_secs(30))
///     .autopilot(Tokio)
///     .build();
/// # }
/// ```
#[must_use = "a builder does nothing until it builds"]
pub struct Builder<K, V, E, S = RandomState> {
    options: Options,
    observer: Observing<K>,
    hasher: S,
    shards: usize,
    group: Of<K, V, E>,
}

/// What a builder will make, without having any of it yet.
type Of<K, V, E> = PhantomData<fn() -> (K, V, E)>;

impl<K, V, E> Group<K, V, E> {
    /// Makes a group with other than the usual options.
    pub fn builder() -> Builder<K, V, E> {
        Builder {
            options: Options::default(),
            observer: Observing(None),
            hasher: RandomState::default(),
            shards: 0,
            group: PhantomData,
        }
    }
}

impl<K, V, E, S: BuildHasher> Builder<K, V, E, S> {
    /// The clock that time limits are measured by.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.options.clock = Some(Arc::new(clock));
        self
    }

    /// The longest that a flight may take. Past it, it leaves the table, its waiters get an error
    /// ([`Error::is_overdue`](crate::Error::is_overdue)), its work is dropped and a late result goes nowhere: a call that hangs
    /// never wedges its key.
    ///
    /// It also ends works that wait for each other by way of tasks, where that cannot be seen
    /// ([`Error::is_reentrant`](crate::Error::is_reentrant)).
    ///
    /// Work that blocks its thread cannot be ended; but the next caller starts a flight of its own.
    pub fn max_flight(mut self, limit: Duration) -> Self {
        self.options.max_flight = Some(limit);
        self
    }

    /// Lets a task poll every flight that a second caller joins, so that it goes on even if no caller is polled any more. A lone
    /// caller pays nothing for it. Without it, a wake of the work wakes the caller that drove it last and one more; a flight
    /// whose driver and backup are both kept but never polled stands still until another caller joins or is polled.
    ///
    /// A spawner that panics, as [`Tokio`](crate::Tokio) does outside of its runtime, panics in the call that joins; the flight
    /// goes on without it.
    pub fn autopilot(mut self, spawn: impl Spawn) -> Self {
        self.options.pilot = Autopilot::WhenJoined(Arc::new(spawn));
        self
    }

    /// Lets a task poll every flight from its start, to its end: also when all callers have left. Replaces
    /// [`autopilot`](Self::autopilot).
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "tokio")] {
    /// # use oneflight::{Group, Tokio};
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let group: Group<u32, u32> = Group::builder().detached(Tokio).build();
    /// drop(group.run(&1, || async { Ok(7) }));
    /// tokio::task::yield_now().await;
    /// assert_eq!(group.stats().landed, 1);
    /// # });
    /// # }
    /// ```
    pub fn detached(mut self, spawn: impl Spawn) -> Self {
        self.options.pilot = Autopilot::Detached(Arc::new(spawn));
        self
    }

    /// Tells `observer` what becomes of every flight and of every call. Another one takes its place; a pair of them is one, too.
    ///
    /// The times of its events are measured by the group's [`clock`](Self::clock), and absent without one. See [`Observer`] for
    /// what it is told, when, and in which order.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "tokio")] {
    /// # use oneflight::{Event, Group, Tokio};
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let group: Group<u32, u32> = Group::builder()
    ///     .clock(Tokio)
    ///     .observer(|key: &u32, event: &Event<'_>| {
    ///         if let Event::Landed { took: Some(took), callers, .. } = event {
    ///             println!("the flight for {key} took {took:?} and served {callers}");
    ///         }
    ///     })
    ///     .build();
    /// assert_eq!(group.run(&1, || async { Ok(7) }).await.unwrap(), 7);
    /// # });
    /// # }
    /// ```
    pub fn observer(mut self, observer: impl Observer<K> + 'static) -> Self {
        self.observer = Observing(Some(Arc::new(observer)));
        self
    }

    /// As [`observer`](Self::observer), with what another builder was handed.
    #[cfg(feature = "cache")]
    pub(crate) fn observing(mut self, observer: Observing<K>) -> Self {
        self.observer = observer;
        self
    }

    /// How many locks the table has, rounded up to a power of two, at most 65,536. With 0, as usual: four for each core, between 4
    /// and 64.
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = shards.min(1 << 16);
        self
    }

    /// The hasher. The usual one is fast and seeded at random, but not made to withstand keys chosen by an attacker with access to
    /// timings; `std::hash::RandomState` is.
    pub fn hasher<T: BuildHasher>(self, hasher: T) -> Builder<K, V, E, T> {
        Builder {
            options: self.options,
            observer: self.observer,
            hasher,
            shards: self.shards,
            group: PhantomData,
        }
    }

    /// Makes the group.
    ///
    /// # Panics
    /// If there is a [`max_flight`](Self::max_flight) but no [`clock`](Self::clock).
    pub fn build(self) -> Group<K, V, E, S> {
        assert!(
            self.options.max_flight.is_none() || self.options.clock.is_some(),
            "a longest flight needs a clock: `Builder::clock`"
        );
        let clock = self.options.clock.clone();
        let watch = (self.observer.0).map(|observer| Watch::new(observer, clock));
        Group::from_parts(self.hasher, self.shards, self.options, watch)
    }
}

impl<K, V, E, S> fmt::Debug for Builder<K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("options", &self.options)
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}
