//! What was found: tables, bars, and a chart; as text, and as files.
//!
//!   BENCHMARKS.md    between `<!-- cache: begin -->` and `<!-- cache: end -->`; the rest of the page is written by hand
//!   docs/cache.svg, docs/cache.json

mod bars;
mod chart;
mod tables;

use crate::page::Hour;
use crate::run::Results;
use crate::subject::{Cachet, Foyer, Moka, QuickCache};
use reporting::page::{Section, findings};
use trial::Subject;

/// Whom the bars compare with.
const PEERS: [&str; 4] = [Moka::NAME, QuickCache::NAME, Foyer::NAME, Cachet::NAME];

/// The report of a run.
#[derive(Debug)]
pub(crate) struct Report<'r> {
    results: &'r Results,
    pages: &'r [Hour],
}

/// All that was found, as it is written to docs/.
#[derive(serde::Serialize)]
struct Found<'r> {
    #[serde(flatten)]
    results: &'r Results,
    pages: &'r [Hour],
}

impl<'r> Report<'r> {
    pub(crate) fn new(results: &'r Results, pages: &'r [Hour]) -> Self {
        Self { results, pages }
    }

    /// The report as Markdown.
    pub(crate) fn text(&self) -> String {
        let results = self.results;
        findings(
            &results.machine,
            &format!("{} passes", results.passes),
            &results.missing,
            &bars::text(results, self.pages),
            &tables::all(results),
        )
    }

    /// Writes the page, the chart and the figures; their paths.
    ///
    /// # Errors
    /// If a file cannot be written, or the page has lost its marks.
    pub(crate) fn write(&self) -> Result<Vec<String>, String> {
        let found = Found {
            results: self.results,
            pages: self.pages,
        };
        let figures = serde_json::to_string_pretty(&found).map_err(|error| error.to_string())?;
        Section {
            name: "cache",
            text: &self.text(),
            chart: &chart::svg(self.results),
            figures: &figures,
        }
        .write()
    }
}

/// The best peer's time of a test, and whose it is.
fn best(results: &Results, test: &str) -> Option<(&'static str, f64)> {
    let times = PEERS
        .into_iter()
        .filter_map(|name| Some((name, results.samples.get(test, name, "ns")?)));
    times.min_by(|a, b| a.1.total_cmp(&b.1))
}
