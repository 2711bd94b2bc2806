//! A group: calls for a key that come while a flight for it is up join that flight.

use super::ask::{Ask, Given, Lent};
use super::drive::{end_with, finish};
use super::join::{At, Join};
use super::node::{Birth, Fresh, Shared};
use super::pilot::Pilot;
use super::state::Over;
use super::stats::Stats;
use super::table::{Shard, Table};
use super::terms::Terms;
use crate::clock::{Clock, Spawn};
use crate::error::{Error, Other};
use crate::hash::RandomState;
use crate::observe::{Event, Since, Watch};
use crate::sync::Arc;
use crate::waiting::nest;
use crate::waiting::panics::guarded;
use hashbrown::hash_table::Entry;
use std::borrow::Borrow;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};

/// Runs the work for a key once for all who ask while it runs.
///
/// It remembers nothing: when the flight has landed, the next call starts a new one. Cloning is cheap and gives the same group.
///
/// # Examples
/// ```
/// use oneflight::Group;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let prices: Group<String, u32, std::io::Error> = Group::new();
/// let ask = || prices.run("tea", || async { Ok(350) });
/// let (a, b) = tokio::join!(ask(), ask());
/// assert_eq!((a.unwrap(), b.unwrap()), (350, 350));
/// assert_eq!(prices.stats().started, 1);
/// # }
/// ```
pub struct Group<K, V, E = Infallible, S = RandomState> {
    pub(crate) table: Arc<Table<K, V, E, S>>,
    pub(crate) options: Arc<Options>,
}

/// How flights are flown. Chosen by values, never by features.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) max_flight: Option<Duration>,
    pub(crate) pilot: Autopilot,
}

/// Whether a task polls flights too.
#[derive(Clone, Debug, Default)]
pub(crate) enum Autopilot {
    #[default]
    Off,
    /// As soon as a second caller joins.
    WhenJoined(Arc<dyn Spawn>),
    /// From the start, and also when nobody waits any more.
    Detached(Arc<dyn Spawn>),
}

/// A mark in a group's time: flights that began before it and those that begin after it can be told apart.
///
/// See [`Group::mark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(pub(crate) u64);

impl Mark {
    /// Older than any flight.
    pub(crate) const FIRST: Self = Self(0);
}

impl<K, V, E> Group<K, V, E> {
    /// A group with the usual options: no clock, no tasks, any waiter drives.
    pub fn new() -> Self {
        Self::from_parts(RandomState::default(), 0, Options::default(), None)
    }
}

impl<K, V, E, S: BuildHasher + Default> Default for Group<K, V, E, S> {
    fn default() -> Self {
        Self::from_parts(S::default(), 0, Options::default(), None)
    }
}

