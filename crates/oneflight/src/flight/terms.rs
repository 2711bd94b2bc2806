//! What a cache asks of a group, beyond what anybody may: calls on terms, and a look at what is up.

#[cfg(feature = "cache")]
use super::ask::Lent;
#[cfg(feature = "cache")]
use super::group::Group;
use super::group::Mark;
#[cfg(feature = "cache")]
use super::join::Join;
#[cfg(feature = "cache")]
use std::borrow::Borrow;
#[cfg(feature = "cache")]
use std::fmt;
#[cfg(feature = "cache")]
use std::hash::{BuildHasher, Hash};
use std::time::Instant;

/// Whom a call may join.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// No flight that began before this.
    pub(crate) since: Mark,
    /// No flight for which so many wait.
    pub(crate) most: u32,
    /// The time, if anybody cares: a flight that takes longer than it may by then is not joined, and one that is started begins then.
    pub(crate) now: Option<Instant>,
}

#[cfg(feature = "cache")]
impl<K, V, E, S> Group<K, V, E, S>
where
    K: Hash + Eq + fmt::Debug + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: BuildHasher + Send + Sync + 'static,
{
    /// Joins the flight for a key or starts one, on terms. None if too many wait for the one that is up.
    pub(crate) fn run_on<Q, W, F>(
        &self,
        terms: Terms,
        key: &Q,
        work: W,
    ) -> Option<Join<'_, K, V, E, S>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        W: FnOnce() -> F,
        F: Future<Output = Result<V, E>> + Send + 'static,
    {
        self.attach(terms, Lent(key), work)
    }

    /// The mark that flights begin at now.
    pub(crate) fn epoch(&self) -> Mark {
        Mark(self.table.epoch())
    }

    /// True if a flight for the key is up, and takes no longer by `now` than it may.
    pub(crate) fn is_up<Q>(&self, now: Option<Instant>, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.table.hash(key);
        let shard = self.table.shard(hash).lock();
        let flight = (shard.flights).find(hash, |flight| flight.key.borrow() == key);
        flight.is_some_and(|flight| !flight.state.is_over() && !self.is_overdue(now, flight))
    }

    /// True if no flight for the key is started any more.
    pub(crate) fn is_closed<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.table.hash(key);
        self.table.shard(hash).lock().closed
    }
}
