//! The books of a run: what is told while it runs, and the report at its end.

use super::count::{TableCount, Written};
use super::feeds::Feeds;
use super::options::{Events, Progress};
use crate::plan::Plan;
use crate::report::{FeedReport, Report, TableReport};
use crate::rows::File;
use std::sync::Arc;

/// Adds up what the chunks come to.
#[derive(Debug)]
pub(crate) struct Books {
    feeds: Vec<Feed>,
    tables: Vec<(String, TableCount)>,
    rejected: u64,
    max_rejects: Option<u64>,
}

#[derive(Debug)]
struct Feed {
    report: FeedReport,
    files: Vec<Arc<File>>,
    /// Bytes of the files before the one that is being read.
    bytes_before: u64,
    current: Option<Arc<File>>,
    created: u64,
}

impl Books {
    pub(crate) fn new(plan: &Plan, feeds: &Feeds, max_rejects: Option<u64>) -> Self {
        let of_feed = |(at, feed): (usize, &crate::plan::FeedPlan)| {
            let files = feeds.files(at);
            let report = FeedReport {
                name: feed.name.clone(),
                files: files.len() as u64,
                ..FeedReport::default()
            };
            Feed {
                report,
                files,
                bytes_before: 0,
                current: None,
                created: 0,
            }
        };
        Self {
            feeds: plan.feeds.iter().enumerate().map(of_feed).collect(),
            tables: plan
                .tables
                .iter()
                .map(|table| (table.sql.name.clone(), TableCount::default()))
                .collect(),
            rejected: 0,
            max_rejects,
        }
    }

    pub(crate) fn over_limit(&self) -> bool {
        self.max_rejects.is_some_and(|max| self.rejected > max)
    }

    pub(crate) fn feed_began(&self, feed: usize, events: &mut dyn Events) {
        let Feed { report, files, .. } = &self.feeds[feed];
        let bytes = files.iter().filter_map(|file| file.bytes).sum();
        events.feed_started(feed, &report.name, files, bytes);
    }

    pub(crate) fn feed_ended(&self, feed: usize, events: &mut dyn Events) {
        events.feed_ended(feed, &self.feeds[feed].report);
    }

    pub(crate) fn chunk(
        &mut self,
        at: usize,
        file: &Arc<File>,
        bytes_read: u64,
        written: Written,
        events: &mut dyn Events,
    ) {
        let feed = &mut self.feeds[at];
        let rejected = written.rejects.len() as u64;
        feed.report.inserted += written.inserted;
        feed.report.existing += written.existing;
        feed.report.updated += written.updated;
        feed.report.rejected += rejected;
        feed.report.read += written.inserted + written.existing + written.updated + rejected;
        self.rejected += rejected;
        for ((_, sum), count) in self.tables.iter_mut().zip(&written.tables) {
            sum.merge(*count);
            feed.created += count.created;
        }
        feed.enter(file);
        for reject in &written.rejects {
            events.rejected(&feed.report.name, &file.name, reject);
        }
        let progress = Progress {
            rows: feed.report.read,
            bytes: feed.bytes_before + bytes_read,
            created: feed.created,
            rejected: feed.report.rejected,
        };
        events.progress(at, progress);
    }

    pub(crate) fn report(self) -> Report {
        let table = |(name, count): (String, TableCount)| TableReport {
            name,
            found: count.found,
            created: count.created,
            completed: count.completed,
            updated: count.updated,
            conflicts: count.conflicts,
        };
        Report {
            reject_limit: self.over_limit(),
            feeds: self.feeds.into_iter().map(|feed| feed.report).collect(),
            tables: self.tables.into_iter().map(table).collect(),
            ..Report::default()
        }
    }
}

impl Feed {
    fn enter(&mut self, file: &Arc<File>) {
        match &self.current {
            Some(current) if Arc::ptr_eq(current, file) => return,
            Some(done) => self.bytes_before += done.bytes.unwrap_or(0),
            None => {}
        }
        self.current = Some(file.clone());
    }
}