impl<K, V, E, S> Group<K, V, E, S> {
    pub(crate) fn from_parts(
        hasher: S,
        shards: usize,
        options: Options,
        watch: Option<Watch<K>>,
    ) -> Self
    where
        S: BuildHasher,
    {
        Self {
            table: Arc::new(Table::new(hasher, shards, watch)),
            options: Arc::new(options),
        }
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
    /// # Examples
    /// ```
    /// # use oneflight::Group;
    /// let group: Group<u32, u32, ()> = Group::new();
    /// drop((group.run(&1, || async { Ok(7) }), group.run(&1, || async { Ok(7) })));
    /// let stats = group.stats();
    /// assert_eq!((stats.started, stats.joined, stats.abandoned), (1, 1, 1));
    /// ```
    pub fn stats(&self) -> Stats {
        let mut sum = Stats::default();
        for shard in self.table.shards() {
            sum.add(&shard.lock().stats);
        }
        sum
    }

    /// A mark: [`run_since`](Self::run_since) this mark joins no flight that began before it.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Group;
    /// # let wait = futures_util::FutureExt::now_or_never;
    /// let group: Group<u32, &str, ()> = Group::new();
    /// let before = group.run(&1, || async { Ok("read before the write") });
    /// // … something is written …
    /// let mark = group.mark();
    /// let after = group.run_since(mark, &1, || async { Ok("read after it") });
    /// assert_eq!(wait(after).unwrap().unwrap(), "read after it");
    /// assert_eq!(wait(before).unwrap().unwrap(), "read before the write");
    /// ```
    pub fn mark(&self) -> Mark {
        Mark(self.table.next_epoch())
    }

    /// Takes no new flights from now on: calls that would start one fail ([`Error::is_closed`]), those that join one that is up
    /// do so. No flight begins after this returns.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Group;
    /// # let wait = futures_util::FutureExt::now_or_never;
    /// let group: Group<u32, u32, ()> = Group::new();
    /// let up = group.run(&1, || async { Ok(7) });
    /// group.close();
    /// assert!(wait(group.run(&2, || async { Ok(8) })).unwrap().unwrap_err().is_closed());
    /// assert_eq!(wait(up).unwrap().unwrap(), 7);
    /// ```
    pub fn close(&self) {
        for shard in self.table.shards() {
            shard.lock().closed = true;
        }
    }
}

impl<K, V, E, S> Group<K, V, E, S>
where
    K: Hash + Eq + fmt::Debug + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: BuildHasher + Send + Sync + 'static,
{
    /// The value for `key`: joins the flight that is up for it, or starts one by calling `work`.
    ///
    /// `key` is looked up by reference and made into an owned key by the leader only. `work` is called once, before this returns,
    /// and only if there is no flight; the future that it makes belongs to the flight, and is polled by whichever caller is
    /// polled. All who wait get the same answer, an error or a panic too; nothing is remembered.
    ///
    /// # Errors
    /// The error of the work, shared; or that the work panicked, took longer than it may, would have waited for itself, or that
    /// the group is closed. They come through the future.
    ///
    /// # Cancel safety
    /// Dropping any caller, the leader too, changes nothing for the others. Dropping the last one drops the work, unless the group
    /// is [detached](super::Builder::detached).
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Group;
    /// # let wait = futures_util::FutureExt::now_or_never;
    /// let group: Group<String, usize, ()> = Group::new();
    /// let leader = group.run("key", || async { Ok("value".len()) });
    /// let waiter = group.run("key", || async { unreachable!("a flight is up") });
    /// drop(leader); // The work goes on.
    /// assert_eq!(wait(waiter).unwrap().unwrap(), 5);
    /// ```
    pub fn run<Q, W, F>(&self, key: &Q, work: W) -> Join<'_, K, V, E, S>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, E>> + Send + 'static,
    {
        self.attach_any(Mark::FIRST, Lent(key), work)
    }

    /// As [`run`](Self::run), for a key that its caller has no further use for, or that cannot be made from a borrowed one.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Group;
    /// # use std::sync::Arc;
    /// # let wait = futures_util::FutureExt::now_or_never;
    /// let group: Group<Arc<str>, u32, ()> = Group::new();
    /// assert_eq!(wait(group.run_with_key("key".into(), || async { Ok(7) })).unwrap().unwrap(), 7);
    /// ```
    pub fn run_with_key<W, F>(&self, key: K, work: W) -> Join<'_, K, V, E, S>
    where
        W: FnOnce() -> F,
        F: Future<Output = Result<V, E>> + Send + 'static,
    {
        self.attach_any(Mark::FIRST, Given(key), work)
    }

    /// As [`run`](Self::run), but joins no flight that began before `mark`: for callers that have written something and must read
    /// what they wrote. A flight that is too old goes on for those who wait for it, and nobody else joins it.
    ///
    /// # Examples
    /// See [`mark`](Self::mark).
    pub fn run_since<Q, W, F>(&self, mark: Mark, key: &Q, work: W) -> Join<'_, K, V, E, S>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, E>> + Send + 'static,
    {
        self.attach_any(mark, Lent(key), work)
    }

    /// Joins the flight for `key` if one is up; starts none.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Group;
    /// let group: Group<u32, u32, ()> = Group::new();
    /// assert!(group.join(&1).is_none());
    /// let _up = group.run(&1, || async { Ok(7) });
    /// assert!(group.join(&1).is_some());
    /// ```
    pub fn join<Q>(&self, key: &Q) -> Option<Join<'_, K, V, E, S>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let now = self.now();
        let hash = self.table.hash(key);
        let joined = {
            let mut shard = self.table.shard(hash).lock();
            let flight = shard
                .flights
                .find(hash, |flight| flight.key.borrow() == key)?
                .clone();
            // A flight that polls us has no answer for us, one that is overdue has none for anybody.
            let useless = nest::is_polled(flight.id()) || self.is_overdue(now, &flight);
            let joined = !useless && flight.state.join();
            shard.stats.joined += u64::from(joined);
            (flight, joined)
        };
        let (flight, joined) = joined;
        joined.then(|| self.joined(flight, now))
    }

