//! The feeds of a plan, opened before anything is written, then read one after the other.

use super::options::Stop;
use crate::error::Error;
use crate::map::Lookups;
use crate::plan::Plan;
use crate::read::{self, Input, Limits};
use crate::rows::{Chunk, File};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::mpsc::Sender;

/// All inputs of a run.
#[derive(Debug)]
pub(crate) struct Feeds {
    /// Values that a mapping translates by files.
    pub(crate) lookups: Arc<Lookups>,
    /// By feed, its files in order.
    inputs: Vec<Vec<Input>>,
}

/// What the reader hands on, in the order of the rows.
#[derive(Debug)]
pub(crate) enum Read {
    Began(usize),
    Chunk(usize, Chunk),
    Ended(usize),
}

/// Finds and opens the files of all feeds, and checks that the columns are there.
pub(crate) fn open(plan: &Plan, data: &Path) -> Result<Feeds, Error> {
    let lookups = Arc::new(Lookups::read(plan, data).map_err(Error::feed)?);
    let inputs = plan
        .feeds
        .iter()
        .map(|feed| read::open(&feed.source, data).map_err(Error::feed))
        .collect::<Result<_, _>>()?;
    Ok(Feeds { lookups, inputs })
}

impl Feeds {
    /// No file of any feed: what a run has before they are opened.
    pub(crate) fn none(plan: &Plan) -> Self {
        Self {
            lookups: Arc::default(),
            inputs: plan.feeds.iter().map(|_| Vec::new()).collect(),
        }
    }

    /// The files of a feed.
    pub(crate) fn files(&self, feed: usize) -> Vec<Arc<File>> {
        self.inputs[feed]
            .iter()
            .map(|input| input.file.clone())
            .collect()
    }

    /// Reads all feeds; true if to their end, false if the receiver was gone or `stop` was set before.
    pub(crate) fn read(
        self,
        limits: Limits,
        stop: &Stop,
        send: &Sender<Read>,
    ) -> Result<bool, Error> {
        for (feed, inputs) in self.inputs.into_iter().enumerate() {
            if send.blocking_send(Read::Began(feed)).is_err() {
                return Ok(false);
            }
            for input in inputs {
                for chunk in input.chunks(limits) {
                    let chunk = chunk.map_err(Error::feed)?;
                    if stop.is_stopped() || send.blocking_send(Read::Chunk(feed, chunk)).is_err() {
                        return Ok(false);
                    }
                }
            }
            if send.blocking_send(Read::Ended(feed)).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
