//! Sweeping: the plain rows of a flat chunk, read column by column, so that a cell costs a turn of a short loop.
//!
//!   block of rows ──one column after the other──▶ cells ──row by row──▶ Batch
//!                              └─ a row that is odd ──▶ Drafts, in its turn
//!
//! E1. A row is swept only where drafting it would come to the same; all others are odd, and drafted.
//! E2. Nothing is committed before a row is known not to be odd (D1).

use super::commit::Batch;
use super::convert;
use super::draft::{Draft, Memo};
use super::records::{Fill, RecordSpec, Records, ValueSpec, Want};
use super::values::{Context, plain};
use crate::batch::{Cell, Log};
use crate::plan::{KeyPlan, Plan};
use crate::rows::Flat;
use std::ops::Range;

/// How many rows are read at once: few enough for their cells to stay in the cache.
pub(crate) const BLOCK: usize = 512;

/// What a row must declare for it to be swept, and the cells of the block at hand.
#[derive(Debug)]
pub(crate) struct Sweep<'a> {
    flat: &'a Flat,
    /// The records of a row, children before parents (D2).
    steps: Vec<Step<'a>>,
    values: Vec<Values<'a>>,
    references: Vec<References<'a>>,
    /// The rows of the block that must be drafted (E1).
    odd: Vec<bool>,
    /// For each step its record in the row at hand; none if it refers to nothing.
    recs: Vec<Option<u32>>,
    scratch: Vec<Cell<'a>>,
}

/// A record of each row.
#[derive(Debug)]
struct Step<'a> {
    draft: Draft<'a>,
    /// For a reference that one text identifies: which.
    reference: Option<usize>,
    /// For each column of the table.
    cells: Vec<From>,
}

/// Where a cell comes from.
#[derive(Clone, Copy, Debug)]
enum From {
    Nowhere,
    Value(usize),
    Step(usize),
}

/// A column of the file.
#[derive(Clone, Copy, Debug)]
struct Column<'a> {
    at: usize,
    spec: &'a ValueSpec,
    want: &'a Want,
    /// True if a row in which it is null is odd.
    needed: bool,
}

/// The cells of a column.
#[derive(Debug)]
struct Values<'a> {
    column: Column<'a>,
    cells: Vec<Cell<'a>>,
}

/// The references of a column.
#[derive(Debug)]
struct References<'a> {
    column: Column<'a>,
    memo: usize,
    /// The column of the key that the text stands for.
    key: usize,
    met: Vec<Met>,
    /// Texts that no row before this block has, with their cells in the key.
    new: Vec<(&'a str, Cell<'a>)>,
}

/// What the text of a reference has met with.
#[derive(Clone, Copy, Debug)]
enum Met {
    Null,
    /// A record.
    Known(u32),
    /// No record yet: an index into `new`.
    New(u32),
}

impl<'a> Sweep<'a> {
    /// None if the rows of the feed are not such that they can be swept.
    pub(crate) fn new(
        plan: &Plan,
        records: &'a Records,
        context: &Context<'a>,
        flat: &'a Flat,
    ) -> Option<Self> {
        let mut sweep = Self {
            flat,
            steps: Vec::new(),
            values: Vec::new(),
            references: Vec::new(),
            odd: Vec::new(),
            recs: Vec::new(),
            scratch: Vec::new(),
        };
        for declared in &records.declared {
            if !declared.when.is_empty() || declared.each.is_some() {
                return None;
            }
            sweep.step(plan, context, &declared.record, true)?;
        }
        Some(sweep)
    }

    /// Adds the steps of a record and of those that it refers to; returns which one is its own.
    fn step(
        &mut self,
        plan: &Plan,
        context: &Context<'a>,
        spec: &'a RecordSpec,
        declared: bool,
    ) -> Option<usize> {
        let table = &plan.tables[spec.table];
        if spec.external.is_some() || table.key != KeyPlan::Columns {
            return None;
        }
        let mut cells = vec![From::Nowhere; table.columns.len()];
        let mut reference = None;
        for cell in &spec.cells {
            let is_key = table.columns[cell.column].key;
            let mut needed = is_key || cell.required;
            cells[cell.column] = match &cell.fill {
                Fill::Value(value, want) => {
                    // The parent of a reference decides whether it may be null.
                    needed &= spec.memo.is_none() || cell.required;
                    let at = context.column(value)?;
                    let column = Column {
                        at,
                        spec: value,
                        want,
                        needed,
                    };
                    match spec.memo {
                        Some(memo) => {
                            reference = Some(self.references.len());
                            self.references.push(References {
                                column,
                                memo,
                                key: cell.column,
                                met: Vec::new(),
                                new: Vec::new(),
                            });
                            From::Nowhere
                        }
                        None => {
                            self.values.push(Values {
                                column,
                                cells: Vec::new(),
                            });
                            From::Value(self.values.len() - 1)
                        }
                    }
                }
                Fill::Record(child) => {
                    let step = self.step(plan, context, child, false)?;
                    if let Some(reference) = self.steps[step].reference {
                        // What a record would refer to that is not made itself must not be made either.
                        self.references[reference].column.needed |= needed || !declared;
                    }
                    From::Step(step)
                }
                Fill::Label(_) => return None,
            };
        }
        let is_said = |at: usize| !matches!(cells[at], From::Nowhere) || reference.is_some();
        let mut key = (0..cells.len()).filter(|at| table.columns[*at].key);
        if !key.all(is_said) || (declared && reference.is_some()) {
            return None;
        }
        let draft = Draft {
            table: spec.table,
            declared,
            create: spec.create,
            cells: 0,
            external: None,
            memo: None,
        };
        self.steps.push(Step {
            draft,
            reference,
            cells,
        });
        Some(self.steps.len() - 1)
    }

