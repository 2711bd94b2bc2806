//! The chart: a panel for each of four figures, a bar for each subject, on a scale of powers of ten. Plain SVG, readable on light
//! and on dark ground.

use super::table::number;
use super::{Better, rows};
use crate::run::Results;
use crate::subject::Kind;
use std::fmt::Write as _;

/// Where bars begin and end, from the left.
const LEFT: f64 = 190.0;
const RIGHT: f64 = 640.0;
const WIDTH: f64 = 720.0;
/// Height of a bar with its gap, and of what stands above the bars of a panel.
const ROW: f64 = 18.0;
const HEAD: f64 = 44.0;

const STYLE: &str = "
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 14px }
  .faint { fill: #59636e; font-size: 10px }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .floor { fill: #9aa4af } .ours { fill: #0969da } .crate { fill: #bc4c00 } .idiom { fill: #8250df }
  .cache { fill: #1a7f37 } .other { fill: #9a6700 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #3d444d }
    .floor { fill: #6e7681 } .ours { fill: #4493f8 } .crate { fill: #f0883e } .idiom { fill: #ab7df8 }
    .cache { fill: #3fb950 } .other { fill: #d29922 }
  }
";

/// One figure of all who have it.
struct Panel {
    title: &'static str,
    better: Better,
    bars: Vec<Bar>,
}

struct Bar {
    name: &'static str,
    kind: Kind,
    value: f64,
}

/// The chart of a run.
pub(super) fn svg(results: &Results) -> String {
    let panels = panels(results);
    let mut body = String::new();
    let mut top = 8.0;
    for panel in &panels {
        draw(panel, top, &mut body);
        top += HEAD + ROW * panel.bars.len() as f64 + 14.0;
    }
    legend(top, &mut body);
    let height = top + 24.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         role=\"img\" aria-label=\"What a flight costs, beside its peers\">\n<style>{STYLE}</style>\n{body}</svg>\n"
    )
}

fn panels(results: &Results) -> Vec<Panel> {
    let panel = |title, better, figure: &dyn Fn(&str) -> Option<f64>| {
        let bars = rows().filter_map(|(name, kind)| {
            let value = figure(name)?;
            Some(Bar { name, kind, value })
        });
        let mut bars: Vec<Bar> = bars.collect();
        bars.sort_by(|a, b| a.value.total_cmp(&b.value));
        if better == Better::More {
            bars.reverse();
        }
        Panel {
            title,
            better,
            bars,
        }
    };
    let panels = vec![
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
    ];
    panels
        .into_iter()
        .filter(|panel| !panel.bars.is_empty())
        .collect()
}

fn draw(panel: &Panel, top: f64, body: &mut String) {
    let values = || panel.bars.iter().map(|bar| bar.value);
    // From the power of ten below the least to the one above the greatest.
    let low = values().fold(f64::INFINITY, f64::min).log10().floor();
    let high = values().fold(0.0, f64::max).log10().ceil().max(low + 1.0);
    let x = |value: f64| LEFT + (RIGHT - LEFT) * (value.log10() - low) / (high - low);
    let bottom = top + HEAD + ROW * panel.bars.len() as f64;
    let better = match panel.better {
        Better::Less => "less is better",
        Better::More => "more is better",
    };
    let _ = writeln!(
        body,
        "<text class=\"title\" x=\"8\" y=\"{:.1}\">{}</text><text class=\"faint\" x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">{better}, \
         logarithmic</text>",
        top + 14.0,
        panel.title,
        top + 14.0,
    );
    for power in low as i32..=high as i32 {
        let at = x(10_f64.powi(power));
        let _ = writeln!(
            body,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\"/><text class=\"faint\" x=\"{at:.1}\" \
             y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            top + HEAD - 6.0,
            top + HEAD - 10.0,
            number(Some(10_f64.powi(power))),
        );
    }
    for (at, bar) in panel.bars.iter().enumerate() {
        let y = top + HEAD + ROW * at as f64;
        let end = x(bar.value);
        let _ = writeln!(
            body,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect class=\"{}\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" \
             height=\"{:.1}\" rx=\"2\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT - 8.0,
            y + 12.0,
            bar.name,
            class(bar.kind),
            y + 2.0,
            (end - LEFT).max(1.0),
            ROW - 4.0,
            end + 6.0,
            y + 12.0,
            number(Some(bar.value)),
        );
    }
}

fn legend(top: f64, body: &mut String) {
    let sorts = [
        (Kind::Ours, "oneflight"),
        (Kind::Crate, "crates"),
        (Kind::Idiom, "idioms"),
        (Kind::Cache, "caches"),
        (Kind::Floor, "floor"),
        (Kind::Other, "other languages"),
    ];
    for (at, (kind, name)) in sorts.iter().enumerate() {
        let x = LEFT + 84.0 * at as f64 - 60.0;
        let _ = writeln!(
            body,
            "<rect class=\"{}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" rx=\"2\"/><text x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
            class(*kind),
            top,
            x + 14.0,
            top + 10.0,
        );
    }
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Floor => "floor",
        Kind::Ours => "ours",
        Kind::Crate => "crate",
        Kind::Idiom => "idiom",
        Kind::Cache => "cache",
        Kind::Other => "other",
    }
}
