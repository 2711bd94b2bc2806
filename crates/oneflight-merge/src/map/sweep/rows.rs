//! The rows of a block, committed: a run of rows at a time, one step after the other.

use super::columns::{Block, Met, New, gather};
use super::steps::{From, NONE, Step, Steps, Way};
use crate::batch::{Again, Cell, Declares, Log, RecCells, Recs};
use crate::map::commit::Batch;
use crate::map::keys::hash_cells;
use crate::map::memo::Memo;
use crate::map::records::Records;
use crate::map::table::Admitted;
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
    /// True if some cell has a NUL character in it.
    nul: bool,
    /// The first row of the block.
    first: usize,
    /// The rows of the block that must be drafted (E1).
    odd: Vec<bool>,
    /// The hashes of the keys of a run.
    hashes: Vec<u64>,
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
            nul: memchr::memchr(0, flat.text.as_bytes()).is_some(),
            first: 0,
            odd: Vec::new(),
            hashes: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// The tables that rows have records of by their keys.
    pub(crate) fn tables(&self) -> impl Iterator<Item = usize> {
        let steps = self.steps.steps.iter();
        let steps = steps.filter(|step| !matches!(step.way, Way::Text(_)));
        steps.map(|step| step.draft.table)
    }

    /// Reads a block of rows. The one before must have been finished.
    pub(crate) fn read(&mut self, context: &Context<'a>, memo: &Memo<'a>, rows: Range<usize>) {
        self.first = rows.start;
        self.odd.clear();
        self.odd.resize(rows.len(), false);
        let mut block = Block {
            context,
            flat: self.flat,
            rows,
            odd: &mut self.odd,
            nul: self.nul,
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
            step.again.clear();
            step.none = false;
        }
    }

    /// The rows from this one of the block on that are not odd.
    pub(crate) fn run(&self, nth: usize) -> Range<usize> {
        let odd = self.odd[nth..].iter().position(|odd| *odd);
        nth..odd.map_or(self.odd.len(), |odd| nth + odd)
    }

    /// Passes over a row of the block that is odd: it must be drafted, and then its turn is now.
    pub(crate) fn pass(&mut self, nth: usize, batch: &mut Batch) {
        debug_assert!(self.odd[nth], "E1: a row that is not odd");
        for at in 0..self.steps.steps.len() {
            self.finish(at, batch);
            let step = &mut self.steps.steps[at];
            step.recs.push(NONE);
            step.none = true;
            if step.draft.declared {
                step.again.push(Again::First);
            }
        }
    }

    /// Adds a run of rows to the batch, and notes what they declare; every row of the block comes, in its order.
    pub(crate) fn commit(
        &mut self,
        run: Range<usize>,
        batch: &mut Batch,
        memo: &mut Memo<'a>,
        log: &mut Log,
    ) {
        debug_assert!(!self.odd[run.clone()].contains(&true), "E2: an odd row");
        for group in 0..self.steps.groups.len() {
            if let [at] = self.steps.groups[group][..] {
                match self.steps.steps[at].way {
                    Way::Text(reference) => self.refer(at, reference, run.clone(), batch, memo),
                    Way::Alone => self.admit(at, run.clone(), batch),
                    Way::Shared => run.clone().for_each(|nth| self.add(at, nth, batch)),
                }
                continue;
            }
            for nth in run.clone() {
                for member in 0..self.steps.groups[group].len() {
                    let at = self.steps.groups[group][member];
                    match self.steps.steps[at].way {
                        Way::Text(reference) => {
                            self.refer(at, reference, nth..nth + 1, batch, memo)
                        }
                        Way::Alone | Way::Shared => self.add(at, nth, batch),
                    }
                }
            }
        }
        self.note(run, log);
    }

    /// Ends the block: all its records have their cells.
    pub(crate) fn end(&mut self, batch: &mut Batch) {
        (0..self.steps.steps.len()).for_each(|at| self.finish(at, batch));
    }

    /// Notes what the rows of a run declare.
    fn note(&self, run: Range<usize>, log: &mut Log) {
        let lines = &self.flat.lines[self.first..];
        let declared = || self.steps.steps.iter().filter(|step| step.draft.declared);
        for nth in run {
            for step in declared() {
                log.declare(Declares {
                    table: step.draft.table as u32,
                    rec: step.recs[nth],
                    again: step.again[nth],
                });
            }
            log.end_row(lines[nth]);
        }
    }

    /// The records of references by text.
    fn refer(
        &mut self,
        at: usize,
        reference: usize,
        rows: Range<usize>,
        batch: &mut Batch,
        memo: &mut Memo<'a>,
    ) {
        let references = &self.steps.references[reference];
        let step = &mut self.steps.steps[at];
        let scratch = &mut self.scratch;
        step.recs.extend(references.met[rows].iter().map(|met| {
            let new = match *met {
                Met::Known(rec) => return rec,
                Met::Null => {
                    step.none = true;
                    return NONE;
                }
                Met::New(new) => new as usize,
            };
            // An earlier row of the block may have brought it.
            let New { text, hash, cell } = references.new[new];
            memo.get_or_insert(references.memo, (text, hash), || {
                scratch.clear();
                scratch.resize(step.cells.len(), Cell::Unset);
                scratch[references.key] = cell;
                batch.add(&step.draft, scratch).0
            })
        }));
    }

    /// The records of a step that is alone with its table.
    fn admit(&mut self, at: usize, rows: Range<usize>, batch: &mut Batch) {
        debug_assert!(
            self.steps.steps[at].late.is_empty(),
            "E3: a run before this one is not finished"
        );
        if self.rise(at, rows.clone(), batch) {
            return;
        }
        let mut hashes = std::mem::take(&mut self.hashes);
        hashes.clear();
        self.hash(at, rows.clone(), batch, &mut hashes);
        for (nth, hash) in rows.zip(&hashes) {
            let step = &self.steps.steps[at];
            let admitted = batch.admit(&step.draft, *hash, |recs, rec| {
                match rec
                    .checked_sub(step.first)
                    .and_then(|late| step.late.get(late as usize))
                {
                    Some(late) => self.is_same(step, nth, *late as usize),
                    None => self.is_known(step, nth, recs, rec),
                }
            });
            let step = &mut self.steps.steps[at];
            let (rec, again) = match admitted {
                Admitted::New(rec) => {
                    if step.late.is_empty() {
                        step.first = rec;
                    }
                    step.late.push(nth as u32);
                    (rec, Again::First)
                }
                Admitted::There(rec) => {
                    if !step.late.is_empty() && rec >= step.first {
                        self.finish(at, batch);
                    }
                    self.whole(at, nth);
                    let again = batch.meet(rec, &self.steps.steps[at].draft, &self.scratch);
                    (rec, again)
                }
            };
            self.steps.steps[at].came_to(rec, again);
        }
        self.hashes = hashes;
    }

    /// The records of rows whose keys rise, so that none is there yet; false if they do not.
    fn rise(&mut self, at: usize, rows: Range<usize>, batch: &mut Batch) -> bool {
        let step = &mut self.steps.steps[at];
        let [(_, From::Value(value))] = step.key[..] else {
            return false;
        };
        let words = self.steps.values[value].words(rows.clone());
        let Some(first) = words.and_then(|words| batch.rise(&step.draft, words)) else {
            return false;
        };
        step.first = first;
        let count = rows.len();
        step.late.extend(rows.start as u32..rows.end as u32);
        step.recs.extend(first..first + count as u32);
        if step.draft.declared {
            step.again.resize(step.again.len() + count, Again::First);
        }
        true
    }

    /// Appends the hashes of a step's keys.
    fn hash(&self, at: usize, rows: Range<usize>, batch: &Batch, hashes: &mut Vec<u64>) {
        let step = &self.steps.steps[at];
        match step.key[..] {
            [(_, From::Value(at))] => self.steps.values[at].hash(rows, batch.hasher(), hashes),
            _ => hashes.extend(rows.map(|nth| {
                let key = step.key.iter().map(|(_, from)| self.cell(*from, nth));
                hash_cells(key, batch.hasher())
            })),
        }
    }

    /// True if two rows of the block have the same key.
    fn is_same(&self, step: &Step<'a>, nth: usize, other: usize) -> bool {
        let mut key = step.key.iter();
        key.all(|(_, from)| self.cell(*from, nth).is_same(&self.cell(*from, other)))
    }

    /// True if a row of the block has the key of this record.
    fn is_known(&self, step: &Step<'a>, nth: usize, recs: &Recs, rec: u32) -> bool {
        let mut key = step.key.iter();
        key.all(|(column, from)| self.cell(*from, nth).is_same(&recs.cell(*column, rec)))
    }

    /// The record of one row of a step that is not alone with its table.
    fn add(&mut self, at: usize, nth: usize, batch: &mut Batch) {
        self.whole(at, nth);
        let step = &mut self.steps.steps[at];
        let (rec, again) = batch.add(&step.draft, &self.scratch);
        step.came_to(rec, again);
    }

    /// Appends the cells of the records of a step that have none yet (E3).
    fn finish(&mut self, at: usize, batch: &mut Batch) {
        let step = &self.steps.steps[at];
        if step.late.is_empty() {
            return;
        }
        let columns = batch.late(step.draft.table);
        for (cells, from) in columns.iter_mut().zip(&step.cells) {
            match *from {
                From::Nowhere => cells.extend(step.late.iter().map(|_| Cell::Unset)),
                From::Value(at) => self.steps.values[at].append(&step.late, cells),
                From::Step(at) => self.steps.steps[at].append(&step.late, cells),
            }
        }
        self.steps.steps[at].late.clear();
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
            From::Step(at) => self.steps.steps[at].cell(nth),
        }
    }
}

impl Step<'_> {
    /// The next row of the block has come to this.
    #[inline]
    fn came_to(&mut self, rec: u32, again: Again) {
        self.recs.push(rec);
        if self.draft.declared {
            self.again.push(again);
        }
    }

    /// The reference to the record of this row of the block.
    #[inline]
    fn cell(&self, nth: usize) -> Cell<'static> {
        match self.recs[nth] {
            NONE => Cell::Null,
            rec => Cell::Ref(rec),
        }
    }

    /// Appends the references of these rows of the block, which come in their order.
    fn append(&self, rows: &[u32], cells: &mut RecCells) {
        match cells.words() {
            Some(words) if !self.none => gather(rows, &self.recs, words, i64::from),
            _ => cells.extend(rows.iter().map(|nth| self.cell(*nth as usize))),
        }
    }
}
