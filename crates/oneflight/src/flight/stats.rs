//! What a group has done, in numbers. They are counted under the locks that are held anyway.

/// Numbers since the group was made.
///
/// `started = landed + failed + panicked + overdue + abandoned + cancelled + in flight`.
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
