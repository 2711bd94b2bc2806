//! What is kept for a key, and how old it is. Pure: the time comes in as a number.
//!
//! ```text
//!      at          fresh_until      + stale_for               a window begins where freshness ends (RFC 5861),
//!   ───┼── Fresh ──────┼── Stale ───────┼── Grace ───┼── Dead        and the two overlap
//!                      └──────────────── + error_for ┘
//! ```

use crate::error::Error;
use crate::flight::Mark;
use std::sync::Arc;

/// Nanoseconds since the cache was made.
pub(super) type Time = u64;

/// No entry lives that long.
pub(super) const NEVER: Time = Time::MAX;

/// When an entry was stored, and how long it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) at: Time,
    pub(super) fresh_until: Time,
    /// So long after that it serves while it is loaded anew.
    pub(super) stale_for: Time,
    /// So long after that it serves if loading fails.
    pub(super) error_for: Time,
}

/// What an entry's age allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    Fresh,
    /// It serves at once, and is to be loaded anew.
    Stale,
    /// It is to be loaded anew, and serves if that fails.
    Grace,
    Dead,
}

/// An entry.
#[derive(Debug)]
pub(super) struct Stored<V, E> {
    pub(super) what: What<V, E>,
    pub(super) times: Times,
    /// The group's time when its load began: what a mark is compared with.
    pub(super) born: Mark,
    /// The number of the load or insert that it comes of (F3).
    pub(super) number: u64,
    /// Why it could not be loaded anew.
    pub(super) trouble: Option<Arc<Trouble<E>>>,
    /// How many microseconds its load took.
    pub(super) took: u32,
    pub(super) weight: u32,
}

#[derive(Debug)]
pub(super) enum What<V, E> {
    Value(V),
    /// There is none; this said so.
    Missing(Error<E>),
    /// Nothing is known but the trouble.
    Nothing,
}

/// Loading has failed.
#[derive(Debug)]
pub(super) struct Trouble<E> {
    pub(super) error: Error<E>,
    /// It is not tried again before.
    pub(super) until: Time,
    /// So many times, one after the other.
    pub(super) failures: u32,
    /// Nobody is to try before; else it is only refreshes behind that are not to.
    pub(super) for_all: bool,
}

impl Times {
    #[inline]
    pub(super) fn age(&self, now: Time) -> Age {
        if now < self.fresh_until {
            return Age::Fresh;
        }
        let stale = now - self.fresh_until;
        if stale < self.stale_for {
            Age::Stale
        } else if stale < self.error_for {
            Age::Grace
        } else {
            Age::Dead
        }
    }

    /// True if it serves when loading has failed.
    pub(super) fn serves_on_error(&self, now: Time) -> bool {
        now < self.fresh_until || now - self.fresh_until < self.error_for
    }

    /// True if it serves when loading is slow.
    pub(super) fn serves_stale(&self, now: Time) -> bool {
        self.age(now) != Age::Dead
    }

    /// Stale from now on, if it was fresh.
    pub(super) fn expire(&mut self, now: Time) {
        self.fresh_until = self.fresh_until.min(now);
    }

    /// Stale from `expired` on, and not serving then if it is `cut`.
    pub(super) fn limit(&mut self, expired: Option<Time>, cut: bool) {
        if let Some(at) = expired {
            self.expire(at);
        }
        if cut {
            self.cut();
        }
    }

    /// It does not serve once it is stale.
    pub(super) fn cut(&mut self) {
        (self.stale_for, self.error_for) = (0, 0);
    }
}

impl<V, E> Stored<V, E> {
    /// The trouble, while it is not to be tried again.
    pub(super) fn backing_off(&self, now: Time) -> Option<&Trouble<E>> {
        self.trouble.as_deref().filter(|it| now < it.until)
    }

    /// A value.
    pub(super) fn value(&self) -> Option<&V> {
        match &self.what {
            What::Value(value) => Some(value),
            What::Missing(_) | What::Nothing => None,
        }
    }
}

impl<V: Clone, E> Clone for Stored<V, E> {
    #[inline]
    fn clone(&self) -> Self {
        Self {
            what: match &self.what {
                What::Value(value) => What::Value(value.clone()),
                What::Missing(error) => What::Missing(error.clone()),
                What::Nothing => What::Nothing,
            },
            times: self.times,
            born: self.born,
            number: self.number,
            trouble: self.trouble.clone(),
            took: self.took,
            weight: self.weight,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times {
        at: 10,
        fresh_until: 20,
        stale_for: 5,
        error_for: 30,
    };

    #[test]
    fn windows_begin_where_freshness_ends_and_overlap() {
        let table = [
            (10, Age::Fresh, true),
            (19, Age::Fresh, true),
            (20, Age::Stale, true),
            (24, Age::Stale, true),
            (25, Age::Grace, true),
            (49, Age::Grace, true),
            (50, Age::Dead, false),
            (NEVER, Age::Dead, false),
        ];
        for (now, age, on_error) in table {
            assert_eq!(TIMES.age(now), age, "at {now}");
            assert_eq!(TIMES.serves_on_error(now), on_error, "at {now}");
            assert_eq!(TIMES.serves_stale(now), age != Age::Dead, "at {now}");
        }
    }

    #[test]
    fn a_window_for_errors_may_be_the_shorter_one() {
        let times = Times {
            error_for: 2,
            ..TIMES
        };
        assert_eq!(
            (times.age(24), times.serves_on_error(24)),
            (Age::Stale, false)
        );
        assert_eq!(
            (times.age(25), times.serves_on_error(21)),
            (Age::Dead, true)
        );
    }

    #[test]
    fn what_never_expires_is_fresh_until_it_is_expired() {
        let mut times = Times {
            fresh_until: NEVER,
            ..TIMES
        };
        assert_eq!(times.age(NEVER - 1), Age::Fresh);
        times.expire(40);
        assert_eq!((times.age(39), times.age(40)), (Age::Fresh, Age::Stale));
        times.expire(60);
        assert_eq!(times.age(45), Age::Grace, "it is stale from the first time");
        times.cut();
        assert_eq!((times.age(39), times.age(40)), (Age::Fresh, Age::Dead));
    }
}