    /// Lets the next call for `key` start a flight of its own. The one that is up still answers those who wait for it. True if
    /// there was one.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Group;
    /// # let wait = futures_util::FutureExt::now_or_never;
    /// let group: Group<u32, u32, ()> = Group::new();
    /// let old = group.run(&1, || async { Ok(7) });
    /// assert!(group.forget(&1));
    /// let new = group.run(&1, || async { Ok(8) });
    /// assert_eq!((wait(old).unwrap().unwrap(), wait(new).unwrap().unwrap()), (7, 8));
    /// ```
    pub fn forget<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.forget_if(key, |_| true)
    }

    /// As [`forget`](Self::forget), but only if a single caller waits. True means that nobody else shares the flight, and nobody
    /// will.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Group;
    /// let group: Group<u32, u32, ()> = Group::new();
    /// let _leader = group.run(&1, || async { Ok(7) });
    /// let waiter = group.join(&1);
    /// assert!(!group.forget_unshared(&1));
    /// drop(waiter); // It has shared the flight, though it has left.
    /// assert!(!group.forget_unshared(&1));
    /// ```
    pub fn forget_unshared<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.forget_if(key, |flight| flight.state.callers() == 1)
    }

    /// Ends all flights: all who wait get an error ([`Error::is_closed`]), the work is dropped. With [`close`](Self::close) before
    /// it, the group is shut down. A flight that was forgotten is out of reach: it goes on for those who wait for it.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::Group;
    /// # let wait = futures_util::FutureExt::now_or_never;
    /// let group: Group<u32, u32, ()> = Group::new();
    /// let up = group.run(&1, || std::future::pending());
    /// group.close();
    /// group.cancel_all();
    /// assert!(wait(up).unwrap().unwrap_err().is_closed());
    /// assert_eq!(group.in_flight(), 0);
    /// ```
    pub fn cancel_all(&self) {
        for shard in self.table.shards() {
            let flights = std::mem::take(&mut shard.lock().flights);
            for flight in flights {
                let closed = Error::from_other(Other::Closed);
                end_with(&self.table, &flight, closed, |stats| {
                    stats.cancelled += 1;
                });
            }
        }
    }

    fn forget_if<Q>(&self, key: &Q, which: impl Fn(&Shared<K, V, E>) -> bool) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.table.forget(key, which)
    }

    fn attach_any<A, W, F>(&self, since: Mark, ask: A, work: W) -> Join<'_, K, V, E, S>
    where
        A: Ask<K>,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, E>> + Send + 'static,
    {
        let terms = Terms {
            since,
            most: u32::MAX,
            now: self.now(),
        };
        let join = self.attach(terms, ask, work);
        join.unwrap_or_else(|| self.failed(Error::from_other(Other::Full)))
    }

    /// Joins the flight for a key, or starts one; neither if too many wait for it.
    #[inline]
    pub(super) fn attach<A, W, F>(
        &self,
        terms: Terms,
        ask: A,
        work: W,
    ) -> Option<Join<'_, K, V, E, S>>
    where
        A: Ask<K>,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, E>> + Send + 'static,
    {
        let now = terms.now;
        let hash = ask.hash(&self.table);
        let mut locked = self.table.shard(hash).lock();
        let Shard {
            flights,
            closed,
            stats,
        } = &mut *locked;
        let entry = flights.entry(hash, |flight| ask.is(&flight.key), |flight| flight.hash);
        let mut late = false;
        if let Entry::Occupied(there) = &entry {
            let flight = there.get();
            // Whatever its age: a flight that its own work replaces would be replaced again by the work of that one, without end.
            if nest::is_polled(flight.id()) {
                let flight = flight.clone();
                drop(locked);
                return Some(self.failed(nest::ring(flight.id(), flight.named()).error()));
            }
            late = self.is_overdue(now, flight);
            if flight.born >= terms.since.0 && !late {
                if flight.state.is_full(terms.most) {
                    return None;
                }
                if flight.state.join() {
                    stats.joined += 1;
                    let flight = flight.clone();
                    drop(locked);
                    return Some(self.joined(flight, now));
                }
            }
        }
        if *closed {
            drop(locked);
            return Some(self.failed(Error::from_other(Other::Closed)));
        }
        let deadline = now
            .zip(self.options.max_flight)
            .and_then(|(now, limit)| now.checked_add(limit));
        let (fresh, shared) = Fresh::new(Birth {
            key: ask.own(),
            hash,
            born: self.table.epoch(),
            began: now,
        });
        let replaced = match entry {
            Entry::Vacant(place) => {
                place.insert(shared);
                None
            }
            Entry::Occupied(mut there) => Some(std::mem::replace(there.get_mut(), shared)),
        };
        stats.started += 1;
        drop(locked);
        if let Some(old) = &replaced {
            self.displaced(old, late);
        }
        let join = self.lead(fresh, deadline, work);
        // Not before the new flight is up: with the last reference goes a key of the user's, whose drop may panic.
        drop(replaced);
        Some(join)
    }

    /// Makes the work of a flight that is in the table, and lets it fly.
    fn lead<W, F>(
        &self,
        fresh: Fresh<K, V, E, F>,
        deadline: Option<Instant>,
        work: W,
    ) -> Join<'_, K, V, E, S>
    where
        W: FnOnce() -> F,
        F: Future<Output = Result<V, E>> + Send + 'static,
    {
        if let Some(watch) = &self.table.watch {
            watch.tell(fresh.key(), Event::Started);
        }
        let limit = || {
            let clock = self.options.clock.as_deref();
            clock.zip(deadline).map(|(clock, at)| clock.sleep_until(at))
        };
        let made = {
            let flight = fresh.flight();
            let polled = nest::enter(flight.id(), || flight.named());
            let made = guarded(|| (work(), limit()));
            if polled.end() {
                flight.state.note();
            }
            made
        };
        let flight = match made {
            Ok((future, limit)) => fresh.put(future, limit),
            Err(panic) => {
                let flight = fresh.without_work();
                if finish(&self.table, &flight, Err(Error::clone(&panic))).is_err() {
                    // It was ended from outside: those who joined have heard of that (V2).
                    flight.drop_work();
                }
                if let Some(watch) = &self.table.watch {
                    // Nobody polls for an answer that is there with the call.
                    let (began, came) = (flight.began, 0);
                    let shared = flight.state.callers();
                    watch.waited(&flight.key, Since { began, came }, true, shared);
                }
                return Join::new(self, At::Failed(panic), true, 0);
            }
        };
        match flight.state.publish() {
            Ok(false) => {}
            Ok(true) => flight.state.call().wake(),
            // It was ended from outside while it was made.
            Err(Over) => flight.drop_work(),
        }
        let Autopilot::Detached(spawn) = &self.options.pilot else {
            return Join::new(self, At::Flying(flight), true, 0);
        };
        // Made before the spawner is called: should that panic, the call leaves its flight.
        let call = Join::new(self, At::Flying(flight.clone()), true, 0);
        self.board(flight, spawn.as_ref(), true);
        call
    }

    #[inline]
    fn joined(&self, flight: Shared<K, V, E>, now: Option<Instant>) -> Join<'_, K, V, E, S> {
        let came = match &self.table.watch {
            Some(watch) => watch.joined(&flight.key, flight.began, now),
            None => 0,
        };
        let Autopilot::WhenJoined(spawn) = &self.options.pilot else {
            return Join::new(self, At::Flying(flight), false, came);
        };
        // As in `lead`.
        let call = Join::new(self, At::Flying(flight.clone()), false, came);
        self.board(flight, spawn.as_ref(), false);
        call
    }

    fn failed(&self, error: Error<E>) -> Join<'_, K, V, E, S> {
        Join::new(self, At::Failed(error), false, 0)
    }

    /// Puts an autopilot on board, unless there is one.
    fn board(&self, flight: Shared<K, V, E>, spawn: &dyn Spawn, counts: bool) {
        let slot = flight.state.board(counts);
        if let Some(slot) = slot {
            let table = self.table.clone();
            spawn.spawn(Box::pin(Pilot {
                table,
                flight: Some(flight),
                slot,
                counts,
            }));
        }
    }

    /// A flight whose place another has taken: overdue, too old for the caller, or over.
    fn displaced(&self, old: &Shared<K, V, E>, overdue: bool) {
        if overdue {
            let error = Error::from_other(Other::Overdue);
            return end_with(&self.table, old, error, |stats| stats.overdue += 1);
        }
        if old.state.is_over() {
            return;
        }
        self.table.shard(old.hash).lock().stats.forgotten += 1;
        if let Some(watch) = &self.table.watch {
            watch.tell(&old.key, Event::Forgotten);
        }
    }

    /// The time now, if anybody cares.
    fn now(&self) -> Option<Instant> {
        let clock = self.options.clock.as_deref()?;
        let is_measured = self.options.max_flight.is_some() || self.table.watch.is_some();
        is_measured.then(|| clock.now())
    }

    /// True if the flight takes longer than it may.
    pub(super) fn is_overdue(&self, now: Option<Instant>, flight: &Shared<K, V, E>) -> bool {
        // Asked for each call that finds a flight: without a clock, one look is enough.
        let Some(now) = now else { return false };
        let limit = flight.began.zip(self.options.max_flight);
        limit.is_some_and(|(began, limit)| now.saturating_duration_since(began) >= limit)
    }
}

impl<K, V, E, S> Clone for Group<K, V, E, S> {
    fn clone(&self) -> Self {
        Self {
            table: Arc::clone(&self.table),
            options: Arc::clone(&self.options),
        }
    }
}

impl<K, V, E, S> fmt::Debug for Group<K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}
