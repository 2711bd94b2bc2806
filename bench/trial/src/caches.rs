//! Caches that load a missing value once. They do more than single flight: they keep the value, and put another one out.

use crate::subject::{Kind, Subject};
use crate::work::Work;
use std::convert::Infallible;
use std::future::Future;

/// Values that a cache has room for, if nothing else is said.
pub const ROOM: usize = 1_024;

/// moka, `get_with`.
#[derive(Debug)]
pub struct Moka(pub moka::future::Cache<u64, u64>);

impl Subject for Moka {
    const NAME: &'static str = "moka";
    const KIND: Kind = Kind::Cache;
    type Answer = u64;

    fn new() -> Self {
        Self(moka::future::Cache::new(ROOM as u64))
    }

    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = u64> + Send + 'static {
        self.0.get_with_by_ref(key, work)
    }

    fn value(answer: u64) -> u64 {
        answer
    }
}

/// quick_cache, `get_or_insert_async`.
#[derive(Debug)]
pub struct QuickCache(pub quick_cache::sync::Cache<u64, u64>);

impl Subject for QuickCache {
    const NAME: &'static str = "quick_cache";
    const KIND: Kind = Kind::Cache;
    type Answer = Result<u64, Infallible>;

    fn new() -> Self {
        Self(quick_cache::sync::Cache::new(ROOM))
    }

    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = Self::Answer> + Send + 'static {
        self.0.get_or_insert_async(key, work.fallible())
    }

    fn value(answer: Self::Answer) -> u64 {
        answer.unwrap_or(u64::MAX)
    }
}

/// foyer's cache in memory, `get_or_fetch`: a task runs the work.
#[derive(Debug)]
pub struct Foyer(pub foyer_memory::Cache<u64, u64>);

impl Subject for Foyer {
    const NAME: &'static str = "foyer";
    const KIND: Kind = Kind::Cache;
    type Answer = <foyer_memory::GetOrFetch<u64, u64> as Future>::Output;

    fn new() -> Self {
        Self(foyer_memory::CacheBuilder::new(ROOM).build())
    }

    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = Self::Answer> + Send + 'static {
        self.0.get_or_fetch(key, || work.fallible())
    }

    fn value(answer: Self::Answer) -> u64 {
        answer.map_or(u64::MAX, |entry| *entry.value())
    }
}

/// cachet with stampede protection, `get_or_insert`.
#[derive(Debug)]
pub struct Cachet(pub cachet::Cache<u64, u64>);

impl Subject for Cachet {
    const NAME: &'static str = "cachet";
    const KIND: Kind = Kind::Cache;
    type Answer = Result<cachet::CacheEntry<u64>, cachet::Error>;

    fn new() -> Self {
        let cache = cachet::Cache::builder(tick::Clock::new_tokio())
            .memory_with(|memory| memory.max_capacity(ROOM as u64))
            .stampede_protection()
            .build();
        Self(cache)
    }

    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = Self::Answer> + Send + 'static {
        self.0.get_or_insert(key, || work)
    }

    fn value(answer: Self::Answer) -> u64 {
        answer.map_or(u64::MAX, |entry| *entry.value())
    }
}
