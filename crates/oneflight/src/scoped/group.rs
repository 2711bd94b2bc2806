//! A group for work that borrows: calls for a key that come while a flight for it is up join that flight.

use super::call::Call;
use super::seat::Seat;
use super::table::{Flight, Table};
use crate::clock::Clock;
use crate::flight::Stats;
use crate::hash::RandomState;
use crate::observe::{Event, Observer, Watch};
use crate::sync::Arc;
use crate::waiting::nest;
use hashbrown::hash_table::Entry;
use std::borrow::Borrow;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};

/// Runs the work for a key once for all who ask while it runs, where the work may borrow and need not be `Send`.
///
/// The caller that leads drives its own work, in its own frame; if it is dropped, it passes the key on to one of those who wait.
/// See [when to use which](crate::scoped#when-to-use-which).
///
/// It remembers nothing: when the flight has landed, the next call starts a new one. It is `Send` and `Sync` if its keys, values
/// and errors are; it is shared by reference, or in an `Arc`.
///
/// # Examples
/// ```
/// use oneflight::Scoped;
/// use std::convert::Infallible;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let page = String::from("lent, and not 'static");
/// let words: Scoped<&str, usize> = Scoped::new();
/// let count = || words.run(&"words", || async { Ok::<_, Infallible>(page.split(' ').count()) });
/// let (a, b) = tokio::join!(count(), count());
/// assert_eq!((a.unwrap(), b.unwrap()), (4, 4));
/// assert_eq!(words.stats().started, 1);
/// # }
/// ```
pub struct Scoped<K, V, E = Infallible, S = RandomState> {
    table: Table<K, V, E>,
    hasher: S,
}

impl<K, V, E> Scoped<K, V, E> {
    /// A group without flights and without a clock.
    pub fn new() -> Self {
        Self::with_hasher(RandomState::default())
    }
}

impl<K, V, E, S: Default> Default for Scoped<K, V, E, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K, V, E, S> Scoped<K, V, E, S> {
    /// A group with this hasher. The usual one is fast and seeded at random, but not made to withstand keys chosen by an attacker
    /// with access to timings; `std::hash::RandomState` is.
    pub fn with_hasher(hasher: S) -> Self {
        Self {
            table: Table::new(),
            hasher,
        }
    }

