//! What a cache has done, in numbers.

use crate::sync::{Ordering, Tally};

/// Numbers since the cache was made, but for the last four, which are of now.
///
/// `loads = landed + failed + loads that were dropped, as nobody waited for them + those in flight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Calls that got a fresh value at once. Counted only if the cache is told to
    /// ([`count_hits`](super::Builder::count_hits)): it is the one number that costs a hit anything.
    pub hits: u64,
    /// Calls that got a stale value while it was, or is, loaded anew.
    pub stale: u64,
    /// Calls that got a stale value because loading failed.
    pub stale_on_error: u64,
    /// Calls that got the remembered answer that there is none.
    pub negative: u64,
    /// Calls that got a remembered error, since it is too early to try again.
    pub backed_off: u64,
    /// Calls that joined a load.
    pub joined: u64,
    /// Works begun: calls to the source.
    pub loads: u64,
    /// Those of them that began behind, for no caller.
    pub refreshes: u64,
    /// Works that ended with a value.
    pub landed: u64,
    /// Those of them whose value was not kept: the key was written or invalidated meanwhile, or a newer load has ended before.
    pub fenced: u64,
    /// Works that ended with an error, panicked or took too long.
    pub failed: u64,
    /// Those of them that began behind: no caller may have heard of them.
    pub refreshes_failed: u64,
    /// Calls that found a value due for a refresh, so soon after the last one failed that it is not tried again yet.
    pub refreshes_put_off: u64,
    /// Calls that found as many waiting as may.
    pub refused: u64,
    /// Calls that waited as long as they may.
    pub timed_out: u64,
    /// Entries that made room for others, or found none.
    pub evicted: u64,
    /// Entries now, those that serve no more among them.
    pub entries: usize,
    /// What they weigh.
    pub weight: u64,
    /// Keys that are loaded now.
    pub loading: usize,
    /// Tasks that run behind now.
    pub behind: usize,
}

/// The numbers as they are counted.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) hits: Count,
    pub(super) stale: Count,
    pub(super) stale_on_error: Count,
    pub(super) negative: Count,
    pub(super) backed_off: Count,
    pub(super) loads: Count,
    pub(super) refreshes: Count,
    pub(super) landed: Count,
    pub(super) fenced: Count,
    pub(super) failed: Count,
    pub(super) refreshes_failed: Count,
    pub(super) refreshes_put_off: Count,
    pub(super) refused: Count,
    pub(super) timed_out: Count,
    pub(super) evicted: Count,
}

/// One number.
#[derive(Debug, Default)]
pub(super) struct Count(Tally);

impl Count {
    pub(super) fn more(&self) {
        self.add(1);
    }

    pub(super) fn add(&self, count: usize) {
        // ORDERING: Relaxed: nothing is decided by it.
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        // ORDERING: Relaxed, as above.
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(super) fn stats(&self) -> Stats {
        Stats {
            hits: self.hits.read(),
            stale: self.stale.read(),
            stale_on_error: self.stale_on_error.read(),
            negative: self.negative.read(),
            backed_off: self.backed_off.read(),
            loads: self.loads.read(),
            refreshes: self.refreshes.read(),
            landed: self.landed.read(),
            fenced: self.fenced.read(),
            failed: self.failed.read(),
            refreshes_failed: self.refreshes_failed.read(),
            refreshes_put_off: self.refreshes_put_off.read(),
            refused: self.refused.read(),
            timed_out: self.timed_out.read(),
            evicted: self.evicted.read(),
            ..Stats::default()
        }
    }
}
