//! The rows of a block, committed one after the other.

use super::columns::{Block, Met};
use super::steps::{From, Step, Steps, Way};
use crate::batch::{Cell, Log};
use crate::map::commit::{Admitted, Batch};
use crate::map::draft::Memo;
use crate::map::records::Records;
use crate::map::values::Context;
use crate::plan::Plan;
use crate::rows::Flat;
use std::ops::Range;

/// How many rows are read at once: few enough for their cells to stay in the cache.
pub(crate) const BLOCK: usize = 512;

/// Sweeps the rows of a chunk, block by block.
#[derive(Debug)]
pub(crate) struct Sweep<'a> {
    flat: &'a Flat,
    steps: Steps<'a>,
    /// The rows of the block that must be drafted (E1).
    odd: Vec<bool>,
    scratch: Vec<Cell<'a>>,
}

impl<'a> Sweep<'a> {
    /// None if the rows of the feed are not such that they can be swept.
    pub(crate) fn new(
        plan: &Plan,
        records: &'a Records,
        context: &Context<'a>,
        flat: &'a Flat,
    ) -> Option<Self> {
        Some(Self {
            flat,
            steps: Steps::new(plan, records, context)?,
            odd: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// Reads a block of rows. The one before must have been finished.
    pub(crate) fn read(&mut self, context: &Context<'a>, memo: &Memo<'a>, rows: Range<usize>) {
        self.odd.clear();
        self.odd.resize(rows.len(), false);
        let mut block = Block {
            context,
            flat: self.flat,
            rows,
            odd: &mut self.odd,
        };
        for values in &mut self.steps.values {
            values.read(&mut block);
        }
        for references in &mut self.steps.references {
            references.read(&mut block, memo);
        }
        for step in &mut self.steps.steps {
            debug_assert!(step.late.is_empty(), "E3: the last block is not finished");
            step.recs.clear();
        }
    }

    /// True if this row of the block must be drafted; then its turn is now.
    pub(crate) fn is_odd(&mut self, nth: usize, batch: &mut Batch) -> bool {
        let is_odd = self.odd[nth];
        if is_odd {
            self.finish(batch);
            for step in &mut self.steps.steps {
                step.recs.push(None);
            }
        }
        is_odd
    }

    /// Adds this row of the block to the batch; every row comes, in its order.
    pub(crate) fn commit(
        &mut self,
        nth: usize,
        batch: &mut Batch,
        memo: &mut Memo<'a>,
        log: &mut Log,
    ) {
        debug_assert!(!self.odd[nth], "E2: an odd row");
        for at in 0..self.steps.steps.len() {
            let rec = match self.steps.steps[at].way {
                Way::Text(reference) => self.refer(at, reference, nth, batch, memo, log),
                Way::Alone => Some(self.admit(at, nth, batch, log)),
                Way::Shared => {
                    self.whole(at, nth);
                    Some(batch.add(&self.steps.steps[at].draft, &self.scratch, log))
                }
            };
            self.steps.steps[at].recs.push(rec);
        }
    }

    /// Appends the cells of the records that have none yet (E3).
    pub(crate) fn finish(&mut self, batch: &mut Batch) {
        for at in 0..self.steps.steps.len() {
            let step = &self.steps.steps[at];
            if step.late.is_empty() {
                continue;
            }
            let columns = batch.late(step.draft.table);
            for (cells, from) in columns.iter_mut().zip(&step.cells) {
                let rows = step.late.iter().map(|nth| *nth as usize);
                match *from {
                    From::Nowhere => cells.extend(rows.map(|_| Cell::Unset)),
                    From::Value(at) => self.steps.values[at].append(&step.late, cells),
                    From::Step(at) => {
                        let recs = &self.steps.steps[at].recs;
                        cells.extend(rows.map(|nth| recs[nth].map_or(Cell::Null, Cell::Ref)));
                    }
                }
            }
            self.steps.steps[at].late.clear();
        }
    }

    /// The record of a reference by text.
    fn refer(
        &mut self,
        at: usize,
        reference: usize,
        nth: usize,
        batch: &mut Batch,
        memo: &mut Memo<'a>,
        log: &mut Log,
    ) -> Option<u32> {
        let references = &self.steps.references[reference];
        let new = match references.met[nth] {
            Met::Null => return None,
            Met::Known(rec) => return Some(rec),
            Met::New(new) => new as usize,
        };
        let (text, cell) = references.new[new];
        let step = &self.steps.steps[at];
        let scratch = &mut self.scratch;
        // An earlier row of the block may have brought it.
        let rec = memo.0[references.memo].entry(text).or_insert_with(|| {
            scratch.clear();
            scratch.resize(step.cells.len(), Cell::Unset);
            scratch[references.key] = cell;
            batch.add(&step.draft, scratch, log)
        });
        Some(*rec)
    }

    /// The record of a step that is alone with its table.
    fn admit(&mut self, at: usize, nth: usize, batch: &mut Batch, log: &mut Log) -> u32 {
        let step = &self.steps.steps[at];
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend(step.key.iter().map(|from| self.cell(*from, nth)));
        let is_late = |rec: u32| {
            let row = *step.late.get(rec.checked_sub(step.first)? as usize)?;
            let same =
                |(from, cell): (&From, &Cell<'_>)| self.cell(*from, row as usize).is_same(cell);
            Some(step.key.iter().zip(&scratch).all(same))
        };
        let admitted = batch.admit(&step.draft, &scratch, is_late, log);
        self.scratch = scratch;
        let step = &mut self.steps.steps[at];
        match admitted {
            Admitted::New(rec) => {
                if step.late.is_empty() {
                    step.first = rec;
                }
                step.late.push(nth as u32);
                rec
            }
            Admitted::There(rec) => {
                if !step.late.is_empty() && rec >= step.first {
                    self.finish(batch);
                }
                self.whole(at, nth);
                batch.meet(rec, &self.steps.steps[at].draft, &self.scratch, log);
                rec
            }
        }
    }

    /// Puts all cells of a record into `scratch`.
    fn whole(&mut self, at: usize, nth: usize) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let step: &Step<'a> = &self.steps.steps[at];
        scratch.extend(step.cells.iter().map(|from| self.cell(*from, nth)));
        self.scratch = scratch;
    }

    #[inline]
    fn cell(&self, from: From, nth: usize) -> Cell<'a> {
        match from {
            From::Nowhere => Cell::Unset,
            From::Value(at) => self.steps.values[at].cell(nth),
            From::Step(at) => self.steps.steps[at].recs[nth].map_or(Cell::Null, Cell::Ref),
        }
    }
}
