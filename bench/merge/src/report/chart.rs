//! The chart: what latency does to each way, and how many rows a second there are beside the ways by hand and the tools.

use super::wire;
use crate::load::Load;
use crate::run::Results;
use reporting::chart::{self, Bar, Panel, Sort};
use reporting::{Better, number};

pub(super) const OURS: Sort = Sort {
    name: "oneflight",
    class: "ours",
    light: "#0969da",
    dark: "#4493f8",
};
pub(super) const HAND: Sort = Sort {
    name: "by hand",
    class: "hand",
    light: "#bc4c00",
    dark: "#f0883e",
};
pub(super) const OTHER: Sort = Sort {
    name: "others",
    class: "other",
    light: "#8250df",
    dark: "#ab7df8",
};

/// The chart of a run.
pub(super) fn svg(results: &Results) -> String {
    chart::svg(
        "A merge beside other ways of doing it",
        &[wire::panel(results), loads(results), tools(results)],
        &[OURS, HAND, OTHER],
    )
}

fn loads(results: &Results) -> Panel {
    let rows = results.sizes.rows as f64;
    let mut bars = Vec::new();
    for load in &results.loads {
        let ways = [
            ("", OURS, &load.first),
            (", again", OURS, &load.again),
            (", by hand", HAND, &load.hand),
        ];
        for (way, sort, runs) in ways {
            bars.extend(Load::seconds(runs).map(|seconds| Bar {
                name: format!("{}{way}", load.engine.name()),
                sort,
                value: (rows / seconds).round(),
            }));
        }
    }
    Panel {
        title: format!("{} rows, no latency: rows a second", number(Some(rows))),
        better: Better::More,
        bars,
    }
}

fn tools(results: &Results) -> Panel {
    let bars = results.tools().flat_map(|tool| {
        let engine = tool.engine.name();
        let bar = |name, sort, seconds: f64| Bar {
            name,
            sort,
            value: (tool.rows as f64 / seconds).round(),
        };
        [
            bar(format!("oneflight, {engine}"), OURS, tool.ours),
            bar(tool.name.to_owned(), OTHER, tool.seconds),
        ]
    });
    let mut bars: Vec<Bar> = bars.collect();
    // Two of the tools stand beside the same run.
    bars.sort_by(|a, b| b.value.total_cmp(&a.value));
    bars.dedup_by(|a, b| a.name == b.name);
    let rows = number(Some(results.sizes.tool_rows as f64));
    Panel {
        title: format!("{rows} rows, beside tools: rows a second"),
        better: Better::More,
        bars,
    }
}
