//! The ways of doing the job, by name.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Case {
    /// References to things become ids: found, or created.
    References,
    /// A whole merge: rows with three references each, facts included.
    Rows,
}

impl Case {
    /// Its name, as it is typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::References => "references",
            Self::Rows => "rows",
        }
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::References, Self::Rows]
            .into_iter()
            .find(|case| case.name() == text)
            .ok_or_else(|| format!("`{text}` is no case: references or rows"))
    }
}

/// A way of doing the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Way {
    /// One after another: look up, then create.
    Sequential,
    /// The same, with a memory of what is known.
    Cached,
    /// As many at once as there are connections, and nothing between them.
    Naive,
    /// As many callers, and a mutex around all they do.
    Mutex,
    /// As many callers, and one worker behind a queue.
    Queue,
    /// One flight for each key, on many connections.
    Flights,
    /// Flights, and one batch for all keys that wait, on one connection.
    Batches,
    /// By hand: the database's own bulk load into a staging table, then a statement for each step.
    ByHand,
}

impl Way {
    /// All of them, the slowest first.
    pub const ALL: [Self; 8] = [
        Self::Sequential,
        Self::Mutex,
        Self::Queue,
        Self::Cached,
        Self::Naive,
        Self::Flights,
        Self::ByHand,
        Self::Batches,
    ];

    /// Its name, as it is typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Cached => "cached",
            Self::Naive => "naive",
            Self::Mutex => "mutex",
            Self::Queue => "queue",
            Self::Flights => "flights",
            Self::Batches => "batches",
            Self::ByHand => "by-hand",
        }
    }

    /// What it does, in a few words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Sequential => "one by one",
            Self::Cached => "one by one, with a cache",
            Self::Naive => "all at once, naively",
            Self::Mutex => "a mutex around all",
            Self::Queue => "a worker behind a queue",
            Self::Flights => "one flight per key",
            Self::Batches => "flights and batches",
            Self::ByHand => "bulk load, by hand",
        }
    }

    /// True if it works on many connections at once, and on one otherwise.
    #[must_use]
    pub fn is_wide(self) -> bool {
        matches!(self, Self::Naive | Self::Flights)
    }

    /// True if it makes its round trips one after another, so that a part of it tells how long the whole takes.
    #[must_use]
    pub fn is_serial(self) -> bool {
        matches!(
            self,
            Self::Sequential | Self::Cached | Self::Mutex | Self::Queue
        )
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|way| way.name() == text)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                format!("`{text}` is no way; there are {names}")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_found_by_its_name() {
        for way in Way::ALL {
            assert_eq!(way.name().parse(), Ok(way));
        }
        let refused = "fast".parse::<Way>().unwrap_err();
        assert!(refused.contains("`fast` is no way; there are sequential, mutex"));
    }
}
