//! What calls cost in memory.

use crate::sizes::made;
use futures_util::FutureExt;
use oneflight::RandomState;
use oneflight::cache::{Cache, Lookup};
use std::future::ready;

#[test]
fn a_hit_allocates_nothing() {
    let cache: Cache<u64, u64> = Cache::new(100);
    cache.insert(1, 7);
    let (allocations, got) = made(|| {
        let call = cache.get_or_load(&1, || ready(Ok(8)));
        call.now_or_never()
    });
    assert!(matches!((allocations, got), (0, Some(Ok(7)))));
}

#[test]
fn a_join_allocates_nothing_beyond_its_slot() {
    let cache: Cache<u64, u64> = Cache::new(100);
    let mut calls: Vec<_> = (0..100)
        .map(|_| cache.get_or_load(&1, std::future::pending))
        .collect();
    let (first, rest) = calls.split_at_mut(50);
    for call in first {
        assert!(call.now_or_never().is_none());
    }
    let (allocations, ()) = made(|| {
        for call in rest {
            assert!(call.now_or_never().is_none());
        }
    });
    assert!(allocations <= 2, "{allocations}: the slab grows");
}

#[test]
fn a_call_is_small() {
    type Call = Lookup<'static, str, (), String, [u64; 32], String, RandomState>;
    assert!(size_of::<Call>() <= 80, "{} bytes", size_of::<Call>());
}
