//! The pipeline of a merge.
//!
//!   reading (blocking thread) ──chunks──▶ up to `workers` tasks: map (blocking thread) ─▶ write ──▶ books, in feed order
//!
//! M1. At most `workers` chunks are being mapped or written and at most two wait: that bounds the memory.
//! M2. Books, rejects and progress are told in the order of the rows, whatever order the chunks end in.
//! M3. The first error ends the run: no further chunk begins, those in flight are dropped.

use super::books::Books;
use super::count::Written;
use super::feeds::{self, Feeds, Read};
use super::options::{Events, Options, Stop};
use super::target::Target;
use super::write::Writer;
use crate::batch::Mapped;
use crate::error::Error;
use crate::map::Mapper;
use crate::plan::Plan;
use crate::report::Report;
use crate::rows::{Chunk, File};
use oneflight_sql::driver::Driver;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Merges all feeds of `plan` into the database at `options.into`.
///
/// The same feed twice changes nothing; a run that was cut off is completed by running it again.
///
/// # Cancel safety
/// Dropping the future stops the run: batches that have begun their transaction are finished or rolled back, nothing more is
/// read. To finish the chunks in flight and have a report, use `stop`.
///
/// # Errors
/// If a feed cannot be read ([`Error::is_feed`]; files and columns that are missing are found before anything is written), a
/// table does not fit the mapping ([`Error::is_usage`]), or the database fails ([`Error::is_database`]).
///
/// # Panics
/// Outside a tokio runtime.
pub async fn merge(
    plan: Arc<Plan>,
    options: Options,
    events: &mut dyn Events,
    stop: Stop,
) -> Result<Report, Error> {
    let began = Instant::now();
    let opened = tokio::select! {
        opened = open(&plan, &options) => opened?,
        // A pipe that nobody writes into, or a server that does not answer, must not hold up who wants to leave.
        () = stop.stopped() => return Ok(unbegun(&plan, &options, began)),
    };
    let (feeds, driver) = opened;
    let target = Target::open(driver, &plan, &options).await?;
    let writer = Arc::new(Writer::new(plan.clone(), target.sinks(&plan, &options)));
    let mut run = Run {
        books: Books::new(&plan, &feeds, options.max_rejects),
        plan,
        lookups: feeds.lookups.clone(),
        writer,
        tasks: JoinSet::new(),
        ended: BTreeMap::new(),
        chunks: 0,
        told: 0,
    };
    let ended = run.drive(feeds, &options, events, &stop).await;
    run.tasks.shutdown().await;
    let Run { books, writer, .. } = run;
    drop(writer);
    let round_trips = target.round_trips();
    target.close().await?;
    let to_the_end = ended?;
    let mut report = books.report();
    report.interrupted = !to_the_end && !report.reject_limit;
    report.round_trips = round_trips;
    report.seconds = began.elapsed().as_secs_f64();
    report.dry_run = options.dry_run;
    Ok(report)
}

/// Opens the feeds, then the database. Nothing is made or changed yet, so that it can be given up at any point.
async fn open(plan: &Arc<Plan>, options: &Options) -> Result<(Feeds, Arc<dyn Driver>), Error> {
    let feeds = {
        let (plan, data) = (plan.clone(), options.data.clone());
        blocking(move || feeds::open(&plan, &data)).await??
    };
    Ok((feeds, Target::connect(options).await?))
}

/// The report of a run that was stopped before it began.
fn unbegun(plan: &Plan, options: &Options, began: Instant) -> Report {
    let mut report = Books::new(plan, &Feeds::none(plan), options.max_rejects).report();
    report.interrupted = true;
    report.seconds = began.elapsed().as_secs_f64();
    report.dry_run = options.dry_run;
    report
}

