//! What a run of the lab is to measure, and who is told how far it is.

use crate::error::Error;
use crate::feed::Order;
use crate::result::{Case, Figure, Way};

/// What to measure.
///
/// # Examples
/// ```
/// use oneflight_lab::merge::{Case, Settings, Way};
///
/// let mut settings = Settings::default();
/// settings.cases = vec![Case::References];
/// settings.ways = vec![Way::Sequential, Way::Batches];
/// settings.round_trips_ms = vec![40];
/// assert_eq!((settings.references, settings.keys, settings.connections), (20_000, 2_000, 32));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// What to measure.
    pub cases: Vec<Case>,
    /// The ways to do it.
    pub ways: Vec<Way>,
    /// The orders of the feed of references.
    pub orders: Vec<Order>,
    /// Round trips, in milliseconds. SQLite is in the process: there, only 0 is measured.
    pub round_trips_ms: Vec<u64>,
    /// References.
    pub references: u32,
    /// Things that they mean; at least 1, and no more than there are references.
    pub keys: u32,
    /// Rows of the whole merge.
    pub rows: u32,
    /// Connections of the ways that use many, 1 to 1,000.
    pub connections: u32,
    /// References for which a way is measured that takes minutes; the whole is scaled.
    pub part: u32,
    /// The seed of the feeds.
    pub seed: u64,
    /// The name of the database that is made on a server, and dropped: letters, digits and `_`.
    pub scratch: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cases: vec![Case::References, Case::Rows],
            ways: Way::ALL.to_vec(),
            orders: vec![Order::Shuffled, Order::Clustered],
            round_trips_ms: vec![0, 10, 40, 80],
            references: 20_000,
            keys: 2_000,
            rows: 20_000,
            connections: 32,
            part: 100,
            seed: 1,
            scratch: "oneflight_lab".to_owned(),
        }
    }
}

impl Settings {
    /// Checks that this can be measured.
    ///
    /// # Errors
    /// Something is empty, too large, or contradicts something else.
    pub fn check(&self) -> Result<(), Error> {
        let name = self.scratch.as_str();
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let fault = match () {
            () if self.keys == 0 => "there must be at least one key".to_owned(),
            () if self.keys > self.references => format!(
                "{} references cannot name {} keys",
                self.references, self.keys
            ),
            () if self.references > 10_000_000 || self.rows > 10_000_000 => {
                "ten million references or rows are the most".to_owned()
            }
            () if self.part == 0 || self.rows == 0 => {
                "a part and the rows must be at least one".to_owned()
            }
            () if !(1..=1_000).contains(&self.connections) => {
                "connections must be 1 to 1,000".to_owned()
            }
            () if self.round_trips_ms.iter().any(|&ms| ms > 10_000) => {
                "a round trip of more than ten seconds is none".to_owned()
            }
            () if name.is_empty() || name.len() > 60 || !name.chars().all(is_name) => {
                format!("`{name}` is no name for a scratch database: small letters, digits and _")
            }
            () => return Ok(()),
        };
        Err(Error::usage(fault))
    }
}

/// One thing to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// What.
    pub case: Case,
    /// How.
    pub way: Way,
    /// In which order of the feed.
    pub order: Order,
    /// At which round trip, in milliseconds.
    pub round_trip_ms: u64,
    /// It is this one …
    pub number: u32,
    /// … of so many.
    pub of: u32,
}

/// Is told how far a run is. `()` listens to nothing.
pub trait Events: Send {
    /// Something begins to be measured.
    fn began(&mut self, step: Step) {
        let _ = step;
    }

    /// It has been measured.
    fn measured(&mut self, figure: &Figure) {
        let _ = figure;
    }
}

impl Events for () {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_measured_is_said_before_anything_begins() {
        assert!(Settings::default().check().is_ok());
        type Spoil = fn(&mut Settings);
        let wrong: [(Spoil, &str); 5] = [
            (|s| s.keys = 0, "at least one key"),
            (
                |s| s.keys = 30_000,
                "20000 references cannot name 30000 keys",
            ),
            (|s| s.connections = 0, "connections must be"),
            (|s| s.round_trips_ms = vec![20_000], "ten seconds"),
            (|s| s.scratch = "a; DROP".into(), "is no name"),
        ];
        for (spoil, part) in wrong {
            let mut settings = Settings::default();
            spoil(&mut settings);
            let error = settings.check().unwrap_err();
            assert!(
                error.is_usage() && error.to_string().contains(part),
                "{error}"
            );
        }
    }
}
