//! Runs a merge and tells what happens: progress, rejected rows, the rejects file.
//!
//! E1. Every rejected row is in the rejects file, if there is one; the first [`SHOWN`] are on standard error too.

use super::Job;
use crate::command::stop;
use crate::exit::{Exit, Failure};
use crate::print::{self, Progress};
use crate::rejects::{Line, Rejects};
use oneflight_merge::batch::Reject;
use oneflight_merge::merge::{self, Events, Stop};
use oneflight_merge::report::{FeedReport, Report};
use oneflight_merge::rows::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Rejected rows that are shown as they come; the rest is counted.
const SHOWN: u64 = 5;

/// A merge that was done.
#[derive(Debug)]
pub(crate) struct Done {
    /// Its numbers.
    pub(crate) report: Report,
    /// The database, as it may be printed.
    pub(crate) into: String,
    /// The rejects file.
    pub(crate) rejects: Option<PathBuf>,
}

/// Merges. The first Ctrl-C stops it after the rows in flight.
///
/// # Errors
/// If it could not be done, or not to its end.
pub(crate) async fn run(job: Job) -> Result<Done, Failure> {
    let Job {
        plan,
        target,
        options,
        rejects,
        quiet,
    } = job;
    let names: Vec<String> = plan.feeds.iter().map(|feed| feed.name.clone()).collect();
    let stop = Stop::new();
    let progress = Progress::new(names.iter().map(String::as_str), quiet);
    let listener = stop::listen(stop.clone(), progress.voice());
    let mut watcher = Watcher {
        progress,
        rejects,
        rejected: 0,
        unwritten: None,
        stop: stop.clone(),
    };
    let merged = merge::merge(plan, options, &mut watcher, stop).await;
    drop(listener);
    let rejects = watcher.close()?;
    let report = merged.map_err(|error| explain(error, &target))?;
    Ok(Done {
        report,
        into: target.shown().to_owned(),
        rejects,
    })
}

/// Adds what may help.
fn explain(error: oneflight_merge::Error, target: &crate::target::Target) -> Failure {
    let database = error.is_database();
    let failure = Failure::from(error);
    if database {
        failure.hint(format!("the database is {}", target.shown()))
    } else {
        failure
    }
}

/// Is told what happens.
struct Watcher {
    progress: Progress,
    rejects: Option<Rejects>,
    rejected: u64,
    /// Why the rejects file could not be written; the merge is stopped then.
    unwritten: Option<io::Error>,
    stop: Stop,
}

impl Events for Watcher {
    fn feed_started(&mut self, _: usize, name: &str, _: &[Arc<File>], bytes: u64) {
        self.progress.start(name, bytes);
    }

    fn progress(&mut self, _: usize, progress: merge::Progress) {
        self.write(Rejects::flush);
        let merge::Progress {
            rows,
            bytes,
            created,
            rejected,
            ..
        } = progress;
        self.progress.update(print::Numbers {
            rows,
            bytes,
            created,
            rejected,
        });
    }

    fn rejected(&mut self, feed: &str, file: &str, reject: &Reject) {
        self.rejected += 1;
        let Reject {
            line,
            column,
            value,
            reason,
        } = reject;
        if self.rejected <= SHOWN {
            self.progress.say(&shown(file, reject));
        }
        let (column, value) = (column.as_deref(), value.as_deref());
        self.write(|rejects| {
            rejects.write(&Line {
                file,
                line: *line,
                feed,
                column,
                value,
                reason,
            })
        });
    }

    fn feed_ended(&mut self, _: usize, report: &FeedReport) {
        self.write(Rejects::flush);
        let whole = !self.stop.is_stopped();
        self.progress.end(report.read, report.rejected, whole);
    }
}

impl Watcher {
    fn write(&mut self, with: impl FnOnce(&mut Rejects) -> io::Result<()>) {
        if self.unwritten.is_some() {
            return;
        }
        if let Some(Err(error)) = self.rejects.as_mut().map(with) {
            // Rows would be rejected without a trace: better to stop here.
            self.unwritten = Some(error);
            self.stop.stop();
        }
    }

    /// Writes the rest of the rejects file and says how many rejected rows were not shown.
    fn close(mut self) -> Result<Option<PathBuf>, Failure> {
        self.write(Rejects::flush);
        let path = self
            .rejects
            .as_ref()
            .map(|rejects| rejects.path().to_owned());
        if let Some(error) = self.unwritten {
            let path = path.unwrap_or_default();
            let message = format!(
                "cannot write the rejects file `{}`: {error}",
                path.display()
            );
            return Err(Failure {
                exit: Exit::Usage,
                ..Failure::say(message)
            });
        }
        if self.rejected > SHOWN {
            let more = print::count(self.rejected - SHOWN);
            let all = match &path {
                Some(path) => format!("all are in {}", path.display()),
                None => "--rejects FILE writes all of them to a file".to_owned(),
            };
            self.progress
                .say(&format!("… and {more} more rejected ({all})"));
        }
        Ok(path)
    }
}

/// A rejected row in one line: ``results.csv:17: column `date`: value "2023-02-30": expected a date``.
fn shown(file: &str, reject: &Reject) -> String {
    let mut line = format!("{}:{}: ", print::plain(file), reject.line);
    if let Some(column) = &reject.column {
        line.push_str(&format!("column `{}`: ", print::plain(column)));
    }
    if let Some(value) = &reject.value {
        line.push_str(&format!("value \"{}\": ", print::plain(value)));
    }
    line + &print::plain(&reject.reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_row_is_shown_in_one_line() {
        let reject = Reject {
            line: 17,
            column: Some("date".into()),
            value: Some("a\nb".into()),
            reason: "expected a date".into(),
        };
        assert_eq!(
            shown("r.csv", &reject),
            "r.csv:17: column `date`: value \"a\\nb\": expected a date"
        );
        let reject = Reject {
            line: 3,
            column: None,
            value: None,
            reason: "expected 3 fields, found 2".into(),
        };
        assert_eq!(
            shown("r.csv", &reject),
            "r.csv:3: expected 3 fields, found 2"
        );
    }
}
