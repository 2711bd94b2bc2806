//! Writing a chunk: table by table, each in its turn, those of one level side by side.
//!
//!   look up (create = false) ─▶ level 0 ─▶ level 1 ─▶ … ─▶ books        each level, then the deferred references that it makes known
//!
//! W1. A chunk holds no transaction open between tables; what is cut off is completed by running again.
//! W2. A record-level refusal of the database rejects the rows that need the record; anything else ends the run.
//! W3. What becomes of a record is what would become of it if each chunk were written before the next one began: at a table, a
//!     chunk begins before an earlier one is done only if the records of both commute.

use super::build::{Deferred, Ready, build};
use super::count::{TableCount, Written, count};
use super::facts::{Facts, can_load, facts};
use super::fates::{Failure, Fate, Fates};
use super::known::recall;
use super::levels::{lateness, levels};
use super::lookup::{demand, look_up};
use super::marks;
use super::shape::Shape;
use super::sink::Sink;
use super::turns::{Turn, Turns};
use crate::batch::{Mapped, Recs, shown};
use crate::error::Error;
use crate::map::shorten;
use crate::plan::Plan;
use foldhash::fast::RandomState;
use futures_util::future::try_join_all;
use oneflight_sql::{Effect, Loaded, Outcome, Record, Value};
use std::sync::Arc;

/// Writes chunks. One for a run, shared by all that write.
#[derive(Debug)]
pub(crate) struct Writer {
    plan: Arc<Plan>,
    sinks: Vec<Sink>,
    shapes: Vec<Shape>,
    levels: Vec<Vec<usize>>,
    /// By table, the level after which its deferred references can be written.
    lateness: Vec<usize>,
    /// True if some rows look up what earlier rows must have written.
    looks_up: bool,
    /// A lane for each table.
    turns: Turns,
    hasher: RandomState,
}

/// What is to be written of a table of a chunk.
#[derive(Debug)]
enum Todo {
    Nothing,
    Records(Ready),
    Facts(Facts),
}

/// What became of it.
#[derive(Debug)]
enum Done {
    Records(Vec<u32>, Vec<Result<Outcome, oneflight_sql::Error>>),
    Facts(Vec<u32>, Loaded),
}

/// A table of which deferred references are still to be written. Until then its turn goes on: what the next chunk says of these
/// records comes after all that this one does.
#[derive(Debug)]
struct Late<'t> {
    table: usize,
    deferred: Vec<Deferred>,
    turn: Turn<'t>,
}

impl Writer {
    pub(crate) fn new(plan: Arc<Plan>, sinks: Vec<Sink>) -> Self {
        let turns = Turns::new(plan.tables.len());
        let levels = levels(&plan);
        let looks_up = plan.feeds.iter().any(|feed| feed.records.looks_up())
            || plan
                .tables
                .iter()
                .any(|table| table.referenced && !table.required.is_empty());
        Self {
            lateness: lateness(&plan, &levels),
            levels,
            shapes: plan.tables.iter().map(Shape::new).collect(),
            plan,
            sinks,
            looks_up,
            turns,
            hasher: RandomState::default(),
        }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn shape(&self, table: usize) -> &Shape {
        &self.shapes[table]
    }

    /// Says that the chunk with this number writes nothing.
    pub(crate) fn skip(&self, chunk: u64) {
        (0..self.sinks.len()).for_each(|lane| self.turns.skip(lane, chunk));
    }

    /// Writes the chunk with this number. Every number must come, each once; see [`Turns`].
    pub(crate) async fn write(&self, chunk: u64, mut mapped: Mapped) -> Result<Written, Error> {
        demand(&self.plan, &mut mapped);
        let mut fates = Fates::new(&mapped);
        look_up(self, chunk, &mapped, &mut fates).await?;
        let mut counts = vec![TableCount::default(); self.sinks.len()];
        let writes: Vec<bool> = (0..self.sinks.len())
            .map(|table| fates.any_pending(table))
            .collect();
        for (table, _) in writes.iter().enumerate().filter(|(_, writes)| !**writes) {
            self.turns.skip(table, chunk);
        }
        let mut late = Vec::new();
        for (nth, level) in self.levels.iter().enumerate() {
            let mut steps = Vec::new();
            for &table in level.iter().filter(|&&table| writes[table]) {
                let recs = &mapped.tables[table];
                counts[table].conflicts += recs.conflicts();
                match self.prepare(table, recs, &mut fates, &mut counts[table]) {
                    Todo::Nothing => self.turns.skip(table, chunk),
                    todo => steps.push(self.write_table(table, chunk, todo)),
                }
            }
            for (table, done, is_late) in try_join_all(steps).await? {
                self.settle(table, done, &mapped, &mut fates, &mut counts[table])?;
                late.extend(is_late);
            }
            let is_known = |late: &mut Late<'_>| self.lateness[late.table] <= nth;
            let now = late.extract_if(.., is_known).collect();
            self.complete(now, &mapped, &mut fates, &mut counts).await?;
        }
        Ok(count(mapped, &fates, counts))
    }

    /// Waits until all earlier chunks have written this table.
    pub(crate) async fn settled(&self, table: usize, chunk: u64) {
        self.turns.wait(table, chunk).await;
    }

    /// The ids of records that are there; creates none.
    pub(crate) async fn find(
        &self,
        table: usize,
        records: Vec<Record>,
    ) -> Result<Vec<Option<Value>>, Error> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        self.sinks[table]
            .find(records)
            .await
            .map_err(|error| self.database(table, error))
    }

