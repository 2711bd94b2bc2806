//! Latency: the ways of turning references into ids, and a whole merge, on PostgreSQL behind a proxy that delays.
//!
//!   oneflight-lab ── references, shuffled: every way      clustered: those that bars are about
//!                 └─ rows, 3 references each: without latency, and with it
//!
//! I1. Every way but the naive one must leave what its audit expects; the naive one is shown with what it leaves.
//! I2. Ways that make their round trips one after the other are measured in part and scaled; the tables say so.

use crate::options::{Options, Part};
use crate::place::Engine;
use oneflight_lab::feed::Order;
use oneflight_lab::merge::{self, Case, Events, Settings, Step, Way};
use oneflight_lab::result::Results;

/// The round trip of the bars, in milliseconds.
pub(crate) const ROUND_TRIP: u64 = 40;

/// Those that bars are about.
const COMPARED: [Way; 4] = [Way::Sequential, Way::Flights, Way::ByHand, Way::Batches];

/// Those that take less than a second.
const QUICK: [Way; 2] = [Way::ByHand, Way::Batches];

/// What was found.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Wire {
    /// In milliseconds.
    pub(crate) round_trip: u64,
    pub(crate) references: Option<Results>,
    pub(crate) rows: Option<Results>,
}

/// Runs what is asked for.
///
/// # Errors
/// If a way fails, or leaves what it must not (I1).
pub(crate) fn measure(options: &Options) -> Result<Wire, String> {
    // A little latency is enough to see that all is right.
    let round_trip = if options.smoke { 2 } else { ROUND_TRIP };
    let mut settings = Settings::default();
    settings.scratch = format!("bench_lab_{}", std::process::id());
    settings.references = options.sizes.references;
    settings.keys = options.sizes.keys;
    settings.rows = options.sizes.references;
    settings.round_trips_ms = vec![round_trip];
    settings.cases = vec![Case::References];
    let mut references = None;
    if options.has(Part::References) {
        settings.orders = vec![Order::Shuffled];
        let mut results = run(settings.clone())?;
        settings.orders = vec![Order::Clustered];
        settings.ways = COMPARED.to_vec();
        results.figures.extend(run(settings.clone())?.figures);
        settings.orders = vec![Order::Shuffled, Order::Clustered];
        settings.ways = QUICK.to_vec();
        again(&mut results, &settings)?;
        references = Some(results);
    }
    let mut rows = None;
    if options.has(Part::Rows) {
        settings.cases = vec![Case::Rows];
        settings.ways = vec![Way::Sequential, Way::Batches];
        settings.round_trips_ms = vec![0, round_trip];
        let mut results = run(settings.clone())?;
        settings.ways = vec![Way::Batches];
        again(&mut results, &settings)?;
        rows = Some(results);
    }
    Ok(Wire {
        round_trip,
        references,
        rows,
    })
}

/// Runs what is over in a moment twice more: the best counts, as all else on the machine only slows it down.
fn again(results: &mut Results, settings: &Settings) -> Result<(), String> {
    for _ in 0..2 {
        results.figures.extend(run(settings.clone())?.figures);
    }
    Ok(())
}

fn run(settings: Settings) -> Result<Results, String> {
    let variable = Engine::Postgres.variable().unwrap_or_default();
    let url = std::env::var(variable).map_err(|why| format!("{variable}: {why}"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|why| format!("no runtime: {why}"))?;
    let results = runtime
        .block_on(merge::run(&url, settings, &mut Told))
        .map_err(|why| chain(&why))?;
    let wrong = results
        .figures
        .iter()
        .find(|figure| figure.way != Way::Naive && !figure.audit.is_right());
    match wrong {
        None => Ok(results),
        Some(figure) => Err(format!("I1: {}: {:?}", figure.way, figure.audit)),
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}

/// Tells how far it is.
struct Told;

impl Events for Told {
    fn began(&mut self, step: Step) {
        eprintln!(
            "bench-merge: {:?}, {} at {} ms",
            step.case, step.way, step.round_trip_ms
        );
    }
}
