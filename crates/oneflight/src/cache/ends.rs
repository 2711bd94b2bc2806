//! What the end of a load comes to in the store.
//!
//! ```text
//!   a value ──────────▶ is stored; as stale, if its key was expired meanwhile
//!   there is none ────▶ takes what is kept away, and may be remembered
//!   it will not pass ─▶ ends the windows of what is kept ─┐
//!   it may pass ──────────────────────────────────────────┴▶ is noted beside what is kept, if it is not tried again for a while
//! ```
//!
//! All of it under the fence, if the load has a ticket there; what leaves the store is dropped after that.

use super::entry::{Stored, Time, Times, Trouble, What};
use super::fence::{Older, Pass};
use super::inner::{Inner, Load};
use super::policy::{Failure, nanos};
use super::store::Left;
use crate::error::Error;
use crate::sync::Arc;
use std::hash::{BuildHasher, Hash};

/// A load that has failed.
struct Failed<'e, E> {
    load: Load,
    class: Failure,
    error: &'e Error<E>,
    now: Time,
}

impl<K, V, E, S> Inner<K, V, E, S>
where
    K: Hash + Eq,
    V: Clone,
    S: BuildHasher + Clone,
{
    /// A load has landed. What it brings is stored if nothing has overtaken it (F1, F3).
    pub(super) fn land(&self, key: K, load: Load, now: Time, entry: Option<Stored<V, E>>) {
        self.counters.landed.more();
        let stored = self.end(load, |pass, left| {
            let mut entry = entry;
            if let Some(entry) = &mut entry {
                entry.times.limit(pass.expired, pass.cut);
            }
            match entry {
                Some(mut entry) if entry.times.serves_stale(now) => {
                    entry.number = load.number;
                    self.put(key, entry, left);
                }
                over => {
                    self.store.take(&key, left);
                    left.key(key);
                    left.copy(over);
                }
            }
            Older::Goes
        });
        if !stored {
            self.counters.fenced.more();
        }
    }

    /// A load has failed: what that means for what is kept (F1, F3).
    pub(super) fn fail(&self, key: K, load: Load, class: Failure, error: &Error<E>) {
        self.counters.failed.more();
        if load.behind {
            self.counters.refreshes_failed.more();
        }
        let now = self.now();
        let failed = Failed {
            load,
            class,
            error,
            now,
        };
        self.end(load, |pass, left| match class {
            Failure::NotFound => {
                self.note_missing(key, &failed, pass, left);
                Older::Goes
            }
            // It says nothing of the value: an older load may still bring one.
            Failure::Transient => {
                self.note_trouble(key, &failed, pass, left);
                Older::Stays
            }
            Failure::Permanent => match self.note_trouble(key, &failed, pass, left) {
                // What is kept serves while it is fresh, and what is newer than that in its place.
                true => Older::IsCut,
                false => Older::Goes,
            },
        });
    }

    /// Ends a load: `then` does to the store what comes of it, unless something has overtaken the load. What leaves the store is
    /// dropped after the lock.
    fn end(&self, load: Load, then: impl FnOnce(Pass, &mut Left<K, V, E>) -> Older) -> bool {
        let mut left = Left::default();
        let Load { hash, number, .. } = load;
        (self.fences).end(hash, number, |pass| then(pass, &mut left))
    }

    fn note_missing(&self, key: K, failed: &Failed<'_, E>, pass: Pass, left: &mut Left<K, V, E>) {
        if self.policy.negative.is_zero() || pass.expired.is_some() {
            self.store.take(&key, left);
            return left.key(key);
        }
        let until = failed.now.saturating_add(nanos(self.policy.negative));
        let what = What::Missing(failed.error.clone());
        self.put(key, failed.without_value(what, until), left);
    }

    /// True if a value is kept.
    fn note_trouble(
        &self,
        key: K,
        failed: &Failed<'_, E>,
        pass: Pass,
        left: &mut Left<K, V, E>,
    ) -> bool {
        // What counts no more serves nobody, and would hide the trouble along with itself (F4).
        let (kept, over) = match self.store.peek(&key) {
            Some(kept) if kept.born >= self.valid_from() => (Some(kept), None),
            over => (None, over),
        };
        left.copy(over);
        let before = kept.as_ref().and_then(|kept| kept.trouble.as_deref());
        // Who expired the key wants it loaded anew, whatever became of loads that were up then.
        let trouble = match pass.expired {
            None => self.trouble(failed, before),
            Some(_) => None,
        };
        match kept {
            Some(mut kept) if kept.value().is_some() => {
                if failed.class == Failure::Permanent {
                    kept.times.cut();
                }
                if trouble.is_some() {
                    left.trouble(std::mem::replace(&mut kept.trouble, trouble));
                }
                self.replace(key, kept, left);
                true
            }
            kept => {
                left.copy(kept);
                // A pause of refreshes is for those who have a value meanwhile.
                match trouble.filter(|trouble| trouble.for_all) {
                    Some(trouble) => self.put(key, failed.with_trouble(trouble), left),
                    None if pass.expired.is_some() => left.key(key),
                    None => {
                        self.store.take(&key, left);
                        left.key(key);
                    }
                }
                false
            }
        }
    }

    /// Until when it is not tried again; none if it may be at once.
    fn trouble(
        &self,
        failed: &Failed<'_, E>,
        before: Option<&Trouble<E>>,
    ) -> Option<Arc<Trouble<E>>> {
        let failures = before.map_or(0, |trouble| trouble.failures) + 1;
        let (pause, for_all) = self.policy.pause(failures, failed.load.behind)?;
        Some(Arc::new(Trouble {
            error: failed.error.clone(),
            until: failed.now.saturating_add(pause),
            failures,
            for_all,
        }))
    }

    /// Stores an entry, and counts who had to make room. Only under the fence.
    pub(super) fn put(&self, key: K, entry: Stored<V, E>, left: &mut Left<K, V, E>) {
        let calm_until = self.policy.ahead.calm_until(&entry.times, entry.took);
        let made_room = self.store.put(key, entry, calm_until, left);
        if made_room > 0 {
            self.counters.evicted.add(made_room);
        }
    }

    /// Changes an entry that is there. Only under the fence.
    pub(super) fn replace(&self, key: K, entry: Stored<V, E>, left: &mut Left<K, V, E>) {
        let calm_until = self.policy.ahead.calm_until(&entry.times, entry.took);
        self.store.replace(key, entry, calm_until, left);
    }
}

impl<E> Failed<'_, E> {
    /// An entry for a pause, where there is no value that it could stand beside.
    fn with_trouble<V>(&self, trouble: Arc<Trouble<E>>) -> Stored<V, E> {
        Stored {
            trouble: Some(trouble),
            // It hides nothing that an older load may bring.
            number: 0,
            ..self.without_value(What::Nothing, self.now)
        }
    }

    fn without_value<V>(&self, what: What<V, E>, until: Time) -> Stored<V, E> {
        Stored {
            what,
            times: Times {
                at: self.now,
                fresh_until: until,
                stale_for: 0,
                error_for: 0,
            },
            born: self.load.born,
            number: self.load.number,
            trouble: None,
            took: 0,
            weight: 1,
        }
    }
}
