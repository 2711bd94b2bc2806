//! The bounded store: quick_cache, which decides who must go when room is short. Nobody else knows it.
//!
//! What it calls of the user's under its locks is `Hash`, `Eq` and `Clone` of keys and `Clone` of values. It drops nothing: what
//! leaves it is handed out ([`Left`]), to be dropped once no lock is held.
//!
//! A hit pays for every byte that the library copies for it. So what a hit needs stands in front, and the rest in a box that a copy
//! does without; who needs all asks for it ([`Store::peek`]).

use super::entry::{Stored, Time, Times, Trouble, What};
use crate::error::Error;
use crate::flight::Mark;
use crate::sync::Arc;
use quick_cache::sync::Cache;
use quick_cache::{Lifecycle, OptionsBuilder, Weighter};
use std::borrow::Borrow;
use std::cell::RefCell;
use std::hash::{BuildHasher, Hash};

/// What is kept.
pub(super) struct Store<K, V, E, S> {
    kept: Cache<K, Kept<V, E>, ByWeight, S, HandedOut>,
    /// The model checker does not know the library's locks: this one tells it when the store is used.
    #[cfg(oneflight_loom)]
    door: crate::sync::Mutex<()>,
}

/// An entry as it is kept. A copy of it has no rest.
struct Kept<V, E> {
    seen: Seen<V>,
    rest: Option<Box<Rest<E>>>,
}

/// What a hit needs of an entry.
#[derive(Clone)]
pub(super) struct Seen<V> {
    pub(super) value: Option<V>,
    /// Before this, the value is fresh, and nothing else is to be thought of.
    pub(super) calm_until: Time,
    pub(super) at: Time,
    pub(super) born: Mark,
}

/// What a hit does not need.
struct Rest<E> {
    missing: Option<Error<E>>,
    times: Times,
    number: u64,
    trouble: Option<Arc<Trouble<E>>>,
    took: u32,
    weight: u32,
}

impl<V, E> Kept<V, E> {
    fn new(stored: Stored<V, E>, calm_until: Time) -> Self {
        let (value, missing) = match stored.what {
            What::Value(value) => (Some(value), None),
            What::Missing(error) => (None, Some(error)),
            What::Nothing => (None, None),
        };
        let seen = Seen {
            value,
            calm_until,
            at: stored.times.at,
            born: stored.born,
        };
        Self {
            seen,
            rest: Some(Box::new(Rest {
                missing,
                times: stored.times,
                number: stored.number,
                trouble: stored.trouble,
                took: stored.took,
                weight: stored.weight,
            })),
        }
    }

    /// All of it.
    fn whole(&self) -> Option<Stored<V, E>>
    where
        V: Clone,
    {
        let rest = self.rest.as_ref()?;
        let what = match (&self.seen.value, &rest.missing) {
            (Some(value), _) => What::Value(value.clone()),
            (None, Some(error)) => What::Missing(error.clone()),
            (None, None) => What::Nothing,
        };
        Some(Stored {
            what,
            times: rest.times,
            born: self.seen.born,
            number: rest.number,
            trouble: rest.trouble.clone(),
            took: rest.took,
            weight: rest.weight,
        })
    }
}

impl<V: Clone, E> Clone for Kept<V, E> {
    #[inline]
    fn clone(&self) -> Self {
        Self {
            seen: self.seen.clone(),
            rest: None,
        }
    }
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

impl<K, V, E> Weighter<K, Kept<V, E>> for ByWeight {
    #[inline]
    fn weight(&self, _: &K, kept: &Kept<V, E>) -> u64 {
        kept.rest.as_ref().map_or(1, |rest| rest.weight.into())
    }
}

/// What leaves the store is handed to whoever made it leave.
#[derive(Clone, Debug)]
struct HandedOut;

/// What has left the store by itself.
struct Out<K, T> {
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
    fn push(&mut self, key: K, kept: T) {
        match self.first.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some((key, kept)),
            None => self.more.push((key, kept)),
        }
    }

    /// How many have left.
    fn count(&self) -> usize {
        self.first.iter().flatten().count() + self.more.len()
    }
}

/// What has left a store, and whatever else of the user's is to be dropped once no lock is held.
pub(super) struct Left<K, V, E> {
    out: Out<K, Kept<V, E>>,
    others: Vec<Other<K, V, E>>,
}

/// Of the user's, and in nobody's way any more.
#[allow(dead_code, reason = "held to be dropped after the locks")]
enum Other<K, V, E> {
    Key(K),
    Copy(Stored<V, E>),
    Trouble(Arc<Trouble<E>>),
}

