//! A product page under load, six times at once: what its pricing service has to bear, and what visitors wait for.
//!
//! ```text
//!   cargo run -p price_page            ten seconds
//!   cargo run -p price_page -- short   two
//!
//!   load: a visit every 5 ms ──HTTP──▶ page: GET /product/tea ──▶ way: nothing, a cache, … ──▶ pricing: slow, counted
//!                 └───────────────────────────── report: a table, and what must hold ───────────────────┘
//! ```
//!
//! What it says of a flight it checks, and ends with code 1 if it does not hold.
#![forbid(unsafe_code)]

mod load;
mod page;
mod pricing;
mod report;
mod way;

use std::process::ExitCode;
use std::time::Duration;
use tokio::task::JoinSet;
use way::Way;

/// What is played.
#[derive(Clone, Copy, Debug)]
struct Scene {
    /// How long the pricing service takes for a price.
    slow: Duration,
    /// How long a price is fresh.
    ttl: Duration,
    /// How long until the next visit.
    pace: Duration,
    /// How long visitors come.
    length: Duration,
}

const LONG: Scene = Scene {
    slow: Duration::from_millis(800),
    ttl: Duration::from_millis(2_000),
    pace: Duration::from_millis(5),
    length: Duration::from_millis(9_000),
};

const SHORT: Scene = Scene {
    slow: Duration::from_millis(160),
    ttl: Duration::from_millis(400),
    pace: Duration::from_millis(5),
    length: Duration::from_millis(1_800),
};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scene = match &arguments[..] {
        [] => LONG,
        [word] if word == "short" => SHORT,
        _ => {
            eprintln!("usage: price_page [short]");
            return ExitCode::from(2);
        }
    };
    match play(scene).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("price_page: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Plays every way at the same time, each with a pricing service, a server and visitors of its own.
async fn play(scene: Scene) -> Result<(), String> {
    println!("{}\n", report::heading(&scene));
    let mut plays = JoinSet::new();
    for way in Way::ALL {
        plays.spawn(async move { load::visit(way, &scene).await.map(|seen| (way, seen)) });
    }
    let mut seen = plays
        .join_all()
        .await
        .into_iter()
        .collect::<Result<Vec<_>, String>>()?;
    seen.sort_by_key(|(way, _)| *way);
    println!("{}", report::table(&seen));
    let broken = report::broken(&scene, &seen);
    if broken.is_empty() {
        println!("{}", report::HOLDS);
        return Ok(());
    }
    Err(broken.join("; "))
}
