//! The figures as tables for people, or as JSON.

use super::chart::{Bar, chart};
use super::time::time;
use crate::exit::Exit;
use crate::print::{Grid, count};
use oneflight_lab::feed::Order;
use oneflight_lab::merge::{Case, Way};
use oneflight_lab::result::{Figure, Results};

/// One JSON object.
pub(super) fn json(results: &Results) -> String {
    // Numbers and names: there is nothing in it that JSON could not hold.
    let mut text = serde_json::to_string_pretty(results).unwrap_or_default();
    text.push('\n');
    text
}

/// A way that must be right, and is not, is something to look at. The naive one is wrong by design.
pub(super) fn exit(results: &Results) -> Exit {
    let wrong = |figure: &Figure| figure.way != Way::Naive && !figure.audit.is_right();
    if results.figures.iter().any(wrong) {
        Exit::Found
    } else {
        Exit::Done
    }
}

/// Tables and a chart.
pub(super) fn text(results: &Results, width: usize) -> String {
    let mut out = String::new();
    for order in [Order::Shuffled, Order::Clustered] {
        references(results, order, &mut out);
    }
    for order in [Order::Shuffled, Order::Clustered] {
        bars(results, order, width, &mut out);
    }
    rows(results, &mut out);
    notes(results, &mut out);
    out
}

/// The round trip whose figures are drawn: 40 ms, which is what a database in another region has, or the longest.
pub(super) fn drawn(results: &Results) -> Option<u64> {
    let lags = results.lags.iter().map(|lag| lag.round_trip_ms);
    lags.clone().find(|&ms| ms == 40).or(lags.max())
}

fn references(results: &Results, order: Order, out: &mut String) {
    let of = |way| {
        let lags = results.lags.iter();
        let figures = lags.map(move |lag| results.references(way, order, lag.round_trip_ms));
        figures.collect::<Vec<_>>()
    };
    if Way::ALL
        .iter()
        .all(|&way| of(way).iter().all(Option::is_none))
    {
        return;
    }
    out.push_str(&format!(
        "{} references to {} keys, {order}, {}\n\n",
        count(results.references.into()),
        count(results.keys.into()),
        results.server
    ));
    let mut grid = grid(results, &["trips", "connections", "duplicates", "orphans"]);
    for way in Way::ALL {
        let figures = of(way);
        let Some(last) = figures.iter().rev().copied().flatten().next() else {
            continue;
        };
        let most = |n: fn(&Figure) -> u64| figures.iter().flatten().map(|f| n(f)).max();
        let counts = [
            Some(last.round_trips),
            Some(last.connections.into()),
            most(|figure| figure.audit.duplicates()),
            most(|figure| figure.audit.orphans),
        ];
        let counts = counts.map(|n| count(n.unwrap_or(0)));
        let cells = figures.into_iter().map(cell).chain(counts);
        grid.cells(way.describe(), cells);
    }
    out.push_str(&grid.render());
    out.push('\n');
}

/// A table with a column for each round trip, and more.
fn grid(results: &Results, more: &[&str]) -> Grid {
    let lags = results.lags.iter();
    let mut heads = vec![String::new()];
    heads.extend(lags.map(|lag| format!("{} ms", lag.round_trip_ms)));
    let heads: Vec<&str> = heads
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    Grid::new(&heads)
}

/// A time, with a star if it was scaled.
fn cell(figure: Option<&Figure>) -> String {
    figure.map_or_else(
        || "–".to_owned(),
        |figure| {
            let star = if figure.scaled_from.is_some() {
                "*"
            } else {
                ""
            };
            format!("{star}{}", time(figure.seconds))
        },
    )
}

fn bars(results: &Results, order: Order, width: usize, out: &mut String) {
    let Some(ms) = drawn(results) else { return };
    let figure = |way| results.references(way, order, ms);
    let base = figure(Way::Sequential).map(|figure| figure.seconds);
    let bars = Way::ALL.into_iter().filter_map(|way| {
        let figure = figure(way)?;
        Some(Bar {
            name: way.describe().to_owned(),
            seconds: figure.seconds,
            note: note(figure, base),
        })
    });
    let bars: Vec<Bar> = bars.collect();
    if !bars.is_empty() {
        out.push_str(&format!(
            "{order}, {ms} ms, on a scale of powers of ten\n\n"
        ));
        out.push_str(&chart(&bars, width));
        out.push('\n');
    }
}

