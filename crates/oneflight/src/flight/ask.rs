//! A key as it is asked for: lent by its caller, or given.

use super::table::Table;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

/// A key as its caller brings it.
pub(super) trait Ask<K> {
    fn hash<V, E, S: BuildHasher>(&self, table: &Table<K, V, E, S>) -> u64;
    fn is(&self, other: &K) -> bool;
    fn own(self) -> K;
}

/// A key that is only lent: the leader makes its own.
pub(super) struct Lent<'q, Q: ?Sized>(pub(super) &'q Q);

/// A key that the leader may keep.
pub(super) struct Given<K>(pub(super) K);

impl<K, Q> Ask<K> for Lent<'_, Q>
where
    K: Borrow<Q>,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
{
    fn hash<V, E, S: BuildHasher>(&self, table: &Table<K, V, E, S>) -> u64 {
        table.hash(self.0)
    }

    fn is(&self, other: &K) -> bool {
        other.borrow() == self.0
    }

    fn own(self) -> K {
        self.0.to_owned()
    }
}

impl<K: Hash + Eq> Ask<K> for Given<K> {
    fn hash<V, E, S: BuildHasher>(&self, table: &Table<K, V, E, S>) -> u64 {
        table.hash(&self.0)
    }

    fn is(&self, other: &K) -> bool {
        *other == self.0
    }

    fn own(self) -> K {
        self.0
    }
}
