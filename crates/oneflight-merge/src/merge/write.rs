//! Writing a chunk: table by table, each in its turn, those of one level side by side.
//!
//!   look up (create = false) ─▶ level 0 ─▶ level 1 ─▶ … ─▶ deferred references ─▶ books
//!
//! W1. A chunk holds no transaction open between tables; what is cut off is completed by running again.
//! W2. A record-level refusal of the database rejects the rows that need the record; anything else ends the run.

use super::build::{Deferred, Ready, build};
use super::count::{TableCount, Written, count};
use super::fates::{Failure, Fate, Fates};
use super::levels::levels;
use super::lookup::{demand, look_up};
use super::sink::Sink;
use super::turns::Turns;
use crate::batch::Mapped;
use crate::error::Error;
use crate::plan::Plan;
use futures_util::future::try_join_all;
use oneflight_sql::{Effect, Outcome, Record, Value};
use std::sync::Arc;

/// Writes chunks. One for a run, shared by all that write.
#[derive(Debug)]
pub(crate) struct Writer {
    plan: Arc<Plan>,
    sinks: Vec<Sink>,
    levels: Vec<Vec<usize>>,
    /// True if some rows look up what earlier rows must have written.
    looks_up: bool,
    /// A lane for each table, then one for each table's deferred references.
    turns: Turns,
}

type Outcomes = Vec<Result<Outcome, oneflight_sql::Error>>;

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
            plan,
            sinks,
            looks_up,
            turns,
        }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
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
        let mut deferred: Vec<(usize, Vec<Deferred>)> = Vec::new();
        let defers = |table: usize| self.plan.tables[table].deferred && fates.any_pending(table);
        for table in 0..self.sinks.len() {
            if !fates.any_pending(table) {
                self.turns.skip(table, chunk);
            }
            if !defers(table) {
                self.turns.skip(self.sinks.len() + table, chunk);
            }
        }
        let defers: Vec<usize> = (0..self.sinks.len())
            .filter(|&table| defers(table))
            .collect();
        for level in &self.levels {
            let mut steps = Vec::new();
            for &table in level {
                if !fates.any_pending(table) {
                    continue;
                }
                let recs = &mapped.tables[table];
                counts[table].conflicts += recs.conflicts();
                let ready = build(table, &self.plan.tables[table], recs, &mut fates);
                steps.push(self.write_table(table, chunk, ready));
            }
            for (table, recs, later, outcomes) in try_join_all(steps).await? {
                self.settle(table, &recs, outcomes, &mut fates, &mut counts[table])?;
                deferred.push((table, later));
            }
        }
        deferred.retain(|(table, _)| defers.contains(table));
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

    async fn write_table(
        &self,
        table: usize,
        chunk: u64,
        ready: Ready,
    ) -> Result<(usize, Vec<u32>, Vec<Deferred>, Outcomes), Error> {
        let turn = self.turns.take(table, chunk).await;
        // Records that only ask for ids may be overtaken by their answers: the next chunk's are queued behind them. What records say
        // beyond that must have been put to the rows, or a later chunk could be first.
        let may_overlap = !ready.says_more && !self.looks_up;
        let (written, is_queued) = self.sinks[table].write(ready.records);
        let outcomes = if is_queued && may_overlap {
            drop(turn);
            written.await
        } else {
            let outcomes = written.await;
            drop(turn);
            outcomes
        };
        Ok((table, ready.recs, ready.deferred, outcomes))
    }

    /// Notes what became of the records of a table (W2).
    fn settle(
        &self,
        table: usize,
        recs: &[u32],
        outcomes: Outcomes,
        fates: &mut Fates,
        count: &mut TableCount,
    ) -> Result<(), Error> {
        for (&rec, outcome) in recs.iter().zip(outcomes) {
            let fate = match outcome {
                Ok(outcome) => {
                    count.add(outcome.effect, u64::from(outcome.conflicts));
                    Fate::Done {
                        id: outcome.id,
                        effect: outcome.effect,
                    }
                }
                Err(error) => Fate::Failed(self.refused(table, error)?),
            };
            fates.set(table, rec, fate);
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
                if fates.id(table, rec).is_none() {
                    continue;
                }
                for (slot, to, at) in references {
                    who.attributes[slot] = fates.id(to, at).cloned();
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
                    Err(error) => fates.set(table, rec, Fate::Failed(self.refused(table, error)?)),
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
    if let Fate::Done {
        id,
        effect: Effect::Found,
    } = fates.get(table, rec)
    {
        let id = id.clone();
        count.found -= 1;
        count.add(effect, 0);
        fates.set(table, rec, Fate::Done { id, effect });
    }
}