struct Run {
    plan: Arc<Plan>,
    lookups: Arc<crate::map::Lookups>,
    writer: Arc<Writer>,
    tasks: JoinSet<Result<(u64, Told), Error>>,
    /// Chunks that ended before one that was read earlier (M2).
    ended: BTreeMap<u64, Told>,
    /// Numbers given out so far.
    chunks: u64,
    /// Numbers told so far.
    told: u64,
    books: Books,
}

/// Something that has its place in the order of the feeds' rows.
enum Told {
    FeedBegins(usize),
    Chunk {
        feed: usize,
        file: Arc<File>,
        bytes_read: u64,
        written: Box<Written>,
    },
    FeedEnds(usize),
}

impl Run {
    /// Runs the pipeline; true if all feeds were read to their end.
    async fn drive(
        &mut self,
        feeds: Feeds,
        options: &Options,
        events: &mut dyn Events,
        stop: &Stop,
    ) -> Result<bool, Error> {
        let (send, mut chunks) = mpsc::channel(2);
        let (limits, reader_stop) = (options.limits(), stop.clone());
        let reader = tokio::task::spawn_blocking(move || feeds.read(limits, &reader_stop, &send));
        let (mut reading, mut cut) = (true, false);
        let workers = options.workers.max(1);
        while reading || !self.tasks.is_empty() {
            tokio::select! {
                read = chunks.recv(), if reading && self.tasks.len() < workers => match read {
                    Some(read) => self.begin(read),
                    None => reading = false,
                },
                () = stop.stopped(), if reading => (reading, cut) = (false, true),
                Some(ended) = self.tasks.join_next() => {
                    let (number, ended) = joined(ended)??;
                    self.ended.insert(number, ended);
                }
            }
            self.tell(events);
            if self.books.over_limit() {
                (reading, cut) = (false, true);
            }
        }
        if cut {
            // A reader that hangs in a read of standard input is left behind: it holds nothing that we need.
            return Ok(false);
        }
        joined(reader.await)?
    }

    fn begin(&mut self, read: Read) {
        let number = self.chunks;
        self.chunks += 1;
        let (feed, chunk) = match read {
            Read::Chunk(feed, chunk) => (feed, chunk),
            Read::Began(feed) => return self.mark(number, Told::FeedBegins(feed)),
            Read::Ended(feed) => return self.mark(number, Told::FeedEnds(feed)),
        };
        let (plan, lookups, writer) =
            (self.plan.clone(), self.lookups.clone(), self.writer.clone());
        self.tasks.spawn(async move {
            let (file, bytes_read) = (chunk.file.clone(), chunk.bytes_read);
            let mapped = blocking(move || map(&plan, feed, &lookups, &chunk)).await?;
            let written = Box::new(writer.write(number, mapped).await?);
            Ok((
                number,
                Told::Chunk {
                    feed,
                    file,
                    bytes_read,
                    written,
                },
            ))
        });
    }

    fn mark(&mut self, number: u64, mark: Told) {
        self.writer.skip(number);
        self.ended.insert(number, mark);
    }

    /// Tells what has ended and comes next in the order of the rows (M2).
    fn tell(&mut self, events: &mut dyn Events) {
        while let Some(ended) = self.ended.remove(&self.told) {
            self.told += 1;
            match ended {
                Told::FeedBegins(feed) => self.books.feed_began(feed, events),
                Told::Chunk {
                    feed,
                    file,
                    bytes_read,
                    written,
                } => {
                    self.books.chunk(feed, &file, bytes_read, *written, events);
                }
                Told::FeedEnds(feed) => self.books.feed_ended(feed, events),
            }
        }
    }
}

fn map(plan: &Plan, feed: usize, lookups: &crate::map::Lookups, chunk: &Chunk) -> Mapped {
    Mapper::new(plan, feed, lookups).map(chunk)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    joined(tokio::task::spawn_blocking(work).await)
}

fn joined<T>(ended: Result<T, tokio::task::JoinError>) -> Result<T, Error> {
    ended.map_err(|error| Error::internal(format!("a part of the merge failed: {error}")))
}