impl<K, V, E> Default for Left<K, V, E> {
    fn default() -> Self {
        Self {
            out: Out::default(),
            others: Vec::new(),
        }
    }
}

impl<K, V, E> Left<K, V, E> {
    pub(super) fn key(&mut self, key: K) {
        self.others.push(Other::Key(key));
    }

    pub(super) fn copy(&mut self, copy: Option<Stored<V, E>>) {
        self.others.extend(copy.map(Other::Copy));
    }

    pub(super) fn trouble(&mut self, trouble: Option<Arc<Trouble<E>>>) {
        self.others.extend(trouble.map(Other::Trouble));
    }
}

impl<K, T> Lifecycle<K, T> for HandedOut {
    type RequestState = Out<K, T>;

    fn on_evict(&self, out: &mut Out<K, T>, key: K, kept: T) {
        out.push(key, kept);
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
            #[cfg(oneflight_loom)]
            door: crate::sync::Mutex::new(()),
        }
    }

    /// Each use of the store comes by here, for the model checker to see it.
    #[inline]
    fn used(&self) -> &Cache<K, Kept<V, E>, ByWeight, S, HandedOut> {
        #[cfg(oneflight_loom)]
        drop(self.door.lock());
        &self.kept
    }

    /// What a hit needs of the entry for a key. It counts as used.
    #[inline(always)]
    pub(super) fn glance<Q>(&self, key: &Q) -> Option<Seen<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let Kept { seen, rest } = self.used().get(key)?;
        debug_assert!(rest.is_none(), "a copy has no rest");
        // The compiler does not know it, and would look for something to drop at every hit.
        std::mem::forget(rest);
        Some(seen)
    }

    /// The entry for a key, which does not count as used.
    pub(super) fn peek<Q>(&self, key: &Q) -> Option<Stored<V, E>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.look(key, Kept::whole).flatten()
    }

    /// A look at an entry, where it is.
    fn look<Q, R>(&self, key: &Q, look: impl FnOnce(&Kept<V, E>) -> R) -> Option<R>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut seen = None;
        // The library's one way to look without a copy.
        let taken = self.used().remove_if(key, |kept| {
            seen = Some(look(kept));
            false
        });
        debug_assert!(taken.is_none(), "a look takes nothing out");
        seen
    }

    /// Puts an entry there; how many others had to make room.
    pub(super) fn put(
        &self,
        key: K,
        stored: Stored<V, E>,
        calm_until: Time,
        left: &mut Left<K, V, E>,
    ) -> usize {
        let replaced = usize::from(self.used().contains_key(&key));
        let before = left.out.count();
        let kept = Kept::new(stored, calm_until);
        (self.used()).insert_with_lifecycle(key, kept, &mut left.out);
        (left.out.count() - before).saturating_sub(replaced)
    }

    /// Puts another entry in the place of the one for a key, if it is still there. That is no use of it.
    pub(super) fn replace(
        &self,
        key: K,
        stored: Stored<V, E>,
        calm_until: Time,
        left: &mut Left<K, V, E>,
    ) {
        let kept = Kept::new(stored, calm_until);
        let put = (self.used()).replace_with_lifecycle(key, kept, true, &mut left.out);
        if let Err((key, kept)) = put {
            left.out.push(key, kept);
        }
    }

    /// Takes out the entry for a key, if there is one.
    pub(super) fn take<Q>(&self, key: &Q, left: &mut Left<K, V, E>)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some((key, kept)) = self.used().remove(key) {
            left.out.push(key, kept);
        }
    }

    /// Drops all entries but those for which it holds of their times, their trouble and when they began. Under no lock.
    pub(super) fn retain(&self, keep: impl Fn(&Times, Option<&Trouble<E>>, Mark) -> bool)
    where
        K: Clone,
    {
        let keeps = |kept: &Kept<V, E>| {
            let rest = kept.rest.as_ref();
            rest.is_some_and(|rest| keep(&rest.times, rest.trouble.as_deref(), kept.seen.born))
        };
        // The library drops under its locks what it is not to retain: so it only shows what there is.
        let goes = RefCell::new(Vec::new());
        self.used().retain(|key, kept| {
            if !keeps(kept) {
                goes.borrow_mut().push(key.clone());
            }
            true
        });
        for key in goes.into_inner() {
            drop(self.used().remove_if(&key, |kept| !keeps(kept)));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(super) fn weight(&self) -> u64 {
        self.kept.weight()
    }
}
