//! The caches, and the group alone beside them. How each is asked to load is in `trial`; here is how it is made to measure, and
//! asked for what it keeps.

pub(crate) use trial::{Cachet, Foyer, Moka, Plain, QuickCache};

use oneflight::cache::Cache;
use oneflight::{Error, Tokio};
use std::convert::Infallible;
use std::future::{Future, ready};
use std::time::Duration;
use trial::{Kind, ROOM, Subject, Work};

/// How long values live, where they have a lifetime: longer than any test.
const TTL: Duration = Duration::from_secs(3600);

/// A cache that can be asked for what it keeps.
pub(crate) trait Cached: Subject {
    /// Whether its values can have a lifetime.
    const HAS_TTL: bool;

    /// One for so many values, with a lifetime or without.
    fn sized(room: usize, timed: bool) -> Self;

    /// What it keeps for a key; loads nothing.
    fn get(&'static self, key: &'static u64) -> impl Future<Output = Option<u64>> + Send + 'static;
}

/// This crate's cache.
#[derive(Debug)]
pub(crate) struct Kept(Cache<u64, u64>);

impl Subject for Kept {
    const NAME: &'static str = "oneflight::cache";
    const KIND: Kind = Kind::Ours;
    type Answer = Result<u64, Error<Infallible>>;

    fn new() -> Self {
        Self::sized(ROOM, false)
    }

    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = Self::Answer> + Send + 'static {
        self.0.get_or_load(key, || work.fallible())
    }

    fn value(answer: Self::Answer) -> u64 {
        answer.unwrap_or(u64::MAX)
    }
}

impl Cached for Kept {
    const HAS_TTL: bool = true;

    fn sized(room: usize, timed: bool) -> Self {
        Self(match timed {
            false => Cache::new(room as u64),
            true => Cache::builder(room as u64).clock(Tokio).ttl(TTL).build(),
        })
    }

    fn get(&'static self, key: &'static u64) -> impl Future<Output = Option<u64>> + Send + 'static {
        ready(self.0.get(key))
    }
}

impl Cached for Moka {
    const HAS_TTL: bool = true;

    fn sized(room: usize, timed: bool) -> Self {
        let builder = moka::future::Cache::builder().max_capacity(room as u64);
        Self(match timed {
            false => builder.build(),
            true => builder.time_to_live(TTL).build(),
        })
    }

    fn get(&'static self, key: &'static u64) -> impl Future<Output = Option<u64>> + Send + 'static {
        self.0.get(key)
    }
}

impl Cached for QuickCache {
    const HAS_TTL: bool = false;

    fn sized(room: usize, _: bool) -> Self {
        Self(quick_cache::sync::Cache::new(room))
    }

    fn get(&'static self, key: &'static u64) -> impl Future<Output = Option<u64>> + Send + 'static {
        ready(self.0.get(key))
    }
}

impl Cached for Foyer {
    const HAS_TTL: bool = false;

    fn sized(room: usize, _: bool) -> Self {
        Self(foyer_memory::CacheBuilder::new(room).build())
    }

    fn get(&'static self, key: &'static u64) -> impl Future<Output = Option<u64>> + Send + 'static {
        ready(self.0.get(key).map(|entry| *entry.value()))
    }
}

impl Cached for Cachet {
    const HAS_TTL: bool = true;

    fn sized(room: usize, timed: bool) -> Self {
        let builder = cachet::Cache::builder(tick::Clock::new_tokio())
            .memory_with(move |memory| memory.max_capacity(room as u64))
            .stampede_protection();
        Self(match timed {
            false => builder.build(),
            true => builder.ttl(TTL).build(),
        })
    }

    async fn get(&'static self, key: &'static u64) -> Option<u64> {
        let entry = self.0.get(key).await.ok()??;
        Some(*entry.value())
    }
}

/// Runs `$body` with `$S` as the cache of that name; `None` if there is none.
macro_rules! with_cache {
    ($name:expr, $S:ident => $body:expr) => {
        $crate::subject::with_cache!(@ $name, $S => $body; Kept, Moka, QuickCache, Foyer, Cachet)
    };
    (@ $name:expr, $S:ident => $body:expr; $($Type:ident),*) => {{
        let name = $name;
        $(if name == <$crate::subject::$Type as trial::Subject>::NAME {
            type $S = $crate::subject::$Type;
            Some($body)
        } else)* {
            None
        }
    }};
}
pub(crate) use with_cache;

/// The names of all subjects, in the order of the tables.
pub(crate) const NAMES: [&str; 6] = [
    Kept::NAME,
    Plain::NAME,
    Moka::NAME,
    QuickCache::NAME,
    Foyer::NAME,
    Cachet::NAME,
];

/// Whether values of the subject of that name can have a lifetime; `None` if it keeps none at all.
pub(crate) fn has_ttl(name: &str) -> Option<bool> {
    with_cache!(name, S => <S as Cached>::HAS_TTL)
}
