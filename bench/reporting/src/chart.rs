//! A chart: a panel for each figure, a bar for each that has it, on a scale of powers of ten. Plain SVG, readable on light and on
//! dark ground.

use crate::bars::Better;
use crate::table::number;
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
";
const DARK: &str = "
    text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #3d444d }
";

/// What bars of one colour have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// As the legend names it.
    pub name: &'static str,
    /// As the style names it.
    pub class: &'static str,
    /// The colour on light ground.
    pub light: &'static str,
    /// The colour on dark ground.
    pub dark: &'static str,
}

/// One figure of all who have it.
#[derive(Debug)]
pub struct Panel {
    /// What is shown, and in which unit.
    pub title: String,
    /// Which bars are the better ones.
    pub better: Better,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// One who has it.
#[derive(Debug)]
pub struct Bar {
    /// Who.
    pub name: String,
    /// Of which sort; one of the legend's.
    pub sort: Sort,
    /// How much; more than nothing.
    pub value: f64,
}

/// The chart; `label` is for those who cannot see it. Panels without bars are left out.
#[must_use]
pub fn svg(label: &str, panels: &[Panel], legend: &[Sort]) -> String {
    let mut body = String::new();
    let mut top = 8.0;
    for panel in panels.iter().filter(|panel| !panel.bars.is_empty()) {
        draw(panel, top, &mut body);
        top += HEAD + ROW * panel.bars.len() as f64 + 14.0;
    }
    explain(legend, top, &mut body);
    let height = top + 24.0;
    let style = style(legend);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         role=\"img\" aria-label=\"{label}\">\n<style>{style}</style>\n{body}</svg>\n"
    )
}

fn style(legend: &[Sort]) -> String {
    let fills = |colour: fn(&Sort) -> &'static str| {
        let fills = legend
            .iter()
            .map(|sort| format!(".{} {{ fill: {} }}", sort.class, colour(sort)));
        fills.collect::<Vec<_>>().join(" ")
    };
    let [light, dark] = [fills(|sort| sort.light), fills(|sort| sort.dark)];
    format!("{STYLE}  {light}\n  @media (prefers-color-scheme: dark) {{{DARK}    {dark}\n  }}\n")
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
            bar.sort.class,
            y + 2.0,
            (end - LEFT).max(1.0),
            ROW - 4.0,
            end + 6.0,
            y + 12.0,
            number(Some(bar.value)),
        );
    }
}

fn explain(legend: &[Sort], top: f64, body: &mut String) {
    for (at, sort) in legend.iter().enumerate() {
        let x = LEFT + 84.0 * at as f64 - 60.0;
        let _ = writeln!(
            body,
            "<rect class=\"{}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" rx=\"2\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            sort.class,
            top,
            x + 14.0,
            top + 10.0,
            sort.name,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_ten_times_as_long_is_one_step_of_the_scale() {
        let sort = Sort {
            name: "ours",
            class: "ours",
            light: "#000",
            dark: "#fff",
        };
        let bar = |value| Bar {
            name: "a".to_owned(),
            sort,
            value,
        };
        let panel = Panel {
            title: "T".to_owned(),
            better: Better::Less,
            bars: vec![bar(1.0), bar(10.0), bar(100.0)],
        };
        let text = svg("l", &[panel], &[sort]);
        for width in ["225.0", "450.0"] {
            assert!(
                text.contains(&format!("width=\"{width}\"")),
                "{width}: {text}"
            );
        }
    }
}
