//! What a caller of [`merge`](super::merge) decides, and what it is told on the way.

use crate::batch::Reject;
use crate::read::Limits;
use crate::rows::File;
use oneflight_sql::Dialect;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// Where from, where to, and how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The folder that the paths of the mapping are relative to.
    pub data: PathBuf,
    /// The target: `sqlite:file.db`, `postgres://…`, `mysql://…`.
    pub into: String,
    /// Chunks in flight side by side. At least 1. Each holds a few megabytes.
    pub workers: usize,
    /// Connections to the database. At least 1; SQLite uses one.
    pub connections: usize,
    /// Do everything, commit nothing.
    pub dry_run: bool,
    /// Stop when more rows than this are rejected.
    pub max_rejects: Option<u64>,
    /// Rows in a chunk, at most. With `chunk_bytes` it bounds the memory: about `2 * workers` chunks are held.
    pub chunk_rows: usize,
    /// Bytes of text in a chunk, at most (a single row may be larger).
    pub chunk_bytes: usize,
    /// Remembered ids, over all tables, at most.
    pub remember: usize,
}

impl Options {
    /// Usual options for a merge of what lies in `data` into the database at the URL `into`.
    pub fn new(data: impl Into<PathBuf>, into: impl Into<String>) -> Self {
        let into = into.into();
        // SQLite has one writer: one chunk is written while the next is mapped. A server has several, and a round trip to bridge.
        let workers = match Dialect::of_url(&into) {
            Some(Dialect::Sqlite) => 2,
            _ => 4,
        };
        Self {
            data: data.into(),
            into,
            workers,
            connections: 4,
            dry_run: false,
            max_rejects: None,
            chunk_rows: 5_000,
            chunk_bytes: 4 << 20,
            remember: 1 << 20,
        }
    }
}

impl Options {
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            rows: self.chunk_rows.max(1),
            bytes: self.chunk_bytes.max(1),
        }
    }
}

/// Is told what happens while it happens. Called from the task that runs the merge, in the order of the feeds' rows.
pub trait Events: Send {
    /// The next feed begins. `bytes` is the size of its files, as far as it is known.
    fn feed_started(&mut self, feed: usize, name: &str, files: &[Arc<File>], bytes: u64) {
        let _ = (feed, name, files, bytes);
    }

    /// A chunk has been merged.
    fn progress(&mut self, feed: usize, progress: Progress) {
        let _ = (feed, progress);
    }

    /// A row was rejected.
    fn rejected(&mut self, feed: &str, file: &str, reject: &Reject) {
        let _ = (feed, file, reject);
    }

    /// All rows of a feed are merged.
    fn feed_ended(&mut self, feed: usize, report: &crate::report::FeedReport) {
        let _ = (feed, report);
    }
}

/// Tells nobody.
impl Events for () {}

/// How far a feed is.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Rows read so far.
    pub rows: u64,
    /// Bytes of its files read so far.
    pub bytes: u64,
    /// Rows created so far, in all tables, by this feed.
    pub created: u64,
    /// Rows rejected so far.
    pub rejected: u64,
}

/// A way to stop a merge from outside: chunks in flight are finished, nothing more is read.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    set: AtomicBool,
    told: Notify,
}

impl Stop {
    /// A stop that nobody has asked for yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the merge to stop.
    pub fn stop(&self) {
        // ORDERING: Release pairs with the Acquire below; nothing else is published by it.
        self.0.set.store(true, Ordering::Release);
        self.0.told.notify_waiters();
    }

    /// Waits until somebody asks.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn stopped(&self) {
        loop {
            let told = self.0.told.notified();
            if self.is_stopped() {
                return;
            }
            told.await;
        }
    }

    /// True once somebody asked.
    pub fn is_stopped(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `stop`.
        self.0.set.load(Ordering::Acquire)
    }
}
