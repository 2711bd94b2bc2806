//! What visitors got, and how long they waited.

use super::source::{Calls, Down};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What visitors got so far.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Notes>);

#[derive(Debug, Default)]
struct Notes {
    /// How many waited so many milliseconds.
    waits: BTreeMap<u128, u64>,
    errors: u64,
    /// The oldest price that was shown.
    oldest: Duration,
}

/// What it all came to.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Sums {
    pub(crate) calls: Calls,
    pub(crate) visits: u64,
    /// Milliseconds: half of the visitors waited no longer, 99 of 100 of them, and all.
    pub(crate) waits: [u64; 3],
    pub(crate) errors: u64,
    /// Seconds: how old a price was when it was shown, at most.
    pub(crate) oldest: f64,
}

impl Ledger {
    /// A visitor has waited so long, and got a price of that age.
    pub(super) fn note(&self, waited: Duration, age: Result<Duration, Down>) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *notes.waits.entry(waited.as_millis()).or_default() += 1;
        match age {
            Ok(age) => notes.oldest = notes.oldest.max(age),
            Err(Down) => notes.errors += 1,
        }
    }

    pub(super) fn sums(&self, calls: Calls) -> Sums {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let visits = notes.waits.values().sum();
        Sums {
            calls,
            visits,
            waits: [0.5, 0.99, 1.0].map(|part| notes.within(part, visits)),
            errors: notes.errors,
            oldest: notes.oldest.as_secs_f64(),
        }
    }
}

impl Notes {
    /// The time that this part of all visitors did not exceed.
    fn within(&self, part: f64, visits: u64) -> u64 {
        let rank = (visits as f64 * part).ceil() as u64;
        let mut passed = 0;
        let wait = self.waits.iter().find(|(_, count)| {
            passed += **count;
            passed >= rank
        });
        wait.map_or(0, |(wait, _)| u64::try_from(*wait).unwrap_or(u64::MAX))
    }
}

impl Sums {
    /// Calls to the source for each time that it had to be called.
    pub(crate) fn calls_a_burst(&self) -> f64 {
        self.calls.all as f64 / self.calls.bursts as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_those_that_a_part_of_all_did_not_exceed() {
        let ledger = Ledger::default();
        for wait in 0..100 {
            ledger.note(Duration::from_millis(wait), Ok(Duration::from_secs(wait)));
        }
        ledger.note(Duration::from_millis(800), Err(Down));
        let sums = ledger.sums(Calls::default());
        assert_eq!((sums.visits, sums.errors), (101, 1));
        assert_eq!(sums.waits, [50, 99, 800]);
        assert!((sums.oldest - 99.0).abs() < 1e-9);
    }
}
