//! The page in virtual time: a price that takes 800 ms to get, shown 200 times a second, and kept for 60 seconds.
//!
//! ```text
//!   visit every 5 ms ──▶ Page (a way to get the price) ──▶ Source: 800 ms, then the price, or an error while it is down
//!         └──▶ Ledger: how long it waited, what it got            └──▶ how many calls, how many at once, how many bursts
//! ```
//!
//! P1. Time stands still while anything can run, and then jumps to the next moment at which something can; chance is seeded. So an
//!     hour takes seconds, and comes to the same on every machine.
//! P2. A burst begins when the source is called and no call is under way: each expiry of the price, and each new try, is one.

mod ledger;
mod scene;
mod source;
mod tables;
mod way;

pub(crate) use ledger::Sums;
pub(crate) use tables::{compare, text, write};
pub(crate) use way::Way;

use scene::Scene;
use std::time::Duration;

/// What an hour of one way came to.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Hour {
    pub(crate) way: Way,
    /// The source is down for a part of the hour.
    pub(crate) down: bool,
    pub(crate) sums: Sums,
}

/// Every way, and those with the source down.
///
/// # Errors
/// If there is no runtime to be had.
pub(crate) fn run() -> Result<Vec<Hour>, String> {
    let up = Way::UP.into_iter().map(|way| (way, false));
    let down = Way::DOWN.into_iter().map(|way| (way, true));
    up.chain(down)
        .map(|(way, down)| {
            eprintln!("bench-cache: an hour of: {}", way.name());
            let sums = Scene::hour(down).play(way)?;
            Ok(Hour { way, down, sums })
        })
        .collect()
}

/// The hour of a way while the source answers.
pub(crate) fn up(pages: &[Hour], way: Way) -> Option<&Sums> {
    let hour = pages.iter().find(|hour| hour.way == way && !hour.down);
    hour.map(|hour| &hour.sums)
}

/// The hour of a way with the source down for a part of it.
pub(crate) fn down(pages: &[Hour], way: Way) -> Option<&Sums> {
    let hour = pages.iter().find(|hour| hour.way == way && hour.down);
    hour.map(|hour| &hour.sums)
}

/// How long the source takes.
const SLOW: Duration = Duration::from_millis(800);
/// How long a price is fresh.
const TTL: Duration = Duration::from_secs(60);
/// How long until the next visit.
const PACE: Duration = Duration::from_millis(5);
