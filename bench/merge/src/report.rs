//! What was found: bars, tables, and a chart; as text, and as files.

mod bars;
mod chart;
mod reading;
mod tables;
mod wire;

use crate::run::Results;
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
        let measured = format!(
            "leagues are loaded {} times, and the best counts",
            results.sizes.passes
        );
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
        let figures = serde_json::to_string_pretty(self.results).map_err(|why| why.to_string())?;
        Section {
            name: "merge",
            text: &self.text(),
            chart: &chart::svg(self.results),
            figures: &figures,
        }
        .write()
    }
}

/// Bytes, in MiB.
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
