//! The columns of a block, read one after the other.

use crate::batch::{Cell, Cells};
use crate::map::convert;
use crate::map::draft::Memo;
use crate::map::number;
use crate::map::records::{ValueSpec, Want};
use crate::map::time::{self, Pattern};
use crate::map::values::{Context, plain, trimmed};
use crate::rows::Flat;
use oneflight_sql::Kind;
use std::ops::Range;

/// A block of rows, and which of them are odd.
#[derive(Debug)]
pub(super) struct Block<'b, 'a> {
    pub(super) context: &'b Context<'a>,
    pub(super) flat: &'a Flat,
    pub(super) rows: Range<usize>,
    pub(super) odd: &'b mut [bool],
}

/// A column of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column<'a> {
    pub(super) at: usize,
    pub(super) spec: &'a ValueSpec,
    pub(super) want: &'a Want,
    /// True if a row in which it is null is odd.
    pub(super) needed: bool,
}

/// The cells of a column.
#[derive(Debug)]
pub(super) struct Values<'a> {
    column: Column<'a>,
    read: Read<'a>,
}

/// Cells by their type, none where the column is null.
#[derive(Debug)]
enum Read<'a> {
    Ints(Vec<Option<i64>>),
    Dates(Vec<Option<i32>>),
    Texts(Vec<Option<&'a str>>),
    Any(Vec<Cell<'a>>),
}

/// The references of a column.
#[derive(Debug)]
pub(super) struct References<'a> {
    pub(super) column: Column<'a>,
    pub(super) memo: usize,
    /// The column of the key that the text stands for.
    pub(super) key: usize,
    pub(super) met: Vec<Met>,
    /// Texts that no row before this block has, with their cells in the key.
    pub(super) new: Vec<(&'a str, Cell<'a>)>,
}

/// What the text of a reference has met with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Met {
    Null,
    /// A record.
    Known(u32),
    /// No record yet: an index into `new`.
    New(u32),
}

impl<'a> Values<'a> {
    pub(super) fn new(column: Column<'a>) -> Self {
        let Column { spec, want, .. } = column;
        let usual = spec.pattern == Pattern::Usual;
        let read = match want.kind {
            Kind::Int if usual => Read::Ints(Vec::new()),
            Kind::Date if usual => Read::Dates(Vec::new()),
            Kind::Text if want.fold.is_none() => Read::Texts(Vec::new()),
            _ => Read::Any(Vec::new()),
        };
        Self { column, read }
    }

    /// Reads the block.
    pub(super) fn read(&mut self, block: &mut Block<'_, 'a>) {
        let Column { spec, want, .. } = self.column;
        let texts = block.context.texts;
        match &mut self.read {
            Read::Ints(ints) => self
                .column
                .read(block, ints, |text| number::integer(trimmed(text)).map(Some)),
            Read::Dates(dates) => self.column.read(block, dates, |text| {
                time::date(trimmed(text), &Pattern::Usual).map(Some)
            }),
            Read::Texts(read) => self.column.read(block, read, |text| {
                convert::check_text(text, spec, want)
                    .ok()
                    .map(|()| Some(text))
            }),
            Read::Any(cells) => self.column.read(block, cells, |text| {
                convert::cell(text, spec, want, texts).ok()
            }),
        }
    }

    /// The cell of this row of the block.
    #[inline]
    pub(super) fn cell(&self, nth: usize) -> Cell<'a> {
        match &self.read {
            Read::Ints(ints) => ints[nth].map_or(Cell::Null, Cell::Int),
            Read::Dates(dates) => dates[nth].map_or(Cell::Null, Cell::Date),
            Read::Texts(texts) => texts[nth].map_or(Cell::Null, Cell::Text),
            Read::Any(cells) => cells[nth],
        }
    }

    /// Appends the cells of these rows of the block.
    pub(super) fn append(&self, rows: &[u32], cells: &mut Cells) {
        let rows = rows.iter().map(|nth| *nth as usize);
        match &self.read {
            Read::Ints(ints) => {
                cells.extend(rows.map(|nth| ints[nth].map_or(Cell::Null, Cell::Int)))
            }
            Read::Dates(dates) => {
                cells.extend(rows.map(|nth| dates[nth].map_or(Cell::Null, Cell::Date)));
            }
            Read::Texts(texts) => {
                cells.extend(rows.map(|nth| texts[nth].map_or(Cell::Null, Cell::Text)));
            }
            Read::Any(any) => cells.extend(rows.map(|nth| any[nth])),
        }
    }
}

/// What may stand for a cell.
trait Slot: Copy {
    const NULL: Self;
    fn is_null(self) -> bool;
}

impl<T: Copy> Slot for Option<T> {
    const NULL: Self = None;

    fn is_null(self) -> bool {
        self.is_none()
    }
}

impl Slot for Cell<'_> {
    const NULL: Self = Cell::Null;

    fn is_null(self) -> bool {
        self.is_empty()
    }
}

impl<'a> Column<'a> {
    /// Reads the block into slots; `convert` is none for a text that does not fit, of which drafting says what is wrong.
    #[inline]
    fn read<S: Slot>(
        self,
        block: &mut Block<'_, 'a>,
        slots: &mut Vec<S>,
        convert: impl Fn(&'a str) -> Option<S>,
    ) {
        slots.clear();
        slots.extend(block.rows.clone().zip(&mut *block.odd).map(|(row, odd)| {
            let slot = match plain(self.spec, block.flat.cell(row, self.at)) {
                None => S::NULL,
                Some(text) => convert(text).unwrap_or_else(|| {
                    *odd = true;
                    S::NULL
                }),
            };
            *odd |= self.needed && slot.is_null();
            slot
        }));
    }
}

impl<'a> References<'a> {
    pub(super) fn new(column: Column<'a>, memo: usize, key: usize) -> Self {
        Self {
            column,
            memo,
            key,
            met: Vec::new(),
            new: Vec::new(),
        }
    }

    /// Looks up the block.
    pub(super) fn read(&mut self, block: &mut Block<'_, 'a>, memo: &Memo<'a>) {
        let Column {
            at,
            spec,
            want,
            needed,
        } = self.column;
        let memo = &memo.0[self.memo];
        self.met.clear();
        self.new.clear();
        for (row, odd) in block.rows.clone().zip(&mut *block.odd) {
            let Some(text) = plain(spec, block.flat.cell(row, at)) else {
                *odd |= needed;
                self.met.push(Met::Null);
                continue;
            };
            if let Some(rec) = memo.get(text) {
                self.met.push(Met::Known(*rec));
                continue;
            }
            match convert::cell(text, spec, want, block.context.texts) {
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
