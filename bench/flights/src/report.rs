//! What was found: tables, bars, and a chart; as text, and as files.
//!
//!   BENCHMARKS.md    between `<!-- flights: begin -->` and `<!-- flights: end -->`; the rest of the page is written by hand
//!   docs/flights.svg, docs/flights.json

mod bars;
mod chart;
mod table;
mod tables;

use crate::floor;
use crate::run::Results;
use crate::subject::{self, Kind, NAMES};
use crate::tool;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PAGE: &str = "BENCHMARKS.md";
const CHART: &str = "docs/flights.svg";
const FIGURES: &str = "docs/flights.json";
const BEGIN: &str = "<!-- flights: begin -->\n";
const END: &str = "<!-- flights: end -->\n";

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
        let machine = &self.results.machine;
        let mut text = format!(
            "Measured on {}: {}, {} cores, {}; load average at the start {}; {} passes.\n\n{}.\n\n{}.\n",
            machine.date,
            machine.processor,
            machine.cores,
            machine.system,
            machine.load,
            self.results.passes,
            machine.packages.join(", "),
            machine.tools.join(", "),
        );
        for missing in &self.results.missing {
            let _ = write!(text, "\n{missing}.\n");
        }
        let _ = write!(text, "\n{}", bars::text(self.results));
        for table in tables::all(self.results) {
            let _ = write!(text, "\n{table}");
        }
        text
    }

    /// Writes the page, the chart and the figures; their paths.
    ///
    /// # Errors
    /// If a file cannot be written, or the page has lost its marks.
    pub(crate) fn write(&self) -> Result<Vec<&'static str>, String> {
        let page = fs::read_to_string(Path::new(ROOT).join(PAGE))
            .map_err(|error| format!("{PAGE}: {error}"))?;
        let page = replaced(&page, &self.text())
            .ok_or_else(|| format!("{PAGE} has no marks {} and {}", BEGIN.trim(), END.trim()))?;
        let figures = serde_json::to_string_pretty(self.results)
            .map_err(|error| format!("{FIGURES}: {error}"))?;
        let files = [
            (PAGE, page),
            (CHART, chart::svg(self.results)),
            (FIGURES, figures + "\n"),
        ];
        for (path, text) in &files {
            fs::write(Path::new(ROOT).join(path), text)
                .map_err(|error| format!("{path}: {error}"))?;
        }
        Ok(files.map(|(path, _)| path).to_vec())
    }
}

/// The page with `text` between the marks.
fn replaced(page: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{text}\n{END}{after}"))
}

/// All that a table may have as rows, in order.
fn rows() -> impl Iterator<Item = (&'static str, Kind)> {
    let floors = [floor::SIP, floor::FOLD].map(|name| (name, Kind::Floor));
    let named = NAMES.map(|name| (name, subject::kind(name).unwrap_or(Kind::Other)));
    let others = [tool::GO, tool::NODE].map(|name| (name, Kind::Other));
    floors.into_iter().chain(named).chain(others)
}

/// Whether less or more of a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Better {
    Less,
    More,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let page = format!("a\n{BEGIN}old\n{END}b\n");
        let new = replaced(&page, "new");
        assert_eq!(new, Some(format!("a\n{BEGIN}\nnew\n{END}b\n")));
        assert_eq!(replaced("a\n", "new"), None);
    }

    #[test]
    fn the_page_has_its_marks() {
        let page = fs::read_to_string(Path::new(ROOT).join(PAGE));
        assert!(page.is_ok_and(|page| replaced(&page, "").is_some()));
    }
}
