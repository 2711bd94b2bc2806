//! The chart: a panel for each of four figures, a bar for each subject.

use crate::run::Results;
use crate::subject::{Kept, NAMES, Plain};
use reporting::Better;
use reporting::chart::{self, Bar, Panel, Sort};
use trial::Subject;

const OURS: Sort = Sort {
    name: "oneflight",
    class: "ours",
    light: "#0969da",
    dark: "#4493f8",
};
const PEERS: Sort = Sort {
    name: "other caches",
    class: "cache",
    light: "#1a7f37",
    dark: "#3fb950",
};

/// The chart of a run.
pub(super) fn svg(results: &Results) -> String {
    let panel = |title: &str, better, test: &str, figure: &str| {
        let bars = NAMES.into_iter().filter_map(|name| {
            let is_ours = [Kept::NAME, Plain::NAME].contains(&name);
            Some(Bar {
                name: name.to_owned(),
                sort: if is_ours { OURS } else { PEERS },
                value: results.samples.get(test, name, figure)?,
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
    let less = Better::Less;
    let panels = [
        panel(
            "A hit, in the call that would load it, ns",
            less,
            "hit",
            "ns",
        ),
        panel("A miss that nobody joins, ns", less, "lone", "ns"),
        panel(
            "A stampede, ns for each of 1,000 callers",
            less,
            "join",
            "ns",
        ),
        panel(
            "Hits of two threads, calls a second",
            Better::More,
            "threads",
            "calls a second",
        ),
    ];
    chart::svg(
        "What a cache costs, beside its peers",
        &panels,
        &[OURS, PEERS],
    )
}
