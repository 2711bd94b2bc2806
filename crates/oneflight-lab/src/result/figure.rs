//! Figures, and what an audit counts.

use super::way::{Case, Way};
use crate::feed::Order;
use serde::{Deserialize, Serialize};

/// Everything that a run of the lab brought back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Results {
    /// The database and its version.
    pub server: String,
    /// The seed of the feeds.
    pub seed: u64,
    /// References in the case of that name, and the keys that they mean.
    pub references: u32,
    /// See [`Results::references`].
    pub keys: u32,
    /// Rows of the whole merge.
    pub rows: u32,
    /// References that ways are measured for whose whole is scaled.
    pub part: u32,
    /// The round trips, as asked for and as they were.
    pub lags: Vec<Lag>,
    /// What was measured, in this order.
    pub figures: Vec<Figure>,
    /// What could not be measured.
    pub skipped: Vec<Skipped>,
}

impl Results {
    /// The figure of a way of resolving references.
    #[must_use]
    pub fn references(&self, way: Way, order: Order, round_trip_ms: u64) -> Option<&Figure> {
        self.figures.iter().find(|figure| {
            figure.case == Case::References
                && (figure.way, figure.order) == (way, order)
                && figure.round_trip_ms == round_trip_ms
        })
    }

    /// The figure of a whole merge: its first run, or the second.
    #[must_use]
    pub fn rows(&self, way: Way, run: u32, round_trip_ms: u64) -> Option<&Figure> {
        self.figures.iter().find(|figure| {
            figure.case == Case::Rows
                && (figure.way, figure.run) == (way, run)
                && figure.round_trip_ms == round_trip_ms
        })
    }
}

/// A round trip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Lag {
    /// What was asked for, in milliseconds.
    pub round_trip_ms: u64,
    /// How long the simplest statement took, in milliseconds: the median of a few.
    pub measured_ms: f64,
}

/// How long a way took, and what it left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Figure {
    /// What was measured.
    pub case: Case,
    /// How it was done.
    pub way: Way,
    /// 1 for the first run, 2 for a second one that finds everything there.
    pub run: u32,
    /// The order of the feed.
    pub order: Order,
    /// The round trip that was asked for, in milliseconds.
    pub round_trip_ms: u64,
    /// How long it took. Connecting and preparing come before.
    pub seconds: f64,
    /// If a part was measured, of how many references (or rows); `seconds` and `round_trips` are those of the whole then, scaled
    /// by its counted round trips. The audit is of the part.
    pub scaled_from: Option<u32>,
    /// How many times somebody waited for the database.
    pub round_trips: u64,
    /// Connections.
    pub connections: u32,
    /// What it left.
    pub audit: Audit,
}

/// What an audit counted after a way was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Audit {
    /// Things that there should be.
    pub expected: u64,
    /// Rows for things.
    pub rows: u64,
    /// Distinct names among them.
    pub distinct: u64,
    /// External ids that lead to a row.
    pub links: u64,
    /// Rows for things to which no external id leads.
    pub orphans: u64,
    /// Callers that were given another id than the one that is on record.
    pub strays: u64,
    /// Facts, in the case of rows.
    pub facts: u64,
    /// Facts that there should be.
    pub expected_facts: u64,
}

impl Audit {
    /// Rows more than there are names.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.rows - self.distinct.min(self.rows)
    }

    /// True if there is one row for each thing, and everybody got its id.
    #[must_use]
    pub fn is_right(&self) -> bool {
        [self.rows, self.distinct, self.links] == [self.expected; 3]
            && (self.orphans, self.strays) == (0, 0)
            && self.facts == self.expected_facts
    }
}

/// A way that could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skipped {
    /// The way.
    pub way: Way,
    /// What it lacks.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_is_right_if_there_is_one_row_for_each_thing() {
        let right = Audit {
            expected: 10,
            rows: 10,
            distinct: 10,
            links: 10,
            ..Audit::default()
        };
        assert!(right.is_right());
        let wrong: [fn(&mut Audit); 6] = [
            |audit| audit.rows = 11,
            |audit| audit.distinct = 9,
            |audit| audit.links = 9,
            |audit| audit.orphans = 1,
            |audit| audit.strays = 1,
            |audit| audit.facts = 1,
        ];
        for spoil in wrong {
            let mut audit = right.clone();
            spoil(&mut audit);
            assert!(!audit.is_right(), "{audit:?}");
        }
    }
}