    /// Recalls what is known already, and makes ready what is to be written of the rest.
    fn prepare(
        &self,
        table: usize,
        recs: &Recs,
        fates: &mut Fates,
        count: &mut TableCount,
    ) -> Todo {
        let (plan, shape) = (&self.plan.tables[table], &self.shapes[table]);
        if let Some(resolver) = self.sinks[table].resolver() {
            for (rec, outcome) in recall(table, plan, shape, recs, resolver, fates) {
                count.add(outcome.effect, outcome.conflicts);
                fates.done(table, rec, outcome.id, outcome.effect);
            }
        }
        if can_load(plan)
            && let Some(facts) = facts(table, plan, shape, recs, fates, &self.hasher)
        {
            return match facts.recs.is_empty() {
                true => Todo::Nothing,
                false => Todo::Facts(facts),
            };
        }
        let ready = build(table, plan, shape, recs, fates);
        match ready.records.is_empty() {
            true => Todo::Nothing,
            false => Todo::Records(ready),
        }
    }

    async fn write_table(
        &self,
        table: usize,
        chunk: u64,
        todo: Todo,
    ) -> Result<(usize, Done, Option<Late<'_>>), Error> {
        let (done, late) = match todo {
            Todo::Nothing => (Done::Records(Vec::new(), Vec::new()), None),
            Todo::Facts(facts) => (self.load(table, chunk, facts).await, None),
            Todo::Records(ready) => self.put(table, chunk, ready).await,
        };
        Ok((table, done, late))
    }

    /// Puts records to their rows, beside other chunks of the table that say nothing else of their keys: those commute (W3).
    async fn put(&self, table: usize, chunk: u64, ready: Ready) -> (Done, Option<Late<'_>>) {
        let Ready {
            records,
            recs,
            deferred,
        } = ready;
        let sink = &self.sinks[table];
        let may_fly = !self.looks_up && deferred.is_empty();
        if let Some(resolver) = sink.queue().filter(|_| may_fly) {
            let sql = &self.plan.tables[table].sql;
            let marks = marks::of_records(sql, &records, &self.hasher);
            let (turn, flying) = self.turns.fly(table, chunk, marks).await;
            let mut written = resolver.resolve_many(records);
            // The records are queued: the next chunk's join them or come behind them.
            drop(turn);
            written.landed().await;
            // Of those who wait for one creation, the first to take its answer is told of it.
            flying.is_next().await;
            return (Done::Records(recs, written.await), None);
        }
        let turn = self.turns.take(table, chunk).await;
        let outcomes = sink.write(records).await;
        let late = (!deferred.is_empty()).then_some(Late {
            table,
            deferred,
            turn,
        });
        (Done::Records(recs, outcomes), late)
    }

    /// Loads facts, beside other chunks of the table if it has no key in common with them.
    async fn load(&self, table: usize, chunk: u64, facts: Facts) -> Done {
        let sink = &self.sinks[table];
        let loaded = if sink.is_wide() && !self.looks_up {
            let marks = marks::of_facts(facts.keys, chunk);
            let (turn, _flying) = self.turns.fly(table, chunk, marks).await;
            drop(turn);
            sink.load(&facts.columns).await
        } else {
            let _turn = self.turns.take(table, chunk).await;
            sink.load(&facts.columns).await
        };
        Done::Facts(facts.recs, loaded)
    }

