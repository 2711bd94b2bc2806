//! The bounded store: quick_cache, which decides who must go when room is short. Nobody else knows it.
//!
//! What it calls of the user's under its locks is `Hash` and `Eq` of keys and `Clone` of values; what it drops is handed out.

use super::entry::Stored;
use quick_cache::sync::Cache;
use quick_cache::{Lifecycle, OptionsBuilder, Weighter};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

/// What is kept.
pub(super) struct Store<K, V, E, S> {
    kept: Cache<K, Stored<V, E>, ByWeight, S, HandedOut>,
}

/// How large a store is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The weight of all there is, at most.
    pub(super) capacity: u64,
    /// About how many keys that will be.
    pub(super) keys: usize,
    /// With 0, as usual.
    pub(super) shards: usize,
}

/// An entry knows its weight.
#[derive(Clone, Debug)]
struct ByWeight;

impl<K, V, E> Weighter<K, Stored<V, E>> for ByWeight {
    #[inline]
    fn weight(&self, _: &K, stored: &Stored<V, E>) -> u64 {
        stored.weight.into()
    }
}

/// What leaves the store is handed to whoever made it leave.
#[derive(Clone, Debug)]
struct HandedOut;

/// What has left the store, to be dropped once no lock is held.
#[must_use = "it is to be dropped once no lock is held"]
pub(super) struct Out<K, T> {
    first: [Option<(K, T)>; 2],
    more: Vec<(K, T)>,
}

impl<K, T> Default for Out<K, T> {
    fn default() -> Self {
        Self {
            first: [None, None],
            more: Vec::new(),
        }
    }
}

impl<K, T> Out<K, T> {
    fn push(&mut self, key: K, stored: T) {
        match self.first.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some((key, stored)),
            None => self.more.push((key, stored)),
        }
    }

    /// How many have left.
    pub(super) fn count(&self) -> usize {
        self.first.iter().flatten().count() + self.more.len()
    }
}

impl<K, T> Lifecycle<K, T> for HandedOut {
    type RequestState = Out<K, T>;

    fn on_evict(&self, out: &mut Out<K, T>, key: K, stored: T) {
        out.push(key, stored);
    }
}

impl<K, V, E, S> Store<K, V, E, S>
where
    K: Hash + Eq,
    V: Clone,
    S: BuildHasher + Clone,
{
    pub(super) fn new(room: Room, hasher: S) -> Self {
        let mut options = OptionsBuilder::new();
        options.weight_capacity(room.capacity);
        options.estimated_items_capacity(room.keys);
        if room.shards > 0 {
            options.shards(room.shards);
        }
        // It fails only if one of the two is not set.
        let options = options.build();
        let options = options.unwrap_or_else(|error| panic!("the store's options: {error}"));
        Self {
            kept: Cache::with_options(options, ByWeight, hasher, HandedOut),
        }
    }

    /// The entry for a key; it counts as used.
    #[inline]
    pub(super) fn get<Q>(&self, key: &Q) -> Option<Stored<V, E>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.kept.get(key)
    }

    /// The entry for a key, which does not count as used.
    pub(super) fn peek<Q>(&self, key: &Q) -> Option<Stored<V, E>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.kept.peek(key)
    }

    /// The number of the entry for a key.
    pub(super) fn number<Q>(&self, key: &Q) -> Option<u64>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut number = None;
        // A look that copies no value.
        let none = self.kept.remove_if(key, |stored| {
            number = Some(stored.number);
            false
        });
        debug_assert!(none.is_none(), "a look takes nothing out");
        number
    }

    pub(super) fn put(&self, key: K, stored: Stored<V, E>) -> Out<K, Stored<V, E>> {
        let mut out = Out::default();
        self.kept.insert_with_lifecycle(key, stored, &mut out);
        out
    }

    /// Puts another entry in the place of the one for a key, if it is still there. That is no use of it.
    pub(super) fn replace(&self, key: K, stored: Stored<V, E>) -> Out<K, Stored<V, E>> {
        let mut out = Out::default();
        let put = (self.kept).replace_with_lifecycle(key, stored, true, &mut out);
        if let Err((key, stored)) = put {
            out.push(key, stored);
        }
        out
    }

    pub(super) fn take<Q>(&self, key: &Q) -> Out<K, Stored<V, E>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut out = Out::default();
        if let Some((key, stored)) = self.kept.remove(key) {
            out.push(key, stored);
        }
        out
    }

    pub(super) fn retain(&self, keep: impl Fn(&Stored<V, E>) -> bool) {
        self.kept.retain(|_, stored| keep(stored));
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(super) fn weight(&self) -> u64 {
        self.kept.weight()
    }
}
