//! Writing a chunk: table by table, each in its turn, those of one level side by side.
//!
//!   look up (create = false) ─▶ level 0 ─▶ level 1 ─▶ … ─▶ deferred references ─▶ books
//!
//! W1. A chunk holds no transaction open between tables; what is cut off is completed by running again.
//! W2. A record-level refusal of the database rejects the rows that need the record; anything else ends the run.

use super::build::{Deferred, Ready, build};
use super::count::{TableCount, Written, count};
use super::facts::{Facts, can_load, facts};
use super::fates::{Failure, Fate, Fates};
use super::known::recall;
use super::levels::levels;
use super::lookup::{demand, look_up};
use super::marks;
use super::shape::Shape;
use super::sink::Sink;
use super::turns::Turns;
use crate::batch::{Mapped, Recs};
use crate::error::Error;
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
    /// True if some rows look up what earlier rows must have written.
    looks_up: bool,
    /// A lane for each table, then one for each table's deferred references.
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

impl Writer {
    pub(crate) fn new(plan: Arc<Plan>, sinks: Vec<Sink>) -> Self {
        let turns = Turns::new(2 * plan.tables.len());
        let looks_up = plan.feeds.iter().any(|feed| feed.records.looks_up())
            || plan
                .tables
                .iter()
                .any(|table| table.referenced && !table.required.is_empty());
        Self {
            levels: levels(&plan),
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
        (0..2 * self.sinks.len()).for_each(|lane| self.turns.skip(lane, chunk));
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
        let mut deferred: Vec<(usize, Vec<Deferred>)> = Vec::new();
        for (table, &writes) in writes.iter().enumerate() {
            if !writes {
                self.turns.skip(table, chunk);
            }
            if !(writes && self.plan.tables[table].deferred) {
                self.turns.skip(self.sinks.len() + table, chunk);
            }
        }
        for level in &self.levels {
            let mut steps = Vec::new();
            for &table in level.iter().filter(|&&table| writes[table]) {
                let recs = &mapped.tables[table];
                counts[table].conflicts += recs.conflicts();
                let mut todo = self.prepare(table, recs, &mut fates, &mut counts[table]);
                if let (true, Todo::Records(ready)) = (self.plan.tables[table].deferred, &mut todo)
                {
                    deferred.push((table, std::mem::take(&mut ready.deferred)));
                }
                match todo {
                    Todo::Nothing => self.turns.skip(table, chunk),
                    todo => steps.push(self.write_table(table, chunk, todo)),
                }
            }
            for (table, done) in try_join_all(steps).await? {
                self.settle(table, done, &mut fates, &mut counts[table])?;
            }
        }
        self.complete(chunk, deferred, &mut fates, &mut counts)
            .await?;
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
        match ready.records.is_empty() && !plan.deferred {
            true => Todo::Nothing,
            false => Todo::Records(ready),
        }
    }

    async fn write_table(
        &self,
        table: usize,
        chunk: u64,
        todo: Todo,
    ) -> Result<(usize, Done), Error> {
        let done = match todo {
            Todo::Nothing => Done::Records(Vec::new(), Vec::new()),
            Todo::Facts(facts) => self.load(table, chunk, facts).await,
            Todo::Records(ready) => self.merge(table, chunk, ready).await,
        };
        Ok((table, done))
    }

    /// Merges records, beside other chunks of the table that say nothing else of their keys.
    async fn merge(&self, table: usize, chunk: u64, ready: Ready) -> Done {
        let Ready { records, recs, .. } = ready;
        let sink = &self.sinks[table];
        let may_fly = !self.looks_up && !self.plan.tables[table].deferred;
        let queue = sink.queue().filter(|_| may_fly);
        let Some(resolver) = queue else {
            let _turn = self.turns.take(table, chunk).await;
            return Done::Records(recs, sink.write(records).await);
        };
        let marks = marks::of_records(&self.plan.tables[table].sql, &records, &self.hasher);
        let (turn, flying) = self.turns.fly(table, chunk, marks).await;
        let mut written = resolver.resolve_many(records);
        // The records are queued: the next chunk's join them or come behind them.
        drop(turn);
        written.landed().await;
        flying.is_next().await;
        Done::Records(recs, written.await)
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
                        Err(error) => fates.fail(table, rec, self.refused(table, error)?),
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
                        Err(error) => fates.fail(table, rec, self.refused(table, error.clone())?),
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the references that had to wait until all tables were written.
    async fn complete(
        &self,
        chunk: u64,
        deferred: Vec<(usize, Vec<Deferred>)>,
        fates: &mut Fates,
        counts: &mut [TableCount],
    ) -> Result<(), Error> {
        for (table, deferred) in deferred {
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
            let turn = self.turns.take(self.sinks.len() + table, chunk).await;
            let outcomes = self.sinks[table].complete(records).await;
            drop(turn);
            for (rec, outcome) in recs.into_iter().zip(outcomes) {
                match outcome {
                    Ok(outcome) => {
                        counts[table].conflicts += u64::from(outcome.conflicts);
                        completed(table, rec, outcome.effect, fates, &mut counts[table]);
                    }
                    Err(error) => fates.fail(table, rec, self.refused(table, error)?),
                }
            }
        }
        Ok(())
    }

    fn refused(&self, table: usize, error: oneflight_sql::Error) -> Result<Arc<Failure>, Error> {
        if !error.is_refused() {
            return Err(self.database(table, error));
        }
        Ok(Arc::new(Failure {
            column: None,
            value: None,
            reason: format!("table `{}`: {error}", self.name(table)),
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