    /// Reads a block of rows.
    pub(crate) fn read(&mut self, context: &Context<'a>, memo: &Memo<'a>, rows: Range<usize>) {
        self.odd.clear();
        self.odd.resize(rows.len(), false);
        for values in &mut self.values {
            values.read(context, self.flat, &mut self.odd, rows.clone());
        }
        for references in &mut self.references {
            references.read(context, self.flat, memo, &mut self.odd, rows.clone());
        }
    }

    /// True if this row of the block must be drafted.
    pub(crate) fn is_odd(&self, nth: usize) -> bool {
        self.odd[nth]
    }

    /// Adds this row of the block to the batch.
    pub(crate) fn commit(
        &mut self,
        nth: usize,
        batch: &mut Batch,
        memo: &mut Memo<'a>,
        log: &mut Log,
    ) {
        debug_assert!(!self.odd[nth], "E2: an odd row");
        self.recs.clear();
        for step in &self.steps {
            let rec = match step.reference {
                Some(at) => {
                    let references = &self.references[at];
                    match references.met[nth] {
                        Met::Null => None,
                        Met::Known(rec) => Some(rec),
                        Met::New(at) => {
                            let (text, cell) = references.new[at as usize];
                            let memo = &mut memo.0[references.memo];
                            // An earlier row of the block may have brought it.
                            Some(*memo.entry(text).or_insert_with(|| {
                                self.scratch.clear();
                                self.scratch.resize(step.cells.len(), Cell::Unset);
                                self.scratch[references.key] = cell;
                                batch.add(&step.draft, &self.scratch, log)
                            }))
                        }
                    }
                }
                None => {
                    self.scratch.clear();
                    self.scratch
                        .extend(step.cells.iter().map(|from| match *from {
                            From::Nowhere => Cell::Unset,
                            From::Value(at) => self.values[at].cells[nth],
                            From::Step(at) => self.recs[at].map_or(Cell::Null, Cell::Ref),
                        }));
                    Some(batch.add(&step.draft, &self.scratch, log))
                }
            };
            self.recs.push(rec);
        }
    }
}

impl<'a> Values<'a> {
    fn read(
        &mut self,
        context: &Context<'a>,
        flat: &'a Flat,
        odd: &mut [bool],
        rows: Range<usize>,
    ) {
        let Column {
            at,
            spec,
            want,
            needed,
        } = self.column;
        self.cells.clear();
        for (row, odd) in rows.zip(odd) {
            let cell = match plain(spec, flat.cell(row, at)) {
                None => Cell::Null,
                Some(text) => match convert::cell(text, spec, want, context.texts) {
                    Ok(cell) => cell,
                    // Drafting says what is wrong.
                    Err(_) => {
                        *odd = true;
                        Cell::Null
                    }
                },
            };
            *odd |= needed && cell.is_empty();
            self.cells.push(cell);
        }
    }
}

impl<'a> References<'a> {
    fn read(
        &mut self,
        context: &Context<'a>,
        flat: &'a Flat,
        memo: &Memo<'a>,
        odd: &mut [bool],
        rows: Range<usize>,
    ) {
        let Column {
            at,
            spec,
            want,
            needed,
        } = self.column;
        let memo = &memo.0[self.memo];
        self.met.clear();
        self.new.clear();
        for (row, odd) in rows.zip(odd) {
            let Some(text) = plain(spec, flat.cell(row, at)) else {
                *odd |= needed;
                self.met.push(Met::Null);
                continue;
            };
            if let Some(rec) = memo.get(text) {
                self.met.push(Met::Known(*rec));
                continue;
            }
            match convert::cell(text, spec, want, context.texts) {
                Ok(cell) if !cell.is_empty() => {
                    self.met.push(Met::New(self.new.len() as u32));
                    self.new.push((text, cell));
                }
                // What is no key, and what folds to nothing, is drafted.
                _ => {
                    *odd = true;
                    self.met.push(Met::Null);
                }
            }
        }
    }
}
