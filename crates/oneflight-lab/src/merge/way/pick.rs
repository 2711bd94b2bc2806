//! From the name of a way to what it does.

use super::{batches, bulk, cached, flights, mutex, naive, queue, sequential};
use crate::error::Error;
use crate::merge::database::{Ran, Site};
use crate::merge::tables::Tables;
use crate::result::Way;
use std::sync::Arc;

/// What is to be done.
#[derive(Clone, Debug)]
pub(in crate::merge) struct Task {
    pub(in crate::merge) site: Arc<Site>,
    pub(in crate::merge) tables: Arc<Tables>,
    /// The references, in the order of the feed.
    pub(in crate::merge) keys: Arc<[u32]>,
    /// Connections, for a way that uses many.
    pub(in crate::merge) connections: u32,
}

/// Does it.
pub(in crate::merge) async fn run(way: Way, task: &Task) -> Result<Ran, Error> {
    match way {
        Way::Sequential => sequential::run(task).await,
        Way::Cached => cached::run(task).await,
        Way::Naive => naive::run(task).await,
        Way::Mutex => mutex::run(task).await,
        Way::Queue => queue::run(task).await,
        Way::Flights => flights::run(task).await,
        Way::Batches => batches::run(task).await,
        Way::ByHand => bulk::run(task).await,
    }
}

/// The round trips of a way that makes them one after another, for so many references to so many things: a look-up each time
/// (or, with a cache, once for each thing), and two statements for each thing that is created.
pub(in crate::merge) fn trips(way: Way, references: u64, keys: u64) -> u64 {
    match way {
        Way::Cached => 3 * keys,
        _ => references + 2 * keys,
    }
}
