//! What was found: by test, subject and figure, one number for each time it was run.

use reporting::median;
use std::collections::BTreeMap;

/// What a test found, by name.
pub type Figures = BTreeMap<String, f64>;

/// Everything that was found.
#[derive(Debug, Default, serde::Serialize)]
#[serde(transparent)]
pub struct Samples(BTreeMap<String, BTreeMap<String, BTreeMap<String, Vec<f64>>>>);

impl Samples {
    /// The median of a figure.
    #[must_use]
    pub fn get(&self, test: &str, subject: &str, figure: &str) -> Option<f64> {
        self.all(test, subject, figure).map(median)
    }

    /// The highest of a figure.
    #[must_use]
    pub fn highest(&self, test: &str, subject: &str, figure: &str) -> Option<f64> {
        let samples = self.all(test, subject, figure)?;
        samples.iter().copied().reduce(f64::max)
    }

    /// What a run of a test has found.
    pub fn add(&mut self, test: &str, subject: &str, figures: Figures) {
        let subjects = self.0.entry(test.to_owned()).or_default();
        let samples = subjects.entry(subject.to_owned()).or_default();
        for (figure, value) in figures {
            samples.entry(figure).or_default().push(value);
        }
    }

    fn all(&self, test: &str, subject: &str, figure: &str) -> Option<&[f64]> {
        let figures = self.0.get(test)?.get(subject)?;
        figures.get(figure).map(Vec::as_slice)
    }
}