/// How many times as fast as one by one, and whether what it left is right.
fn note(figure: &Figure, base: Option<f64>) -> String {
    let times = base.map(|base| base / figure.seconds.max(1e-9));
    let times = match times {
        Some(times) if figure.way != Way::Sequential && times >= 9.95 => {
            format!("{}×", count(times.round() as u64))
        }
        Some(times) if figure.way != Way::Sequential => format!("{times:.1}×"),
        _ => String::new(),
    };
    match figure.audit.is_right() {
        true => times,
        false => format!("{times} WRONG").trim().to_owned(),
    }
}

/// A way of merging whole rows, in a few words.
pub(super) fn whole(way: Way) -> &'static str {
    match way {
        Way::Batches => "oneflight merge",
        _ => "row by row",
    }
}

fn rows(results: &Results, out: &mut String) {
    let runs = [(Way::Sequential, 1), (Way::Batches, 1), (Way::Batches, 2)];
    if !results
        .figures
        .iter()
        .any(|figure| figure.case == Case::Rows)
    {
        return;
    }
    out.push_str(&format!(
        "the whole merge: {} rows with three references each, facts included, {}\n\n",
        count(results.rows.into()),
        results.server
    ));
    let mut grid = grid(results, &["trips", "connections"]);
    for (way, run) in runs {
        let lags = results.lags.iter();
        let figures: Vec<_> = lags
            .map(|lag| results.rows(way, run, lag.round_trip_ms))
            .collect();
        let Some(last) = figures.iter().rev().copied().flatten().next() else {
            continue;
        };
        let counts = [last.round_trips, last.connections.into()].map(count);
        let again = if run > 1 { ", again" } else { "" };
        let cells = figures.into_iter().map(cell).chain(counts);
        grid.cells(&format!("{}{again}", whole(way)), cells);
    }
    out.push_str(&grid.render());
    out.push('\n');
}

/// What must be known to read the tables.
fn notes(results: &Results, out: &mut String) {
    let scaled = |case: Case| {
        let figures = results.figures.iter().filter(|figure| figure.case == case);
        figures.filter_map(|figure| figure.scaled_from).min()
    };
    if let Some(part) = scaled(Case::References) {
        out.push_str(&format!(
            "* scaled from {} references by the counted round trips\n",
            count(part.into())
        ));
    }
    if let Some(part) = scaled(Case::Rows) {
        out.push_str(&format!(
            "* in the whole merge: scaled from {} rows or more\n",
            count(part.into())
        ));
    }
    let lags = results.lags.iter().filter(|lag| lag.round_trip_ms > 0);
    let lags: Vec<String> = lags
        .map(|lag| format!("{} ms is {:.1}", lag.round_trip_ms, lag.measured_ms))
        .collect();
    if !lags.is_empty() {
        out.push_str(&format!("measured round trips: {}\n", lags.join(", ")));
    }
    out.push_str("connecting and preparing are not counted; ");
    out.push_str(match results.server.starts_with("SQLite") {
        true => {
            "SQLite is in the process: its statements are counted, and no round trip is added\n"
        }
        false => "a proxy in the program makes the round trips, and counts them\n",
    });
    for figure in results
        .figures
        .iter()
        .filter(|figure| !figure.audit.is_right())
    {
        out.push_str(&wrong(figure));
    }
    for skipped in &results.skipped {
        out.push_str(&format!(
            "not measured: {}: {}\n",
            skipped.way.describe(),
            skipped.why
        ));
    }
}

fn wrong(figure: &Figure) -> String {
    let audit = &figure.audit;
    format!(
        "WRONG: {} ({}, {} ms) left {} rows for {} things, {} of them orphans, and gave {} callers an id that is not on record\n",
        figure.way.describe(),
        figure.order,
        figure.round_trip_ms,
        count(audit.rows),
        count(audit.expected),
        count(audit.orphans),
        count(audit.strays),
    )
}
