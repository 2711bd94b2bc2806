//! The mapper: a chunk of rows in, a batch of records out.

use super::commit::Batch;
use super::draft::{Drafts, Memo, Rules};
use super::lookup::Lookups;
use super::records::Records;
use super::sweep::{self, Sweep};
use super::values::{At, Context, Fault, Here, shorten};
use crate::batch::{Mapped, Reject};
use crate::plan::Plan;
use crate::rows::{Chunk, Rows};
use bumpalo::Bump;
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
        let mut memo = Memo::default();
        memo.0.resize_with(self.records.memos, Default::default);
        let mut drafts = Drafts::default();
        let tables = self
            .records
            .declared
            .iter()
            .map(|declared| declared.record.table);
        let mut batch = Batch::new(self.plan, context.rows(), tables);
        let mut mapped = Mapped {
            rejects: bad_rows(chunk),
            ..Mapped::default()
        };
        mapped.rows.reserve(context.rows());
        let mut sweep = match &chunk.rows {
            Rows::Flat(flat) if !batch.refuses() => {
                Sweep::new(self.plan, self.records, &context, flat)
            }
            _ => None,
        };
        for start in (0..context.rows()).step_by(sweep::BLOCK) {
            let block = start..context.rows().min(start + sweep::BLOCK);
            if let Some(sweep) = &mut sweep {
                sweep.read(&context, &memo, block.clone());
            }
            for row in block {
                let at = context.row(row);
                if let Some(sweep) = &mut sweep
                    && !sweep.is_odd(row - start, &mut batch)
                {
                    sweep.commit(row - start, &mut batch, &mut memo, &mut mapped.rows);
                    mapped.rows.end_row(at.line);
                    continue;
                }
                let rules = Rules {
                    plan: self.plan,
                    records: self.records,
                    context: &context,
                    memo: &memo,
                };
                match self.draft(rules, &at, &mut drafts).and_then(|()| {
                    batch.commit(&mut drafts, &mut memo, &mut mapped.rows, self.plan)
                }) {
                    Ok(()) => mapped.rows.end_row(at.line),
                    Err(fault) => mapped.rejects.push(fault.reject(at.line)),
                }
            }
            if let Some(sweep) = &mut sweep {
                sweep.finish(&mut batch);
            }
        }
        mapped.rejects.sort_by_key(|reject| reject.line);
        mapped.tables = batch.into_tables();
        mapped
    }

    /// Drafts the records of a row.
    fn draft<'a>(
        &self,
        rules: Rules<'_, 'a>,
        at: &At<'_, 'a>,
        drafts: &mut Drafts<'a>,
    ) -> Result<(), Fault> {
        if self.records.objects {
            object(at)?;
        }
        drafts.row(rules, at)
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
