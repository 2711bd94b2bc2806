//! The public face: a cache, and what can be asked of it.

use super::behind::{Behind, Idle};
use super::builder::Builder;
use super::counters::Stats;
use super::entry::{Age, What};
use super::inner::{Glance, Inner};
use super::loading::Landed;
use super::lookup::Lookup;
use super::many::Many;
use super::outcome::{Freshness, Peeked};
use super::store::Left;
use crate::batch::Loader;
use crate::error::Error;
use crate::flight::{Group, Mark};
use crate::hash::RandomState;
use crate::sync::Arc;
use std::borrow::Borrow;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};

/// Keeps values by key, and loads what is not there once for all who ask.
///
/// A fresh value is given out at once. What is missing or stale is loaded in one flight, which all who ask meanwhile share; how long
/// a value is fresh, and how long a stale one still serves, the [builder](Self::builder) says. Clones are the same cache.
///
/// # Writing
/// [`insert`](Self::insert) and [`invalidate`](Self::invalidate) overtake loads in flight: after one of them returns, no later call
/// gets a value whose load began before it, and no such load takes the place of what was inserted. After [`expire`](Self::expire) no
/// later call takes such a value for fresh, or joins such a load.
///
/// # Keys and values
/// Values are cloned out: share large ones as `Arc`. `Hash`, `Eq` and `Clone` of keys and values are called under locks of the store,
/// and must not use the cache. Their `Drop` is called under none, and may.
///
/// # Examples
/// ```
/// use oneflight::cache::Cache;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let prices: Cache<String, u32, std::io::Error> = Cache::new(10_000);
/// let ask = || prices.get_or_load("tea", || async { Ok(350) });
/// let (a, b) = tokio::join!(ask(), ask());
/// assert_eq!((a.unwrap(), b.unwrap(), ask().await.unwrap()), (350, 350, 350));
/// assert_eq!(prices.stats().loads, 1);
/// # }
/// ```
///
/// Work that borrows from its request does not compile: a refresh may outlive it.
/// ```compile_fail
/// # use oneflight::cache::Cache;
/// let cache: Cache<u32, usize> = Cache::new(100);
/// let transaction = String::from("of the request");
/// let call = cache.get_or_load(&1, || async { Ok(transaction.len()) });
/// # futures_util::FutureExt::now_or_never(call);
/// ```
pub struct Cache<K, V, E = Infallible, S = RandomState> {
    pub(super) group: Group<K, Landed<V>, Error<E>, S>,
    pub(super) inner: Arc<Inner<K, V, E, S>>,
    /// Where refreshes run, if anywhere.
    pub(super) behind: Option<Arc<Behind>>,
}

impl<K, V, E> Cache<K, V, E>
where
    K: Hash + Eq,
    V: Clone,
{
    /// A cache for so many entries, which are fresh until they are invalidated or have to make room.
    pub fn new(capacity: u64) -> Self {
        Self::builder(capacity).build()
    }

    /// Makes a cache with other than the usual options. It keeps entries of this weight in all; each weighs 1, if
    /// [`weigher`](Builder::weigher) says nothing else.
    pub fn builder(capacity: u64) -> Builder<K, V, E> {
        Builder::new(capacity)
    }
}

impl<K, V, E, S> Cache<K, V, E, S> {
    /// A mark: [`fresh_since`](Lookup::fresh_since) this mark takes no value whose load began before it.
    ///
    /// # Examples
    /// See [`Lookup::fresh_since`].
    pub fn mark(&self) -> Mark {
        self.group.mark()
    }

    /// Everything that is kept counts no more, and no load in flight is stored or joined by a later call. It takes no longer for a
    /// million entries than for one; they take up room until others need it, or [`purge`](Self::purge) is called.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::cache::Cache;
    /// let cache: Cache<u32, u32> = Cache::new(100);
    /// cache.insert(1, 7);
    /// cache.invalidate_all();
    /// assert_eq!(cache.get(&1), None);
    /// ```
    pub fn invalidate_all(&self) {
        self.inner.count_from(self.group.mark());
    }

    /// Loads nothing from now on: calls that would begin a load fail ([`is_closed`](Error::is_closed)), what is kept is still served.
    /// With [`idle`](Self::idle) after it, nothing runs any more.
    pub fn close(&self) {
        self.group.close();
    }

