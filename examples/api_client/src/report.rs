//! What was seen, as a table, and what must hold whatever the machine.

use crate::Scene;
use crate::round::Seen;
use crate::way::Way;

/// What is said if all holds.
pub(crate) const HOLDS: &str = "\
With the layers, a token that expires is one refresh, however many requests need it: no login is ended, and no request is lost.";

type All = [(Way, Seen)];

/// What is played.
pub(crate) fn heading(scene: &Scene) -> String {
    format!(
        "{} times the token expires, with {} requests in flight for {} orders. Refresh tokens are spent once.",
        scene.rounds, scene.requests, scene.orders,
    )
}

/// A row for each way.
pub(crate) fn table(seen: &All) -> String {
    let mut text = format!(
        "{:<28}{:>11}{:>14}{:>14}{:>15}{:>8}\n",
        "", "refreshes", "logins ended", "API requests", "requests lost", "s"
    );
    for (way, seen) in seen {
        text += &format!(
            "{:<28}{:>11}{:>14}{:>14}{:>15}{:>8.1}\n",
            way.name(),
            seen.counts.refreshes,
            seen.counts.revoked,
            seen.counts.api,
            seen.lost,
            seen.took.as_secs_f64(),
        );
    }
    text
}

/// What does not hold.
pub(crate) fn broken(scene: &Scene, seen: &All) -> Vec<String> {
    let mut broken = Vec::new();
    for (way, seen) in seen.iter().filter(|(way, _)| way.flies()) {
        let counts = (seen.counts.refreshes, seen.counts.revoked, seen.lost);
        if counts != (scene.rounds, 0, 0) {
            broken.push(format!(
                "{}: {} refreshes, {} logins ended, {} requests lost",
                way.name(),
                counts.0,
                counts.1,
                counts.2
            ));
        }
    }
    broken
}
