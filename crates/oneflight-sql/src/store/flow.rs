//! The flow of a batch: rounds until every record is done.
//!
//! ```text
//!   open ─▶ read? ─▶ write ─▶ settle ─▶ (update) ─▶ done
//!     ▲        passing fault: wait, again     │
//!     └──────── still open: next round ◀──────┘       fault of a record: halve the set
//! ```
//!
//! L1. Each round is one short transaction, and nothing of it is believed before the commit.
//! L2. A round that brings nobody further counts; after [`IDLE_ROUNDS`] of them those who are left get an error with a name.

use super::batch::{Batch, Need, View};
use super::settle::{Settled, settle};
use crate::dialect::{Dialect, Hit, Layout, find, hits};
use crate::driver::{Driver, DriverError, Fault, Mode, Patience, Pipeline, Rows};
use crate::error::Error;
use crate::record::{Outcome, Record};
use crate::value::Value;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records of one transaction, at most.
pub(super) const CHUNK: usize = 8_192;
/// A set this small is written at once where that costs no more round trips than reading.
const SMALL: usize = 64;
/// How many rounds may bring nothing.
const IDLE_ROUNDS: u32 = 4;

/// What a store works with.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) driver: Arc<dyn Driver>,
    pub(super) layout: Arc<Layout>,
    /// True if the batch before had to create: then this one is written without reading first.
    pub(super) expects_misses: Arc<AtomicBool>,
    /// True if all rows of the last load were new: then the next ones are inserted without asking first.
    pub(super) loads_new: Arc<AtomicBool>,
}

pub(super) type Shared = Arc<Mutex<Batch>>;

impl Flow {
    /// Merges the records; one outcome each, in their order.
    pub(super) async fn merge(&self, records: Vec<Record>) -> Vec<Result<Outcome, Error>> {
        let batch = Batch::new(&self.layout, records);
        let open = batch.open();
        let batch = Arc::new(Mutex::new(batch));
        // The last set is taken first.
        let mut sets: Vec<Vec<usize>> = open.chunks(CHUNK).rev().map(<[usize]>::to_vec).collect();
        while let Some(set) = sets.pop() {
            if let Err((error, left)) = self.finish(&batch, set).await {
                if error.fault().is_of_the_record() && left.len() > 1 {
                    let (first, second) = left.split_at(left.len() / 2);
                    sets.extend([second.to_vec(), first.to_vec()]);
                    continue;
                }
                let error = Error::driver(
                    format!("could not store in table `{}`", self.layout.table.name),
                    error,
                );
                let mut batch = batch.lock();
                left.iter()
                    .for_each(|&at| batch.done[at] = Some(Err(error.clone())));
            }
        }
        let mut batch = batch.lock();
        if !open.is_empty() {
            // ORDERING: Relaxed, a guess about the next batch that is never wrong, only slower.
            self.expects_misses
                .store(!batch.created.is_empty(), Ordering::Relaxed);
        }
        let none = || Err(Error::internal("a record was left without an outcome"));
        batch
            .done
            .iter_mut()
            .map(|done| done.take().unwrap_or_else(none))
            .collect()
    }

    /// The ids of the records that are there.
    pub(super) async fn find(&self, records: &[Record]) -> Result<Vec<Option<Value>>, Error> {
        let mut batch = Batch::new(&self.layout, records.to_vec());
        if let Some(Some(Err(error))) = batch
            .done
            .iter_mut()
            .find(|done| done.is_some())
            .map(Option::take)
        {
            return Err(error);
        }
        let set = batch.open();
        if set.is_empty() {
            return Ok(Vec::new());
        }
        let asks = batch.asks_of(&set);
        let mut patience = Patience::default();
        let rows = loop {
            let pipeline = find(&self.layout, &asks)
                .into_iter()
                .fold(Pipeline::new(Mode::Plain), Pipeline::step);
            match self.driver.run(pipeline).await {
                Ok(rows) => break rows,
                Err(error) => patience.after(error).await.map_err(|error| {
                    let doing = format!("could not read table `{}`", self.layout.table.name);
                    Error::driver(doing, error)
                })?,
            }
        };
        let view = View::new(&self.layout, &batch, &set, hits(&self.layout, &rows));
        let id = |need: &Need| match need {
            Need::Row(row) => Some(view.rows[*row].id.clone()),
            // The key is known, the external id is not, and by the table's rules the two are one.
            Need::Link => None,
            Need::Create | Need::Split | Need::Never(_) => None,
        };
        let by_key = self.by_key(&batch, &set, &rows);
        Ok(view
            .needs
            .iter()
            .enumerate()
            .map(|(at, need)| id(need).or_else(|| by_key.get(&at).cloned()))
            .collect())
    }

