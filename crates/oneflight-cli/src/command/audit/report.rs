//! An audit, printed: what is wrong, and what somebody should look at.

use crate::exit::Exit;
use crate::print::{Grid, count, plain, seconds};
use crate::target::Target;
use oneflight_merge::audit::{AuditReport, TableAudit};
use serde::Serialize;

/// Examples of a finding that are shown.
const EXAMPLES: usize = 5;
/// Pairs that look alike that are shown for a table.
const PAIRS: usize = 3;

/// The report for people.
pub(crate) fn text(report: &AuditReport) -> String {
    let mut grid = Grid::new(&["table", "rows", "findings", "hints"]);
    for table in &report.tables {
        let findings = table.findings.iter().map(|finding| finding.count).sum();
        let hints = table.hints.iter().map(|hint| hint.count).sum();
        grid.row(&table.name, &[table.rows, findings, hints]);
    }
    let mut out = grid.render();
    out.push('\n');
    for table in &report.tables {
        findings(table, &mut out);
    }
    for table in &report.tables {
        hints(table, &mut out);
    }
    let time = seconds(report.seconds);
    out.push_str(&if report.is_clean() {
        format!("clean: no key twice, no reference to nothing, no external id astray ({time})\n")
    } else {
        format!("not clean ({time})\n")
    });
    out
}

fn findings(table: &TableAudit, out: &mut String) {
    let name = plain(&table.name);
    for finding in &table.findings {
        let what = finding.kind.describe();
        out.push_str(&format!(
            "{name}: {}: {} {what}\n",
            plain(&finding.column),
            count(finding.count)
        ));
        for example in finding.examples.iter().take(EXAMPLES) {
            out.push_str(&format!("  {}\n", plain(example)));
        }
        more(finding.count, EXAMPLES.min(finding.examples.len()), out);
    }
    for note in &table.notes {
        out.push_str(&format!("{name}: note: {}\n", plain(note)));
    }
}

fn hints(table: &TableAudit, out: &mut String) {
    let name = plain(&table.name);
    for hint in &table.hints {
        let alike = if hint.count == 1 {
            "pair looks alike"
        } else {
            "pairs look alike"
        };
        let column = plain(&hint.column);
        out.push_str(&format!(
            "hint: {name}: {column}: {} {alike}, are they one?\n",
            count(hint.count)
        ));
        for pair in hint.pairs.iter().take(PAIRS) {
            let (one, other) = (plain(&pair.one), plain(&pair.other));
            out.push_str(&format!(
                "  \"{one}\" and \"{other}\" ({})\n",
                pair.why.describe()
            ));
        }
        more(hint.count, PAIRS.min(hint.pairs.len()), out);
        if hint.cut {
            out.push_str("  not all rows were compared: there are too many\n");
        }
    }
}

fn more(all: u64, shown: usize, out: &mut String) {
    let rest = all.saturating_sub(shown as u64);
    if rest > 0 {
        out.push_str(&format!("  … and {} more\n", count(rest)));
    }
}

/// The report for programs.
#[derive(Serialize)]
struct Json<'r> {
    /// `clean` or `findings`.
    status: &'static str,
    exit_code: u8,
    into: &'r str,
    #[serde(flatten)]
    report: &'r AuditReport,
}

/// The report as one JSON object on one line.
pub(crate) fn json(report: &AuditReport, target: &Target) -> String {
    let exit = super::exit(report);
    let status = if exit == Exit::Done {
        "clean"
    } else {
        "findings"
    };
    let json = Json {
        status,
        exit_code: exit as u8,
        into: target.shown(),
        report,
    };
    // A report is numbers, texts and lists: there is nothing in it that JSON cannot say.
    serde_json::to_string(&json).unwrap_or_default() + "\n"
}
