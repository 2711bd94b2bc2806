//! The public face: a loader, how it is built, what it counts.

use super::answers::IntoAnswers;
use super::drive::Core;
use super::load::{Load, LoadMany};
use super::run::Limits;
use std::convert::Infallible;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::sync::Arc;

/// Loads values by key, all keys that wait at that moment in one batch.
///
/// A key is queued by the call, before anything is polled: the order of calls is the order in which keys are sent. As long as
/// fewer than [`max_in_flight`](Builder::max_in_flight) batches run, what is queued is sent when a caller is first polled, so that
/// all keys of one [`load_many`](Self::load_many), and of calls made together, go together. Otherwise keys gather, and the next
/// slot that frees takes up to [`max_batch`](Builder::max_batch) of them. A key that waits or flies already is joined, not sent
/// again.
///
/// No runtime is needed: any caller that is polled moves on all batches of the loader, those of others too. When a batch can go
/// on, up to eight callers are woken: seven of them may be futures that live but are never polled again.
///
/// Answers are shared, not remembered: a key that has landed is loaded anew by the next call. Clones of a loader are the same
/// loader. A batch function that owns a clone of its own loader keeps it alive for ever; let it hold something weak.
///
/// # Cancel safety
/// Dropping a caller's future harms nobody else. A key that nobody waits for any more is not sent, and a batch that nobody waits
/// for any more is dropped.
///
/// # Loading from inside the batch function
/// The function, and the future that it makes, may load other keys from the same loader: their batches need no slot. A key that
/// would wait for the batch that loads it gets an error ([`is_reentrant`](crate::Error::is_reentrant)), also by way of other loaders
/// and of flights; of several keys that are loaded together while some of them close such a ring by way of another task, all get
/// it. Loads that the function hands to another task are not known to be its own, unless they follow a
/// [`Trail`](crate::Trail): they wait for a slot as all do. Nor is it known what a key waits for that has no slot yet: a ring by way
/// of the slot itself is not found out, but bounded by [`max_flight`](crate::Builder::max_flight) if a flight is part of it.
///
/// # Panics
/// A batch function that panics, or whose future does, answers all keys of its batch with an error
/// ([`is_panic`](crate::Error::is_panic)), and the loader goes on. A loader's future panics when it is polled after it was ready.
///
/// # Examples
/// ```
/// use oneflight::batch::Loader;
///
/// let loader: Loader<u32, String> = Loader::builder()
///     .max_batch(100)
///     .build(|keys: Vec<u32>| async move {
///         // One query for all of them; what is not there is left out.
///         keys.into_iter().filter(|key| *key < 10).map(|key| (key, format!("row {key}"))).collect::<Vec<_>>()
///     });
///
/// # let wait = |future| futures_util::FutureExt::now_or_never(future).unwrap();
/// let rows = wait(loader.load_many([7, 12, 7]));
/// let rows: Vec<_> = rows.into_iter().map(Result::unwrap).collect();
/// assert_eq!(rows, [Some("row 7".to_owned()), None, Some("row 7".to_owned())]);
/// assert_eq!((loader.stats().batches, loader.stats().sent), (1, 2));
/// ```
pub struct Loader<K, V, E = Infallible> {
    core: Arc<Core<K, V, E>>,
}

/// Says how a [`Loader`] is to batch.
#[must_use = "a builder does nothing until it builds"]
pub struct Builder<K, V, E> {
    limits: Limits,
    kinds: PhantomData<fn(K, E) -> V>,
}

/// What a [`Loader`] has done, and what it is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Keys that were asked for, each time.
    pub asked: u64,
    /// Keys asked for that waited or flew already.
    pub joined: u64,
    /// Keys that were sent.
    pub sent: u64,
    /// Batches that were started.
    pub batches: u64,
    /// Batches that were dropped because all who waited for them had left.
    pub dropped: u64,
    /// Keys that wait for a slot now.
    pub queued: usize,
    /// Batches that run now.
    pub running: usize,
    /// Calls that wait now.
    pub waiting: usize,
}

