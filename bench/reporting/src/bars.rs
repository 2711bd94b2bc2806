//! The bars that were set before anything was built, and whether they are met.

use crate::table::{Table, number};

/// Whether less or more of a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// At most the limit.
    Less,
    /// At least the limit.
    More,
}

/// A figure, and what it may be.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Bar {
    /// What is measured.
    pub what: String,
    /// What it is compared with, if with anything.
    pub beside: Option<String>,
    /// The figure; `None` if it was not run.
    pub is: Option<f64>,
    /// What it may be.
    pub limit: f64,
    /// On which side of the limit it has to be.
    pub better: Better,
    /// Why, if it is missed.
    pub why: String,
}

impl Bar {
    /// Whether it is met; `None` if it was not run.
    #[must_use]
    pub fn is_met(&self) -> Option<bool> {
        Some(match self.better {
            Better::Less => self.is? <= self.limit,
            Better::More => self.is? >= self.limit,
        })
    }
}

/// All bars, as a table under `title`, and a line for each that is missed.
#[must_use]
pub fn text(title: &str, note: &str, bars: &[Bar]) -> String {
    let mut table = Table::new(title, note, &["", "beside", "is", "bar", "met"]);
    for bar in bars {
        let sign = match bar.better {
            Better::Less => "≤",
            Better::More => "≥",
        };
        let met = match bar.is_met() {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "not run",
        };
        table.rows.push(vec![
            bar.what.clone(),
            bar.beside.clone().unwrap_or_default(),
            number(bar.is),
            format!("{sign} {}", number(Some(bar.limit))),
            met.to_owned(),
        ]);
    }
    let missed = bars.iter().filter(|bar| bar.is_met() == Some(false));
    let missed: Vec<String> = missed
        .map(|bar| {
            let [is, limit] = [bar.is, Some(bar.limit)].map(number);
            let line = format!(
                "* Missed: {} is {is}, the bar is {limit}. {}",
                bar.what, bar.why
            );
            format!("{}\n", line.trim_end())
        })
        .collect();
    format!("{table}\n{}", missed.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_that_was_not_run_is_neither_met_nor_missed() {
        let bar = |is| Bar {
            what: "a".to_owned(),
            beside: None,
            is,
            limit: 1.0,
            better: Better::More,
            why: "Because.".to_owned(),
        };
        let text = text("T", "n", &[bar(Some(2.0)), bar(Some(0.5)), bar(None)]);
        let met = ["yes", "**no**", "not run"].map(|word| text.matches(word).count());
        assert_eq!(met, [1, 1, 1]);
        assert!(text.ends_with("* Missed: a is 0.50, the bar is 1. Because.\n"));
    }
}
