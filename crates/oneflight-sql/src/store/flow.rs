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

use super::batch::{Batch, Created, Handle, Need, Row, View, Work};
use super::settle::{self, Settled, settle};
use crate::ddl::fnv;
use crate::dialect::{Ask, Create, Dialect, Hit, Layout, Lock, find, guarded, hits, known};
use crate::driver::{Driver, DriverError, Fault, Mode, Pipeline, Rows, Statement};
use crate::error::Error;
use crate::record::{Outcome, Record};
use crate::value::Value;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Records of one transaction, at most.
const CHUNK: usize = 8_192;
/// A set this small is written at once where that costs no more round trips than reading.
const SMALL: usize = 64;
/// How often a passing fault is tried again.
const RETRIES: u32 = 8;
/// How many rounds may bring nothing.
const IDLE_ROUNDS: u32 = 4;

/// What a store works with.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) driver: Arc<dyn Driver>,
    pub(super) layout: Arc<Layout>,
    /// True if the batch before had to create: then this one is written without reading first.
    pub(super) expects_misses: Arc<AtomicBool>,
}

type Shared = Arc<Mutex<Batch>>;

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
                let error = Error::driver(format!("could not store in table `{}`", self.layout.table.name), error);
                let mut batch = batch.lock();
                left.iter().for_each(|&at| batch.done[at] = Some(Err(error.clone())));
            }
        }
        let mut batch = batch.lock();
        if !open.is_empty() {
            // ORDERING: Relaxed, a guess about the next batch that is never wrong, only slower.
            self.expects_misses.store(!batch.created.is_empty(), Ordering::Relaxed);
        }
        let none = || Err(Error::internal("a record was left without an outcome"));
        batch.done.iter_mut().map(|done| done.take().unwrap_or_else(none)).collect()
    }

    /// The ids of the records that are there.
    pub(super) async fn find(&self, records: &[Record]) -> Result<Vec<Option<Value>>, Error> {
        let mut batch = Batch::new(&self.layout, records.to_vec());
        if let Some(Some(Err(error))) = batch.done.iter_mut().find(|done| done.is_some()).map(Option::take) {
            return Err(error);
        }
        let set = batch.open();
        if set.is_empty() {
            return Ok(Vec::new());
        }
        let asks = batch.asks_of(&set);
        let mut attempt = 0;
        let rows = loop {
            let pipeline = find(&self.layout, &asks).into_iter().fold(Pipeline::new(Mode::Plain), Pipeline::step);
            match self.driver.run(pipeline).await {
                Ok(rows) => break rows,
                Err(error) if error.fault().is_passing() && attempt < RETRIES => pause(&mut attempt).await,
                Err(error) => return Err(Error::driver(format!("could not read table `{}`", self.layout.table.name), error)),
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
        Ok(view.needs.iter().enumerate().map(|(at, need)| id(need).or_else(|| by_key.get(&at).cloned())).collect())
    }

    /// For a look-up: the rows that have the key of a record whose external id is not linked, and would be.
    fn by_key(&self, batch: &Batch, set: &[usize], rows: &[Rows]) -> HashMap<usize, Value> {
        let view = View::new(&self.layout, batch, set, hits(&self.layout, rows));
        let links = |at: usize| matches!(view.needs.get(at), Some(Need::Link));
        let hits = hits(&self.layout, rows).into_iter().filter(|hit| links(hit.ask));
        hits.map(|hit| (hit.ask, hit.id)).collect()
    }

    /// Rounds until all records of the set are done, or a fault that waiting does not mend.
    async fn finish(&self, batch: &Shared, mut left: Vec<usize>) -> Result<(), (DriverError, Vec<usize>)> {
        let mut needs: HashMap<usize, Need> = HashMap::new();
        let (mut attempt, mut idle) = (0, 0);
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
                Ok(progress) if left.len() < before || progress > 0 || reads => (attempt, idle, reads) = (0, 0, false),
                Ok(_) => idle += 1,
                Err(error) if error.fault().is_passing() && attempt < RETRIES => pause(&mut attempt).await,
                Err(error) => return Err((error, left)),
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
                left.iter().for_each(|&at| batch.done[at] = Some(Err(error.clone())));
                return Ok(());
            }
        }
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
    async fn read(&self, batch: &Shared, set: &[usize], needs: &mut HashMap<usize, Need>) -> Result<usize, DriverError> {
        let asks = batch.lock().asks_of(set);
        let pipeline = find(&self.layout, &asks).into_iter().fold(Pipeline::new(Mode::Plain), Pipeline::step);
        let rows = self.driver.run(pipeline).await?;
        self.conclude(batch, set, hits(&self.layout, &rows), needs).await
    }

    /// PostgreSQL: locks, guarded inserts and links, commit, look-up, in one go.
    async fn write_guarded(
        &self,
        batch: &Shared,
        set: &[usize],
        needs: &mut HashMap<usize, Need>,
    ) -> Result<usize, DriverError> {
        let layout = &self.layout;
        let (pipeline, creates) = {
            let batch = batch.lock();
            let need = |at: &usize| needs.get(at).cloned().unwrap_or(Need::Create);
            let needed = set.iter().map(need).map(|need| if matches!(need, Need::Row(_)) { Need::Create } else { need });
            let work = Work::new(layout, &batch, set, needed).map_err(of_record)?;
            let (creates, created): (Vec<Create>, Vec<Created>) = work.creates.into_iter().unzip();
            let mut pipeline = Pipeline::new(Mode::Write { lock: None });
            pipeline = pipeline.step(guarded::lock(layout, &locks(&creates, &work.links), &creates, &work.links));
            match (&layout.links, layout.key.is_empty()) {
                (Some(links), true) => pipeline = pipeline.step(guarded::insert_linked(layout, links, &creates)),
                _ => pipeline = pipeline.step(guarded::insert(layout, &creates)),
            }
            if let (Some(links), false) = (&layout.links, work.links.is_empty()) {
                pipeline = pipeline.step(guarded::link(layout, links, &work.links, self.is_exclusive()));
            }
            let asks = batch.asks_of(set);
            (find(layout, &asks).into_iter().fold(pipeline, Pipeline::after), created)
        };
        let rows = self.driver.run(pipeline).await?;
        let made = guarded::created(layout, &rows[1]);
        let hits = hits(layout, &rows[rows.len() - 1..]);
        let splits_before = self.note_created(batch, set, made, creates, &hits);
        Ok(splits_before + self.conclude(batch, set, hits, needs).await?)
    }

    /// Remembers which rows this batch has made.
    fn note_created(&self, batch: &Shared, set: &[usize], made: Vec<Handle>, creates: Vec<Created>, hits: &[Hit]) -> usize {
        if made.is_empty() {
            return 0;
        }
        let mut batch = batch.lock();
        let of_record: HashMap<usize, usize> =
            creates.iter().enumerate().flat_map(|(nth, created)| created.members.iter().map(move |&at| (at, nth))).collect();
        let made: std::collections::HashSet<Handle> = made.into_iter().collect();
        for hit in hits {
            let Some(&at) = set.get(hit.ask) else { continue };
            let handle: Handle = match &self.layout.id {
                Some(_) => [hit.id.clone()].into(),
                None => batch.records[at].key.clone().unwrap_or_default(),
            };
            if let (true, Some(&nth)) = (made.contains(&handle), of_record.get(&at)) {
                batch.created.entry(handle).or_insert_with(|| creates[nth].clone());
            }
        }
        made.len()
    }

    /// Settles those whose rows are known, and stores what they change.
    async fn conclude(
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
    fn apply(&self, batch: &Shared, settled: Settled, needs: &mut HashMap<usize, Need>, stored: bool) -> usize {
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

    /// PostgreSQL: locks the rows in order, reads them again, and stores what the records then change.
    async fn update_locked(&self, batch: &Shared, wanted: Vec<(usize, Handle)>) -> Result<usize, DriverError> {
        let layout = self.layout.clone();
        let mut handles: Vec<Handle> = wanted.iter().map(|(_, handle)| handle.clone()).collect();
        handles.sort_unstable();
        handles.dedup();
        let encoded: Result<Vec<_>, _> = handles.iter().map(|handle| settle::encode_handle(&layout, handle)).collect();
        let lock = guarded::lock_rows(&layout, &encoded.map_err(of_record)?);
        let slot = Arc::new(Mutex::new(None));
        let (batch_, slot_) = (batch.clone(), slot.clone());
        let pipeline = Pipeline::new(Mode::Write { lock: None }).step(lock).then(move |rows| {
            let batch = batch_.lock();
            let (set, view) = relocked(wanted, &handles, hits(&layout, rows));
            let mut settled = settle(&layout, &batch, &set, &view);
            let statements = settle::store(&layout, std::mem::take(&mut settled.changes)).map_err(of_record)?;
            *slot_.lock() = Some(settled);
            Ok(statements)
        });
        self.driver.run(pipeline).await?;
        let settled = slot.lock().take();
        let progress = settled.as_ref().map_or(0, |settled| settled.pending.len());
        if let Some(settled) = settled {
            self.apply(batch, settled, &mut HashMap::new(), true);
        }
        Ok(progress)
    }

    /// SQLite, MySQL: under the lock of all writers look, insert, link, look again, update, commit.
    async fn write_known(&self, batch: &Shared, set: &[usize]) -> Result<usize, DriverError> {
        let asks = batch.lock().asks_of(set);
        let first = find(&self.layout, &asks);
        let round = Arc::new(Mutex::new(Round::new(self.layout.clone(), batch.clone(), set.to_vec(), first.len())));
        let (second, third) = (round.clone(), round.clone());
        let mode = Mode::Write { lock: self.layout.lock.clone() };
        let pipeline = first.into_iter().fold(Pipeline::new(mode), Pipeline::step);
        let pipeline = pipeline.then(move |rows| second.lock().insert(rows)).then(move |rows| third.lock().update(rows));
        self.driver.run(pipeline).await?;
        let mut round = round.lock();
        let (settled, created) = (std::mem::take(&mut round.settled), std::mem::take(&mut round.created));
        drop(round);
        let pending = settled.pending.len() + created.len();
        batch.lock().created.extend(created);
        Ok(pending + self.apply(batch, settled, &mut HashMap::new(), true))
    }

    fn is_exclusive(&self) -> bool {
        let crosswalk = self.layout.table.crosswalk.as_ref();
        crosswalk.is_some_and(|crosswalk| crosswalk.same_source != crate::schema::SameSource::Link)
    }
}

/// A round of [`Flow::write_known`], between its steps.
struct Round {
    layout: Arc<Layout>,
    batch: Shared,
    set: Vec<usize>,
    /// How many statements the first look takes.
    looks: usize,
    hits: Vec<Hit>,
    work: Work,
    /// How many statements insert.
    inserts: usize,
    /// How many statements insert or link.
    writes: usize,
    settled: Settled,
    created: HashMap<Handle, Created>,
}

impl Round {
    fn new(layout: Arc<Layout>, batch: Shared, set: Vec<usize>, looks: usize) -> Self {
        let (hits, work, settled, created) = Default::default();
        Self { layout, batch, set, looks, hits, work, inserts: 0, writes: 0, settled, created }
    }

    /// After the first look: inserts and links what is missing, and looks for that again.
    fn insert(&mut self, rows: &[Rows]) -> Result<Vec<Statement>, DriverError> {
        let layout = self.layout.clone();
        let batch = self.batch.lock();
        self.hits = hits(&layout, rows);
        let view = View::new(&layout, &batch, &self.set, self.hits.clone());
        self.work = Work::new(&layout, &batch, &self.set, view.needs.into_iter()).map_err(of_record)?;
        let creates: Vec<&Create> = self.work.creates.iter().map(|(create, _)| create).collect();
        let mut statements = match (&layout.links, layout.key.is_empty()) {
            _ if creates.is_empty() => Vec::new(),
            (Some(links), true) => known::insert_linked(&layout, links, &creates),
            _ => known::insert(&layout, &creates),
        };
        self.inserts = statements.len();
        if let (Some(links), false) = (&layout.links, self.work.links.is_empty()) {
            statements.extend(known::link(&layout, links, &self.work.links.iter().collect::<Vec<_>>()));
        }
        self.writes = statements.len();
        if layout.id.is_some() && !self.work.members.is_empty() {
            let asks: Vec<Ask> = self.work.members.iter().map(|&at| batch.asks[self.set[at]].clone()).collect();
            statements.extend(find(&layout, &asks));
        }
        Ok(statements)
    }

    /// After the second look: settles, and stores what changes.
    fn update(&mut self, rows: &[Rows]) -> Result<Vec<Statement>, DriverError> {
        let layout = self.layout.clone();
        let (inserted, looked) = rows[self.looks..].split_at(self.writes);
        let is_member: std::collections::HashSet<usize> = self.work.members.iter().copied().collect();
        self.hits.retain(|hit| !is_member.contains(&hit.ask));
        for mut hit in hits(&layout, looked) {
            if let Some(&at) = self.work.members.get(hit.ask) {
                hit.ask = at;
                self.hits.push(hit);
            }
        }
        // Fewer than were sent: a writer that takes no lock of ours has made some of them. Then none counts as ours.
        let made: u64 = inserted[..self.inserts].iter().map(Rows::affected).sum();
        let is_ours = layout.key.is_empty() || made == self.work.creates.len() as u64;
        let mut batch = self.batch.lock();
        let position: HashMap<usize, usize> = self.set.iter().enumerate().map(|(position, &at)| (at, position)).collect();
        let mut ids: HashMap<usize, Value> = HashMap::new();
        ids.extend(self.hits.iter().filter(|hit| is_member.contains(&hit.ask)).map(|hit| (hit.ask, hit.id.clone())));
        for (_, created) in &self.work.creates {
            if layout.id.is_none() {
                // Without an id there is nothing more to be known of a row than that it is there.
                let hit = |ask| Hit { ask, by_external: false, taken: false, id: Value::Null, attributes: created.values.clone().into() };
                self.hits.extend(created.members.iter().filter_map(|at| position.get(at)).map(|&ask| hit(ask)));
            }
            let first = created.members[0];
            let handle: Option<Handle> = match layout.id {
                Some(_) => position.get(&first).and_then(|position| ids.get(position)).map(|id| [id.clone()].into()),
                None => batch.records[first].key.clone(),
            };
            if let (true, Some(handle)) = (is_ours, handle) {
                self.created.insert(handle, created.clone());
            }
        }
        // Settling has to know of them; should the transaction fail, they are forgotten again.
        batch.created.extend(self.created.clone());
        let view = View::new(&layout, &batch, &self.set, std::mem::take(&mut self.hits));
        self.settled = settle(&layout, &batch, &self.set, &view);
        self.created.keys().for_each(|handle| drop(batch.created.remove(handle)));
        settle::store(&layout, std::mem::take(&mut self.settled.changes)).map_err(of_record)
    }
}

/// The records and the view of rows that are locked. Their hits come by the order of `handles`.
fn relocked(wanted: Vec<(usize, Handle)>, handles: &[Handle], found: Vec<Hit>) -> (Vec<usize>, View) {
    let mut row_of: HashMap<&Handle, usize> = HashMap::new();
    let mut view = View { needs: Vec::new(), rows: Vec::new() };
    for Hit { ask, id, attributes, .. } in found {
        if let Some(handle) = handles.get(ask) {
            row_of.insert(handle, view.rows.len());
            view.rows.push(Row { handle: handle.clone(), id, attributes });
        }
    }
    // A row that is gone meanwhile leaves its records open: the next round makes it again.
    view.needs = wanted.iter().map(|(_, handle)| row_of.get(handle).map_or(Need::Create, |row| Need::Row(*row))).collect();
    (wanted.into_iter().map(|(at, _)| at).collect(), view)
}

/// The stripes of what is created and linked.
fn locks(creates: &[Create], links: &[Ask]) -> Lock {
    let key = |key: &[Value]| fnv(std::iter::once(0).chain(key.iter().flat_map(lock_bytes)));
    let external = |external: &[Value; 2]| fnv(std::iter::once(1).chain(external.iter().flat_map(lock_bytes)));
    let of_creates = creates.iter().flat_map(|create| {
        let of_key = (!create.key.is_empty()).then(|| key(&create.key));
        of_key.into_iter().chain(create.unless.as_ref().map(external))
    });
    let of_links = links.iter().flat_map(|link| {
        link.external.as_ref().map(external).into_iter().chain(link.key.as_deref().map(key))
    });
    Lock::new(of_creates.chain(of_links))
}

/// The bytes of a value as it travels: the same in every process.
fn lock_bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::Text(text) => text.bytes().chain([0xff]).collect(),
        Value::Bytes(bytes) => bytes.iter().copied().chain([0xff]).collect(),
        Value::Int(int) => int.to_le_bytes().into(),
        Value::Bool(bool) => vec![u8::from(*bool)],
        _ => vec![0xfe],
    }
}

/// Our own complaint on its way through a driver.
fn of_record(error: Error) -> DriverError {
    DriverError::new(Fault::Data, error.to_string())
}

/// Waits before the next attempt: longer each time, and never as long as the others do.
async fn pause(attempt: &mut u32) {
    let most = 10u64 << (*attempt).min(6);
    *attempt += 1;
    let millis = rand::random_range(most / 2..=most);
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