impl<K, V, E> Loader<K, V, E> {
    /// A builder with one batch of up to 1,000 keys in flight.
    pub fn builder() -> Builder<K, V, E> {
        let limits = Limits {
            max_batch: 1_000,
            max_in_flight: 1,
        };
        Builder {
            limits,
            kinds: PhantomData,
        }
    }

    /// What this loader has done, and what it is doing.
    pub fn stats(&self) -> Stats {
        let window = self.core.window.lock();
        Stats {
            asked: window.counts.asked,
            joined: window.counts.joined,
            sent: window.counts.sent,
            batches: window.counts.batches,
            dropped: window.counts.dropped,
            queued: window.queue.len() + window.urgent.len(),
            running: window.runs.len(),
            waiting: window.calls.len(),
        }
    }

    /// Takes no keys from now on: later calls get an error ([`is_closed`](crate::Error::is_closed)).
    ///
    /// What was asked for before is still loaded, for as long as somebody waits for it.
    pub fn close(&self) {
        self.core.window.lock().is_closed = true;
    }
}

impl<K, V, E> Loader<K, V, E>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    /// Queues a key, now, and returns its value; `None` if there is none.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing for the others; dropping the last one for a key that waits takes it out of the queue.
    ///
    /// # Errors
    /// The error that the batch function gave for this key or for its batch, shared by all who wait for it; a panic in it; a
    /// loader that is closed; a key that would wait for itself.
    pub fn load(&self, key: K) -> Load<K, V, E> {
        Load::new(&self.core, key)
    }

    /// Queues keys, now, and returns their values in the order of the keys. Duplicates are welcome, and sent once.
    ///
    /// All the keys are one waiter, which is woken once, when the last of them has landed. More than
    /// [`max_batch`](Builder::max_batch) of them go in several batches.
    ///
    /// # Cancel safety
    /// As [`load`](Self::load).
    ///
    /// # Errors
    /// As [`load`](Self::load), for each key alone.
    pub fn load_many(&self, keys: impl IntoIterator<Item = K>) -> LoadMany<K, V, E> {
        LoadMany::new(&self.core, keys)
    }

    /// Lets the next call for a key in flight load it anew. Those who wait for the flight still get what it brings. True if it was
    /// in flight.
    ///
    /// A key that waits to be sent stays: it is loaded after this anyway.
    pub fn forget(&self, key: &K) -> bool {
        let hash = self.core.hasher.hash_one(key);
        self.core.window.lock().forget(hash, key)
    }
}

impl<K, V, E> Builder<K, V, E> {
    /// So many keys go in one batch at most. At least one.
    pub fn max_batch(mut self, keys: usize) -> Self {
        self.limits.max_batch = keys.max(1);
        self
    }

    /// So many batches run at once at most. At least one.
    ///
    /// One makes the largest batches; two hide the time between an answer and the next batch.
    pub fn max_in_flight(mut self, batches: usize) -> Self {
        self.limits.max_in_flight = batches.max(1);
        self
    }

    /// A loader with this batch function, which gets at least one key, each once, and returns what it knows of them
    /// ([`IntoAnswers`]).
    pub fn build<F, Fut>(self, function: F) -> Loader<K, V, E>
    where
        K: fmt::Debug,
        F: Fn(Vec<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswers<K, V, E>> + Send + 'static,
    {
        let core = Core::new(self.limits, function);
        Loader { core }
    }
}

impl<K, V, E> Clone for Loader<K, V, E> {
    fn clone(&self) -> Self {
        let core = Arc::clone(&self.core);
        Self { core }
    }
}

impl<K, V, E> fmt::Debug for Loader<K, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Loader");
        debug.field("limits", &self.core.limits);
        debug.field("stats", &self.stats()).finish()
    }
}

impl<K, V, E> fmt::Debug for Builder<K, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Builder").field(&self.limits).finish()
    }
}
