//! The chart: a panel for each of four figures, a bar for each subject.

use super::rows;
use crate::run::Results;
use crate::subject::Kind;
use reporting::Better;
use reporting::chart::{self, Bar, Panel, Sort};

const SORTS: [Sort; 6] = [
    sort("oneflight", "ours", "#0969da", "#4493f8"),
    sort("crates", "crate", "#bc4c00", "#f0883e"),
    sort("idioms", "idiom", "#8250df", "#ab7df8"),
    sort("caches", "cache", "#1a7f37", "#3fb950"),
    sort("floor", "floor", "#9aa4af", "#6e7681"),
    sort("other languages", "other", "#9a6700", "#d29922"),
];

const fn sort(
    name: &'static str,
    class: &'static str,
    light: &'static str,
    dark: &'static str,
) -> Sort {
    Sort {
        name,
        class,
        light,
        dark,
    }
}

/// The chart of a run.
pub(super) fn svg(results: &Results) -> String {
    chart::svg(
        "What a flight costs, beside its peers",
        &panels(results),
        &SORTS,
    )
}

fn panels(results: &Results) -> [Panel; 4] {
    let panel = |title: &str, better, figure: &dyn Fn(&str) -> Option<f64>| {
        let bars = rows().filter_map(|(name, kind)| {
            Some(Bar {
                name: name.to_owned(),
                sort: of(kind),
                value: figure(name)?,
            })
        });
        let mut bars: Vec<Bar> = bars.collect();
        bars.sort_by(|a, b| a.value.total_cmp(&b.value));
        if better == Better::More {
            bars.reverse();
        }
        Panel {
            title: title.to_owned(),
            better,
            bars,
        }
    };
    [
        panel("A call that nobody joins, ns", Better::Less, &|name| {
            results.get("lone", name, "ns")
        }),
        panel(
            "Joining and the answer, ns for each of 1,000 callers",
            Better::Less,
            &|name| results.get("join", name, "ns"),
        ),
        panel(
            "A key in flight, bytes of heap and future",
            Better::Less,
            &|name| {
                let future = results.get("keep", name, "future bytes").unwrap_or(0.0);
                Some(results.get("keep", name, "heap bytes")? + future)
            },
        ),
        panel(
            "Contention, million calls a second",
            Better::More,
            &|name| Some(results.highest("contend", name, "calls a second")? / 1e6),
        ),
    ]
}

fn of(kind: Kind) -> Sort {
    let [ours, crates, idioms, caches, floor, others] = SORTS;
    match kind {
        Kind::Ours => ours,
        Kind::Crate => crates,
        Kind::Idiom => idioms,
        Kind::Cache => caches,
        Kind::Floor => floor,
        Kind::Other => others,
    }
}
