//! A refresh token that was sent, while it is not known what came of that (R3).

use super::pair::apart;
use super::slot::Moment;
use std::time::{Duration, Instant, SystemTime};

/// Since when a refresh token is in doubt, and who has sent it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    /// How old it was when it was learned of.
    age: Duration,
    learned: Instant,
    whose: Whose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Ours,
    /// It stands in the store: of another process, which may be waiting for its answer, or be dead.
    Others,
}

impl Doubt {
    /// It is sent by this source, now.
    pub(super) fn ours(now: Instant) -> Self {
        Self {
            age: Duration::ZERO,
            learned: now,
            whose: Whose::Ours,
        }
    }

    /// It was sent by others, as the store says.
    ///
    /// A time to come says that the clocks differ, by no less than that. Then it may be as long ago: the careful reading.
    pub(super) fn of_others(sent: SystemTime, now: Moment) -> Self {
        Self {
            age: apart(sent, now.wall),
            learned: now.clock,
            whose: Whose::Others,
        }
    }

    /// What is left of the time that began when it was sent.
    pub(super) fn left(&self, of: Duration, now: Instant) -> Duration {
        let since = now.saturating_duration_since(self.learned);
        of.saturating_sub(self.age).saturating_sub(since)
    }

    pub(super) fn is_of_others(&self) -> bool {
        self.whose == Whose::Others
    }
}