    /// Notes what became of the records of a table (W2).
    fn settle(
        &self,
        table: usize,
        done: Done,
        mapped: &Mapped,
        fates: &mut Fates,
        count: &mut TableCount,
    ) -> Result<(), Error> {
        match done {
            Done::Records(recs, outcomes) => {
                for (rec, outcome) in recs.into_iter().zip(outcomes) {
                    match outcome {
                        Ok(outcome) => {
                            count.add(outcome.effect, outcome.conflicts);
                            fates.done(table, rec, outcome.id, outcome.effect);
                        }
                        Err(error) => {
                            let why = self.refused(table, rec, mapped, error)?;
                            fates.fail(table, rec, why);
                        }
                    }
                }
            }
            Done::Facts(recs, loaded) => {
                for (rec, outcome) in recs.into_iter().zip(loaded.iter()) {
                    match outcome {
                        Ok(applied) => {
                            count.add(applied.effect, applied.conflicts);
                            fates.set(table, rec, Fate::Done(applied.effect));
                        }
                        Err(error) => {
                            let why = self.refused(table, rec, mapped, error.clone())?;
                            fates.fail(table, rec, why);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the references that had to wait until other tables were written, and ends the turns.
    async fn complete(
        &self,
        late: Vec<Late<'_>>,
        mapped: &Mapped,
        fates: &mut Fates,
        counts: &mut [TableCount],
    ) -> Result<(), Error> {
        for Late {
            table,
            deferred,
            turn,
        } in late
        {
            let (mut records, mut recs) = (Vec::new(), Vec::new());
            for Deferred {
                rec,
                mut who,
                references,
            } in deferred
            {
                if !matches!(fates.get(table, rec), Fate::Done(_)) {
                    continue;
                }
                for (slot, to, at) in references {
                    who.attributes[slot] = fates.id(to, at).map(Value::from);
                }
                records.push(who);
                recs.push(rec);
            }
            let outcomes = self.sinks[table].complete(records).await;
            drop(turn);
            for (rec, outcome) in recs.into_iter().zip(outcomes) {
                match outcome {
                    Ok(outcome) => {
                        counts[table].conflicts += u64::from(outcome.conflicts);
                        completed(table, rec, outcome.effect, fates, &mut counts[table]);
                    }
                    Err(error) => {
                        let why = self.refused(table, rec, mapped, error)?;
                        fates.fail(table, rec, why);
                    }
                }
            }
        }
        Ok(())
    }

    /// Why a record was refused (W2); an error that is not about the record ends the run.
    fn refused(
        &self,
        table: usize,
        rec: u32,
        mapped: &Mapped,
        error: oneflight_sql::Error,
    ) -> Result<Arc<Failure>, Error> {
        if !error.is_refused() {
            return Err(self.database(table, error));
        }
        let Some(column) = self.plan.tables[table].column_of(&error) else {
            return Ok(Arc::new(Failure {
                column: None,
                value: None,
                reason: format!("table `{}`: {error}", self.name(table)),
            }));
        };
        let recs = |table: usize| &mapped.tables[table];
        let cell = recs(table).cell(column, rec);
        let column = &self.plan.tables[table].columns[column];
        Ok(Arc::new(Failure {
            column: Some(column.name.clone()),
            value: Some(shorten(&shown(&self.plan, &recs, column.kind, cell))),
            reason: error.to_string(),
        }))
    }

    fn database(&self, table: usize, error: oneflight_sql::Error) -> Error {
        Error::database(format!("table `{}`", self.name(table)), error)
    }

    fn name(&self, table: usize) -> &str {
        &self.plan.tables[table].sql.name
    }
}

/// A record that was there, and of which a deferred reference has now been filled in, counts as changed.
fn completed(table: usize, rec: u32, effect: Effect, fates: &mut Fates, count: &mut TableCount) {
    if !matches!(effect, Effect::Completed | Effect::Updated) {
        return;
    }
    if fates.get(table, rec) == Fate::Done(Effect::Found) {
        count.found -= 1;
        count.add(effect, 0);
        fates.set(table, rec, Fate::Done(effect));
    }
}
