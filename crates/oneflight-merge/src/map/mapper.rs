//! The mapper: a chunk of rows in, a batch of records out.

use super::commit::Batch;
use super::draft::{Drafts, Rules};
use super::lookup::Lookups;
use super::memo::Memo;
use super::records::Records;
use super::sweep::{self, Sweep};
use super::values::{At, Context, Fault, Here, shorten};
use crate::batch::{Mapped, Reject};
use crate::plan::Plan;
use crate::rows::{Chunk, Rows};
use bumpalo::Bump;
use foldhash::fast::RandomState;
use serde_json::Value as Json;

/// Maps the rows of one feed. It holds no state of its own: chunks may be mapped side by side.
#[derive(Clone, Copy, Debug)]
pub struct Mapper<'p> {
    plan: &'p Plan,
    records: &'p Records,
    lookups: &'p Lookups,
}

impl<'p> Mapper<'p> {
    /// A mapper for the feed with this index in the plan. It costs nothing to make.
    ///
    /// # Panics
    /// If the plan has no such feed.
    pub fn new(plan: &'p Plan, feed: usize, lookups: &'p Lookups) -> Self {
        Self {
            plan,
            records: &plan.feeds[feed].records,
            lookups,
        }
    }

    /// Maps a chunk: every row of it, and every row of it that could not be read, is among the rows or the rejects.
    pub fn map(&self, chunk: &Chunk) -> Mapped {
        let texts = Bump::new();
        let context = Context::new(chunk, self.lookups, &self.records.names, &texts);
        let hasher = RandomState::default();
        let mut run = Run {
            mapper: self,
            context: &context,
            batch: Batch::new(self.plan, hasher.clone()),
            memo: Memo::new(self.records.memos, hasher),
            drafts: Drafts::default(),
            mapped: Mapped {
                rejects: bad_rows(chunk),
                ..Mapped::default()
            },
        };
        run.mapped.rows.reserve(context.rows());
        let sweep = match &chunk.rows {
            Rows::Flat(flat) if !run.batch.refuses() => {
                Sweep::new(self.plan, self.records, &context, flat)
            }
            _ => None,
        };
        match sweep {
            Some(sweep) => {
                run.batch.reserve(sweep.tables(), context.rows());
                run.sweep(sweep);
            }
            None => {
                let declared = self.records.declared.iter();
                let tables = declared.map(|declared| declared.record.table);
                run.batch.reserve(tables, context.rows());
                (0..context.rows()).for_each(|row| run.draft(row));
            }
        }
        let mut mapped = run.mapped;
        mapped.rejects.sort_by_key(|reject| reject.line);
        mapped.tables = run.batch.into_tables();
        mapped
    }
}

/// A chunk while it is mapped.
struct Run<'m, 'a> {
    mapper: &'m Mapper<'a>,
    context: &'m Context<'a>,
    batch: Batch,
    memo: Memo<'a>,
    drafts: Drafts<'a>,
    mapped: Mapped,
}

impl<'a> Run<'_, 'a> {
    /// Maps the rows of a flat chunk, block by block.
    fn sweep(&mut self, mut sweep: Sweep<'a>) {
        for start in (0..self.context.rows()).step_by(sweep::BLOCK) {
            let end = self.context.rows().min(start + sweep::BLOCK);
            sweep.read(self.context, &self.memo, start..end);
            let mut nth = 0;
            while nth < end - start {
                let run = sweep.run(nth);
                nth = run.end;
                sweep.commit(run, &mut self.batch, &mut self.memo, &mut self.mapped.rows);
                if nth < end - start {
                    sweep.pass(nth, &mut self.batch);
                    self.draft(start + nth);
                    nth += 1;
                }
            }
            sweep.end(&mut self.batch);
        }
    }

    /// Maps a row by itself.
    fn draft(&mut self, row: usize) {
        let at = self.context.row(row);
        let drafted = self.drafted(&at);
        let log = &mut self.mapped.rows;
        let committed = drafted.and_then(|()| {
            let (drafts, memo) = (&mut self.drafts, &mut self.memo);
            self.batch.commit(drafts, memo, log, self.mapper.plan)
        });
        match committed {
            Ok(()) => log.end_row(at.line),
            Err(fault) => self.mapped.rejects.push(fault.reject(at.line)),
        }
    }

    /// Drafts the records of a row.
    fn drafted(&mut self, at: &At<'_, 'a>) -> Result<(), Fault> {
        let Mapper { plan, records, .. } = *self.mapper;
        if records.objects {
            object(at)?;
        }
        let rules = Rules {
            plan,
            records,
            context: self.context,
            memo: &self.memo,
        };
        self.drafts.row(rules, at)
    }
}

impl Fault {
    fn reject(self, line: u64) -> Reject {
        Reject {
            line,
            column: self.column,
            value: self.value,
            reason: self.reason,
        }
    }
}

/// Refuses a row that is JSON, but no object.
fn object(at: &At<'_, '_>) -> Result<(), Fault> {
    let Here::Json(json) = at.here else {
        return Ok(());
    };
    let found = match json {
        Json::Object(_) => return Ok(()),
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
    };
    Err(Fault {
        column: None,
        value: Some(shorten(&json.to_string())),
        reason: format!("expected an object, not {found}"),
    })
}

fn bad_rows(chunk: &Chunk) -> Vec<Reject> {
    let reject = |bad: &crate::rows::Bad| Reject {
        line: bad.line,
        column: bad.column.clone(),
        value: bad.value.clone(),
        reason: bad.reason.clone(),
    };
    chunk.bad.iter().map(reject).collect()
}
