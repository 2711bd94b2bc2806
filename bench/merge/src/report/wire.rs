//! What latency costs: bars, tables and a panel of the chart.

use super::chart::{HAND, OTHER, OURS};
use crate::run::Results;
use crate::wire::{ROUND_TRIP, Wire};
use oneflight_lab::feed::Order;
use oneflight_lab::merge::Way;
use oneflight_lab::result::{Figure, Results as Found};
use reporting::chart::{self, Panel};
use reporting::{Bar, Better, Table, number, times};

const ORDERS: [(Order, &str); 2] = [
    (Order::Shuffled, "shuffled"),
    (Order::Clustered, "clustered"),
];

/// What flights and batches must be, beside others.
const LIMITS: [(Way, &str, f64); 3] = [
    (Way::Sequential, "one by one (scaled)", 4_000.0),
    (Way::Flights, "a flight per key, 32 connections", 20.0),
    (Way::ByHand, "COPY by hand", 2.0),
];

/// How fast references become ids, and what latency adds to a whole merge.
pub(super) fn bars(results: &Results) -> Vec<Bar> {
    let sizes = results.sizes;
    let [references, keys] =
        [sizes.references, sizes.keys].map(|size| number(Some(f64::from(size))));
    let mut bars = Vec::new();
    for (order, name) in ORDERS {
        let seconds = |way| Some(reference(results, way, order)?.seconds);
        let ours = seconds(Way::Batches);
        for (way, beside, limit) in LIMITS {
            let [own, other] = [ours, seconds(way)].map(number);
            bars.push(Bar {
                what: format!("{references} references, {keys} keys, {name}, {ROUND_TRIP} ms"),
                beside: Some(beside.to_owned()),
                is: seconds(way).zip(ours).map(|(theirs, ours)| theirs / ours),
                limit,
                better: Better::More,
                why: format!("It took {own} s, the other {other} s."),
            });
        }
    }
    for (run, name) in [(1, "first"), (2, "second")] {
        let seconds = |round_trip| Some(row(results, Way::Batches, run, round_trip)?.seconds);
        let [near, far] = [seconds(0), seconds(ROUND_TRIP)];
        let [near_told, far_told] = [near, far].map(number);
        let trips =
            row(results, Way::Batches, run, ROUND_TRIP).map(|figure| figure.round_trips as f64);
        bars.push(Bar {
            what: format!(
                "{references} rows, 3 references each, {ROUND_TRIP} ms, {name} run, seconds"
            ),
            beside: Some("the same at 0 ms".to_owned()),
            is: far.zip(near).map(|(far, near)| far / near),
            limit: 1.3,
            better: Better::Less,
            why: format!(
                "It took {far_told} s with {} round trips, and {near_told} s without latency.",
                number(trips)
            ),
        });
    }
    bars
}

/// A table of the ways, and one of whole merges.
pub(super) fn tables(results: &Results) -> [Table; 2] {
    let Some(wire) = &results.wire else {
        return [(); 2].map(|()| Table::new("", "", &[]));
    };
    [references(results, wire), rows(results, wire)]
}

fn references(results: &Results, wire: &Wire) -> Table {
    let sizes = results.sizes;
    let [references, keys] =
        [sizes.references, sizes.keys].map(|size| number(Some(f64::from(size))));
    let part = wire.references.as_ref().map_or(0, |results| results.part);
    let mut table = Table::new(
        &format!("{references} references at {} ms", wire.round_trip),
        &format!(
            "{references} references to {keys} new keys through a crosswalk, PostgreSQL behind a proxy that delays each direction and \
             limits nothing; connecting and preparing are not counted. Figures with * are measured for {part} references and scaled \
             by their round trips. Duplicates and orphans are counted afterwards."
        ),
        &[
            "",
            "connections",
            "round trips",
            "shuffled, s",
            "× one by one",
            "clustered, s",
            "× one by one",
            "duplicates",
            "orphans",
        ],
    );
    for way in Way::ALL {
        let [shuffled, clustered] = ORDERS.map(|(order, _)| reference(results, way, order));
        let Some(figure) = shuffled else { continue };
        let ratio = |figure: Option<&Figure>, order| {
            let slow = reference(results, Way::Sequential, order)?.seconds;
            Some(slow / figure?.seconds)
        };
        let seconds = |figure: Option<&Figure>| {
            format!(
                "{}{}",
                number(figure.map(|figure| figure.seconds)),
                star(figure)
            )
        };
        table.rows.push(vec![
            way.describe().to_owned(),
            figure.connections.to_string(),
            number(Some(figure.round_trips as f64)),
            seconds(shuffled),
            times(ratio(shuffled, Order::Shuffled)),
            seconds(clustered),
            times(ratio(clustered, Order::Clustered)),
            figure.audit.duplicates().to_string(),
            figure.audit.orphans.to_string(),
        ]);
    }
    table
}

