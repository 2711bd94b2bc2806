//! The page that all benches write to, each between two marks of its own; the rest is written by hand.
//!
//!   BENCHMARKS.md    between `<!-- NAME: begin -->` and `<!-- NAME: end -->`
//!   docs/NAME.svg, docs/NAME.json

use crate::{Machine, Table};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "BENCHMARKS.md";

/// The folder of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a bench found, as Markdown: the machine, how it was measured, what was missing, bars, tables.
#[must_use]
pub fn findings(
    machine: &Machine,
    measured: &str,
    missing: &[String],
    bars: &str,
    tables: &[Table],
) -> String {
    let mut text = format!(
        "Measured on {}: {}, {} cores, {}; load average at the start {}; {measured}.\n\n{}.\n\n{}.\n",
        machine.date,
        machine.processor,
        machine.cores,
        machine.system,
        machine.load,
        machine.packages.join(", "),
        machine.tools.join(", "),
    );
    for missing in missing {
        let _ = write!(text, "\n{missing}.\n");
    }
    let _ = write!(text, "\n{bars}");
    for table in tables {
        let _ = write!(text, "\n{table}");
    }
    text
}

/// What a bench has to say.
#[derive(Debug)]
pub struct Section<'a> {
    /// The name in the marks, and of the files.
    pub name: &'static str,
    /// Markdown.
    pub text: &'a str,
    /// SVG.
    pub chart: &'a str,
    /// JSON.
    pub figures: &'a str,
}

impl Section<'_> {
    /// Writes the page, the chart and the figures; their paths.
    ///
    /// # Errors
    /// If a file cannot be written, or the page has lost its marks.
    pub fn write(&self) -> Result<Vec<String>, String> {
        let page = with(self.name, self.text)?;
        let files = [
            (PAGE.to_owned(), page),
            (format!("docs/{}.svg", self.name), self.chart.to_owned()),
            (
                format!("docs/{}.json", self.name),
                format!("{}\n", self.figures),
            ),
        ];
        for (path, text) in &files {
            fs::write(root().join(path), text).map_err(|why| format!("{path}: {why}"))?;
        }
        Ok(files.map(|(path, _)| path).to_vec())
    }
}

/// Writes `text` between the marks of that name, and no file beside; the path of the page.
///
/// # Errors
/// If the page cannot be written, or has lost its marks.
pub fn put(name: &str, text: &str) -> Result<String, String> {
    let page = with(name, text)?;
    fs::write(root().join(PAGE), page).map_err(|why| format!("{PAGE}: {why}"))?;
    Ok(PAGE.to_owned())
}

/// What stands between the marks of that name.
///
/// # Errors
/// If the page cannot be read, or has lost its marks.
pub fn get(name: &str) -> Result<String, String> {
    let page = read()?;
    let (_, text, _) = parted(&page, name).ok_or_else(|| lost(name))?;
    Ok(text.to_owned())
}

fn with(name: &str, text: &str) -> Result<String, String> {
    replaced(&read()?, name, text).ok_or_else(|| lost(name))
}

fn read() -> Result<String, String> {
    fs::read_to_string(root().join(PAGE)).map_err(|why| format!("{PAGE}: {why}"))
}

fn lost(name: &str) -> String {
    let (begin, end) = marks(name);
    format!("{PAGE} has no marks {} and {}", begin.trim(), end.trim())
}

fn marks(name: &str) -> (String, String) {
    (
        format!("<!-- {name}: begin -->\n"),
        format!("<!-- {name}: end -->\n"),
    )
}

/// The page with `text` between the marks.
fn replaced(page: &str, name: &str, text: &str) -> Option<String> {
    let (begin, end) = marks(name);
    let (before, _, after) = parted(page, name)?;
    Some(format!("{before}{begin}\n{text}\n{end}{after}"))
}

/// What stands before, between and after the marks.
fn parted<'p>(page: &'p str, name: &str) -> Option<(&'p str, &'p str, &'p str)> {
    let (begin, end) = marks(name);
    let (before, rest) = page.split_once(&begin)?;
    let (between, after) = rest.split_once(&end)?;
    Some((before, between, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let (begin, end) = marks("a");
        let page = format!("x\n{begin}old\n{end}y\n");
        let new = replaced(&page, "a", "new");
        assert_eq!(new, Some(format!("x\n{begin}\nnew\n{end}y\n")));
        assert_eq!(replaced("x\n", "a", "new"), None);
        assert_eq!(replaced(&page, "b", "new"), None);
    }

    #[test]
    fn the_page_has_the_marks_of_every_bench() {
        let page = fs::read_to_string(root().join(PAGE)).unwrap_or_default();
        for name in ["cache", "flights", "merge", "price-page"] {
            assert!(replaced(&page, name, "").is_some(), "{name}");
        }
    }
}
