//! The chart as SVG: a panel for each order, a bar for each way, on a scale of powers of ten; readable on light and on dark ground.

use super::report::drawn;
use super::time::time;
use crate::print::count;
use oneflight_lab::feed::Order;
use oneflight_lab::merge::Way;
use oneflight_lab::result::{Figure, Results};
use std::fmt::Write as _;

/// Where bars begin and end, from the left.
const LEFT: f64 = 190.0;
const RIGHT: f64 = 600.0;
const WIDTH: f64 = 720.0;
/// Height of a bar with its gap, and of what stands above the bars of a panel.
const ROW: f64 = 20.0;
const HEAD: f64 = 46.0;

const STYLE: &str = "
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 14px }
  .faint { fill: #59636e; font-size: 10px }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .other { fill: #9aa4af } .ours { fill: #0969da } .wrong { fill: #d1242f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #3d444d }
    .other { fill: #6e7681 } .ours { fill: #4493f8 } .wrong { fill: #f85149 }
  }
";

/// The chart of a run. Without figures of references, it is empty.
pub(super) fn svg(results: &Results) -> String {
    let ms = drawn(results).unwrap_or(0);
    let mut body = String::new();
    let mut top = 8.0;
    for order in [Order::Shuffled, Order::Clustered] {
        let figures = Way::ALL
            .into_iter()
            .filter_map(|way| results.references(way, order, ms));
        let figures: Vec<&Figure> = figures.collect();
        if figures.is_empty() {
            continue;
        }
        let title = format!(
            "{} references to {} keys, {order}, round trip {ms} ms, {}",
            count(results.references.into()),
            count(results.keys.into()),
            results.server
        );
        panel(&title, &figures, top, &mut body);
        top += HEAD + ROW * figures.len() as f64 + 16.0;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {top:.0}\" width=\"{WIDTH}\" height=\"{top:.0}\" role=\"img\" \
         aria-label=\"Every way of resolving references, beside each other\">\n<style>{STYLE}</style>\n{body}</svg>\n"
    )
}

fn panel(title: &str, figures: &[&Figure], top: f64, body: &mut String) {
    let seconds = || figures.iter().map(|figure| figure.seconds.max(1e-6));
    let low = seconds().fold(f64::INFINITY, f64::min).log10().floor();
    let high = seconds().fold(0.0, f64::max).log10().ceil().max(low + 1.0);
    let x = |value: f64| LEFT + (RIGHT - LEFT) * (value.log10() - low) / (high - low);
    let bottom = top + HEAD + ROW * figures.len() as f64;
    // Writing to a string does not fail.
    let _ = writeln!(
        body,
        "<text class=\"title\" x=\"8\" y=\"{:.1}\">{}</text>",
        top + 14.0,
        escaped(title)
    );
    for power in low as i32..=high as i32 {
        let at = x(10_f64.powi(power));
        let _ = writeln!(
            body,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\"/><text class=\"faint\" x=\"{at:.1}\" \
             y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            top + HEAD - 6.0,
            top + HEAD - 10.0,
            time(10_f64.powi(power)),
        );
    }
    for (at, figure) in figures.iter().enumerate() {
        let y = top + HEAD + ROW * at as f64;
        let (class, behind) = match (figure.way, figure.audit.is_right()) {
            (_, false) => ("wrong", ", wrong"),
            (Way::Batches, _) => ("ours", ""),
            _ => ("other", ""),
        };
        let scaled = if figure.scaled_from.is_some() {
            ", scaled"
        } else {
            ""
        };
        let end = x(figure.seconds.max(1e-6));
        let _ = writeln!(
            body,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect class=\"{class}\" x=\"{LEFT}\" y=\"{:.1}\" \
             width=\"{:.1}\" height=\"{:.1}\" rx=\"2\"/><text x=\"{:.1}\" y=\"{:.1}\">{}{scaled}{behind}</text>",
            LEFT - 8.0,
            y + 14.0,
            figure.way.describe(),
            y + 2.0,
            (end - LEFT).max(1.0),
            ROW - 4.0,
            end + 6.0,
            y + 14.0,
            time(figure.seconds),
        );
    }
}

/// A text as it may stand in XML: a server may call itself anything.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