fn rows(results: &Results, wire: &Wire) -> Table {
    let rows = number(Some(f64::from(results.sizes.references)));
    let mut table = Table::new(
        &format!("{rows} rows with 3 references each"),
        "A whole merge through crosswalk and slug, facts included, PostgreSQL; a second run finds everything there; the best of three. \
         Figures with * are measured in part and scaled.",
        &[
            "",
            "0 ms, s",
            "round trips",
            "with latency, s",
            "round trips",
            "latency costs",
        ],
    );
    let ways = [
        ("one by one", Way::Sequential, 1),
        ("oneflight", Way::Batches, 1),
        ("oneflight, again", Way::Batches, 2),
    ];
    for (name, way, run) in ways {
        let [near, far] = [0, wire.round_trip].map(|round_trip| row(results, way, run, round_trip));
        if near.is_none() && far.is_none() {
            continue;
        }
        let seconds = |figure: Option<&Figure>| figure.map(|figure| figure.seconds);
        let told = |figure| format!("{}{}", number(seconds(figure)), star(figure));
        let trips =
            |figure: Option<&Figure>| number(figure.map(|figure| figure.round_trips as f64));
        table.rows.push(vec![
            name.to_owned(),
            told(near),
            trips(near),
            told(far),
            trips(far),
            times(
                seconds(far)
                    .zip(seconds(near))
                    .map(|(far, near)| far / near),
            ),
        ]);
    }
    table
}

/// The ways on a shuffled feed.
pub(super) fn panel(results: &Results) -> Panel {
    let bars = Way::ALL.iter().filter_map(|way| {
        let figure = reference(results, *way, Order::Shuffled)?;
        let is_wrong = figure.audit.duplicates() + figure.audit.orphans > 0;
        let mark = if is_wrong { " (wrong)" } else { "" };
        Some(chart::Bar {
            name: format!("{}{mark}", way.describe()),
            sort: match way {
                Way::Batches => OURS,
                Way::ByHand => HAND,
                _ => OTHER,
            },
            value: figure.seconds,
        })
    });
    let mut bars: Vec<chart::Bar> = bars.collect();
    bars.sort_by(|a, b| a.value.total_cmp(&b.value));
    let references = number(Some(f64::from(results.sizes.references)));
    Panel {
        title: format!("{references} references at a round trip of {ROUND_TRIP} ms: seconds"),
        better: Better::Less,
        bars,
    }
}

/// What a figure carries that was scaled from a part.
fn star(figure: Option<&Figure>) -> &'static str {
    let is_scaled = figure.is_some_and(|figure| figure.scaled_from.is_some());
    if is_scaled { "*" } else { "" }
}

fn reference(results: &Results, way: Way, order: Order) -> Option<&Figure> {
    let wire = results.wire.as_ref()?;
    best(wire.references.as_ref()?, |figure| {
        (figure.way, figure.order) == (way, order) && figure.round_trip_ms == wire.round_trip
    })
}

fn row(results: &Results, way: Way, run: u32, round_trip: u64) -> Option<&Figure> {
    let wire = results.wire.as_ref()?;
    best(wire.rows.as_ref()?, |figure| {
        (figure.way, figure.run) == (way, run) && figure.round_trip_ms == round_trip
    })
}

/// The fastest of what was run more than once.
fn best(found: &Found, is_it: impl Fn(&Figure) -> bool) -> Option<&Figure> {
    let figures = found.figures.iter().filter(|figure| is_it(figure));
    figures.min_by(|a, b| a.seconds.total_cmp(&b.seconds))
}
