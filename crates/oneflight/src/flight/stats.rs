//! What a group has done, in numbers. They are counted under the locks that are held anyway.

use crate::error::Error;

/// Numbers since the group was made.
///
/// `started = landed + failed + panicked + overdue + abandoned + cancelled + in flight`, where those that were forgotten are in flight
/// too, until they end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Flights begun.
    pub started: u64,
    /// Calls that joined a flight instead.
    pub joined: u64,
    /// Flights that ended with a value.
    pub landed: u64,
    /// Flights that ended with an error of the work.
    pub failed: u64,
    /// Flights whose work panicked.
    pub panicked: u64,
    /// Flights that took longer than they may.
    pub overdue: u64,
    /// Flights whose last caller left.
    pub abandoned: u64,
    /// Flights ended by [`Group::cancel_all`](super::Group::cancel_all).
    pub cancelled: u64,
    /// Flights that left the table before they ended, by [`Group::forget`](super::Group::forget) or for a caller who wanted a
    /// fresher one.
    pub forgotten: u64,
}

impl Stats {
    /// What counts a flight that ended like this by itself.
    #[inline]
    pub(crate) fn counter<V, E>(result: &Result<V, Error<E>>) -> fn(&mut Self) {
        match result {
            Ok(_) => |stats| stats.landed += 1,
            Err(error) if error.is_panic() => |stats| stats.panicked += 1,
            Err(error) if error.is_overdue() => |stats| stats.overdue += 1,
            Err(_) => |stats| stats.failed += 1,
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.started += other.started;
        self.joined += other.joined;
        self.landed += other.landed;
        self.failed += other.failed;
        self.panicked += other.panicked;
        self.overdue += other.overdue;
        self.abandoned += other.abandoned;
        self.cancelled += other.cancelled;
        self.forgotten += other.forgotten;
    }
}
