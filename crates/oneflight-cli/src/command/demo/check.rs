//! Compares what came out with what must come out. The demo makes its own feed, so it knows.

use super::files::Truth;
use oneflight_merge::audit::AuditReport;
use oneflight_merge::report::{FeedReport, Report};
use serde_json::Value;

/// What is not as it must be; empty if all is.
#[derive(Debug, Default)]
pub(super) struct Differences(pub(super) Vec<String>);

impl Differences {
    fn expect<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, found: T, expected: T) {
        if found != expected {
            self.0
                .push(format!("{what}: {found:?}, and {expected:?} was expected"));
        }
    }

    /// The first merge makes everything.
    pub(super) fn first(&mut self, report: &Report, truth: &Truth) {
        self.expect("rows read", report.read(), truth.rows);
        self.expect(
            "rows rejected",
            report.rejected(),
            truth.rejects.len() as u64,
        );
        for table in &report.tables {
            self.expect(
                &format!("rows created in `{}`", table.name),
                table.created,
                truth.table(&table.name),
            );
        }
        let conflicts = report.tables.iter().map(|table| table.conflicts).sum();
        self.expect("conflicts", conflicts, truth.conflicts);
    }

    /// The second changes nothing.
    pub(super) fn again(&mut self, report: &Report, truth: &Truth) {
        let sum = |of: fn(&FeedReport) -> u64| report.feeds.iter().map(of).sum::<u64>();
        self.expect(
            "rows inserted by the second merge",
            sum(|feed| feed.inserted),
            0,
        );
        self.expect(
            "rows updated by the second merge",
            sum(|feed| feed.updated),
            0,
        );
        self.expect(
            "rows unchanged by the second merge",
            sum(|feed| feed.existing),
            truth.rows - truth.rejects.len() as u64,
        );
    }

    /// The rejected rows are exactly the broken ones.
    pub(super) fn rejects(&mut self, ndjson: &str, truth: &Truth) {
        let lines = ndjson
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
        let mut found: Vec<(String, u64)> = lines
            .map(|line| {
                (
                    line["file"].as_str().unwrap_or_default().to_owned(),
                    line["line"].as_u64().unwrap_or(0),
                )
            })
            .collect();
        let mut expected = truth.rejects.clone();
        found.sort_unstable();
        expected.sort_unstable();
        self.expect("rejected rows", found, expected);
    }

    /// The database is clean, and has as many rows as it must.
    pub(super) fn audit(&mut self, report: &AuditReport, truth: &Truth) {
        self.expect("a clean audit", report.is_clean(), true);
        for table in &report.tables {
            self.expect(
                &format!("rows in `{}`", table.name),
                table.rows,
                truth.table(&table.name),
            );
        }
    }
}