    /// Waits until nothing runs behind: no refresh, and no load that was left by its callers. For a program that is about to end, or
    /// a runtime that is stopped after each request.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "tokio")] {
    /// # use oneflight::{Tokio, cache::Cache};
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let cache: Cache<u32, u32> = Cache::builder(100)
    ///     .clock(Tokio)
    ///     .spawner(Tokio)
    ///     .stale_while_revalidate(Duration::from_secs(60))
    ///     .build();
    /// cache.insert(1, 7);
    /// cache.expire(&1);
    /// assert_eq!(cache.get_or_load(&1, || async { Ok(8) }).await.unwrap(), 7); // Stale, at once.
    /// cache.idle().await;
    /// assert_eq!(cache.get(&1), Some(8));
    /// # });
    /// # }
    /// ```
    pub fn idle(&self) -> Idle<'_> {
        Idle(self.behind.as_ref())
    }
}

impl<K, V, E, S> Cache<K, V, E, S>
where
    K: Hash + Eq + Clone + fmt::Debug + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    /// The value for `key`: what is kept, if it is fresh, or may still serve; else what `work` brings, in one flight for all who ask.
    ///
    /// `work` is called if this call begins a load, and then once. The future that it makes owns what it uses: it may outlive this
    /// call, in a refresh that runs behind, or since others wait for it too.
    ///
    /// # Errors
    /// The error of the work, shared; or that the work panicked, took too long, would have waited for itself; that this caller's time
    /// is over, that too many wait, that the cache is closed. Where a stale value may serve on errors, it is returned instead.
    ///
    /// # Cancel safety
    /// Dropping any caller changes nothing for the others. See [`Lookup`].
    ///
    /// # Examples
    /// ```
    /// # use oneflight::cache::Cache;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let cache: Cache<String, usize> = Cache::new(100);
    /// assert_eq!(cache.get_or_load("key", || async { Ok("value".len()) }).await.unwrap(), 5);
    /// assert_eq!(cache.get_or_load("key", || async { unreachable!("it is kept") }).await.unwrap(), 5);
    /// # }
    /// ```
    pub fn get_or_load<'c, Q, W, F>(&'c self, key: &'c Q, work: W) -> Lookup<'c, Q, W, K, V, E, S>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, E>> + Send + 'static,
    {
        Lookup::new(self, key, work)
    }

    /// The values for many keys, in their order: what is kept, what is in flight elsewhere, and the rest by `loader`, all in one batch
    /// (or in as few as the loader's limits allow). A key that the batch function leaves out gets `Ok(None)`, and that is remembered
    /// for [`negative_ttl`](Builder::negative_ttl).
    ///
    /// # Errors
    /// As [`get_or_load`](Self::get_or_load), for each key alone.
    ///
    /// # Cancel safety
    /// Dropping any caller changes nothing for the others.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::{batch::Loader, cache::Cache};
    /// # let wait = |future| futures_util::FutureExt::now_or_never(future).unwrap();
    /// let rows: Loader<u32, String> = Loader::builder().build(|keys: Vec<u32>| async move {
    ///     keys.into_iter().filter(|key| *key < 10).map(|key| (key, format!("row {key}"))).collect::<Vec<_>>()
    /// });
    /// let cache: Cache<u32, String> = Cache::new(100);
    /// cache.insert(1, "kept".to_owned());
    /// let got = wait(cache.get_or_load_many([1, 2, 30, 3], &rows));
    /// let got: Vec<_> = got.into_iter().map(Result::unwrap).collect();
    /// assert_eq!(got, [Some("kept".to_owned()), Some("row 2".to_owned()), None, Some("row 3".to_owned())]);
    /// assert_eq!(rows.stats().batches, 1);
    /// ```
    pub fn get_or_load_many<'c>(
        &'c self,
        keys: impl IntoIterator<Item = K>,
        loader: &'c Loader<K, V, E>,
    ) -> Many<'c, K, V, E, S> {
        Many::new(self, loader, keys.into_iter().collect())
    }

    /// The value for `key` if it is kept and fresh. Loads nothing.
    pub fn get<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        match self.inner.glance(key, Mark::FIRST) {
            Glance::Calm(value, _) => Some(value),
            Glance::Nothing => None,
            Glance::Other => self.get_at_second_look(key),
        }
    }

    #[cold]
    fn get_at_second_look<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let stored = self.inner.peek(key, Mark::FIRST)?;
        let is_fresh = self.inner.now() < stored.times.fresh_until;
        match stored.what {
            What::Value(value) if is_fresh => Some(value),
            _ => None,
        }
    }

    /// What is kept for `key`, fresh or not, as long as it may serve at all. Loads nothing, and is no use of it: what must make room
    /// is chosen as if it had not been looked at.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::cache::{Cache, Freshness};
    /// let cache: Cache<u32, u32> = Cache::new(100);
    /// cache.insert(1, 7);
    /// assert!(cache.peek(&1).is_some_and(|kept| kept.value == 7 && kept.freshness == Freshness::Fresh));
    /// ```
    pub fn peek<Q>(&self, key: &Q) -> Option<Peeked<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let stored = self.inner.peek(key, Mark::FIRST)?;
        let now = self.inner.now();
        let freshness = match stored.times.age(now) {
            Age::Fresh => Freshness::Fresh,
            Age::Stale => Freshness::Stale,
            Age::Grace => Freshness::Grace,
            Age::Dead => return None,
        };
        let age = self.inner.since(stored.times.at, now);
        match stored.what {
            What::Value(value) => Some(Peeked {
                value,
                freshness,
                age,
            }),
            What::Missing(_) | What::Nothing => None,
        }
    }

    /// Keeps a value, fresh from now on. A load in flight for the key does not take its place, and later calls do not join it.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::cache::Cache;
    /// let cache: Cache<u32, &str> = Cache::new(100);
    /// let mut reads = cache.get_or_load(&1, || async { tokio::task::yield_now().await; Ok("old") });
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// assert!(futures_util::poll!(&mut reads).is_pending());
    /// cache.insert(1, "new");
    /// assert_eq!(reads.await.unwrap(), "old"); // It asked before.
    /// # });
    /// assert_eq!(cache.get(&1), Some("new"));
    /// ```
    pub fn insert(&self, key: K, value: V) {
        let inner = &self.inner;
        let (hash, now) = (inner.hash(&key), inner.now());
        let forgotten = key.clone();
        let entry = inner.entry(&key, value, self.group.epoch(), now, now);
        let mut left = Left::default();
        inner.fences.overtake(hash, |number| match entry {
            Some(mut entry) => {
                // Once more, under the lock: no mark that is older than this insert refuses it.
                entry.born = self.group.epoch();
                entry.number = number;
                inner.put(key, entry, &mut left);
            }
            None => {
                inner.store.take(&key, &mut left);
                left.key(key);
            }
        });
        drop(left);
        self.group.forget(&forgotten);
    }

    /// Keeps nothing for the key any more, nor that there is none. After this returns, no later call gets a value whose load began
    /// before it.
    pub fn invalidate<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let inner = &self.inner;
        let mut left = Left::default();
        let hash = inner.hash(key);
        (inner.fences).overtake(hash, |_| inner.store.take(key, &mut left));
        drop(left);
        self.group.forget(key);
    }

    /// What is kept for the key is stale from now on: it serves as long as its windows allow, and is loaded anew. So is what a load in
    /// flight brings: those who wait for it get it, and it is kept, as stale from now on; no later call joins it. That there is none
    /// is remembered no more, and nobody waits any longer because a load has failed.
    pub fn expire<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let inner = &self.inner;
        let (hash, now) = (inner.hash(key), inner.now());
        let owned = key.to_owned();
        let mut left = Left::default();
        (inner.fences).expire(hash, now, || match inner.store.peek(key) {
            Some(mut kept) if kept.value().is_some() => {
                kept.times.expire(now);
                left.trouble(kept.trouble.take());
                inner.replace(owned, kept, &mut left);
            }
            kept => {
                inner.store.take(key, &mut left);
                left.copy(kept);
                left.key(owned);
            }
        });
        drop(left);
        self.group.forget(key);
    }

    /// Drops what is kept and can serve no more: it is dead, or was invalidated with all. It looks at every entry.
    pub fn purge(&self) {
        let (now, valid_from) = (self.inner.now(), self.inner.valid_from());
        self.inner.store.retain(|times, trouble, born| {
            let backs_off = trouble.is_some_and(|trouble| now < trouble.until);
            (times.serves_stale(now) || backs_off) && born >= valid_from
        });
    }

    /// How many entries are kept, those that serve no more among them.
    pub fn len(&self) -> usize {
        self.inner.store.len()
    }

    /// True if nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the cache has done so far.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::cache::Cache;
    /// let cache: Cache<u32, u32> = Cache::new(100);
    /// cache.insert(1, 7);
    /// assert_eq!((cache.stats().entries, cache.stats().loads), (1, 0));
    /// ```
    pub fn stats(&self) -> Stats {
        Stats {
            joined: self.group.stats().joined,
            entries: self.inner.store.len(),
            weight: self.inner.store.weight(),
            loading: self.group.in_flight(),
            behind: self.behind.as_ref().map_or(0, |behind| behind.tasks()),
            ..self.inner.counters.stats()
        }
    }
}

impl<K, V, E, S> Clone for Cache<K, V, E, S> {
    fn clone(&self) -> Self {
        Self {
            group: self.group.clone(),
            inner: Arc::clone(&self.inner),
            behind: self.behind.clone(),
        }
    }
}

impl<K, V, E, S> fmt::Debug for Cache<K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("policy", &self.inner.policy)
            .field("in_flight", &self.group.in_flight())
            .finish_non_exhaustive()
    }
}