    /// The clock that [`Call::within`] measures by.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(clock);
        if let Some(watch) = &mut self.table.watch {
            watch.set_clock(Arc::clone(&clock));
        }
        self.table.clock = Some(clock);
        self
    }

    /// Tells `observer` what becomes of every flight and of every call; times are those of the [clock](Self::with_clock), and absent
    /// without one. Another one takes its place; a pair of them is one, too. See [`Observer`].
    ///
    /// Runs are told as they are [counted](Self::stats): a waiter that takes over tells that the run before it was abandoned and
    /// another started. How long a flight took is since its first run.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::{Event, Scoped};
    /// # futures_util::FutureExt::now_or_never(async {
    /// let scoped: Scoped<u32, u32> = Scoped::new().with_observer(|key: &u32, event: &Event<'_>| {
    ///     if let Event::Landed { callers, .. } = event {
    ///         println!("the flight for {key} served {callers}");
    ///     }
    /// });
    /// assert_eq!(scoped.run(&1, || async { Ok(7) }).await.unwrap(), 7);
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn with_observer(mut self, observer: impl Observer<K> + 'static) -> Self {
        let clock = self.table.clock.clone();
        self.table.watch = Some(Watch::new(Arc::new(observer), clock));
        self
    }

    /// How many flights are up, but for those that were [forgotten](Self::forget).
    pub fn in_flight(&self) -> usize {
        self.table
            .shards()
            .map(|shard| shard.lock().flights.len())
            .sum()
    }

    /// What the group has done so far.
    ///
    /// Each run of the work counts as started, and a run whose leader has left as abandoned: a flight that was passed on twice
    /// and then landed counts three times as started, twice as abandoned, once as landed. The waiter that took over still counts
    /// as joined.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Scoped;
    /// # use futures_util::poll;
    /// # futures_util::FutureExt::now_or_never(async {
    /// let scoped: Scoped<u32, u32, ()> = Scoped::new();
    /// let mut leader = Box::pin(scoped.run(&1, || std::future::pending()));
    /// assert!(poll!(&mut leader).is_pending());
    /// let waiter = scoped.run(&1, || async { Ok(7) });
    /// drop(leader);
    /// assert_eq!(waiter.await.unwrap(), 7);
    /// let stats = scoped.stats();
    /// assert_eq!((stats.started, stats.joined, stats.abandoned, stats.landed), (2, 1, 1, 1));
    /// # }).unwrap();
    /// ```
    pub fn stats(&self) -> Stats {
        let mut sum = Stats::default();
        for shard in self.table.shards() {
            sum.add(&shard.lock().stats);
        }
        sum
    }

    /// Lets the next call for `key` start a flight of its own. The one that is up still answers those who wait for it. True if
    /// there was one.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Scoped;
    /// # futures_util::FutureExt::now_or_never(async {
    /// let scoped: Scoped<u32, u32, ()> = Scoped::new();
    /// let old = scoped.run(&1, || async { Ok(7) });
    /// assert!(scoped.forget(&1));
    /// let new = scoped.run(&1, || async { Ok(8) });
    /// assert_eq!((old.await.unwrap(), new.await.unwrap()), (7, 8));
    /// # }).unwrap();
    /// ```
    pub fn forget<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
        S: BuildHasher,
    {
        let hash = self.hasher.hash_one(key);
        let forgotten = {
            let mut shard = self.table.shard(hash).lock();
            let taken = shard.take(hash, |flight| flight.key.borrow() == key);
            shard.stats.forgotten += u64::from(taken.is_some());
            taken
        };
        if let Some((flight, watch)) = forgotten.as_ref().zip(self.table.watch.as_ref()) {
            watch.tell(&flight.key, Event::Forgotten);
        }
        forgotten.is_some()
    }

    /// The value for `key`: joins the flight that is up for it, or begins one.
    ///
    /// Of the calls in a flight, the one that is polled first leads: `work` is called, and the future that it makes is driven
    /// whenever this call is polled. Another's `work` is kept, in its call, for as long as it waits: it is called if the leader
    /// is dropped and this call takes its place, and never otherwise. All who wait get the same answer, an error or a panic too;
    /// nothing is remembered. `key` is looked up by reference and made into an owned key by the first caller only.
    ///
    /// There is no way to wait without work, since whoever waits may have to lead.
    ///
    /// # Errors
    /// The error of the work, shared; or that the work panicked, or would have waited for itself. They come through the future.
    ///
    /// # Cancel safety
    /// Dropping a call that waits changes nothing for the others. Dropping the one that leads drops its work, and wakes one of
    /// the others to begin its own **from the start**; if that one is dropped before it is polled, the next, as often as it takes.
    /// When the last one is dropped, so is the flight. See [what a leader owes](crate::scoped#what-a-leader-owes).
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Scoped;
    /// # use futures_util::poll;
    /// # futures_util::FutureExt::now_or_never(async {
    /// let (mine, yours) = (String::from("mine"), String::from("yours"));
    /// let scoped: Scoped<String, &str> = Scoped::new();
    /// let mut leader = Box::pin(scoped.run("key", || async { Ok(mine.as_str()) }));
    /// let waiter = scoped.run("key", || async { Ok(yours.as_str()) });
    /// assert_eq!(leader.await.unwrap(), "mine");
    /// assert_eq!(waiter.await.unwrap(), "mine");
    /// # }).unwrap();
    /// ```
    pub fn run<Q, W, F>(&self, key: &Q, work: W) -> Call<'_, K, V, E, W, F>
    where
        K: Borrow<Q> + Hash + Eq + fmt::Debug,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        V: Clone,
        S: BuildHasher,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, E>>,
    {
        Call::new(self.take_seat(key), work)
    }

    /// Joins the flight for a key, or puts one up.
    fn take_seat<Q>(&self, key: &Q) -> Seat<'_, K, V, E>
    where
        K: Borrow<Q> + fmt::Debug,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        S: BuildHasher,
    {
        let now = self.table.watch.as_ref().and_then(Watch::now);
        let hash = self.hasher.hash_one(key);
        let mut locked = self.table.shard(hash).lock();
        let shard = &mut *locked;
        let entry = shard.flights.entry(
            hash,
            |flight| flight.key.borrow() == key,
            |flight| flight.hash,
        );
        let (flight, over) = match entry {
            Entry::Vacant(place) => {
                let flight = Flight::new(key.to_owned(), hash, now);
                place.insert(flight.clone());
                (flight, None)
            }
            Entry::Occupied(mut there) => {
                let flight = there.get();
                if nest::is_polled(flight.id()) {
                    let flight = flight.clone();
                    drop(locked);
                    let ring = nest::ring(flight.id(), flight.named());
                    return Seat::failed(&self.table, ring.error());
                }
                let joined = flight.state.lock().join();
                if joined {
                    let flight = flight.clone();
                    shard.stats.joined += 1;
                    drop(locked);
                    let came = match &self.table.watch {
                        Some(watch) => watch.joined(&flight.key, flight.began, now),
                        None => 0,
                    };
                    return Seat::waiting(&self.table, flight, came);
                }
                // Its last caller has left, and is about to take it out.
                let flight = Flight::new(key.to_owned(), hash, now);
                let over = std::mem::replace(there.get_mut(), flight.clone());
                (flight, Some(over))
            }
        };
        shard.stats.started += 1;
        drop(locked);
        if let Some(watch) = &self.table.watch {
            watch.tell(&flight.key, Event::Started);
        }
        let seat = Seat::waiting(&self.table, flight, 0);
        // Not before there is a seat to give up: with the last reference goes a key of the user's, whose drop may panic.
        drop(over);
        seat
    }
}

impl<K, V, E, S> fmt::Debug for Scoped<K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scoped")
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}
