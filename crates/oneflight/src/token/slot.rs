//! What a source and its flights share: what was handed in, and the state.

use super::event::{Event, Hook};
use super::failure::{Failure, RefreshError};
use super::pair::{Grant, Pair, Stored, Token, Version};
use super::schedule::{Ahead, Times};
use super::secret::Secret;
use super::state::{Look, News, State};
use super::store::Store;
use super::wall::Wall;
use crate::clock::Clock;
use crate::hash::RandomState;
use crate::lease::Lease;
use crate::sync::{Arc, Mutex};
use std::fmt;
use std::future::Future;
use std::hash::BuildHasher;
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime};

/// A refresh that is under way.
pub(super) type Refreshing<E> =
    Pin<Box<dyn Future<Output = Result<Grant, RefreshError<E>>> + Send>>;

/// Refreshes: by this refresh token, or by other means if there is none.
pub(super) type Refresher<E> = Box<dyn Fn(Option<Secret>) -> Refreshing<E> + Send + Sync>;

/// The name of a source: the key of its flights.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Name(pub(super) Arc<str>);

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How long things may take. Every bound of a source has its name here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) ahead: Ahead,
    /// Within this after it was first sent, the server takes a refresh token again.
    pub(super) grace: Duration,
    /// A request may take this long.
    pub(super) answer: Duration,
    /// A flight may: lease, store, all its requests.
    pub(super) flight: Duration,
}

/// What a source and its flights share.
pub(super) struct Slot<E> {
    pub(super) name: Name,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) wall: Arc<dyn Wall>,
    pub(super) store: Arc<dyn Store>,
    pub(super) lease: Option<Arc<dyn Lease>>,
    pub(super) refresher: Refresher<E>,
    pub(super) limits: Limits,
    pub(super) hook: Hook<E>,
    pub(super) chance: Chance,
    pub(super) state: Mutex<State<E>>,
}

/// Where jitter comes from: a seed, and the number of what it is for.
#[derive(Debug)]
pub(super) struct Chance(pub(super) Option<u64>, pub(super) RandomState);

impl Chance {
    /// A number from 0 to 1, always the same for the same thing.
    fn of(&self, thing: u64) -> f64 {
        let bits = match self.0 {
            None => self.1.hash_one(thing),
            // SplitMix64: one step spreads neighbouring numbers over all bits.
            Some(seed) => {
                let z = seed.wrapping_add(thing.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^ (z >> 31)
            }
        };
        f64::from((bits >> 32) as u32) / f64::from(u32::MAX)
    }
}

/// The time, by both clocks.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) clock: Instant,
    pub(super) wall: SystemTime,
}

impl<E> Slot<E> {
    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(super) fn moment(&self) -> Moment {
        Moment {
            clock: self.clock.now(),
            wall: self.wall.now(),
        }
    }

    /// A number from 0 to 1 for the pair of a version.
    pub(super) fn jitter(&self, version: Version, of: u32) -> f64 {
        self.chance.of(version.get() ^ (u64::from(of) << 32))
    }

    /// The times of a pair, as they are at a moment.
    pub(super) fn times(&self, version: Version, pair: &Pair, at: Moment) -> Option<Times> {
        let (left, life) = pair.life(at.wall)?;
        let jitter = self.jitter(version, 0);
        self.limits.ahead.times(at.clock, left, life, jitter)
    }

    pub(super) fn look(&self) -> Look<E> {
        let now = self.now();
        self.state.lock().look(now)
    }

    /// The present token, if it is good and another than this one.
    pub(super) fn good(&self, other_than: Option<&Token>) -> Option<Token> {
        let now = self.now();
        let good = self.state.lock().good(now);
        good.filter(|token| Some(token) != other_than)
    }

    /// Reads the store and takes what it has, which is of the version that is returned.
    pub(super) async fn read(&self) -> Result<Version, Failure<E>> {
        let epoch = self.state.lock().epoch();
        let loaded = self.store.load().await;
        let stored = loaded.map_err(|error| Failure::store("load", error))?;
        self.adopt(&stored, epoch);
        Ok(stored.version)
    }

    /// Tells what is new in what the store had at `epoch`, and takes it.
    fn adopt(&self, stored: &Stored, epoch: u64) {
        let news = self.state.lock().news(stored, epoch);
        match news {
            News::Nothing => {}
            News::Found => self.hook.tell(&Event::Found {
                version: stored.version,
            }),
            News::LoginNeeded => self.hook.tell(&Event::LoginNeeded {
                failure: &Failure::logged_out(),
            }),
        }
        let at = self.moment();
        let times = (stored.pair.as_ref()).and_then(|pair| self.times(stored.version, pair, at));
        let _old = self.state.lock().adopt(stored, times, epoch, at);
    }
}

impl<E> fmt::Debug for Slot<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("name", &self.name)
            .field("limits", &self.limits)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_spread_and_repeats_itself() {
        for seed in [None, Some(0), Some(7)] {
            let chance = Chance(seed, RandomState::default());
            let all: Vec<_> = (0..1000).map(|thing| chance.of(thing)).collect();
            let again: Vec<_> = (0..1000).map(|thing| chance.of(thing)).collect();
            assert_eq!(all, again);
            assert!(all.iter().all(|number| (0.0..=1.0).contains(number)));
            let mean = all.iter().sum::<f64>() / 1000.0;
            assert!((0.4..0.6).contains(&mean), "{mean}");
        }
    }
}
