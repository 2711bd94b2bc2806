//! What was found: tables, bars, and a chart; as text, and as files.
//!
//!   BENCHMARKS.md    between `<!-- flights: begin -->` and `<!-- flights: end -->`; the rest of the page is written by hand
//!   docs/flights.svg, docs/flights.json

mod bars;
mod chart;
mod tables;

use crate::floor;
use crate::run::Results;
use crate::subject::{self, Kind, NAMES};
use crate::tool;
use reporting::Better;
use reporting::page::{Section, findings};

/// The report of a run.
#[derive(Debug)]
pub(crate) struct Report<'r> {
    results: &'r Results,
}

impl<'r> Report<'r> {
    pub(crate) fn new(results: &'r Results) -> Self {
        Self { results }
    }

    /// The report as Markdown.
    pub(crate) fn text(&self) -> String {
        let results = self.results;
        let measured = format!("{} passes", results.passes);
        findings(
            &results.machine,
            &measured,
            &results.missing,
            &bars::text(results),
            &tables::all(results),
        )
    }

    /// Writes the page, the chart and the figures; their paths.
    ///
    /// # Errors
    /// If a file cannot be written, or the page has lost its marks.
    pub(crate) fn write(&self) -> Result<Vec<String>, String> {
        let figures =
            serde_json::to_string_pretty(self.results).map_err(|error| error.to_string())?;
        Section {
            name: "flights",
            text: &self.text(),
            chart: &chart::svg(self.results),
            figures: &figures,
        }
        .write()
    }
}

/// All that a table may have as rows, in order.
fn rows() -> impl Iterator<Item = (&'static str, Kind)> {
    let floors = [floor::SIP, floor::FOLD].map(|name| (name, Kind::Floor));
    let named = NAMES.map(|name| (name, subject::kind(name).unwrap_or(Kind::Other)));
    let others = [tool::GO, tool::NODE].map(|name| (name, Kind::Other));
    floors.into_iter().chain(named).chain(others)
}

/// The best of a figure among subjects of these sorts, and whose it is.
fn best(
    results: &Results,
    kinds: &[Kind],
    better: Better,
    figure: impl Fn(&Results, &str) -> Option<f64>,
) -> Option<(&'static str, f64)> {
    let sign = if better == Better::Less { 1.0 } else { -1.0 };
    rows()
        .filter(|(_, kind)| kinds.contains(kind))
        .filter_map(|(name, _)| Some((name, figure(results, name)?)))
        .min_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)))
}
