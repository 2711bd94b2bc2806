//! What was seen, as a table, and what must hold whatever the machine.

use crate::Scene;
use crate::load::Seen;
use crate::way::{AHEAD, Way};
use std::time::Duration;

/// What is said if all holds.
pub(crate) const HOLDS: &str = "\
With flights the source never has two calls for one price. With refresh ahead only the very first visitors wait. And while the
source is down, whoever has an old price shows it, and asks again now and then.";

type All = [(Way, Seen)];

/// What is played.
pub(crate) fn heading(scene: &Scene) -> String {
    format!(
        "{} visits a second for {} s; a price takes {} ms, and is fresh for {} ms.",
        Duration::from_secs(1).as_nanos() / scene.pace.as_nanos(),
        scene.length.as_secs_f64(),
        scene.slow.as_millis(),
        scene.ttl.as_millis(),
    )
}

/// A row for each way.
pub(crate) fn table(seen: &All) -> String {
    let mut text = format!(
        "{:<29}{:>8}{:>8}{:>9}{:>10}{:>10}{:>10}{:>8}{:>8}\n",
        "", "visits", "calls", "at once", "p50 ms", "p99 ms", "max ms", "stale", "errors"
    );
    for (way, seen) in seen {
        let ms = |part: f64| format!("{:.1}", within(&seen.waits, part).as_secs_f64() * 1e3);
        text += &format!(
            "{:<29}{:>8}{:>8}{:>9}{:>10}{:>10}{:>10}{:>8}{:>8}\n",
            way.name(),
            seen.waits.len(),
            seen.calls.all,
            seen.calls.at_once,
            ms(0.5),
            ms(0.99),
            ms(1.0),
            seen.stale,
            seen.errors,
        );
    }
    text
}

/// The time that this part of all did not exceed.
fn within(waits: &[Duration], part: f64) -> Duration {
    let rank = (waits.len() as f64 * part).ceil() as usize;
    let wait = waits.get(rank.saturating_sub(1));
    wait.copied().unwrap_or_default()
}

/// What does not hold. No machine is too slow for it: where time matters, it is the time that was taken.
pub(crate) fn broken(scene: &Scene, seen: &All) -> Vec<String> {
    let mut broken = Vec::new();
    for (way, seen) in seen {
        let calls = seen.calls;
        let mut must = |holds: bool, what: &str| {
            if !holds {
                broken.push(format!("{}: {what} ({calls:?})", way.name()));
            }
        };
        // From the begin of a call to that of the next one: it takes its time, and its price is fresh for a while.
        let apart = |fresh: f64| (scene.slow + scene.ttl.mul_f64(fresh)).as_secs_f64();
        let most = |fresh: f64| (seen.took.as_secs_f64() / apart(fresh)) as u64 + 1;
        match way {
            Way::Nothing => must(
                calls.all == seen.waits.len() as u64,
                "a visit without a call",
            ),
            Way::PlainCache => must(calls.all > most(1.0), "it did as well as flights"),
            Way::Flight | Way::FailingFlight | Way::Ahead | Way::FailingStale => {
                must(calls.at_once == 1, "two calls at once");
            }
        }
        match way {
            Way::Flight => must(calls.all <= most(1.0), "more than one call an expiry"),
            Way::Ahead => must(calls.all <= most(AHEAD), "more than one call an expiry"),
            Way::FailingFlight => must(seen.errors > 0, "no visitor saw that the source was down"),
            Way::FailingStale => must(seen.stale > 0, "no visitor saw an old price"),
            Way::Nothing | Way::PlainCache => {}
        }
        if *way != Way::FailingFlight {
            must(seen.errors == 0, "errors");
        }
    }
    broken
}