    /// For a look-up: the rows that have the key of a record whose external id is not linked, and would be.
    fn by_key(&self, batch: &Batch, set: &[usize], rows: &[Rows]) -> HashMap<usize, Value> {
        let view = View::new(&self.layout, batch, set, hits(&self.layout, rows));
        let links = |at: usize| matches!(view.needs.get(at), Some(Need::Link));
        let hits = hits(&self.layout, rows)
            .into_iter()
            .filter(|hit| links(hit.ask));
        hits.map(|hit| (hit.ask, hit.id)).collect()
    }

    /// Rounds until all records of the set are done, or a fault that waiting does not mend.
    async fn finish(
        &self,
        batch: &Shared,
        mut left: Vec<usize>,
    ) -> Result<(), (DriverError, Vec<usize>)> {
        let mut needs: HashMap<usize, Need> = HashMap::new();
        let (mut patience, mut idle, mut met) = (Patience::default(), 0, false);
        let mut reads = !self.writes_blindly(left.len());
        loop {
            let round = match (reads, self.layout.dialect) {
                (true, _) => self.read(batch, &left, &mut needs).await,
                (false, Dialect::Postgres) => self.write_guarded(batch, &left, &mut needs).await,
                (false, _) => self.write_known(batch, &left).await,
            };
            let before = left.len();
            left.retain(|&at| batch.lock().done[at].is_none());
            match round {
                Ok(progress) if left.len() < before || progress > 0 || reads => {
                    (patience, idle, reads) = (Patience::default(), 0, false);
                    met = false;
                }
                Ok(_) => idle += 1,
                // A writer that takes no lock of ours may have made the row since we looked. If so, the next look finds it.
                Err(error) if error.fault() == Fault::Unique && self.looks_first() && !met => {
                    met = true;
                }
                Err(error) => {
                    if let Err(error) = patience.after(error).await {
                        return Err((error, left));
                    }
                }
            }
            if left.is_empty() {
                return Ok(());
            }
            if idle == IDLE_ROUNDS {
                let error = Error::refused(format!(
                    "table `{}`: the row can be neither found nor made; another unique index, a trigger or a row policy is in the way",
                    self.layout.table.name
                ));
                let mut batch = batch.lock();
                left.iter()
                    .for_each(|&at| batch.done[at] = Some(Err(error.clone())));
                return Ok(());
            }
        }
    }

    /// True if a round looks first, and then inserts without a guard what it has not found.
    fn looks_first(&self) -> bool {
        self.layout.dialect == Dialect::MySql
    }

    fn writes_blindly(&self, records: usize) -> bool {
        // ORDERING: Relaxed, see `merge`.
        let expects_misses = self.expects_misses.load(Ordering::Relaxed);
        match self.driver.is_pipelined() {
            true => records <= SMALL || expects_misses,
            false => expects_misses && self.layout.dialect != Dialect::Postgres,
        }
    }

    /// Looks, and settles those who are there and change nothing.
    async fn read(
        &self,
        batch: &Shared,
        set: &[usize],
        needs: &mut HashMap<usize, Need>,
    ) -> Result<usize, DriverError> {
        let pipeline = find(&self.layout, &batch.lock().asks_of(set))
            .into_iter()
            .fold(Pipeline::new(Mode::Plain), Pipeline::step);
        let rows = self.driver.run(pipeline).await?;
        self.conclude(batch, set, hits(&self.layout, &rows), needs)
            .await
    }

    /// Settles those whose rows are known, and stores what they change.
    pub(super) async fn conclude(
        &self,
        batch: &Shared,
        set: &[usize],
        hits: Vec<Hit>,
        needs: &mut HashMap<usize, Need>,
    ) -> Result<usize, DriverError> {
        let mut settled = {
            let batch = batch.lock();
            let view = View::new(&self.layout, &batch, set, hits);
            needs.extend(set.iter().copied().zip(view.needs.iter().cloned()));
            settle(&self.layout, &batch, set, &view)
        };
        let wanted = std::mem::take(&mut settled.wanted);
        let mut progress = self.apply(batch, settled, needs, false);
        if !wanted.is_empty() && self.layout.dialect == Dialect::Postgres {
            progress += self.update_locked(batch, wanted).await?;
        }
        Ok(progress)
    }

    /// Takes over what is settled, after the commit (L1).
    pub(super) fn apply(
        &self,
        batch: &Shared,
        settled: Settled,
        needs: &mut HashMap<usize, Need>,
        stored: bool,
    ) -> usize {
        let mut batch = batch.lock();
        let progress = settled.splits.len() + settled.outcomes.len();
        for at in settled.splits {
            batch.split(&self.layout, at);
            needs.remove(&at);
        }
        let pending = if stored { settled.pending } else { Vec::new() };
        for (at, outcome) in settled.outcomes.into_iter().chain(pending) {
            batch.done[at] = Some(outcome);
        }
        progress
    }
}

/// Our own complaint on its way through a driver.
pub(super) fn of_record(error: Error) -> DriverError {
    DriverError::new(Fault::Data, error.to_string())
}
