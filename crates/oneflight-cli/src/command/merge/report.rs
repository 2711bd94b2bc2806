//! A merge, printed: two tables for people, or one JSON object.

use super::run::Done;
use crate::exit::Exit;
use crate::print::{Grid, count, seconds};
use oneflight_merge::report::{FeedReport, Report};
use serde::Serialize;

/// The code that a merge ends with.
pub(crate) fn exit(report: &Report) -> Exit {
    if report.interrupted {
        Exit::Interrupted
    } else if report.reject_limit {
        Exit::RejectLimit
    } else if report.rejected() > 0 {
        Exit::Found
    } else {
        Exit::Done
    }
}

/// The report for people.
pub(crate) fn text(done: &Done) -> String {
    let report = &done.report;
    let rate = (report.read() as f64 / report.seconds.max(0.001)).round() as u64;
    format!(
        "{}\n{}\n{} into {}: {} rows in {} ({} rows/s), {} round trips\n{}",
        feeds(report).render(),
        tables(report).render(),
        status(report),
        done.into,
        count(report.read()),
        seconds(report.seconds),
        count(rate),
        count(report.round_trips),
        rejected(done),
    )
}

/// A line for each feed, and their sum.
fn feeds(report: &Report) -> Grid {
    let mut feeds = Grid::new(&[
        "feed",
        "read",
        "inserted",
        "unchanged",
        "updated",
        "rejected",
    ]);
    for feed in &report.feeds {
        feeds.row(
            &feed.name,
            &[
                feed.read,
                feed.inserted,
                feed.existing,
                feed.updated,
                feed.rejected,
            ],
        );
    }
    if report.feeds.len() > 1 {
        let sum = |of: fn(&FeedReport) -> u64| report.feeds.iter().map(of).sum::<u64>();
        let sums = [
            sum(|f| f.read),
            sum(|f| f.inserted),
            sum(|f| f.existing),
            sum(|f| f.updated),
            sum(|f| f.rejected),
        ];
        feeds.row("all", &sums);
    }
    feeds
}

/// A line for each table.
fn tables(report: &Report) -> Grid {
    let mut tables = Grid::new(&[
        "table",
        "created",
        "found",
        "completed",
        "updated",
        "conflicts",
    ]);
    for table in &report.tables {
        tables.row(
            &table.name,
            &[
                table.created,
                table.found,
                table.completed,
                table.updated,
                table.conflicts,
            ],
        );
    }
    tables
}

/// What happened, in a few words.
fn status(report: &Report) -> &'static str {
    match exit(report) {
        Exit::Interrupted => "interrupted; merged what had been read",
        Exit::RejectLimit => "stopped at the reject limit; merged what had been read",
        _ if report.dry_run => "dry run, nothing is written",
        _ => "merged",
    }
}

fn rejected(done: &Done) -> String {
    match (done.report.rejected(), &done.rejects) {
        (0, _) => String::new(),
        (n, Some(path)) => format!("{} rejected, see {}\n", rows(n), path.display()),
        (n, None) => format!("{} rejected\n", rows(n)),
    }
}

fn rows(n: u64) -> String {
    if n == 1 {
        "1 row".to_owned()
    } else {
        format!("{} rows", count(n))
    }
}

/// The report for programs.
#[derive(Serialize)]
struct Json<'d> {
    /// `done`, `rejects`, `reject_limit` or `interrupted`.
    status: &'static str,
    exit_code: u8,
    into: &'d str,
    rejects_file: Option<String>,
    read: u64,
    rejected: u64,
    #[serde(flatten)]
    report: &'d Report,
}

/// The report as one JSON object on one line.
pub(crate) fn json(done: &Done) -> String {
    let exit = exit(&done.report);
    let json = Json {
        status: match exit {
            Exit::Interrupted => "interrupted",
            Exit::RejectLimit => "reject_limit",
            Exit::Found => "rejects",
            _ => "done",
        },
        exit_code: exit as u8,
        into: &done.into,
        rejects_file: done.rejects.as_ref().map(|path| path.display().to_string()),
        read: done.report.read(),
        rejected: done.report.rejected(),
        report: &done.report,
    };
    // A report is numbers, texts and lists: there is nothing in it that JSON cannot say.
    serde_json::to_string(&json).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(edit: impl FnOnce(&mut Report)) -> Done {
        let mut report = Report::default();
        edit(&mut report);
        Done {
            report,
            into: "sqlite:a.db".into(),
            rejects: None,
        }
    }

    #[test]
    fn the_exit_code_tells_how_a_merge_ended() {
        let code = |edit: fn(&mut Report)| exit(&done(edit).report) as u8;
        assert_eq!(code(|_| ()), 0);
        assert_eq!(code(|report| report.reject_limit = true), 4);
        assert_eq!(code(|report| report.interrupted = true), 130);
    }

    #[test]
    fn the_json_report_is_one_line_and_says_its_exit_code() {
        let text = json(&done(|report| report.interrupted = true));
        assert_eq!(text.matches('\n').count(), 1);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (json["exit_code"].as_u64(), json["status"].as_str()),
            (Some(130), Some("interrupted"))
        );
        assert_eq!(json["rejects_file"], serde_json::Value::Null);
        assert!(
            json["feeds"].is_array()
                && json["tables"].is_array()
                && json["round_trips"].is_number()
        );
    }

    #[test]
    fn the_text_report_says_what_it_merged_into() {
        let text = text(&done(|report| report.dry_run = true));
        assert!(
            text.contains("dry run, nothing is written into sqlite:a.db: 0 rows in 0.00 s"),
            "{text}"
        );
    }
}
