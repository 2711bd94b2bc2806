//! The columns of a block, read one after the other.
//!
//!   cell ──quick: bytes that need no second look──▶ slot
//!     └────────────────slow: as drafting does──────────┘
//!
//! Q1. What the quick way reads, the slow way reads alike.

use crate::batch::{Cell, RecCells, word};
use crate::map::convert;
use crate::map::keys::hash_cells;
use crate::map::memo::{Memo, same};
use crate::map::number;
use crate::map::records::{ValueSpec, Want};
use crate::map::time::{self, Pattern};
use crate::map::values::{Context, is_trimmed, plain, trimmed};
use crate::rows::Flat;
use bumpalo::Bump;
use foldhash::fast::RandomState;
use oneflight_sql::Kind;
use std::ops::Range;

/// A block of rows, and which of them are odd.
#[derive(Debug)]
pub(super) struct Block<'b, 'a> {
    pub(super) context: &'b Context<'a>,
    pub(super) flat: &'a Flat,
    pub(super) rows: Range<usize>,
    pub(super) odd: &'b mut [bool],
    /// True if some cell of the chunk has a NUL character in it.
    pub(super) nul: bool,
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
    /// Which cells are null; empty if none is.
    nulls: Vec<bool>,
}

/// Cells by their type, of which those that are null mean nothing.
#[derive(Debug)]
enum Read<'a> {
    /// Integers or dates.
    Words(Kind, Vec<i64>),
    Texts(Vec<&'a str>),
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
    /// What no row before this block has.
    pub(super) new: Vec<New<'a>>,
}

/// A text that no row before the block has.
#[derive(Clone, Copy, Debug)]
pub(super) struct New<'a> {
    pub(super) text: &'a str,
    /// The text's hash in the memo.
    pub(super) hash: u64,
    /// The cell of the key.
    pub(super) cell: Cell<'a>,
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
            Kind::Int | Kind::Date if usual => Read::Words(want.kind, Vec::new()),
            Kind::Text if want.fold.is_none() => Read::Texts(Vec::new()),
            _ => Read::Any(Vec::new()),
        };
        Self {
            column,
            read,
            nulls: Vec::new(),
        }
    }

    /// Reads the block.
    pub(super) fn read(&mut self, block: &mut Block<'_, 'a>) {
        let (column, nulls) = (self.column, &mut self.nulls);
        let Column { spec, want, .. } = column;
        let texts = block.context.texts;
        nulls.clear();
        match &mut self.read {
            Read::Words(Kind::Int, ints) => column.read(
                block,
                (ints, nulls),
                |text, _| number::plain_integer(text),
                |text| Some(Some(number::integer(trimmed(text))?)),
            ),
            Read::Words(_, dates) => column.read(
                block,
                (dates, nulls),
                |text, _| time::plain_date(text).map(i64::from),
                |text| Some(Some(time::date(trimmed(text), &Pattern::Usual)?.into())),
            ),
            Read::Texts(read) => {
                let is_plain = column.plain_text(block.nul);
                let whole = &block.flat.text;
                column.read(
                    block,
                    (read, nulls),
                    |text, place| is_plain(text).then(|| whole.get(place))?,
                    |text| {
                        convert::check_text(text, spec, want)
                            .ok()
                            .map(|()| Some(text))
                    },
                );
            }
            Read::Any(cells) => column.read(
                block,
                (cells, nulls),
                |_, _| None,
                |text| {
                    let cell = convert::cell(text, spec, want, texts).ok()?;
                    Some((!cell.is_empty()).then_some(cell))
                },
            ),
        }
    }

    /// The cell of this row of the block.
    #[inline]
    pub(super) fn cell(&self, nth: usize) -> Cell<'a> {
        if self.nulls.get(nth) == Some(&true) {
            return Cell::Null;
        }
        match &self.read {
            Read::Words(kind, words) => word(*kind, words[nth]),
            Read::Texts(texts) => Cell::Text(texts[nth]),
            Read::Any(cells) => cells[nth],
        }
    }

    /// The cells of these rows if all of them are words.
    pub(super) fn words(&self, rows: Range<usize>) -> Option<&[i64]> {
        match &self.read {
            Read::Words(_, words) if self.nulls.is_empty() => words.get(rows),
            _ => None,
        }
    }

    /// The hashes of these rows' cells.
    pub(super) fn hash(&self, rows: Range<usize>, hasher: &RandomState, hashes: &mut Vec<u64>) {
        match &self.read {
            Read::Words(Kind::Int, ints) if self.nulls.is_empty() => {
                let ints = ints[rows].iter();
                hashes.extend(ints.map(|int| hash_cells([Cell::Int(*int)], hasher)));
            }
            Read::Texts(texts) if self.nulls.is_empty() => {
                let texts = texts[rows].iter();
                hashes.extend(texts.map(|text| hash_cells([Cell::Text(text)], hasher)));
            }
            _ => hashes.extend(rows.map(|nth| hash_cells([self.cell(nth)], hasher))),
        }
    }

    /// Appends the cells of these rows of the block, which come in their order.
    pub(super) fn append(&self, rows: &[u32], cells: &mut RecCells) {
        let nths = rows.iter().map(|nth| *nth as usize);
        if self.nulls.is_empty() {
            if let Read::Words(_, words) = &self.read
                && let Some(into) = cells.words()
            {
                return gather(rows, words, into, |word| word);
            }
            if let Read::Texts(texts) = &self.read
                && let Some(into) = cells.texts()
            {
                return nths.for_each(|nth| into.push(texts[nth]));
            }
        }
        cells.extend(nths.map(|nth| self.cell(nth)));
    }
}

/// Appends what stands at these places, which come in their order.
#[inline]
pub(super) fn gather<T: Copy>(
    places: &[u32],
    from: &[T],
    into: &mut Vec<i64>,
    word: impl Fn(T) -> i64,
) {
    let (Some(first), Some(last)) = (places.first(), places.last()) else {
        return;
    };
    let all = &from[*first as usize..=*last as usize];
    if all.len() == places.len() {
        into.extend(all.iter().map(|item| word(*item)));
    } else {
        into.extend(places.iter().map(|place| word(from[*place as usize])));
    }
}

impl<'a> Column<'a> {
    /// Reads the block into slots; `slow` is none for a text that does not fit, of which drafting says what is wrong.
    #[inline]
    fn read<T: Copy + Filler>(
        self,
        block: &mut Block<'_, 'a>,
        (slots, nulls): (&mut Vec<T>, &mut Vec<bool>),
        quick: impl Fn(&'a [u8], Range<usize>) -> Option<T>,
        slow: impl Fn(&'a str) -> Option<Option<T>>,
    ) {
        slots.clear();
        let (flat, rows) = (block.flat, block.rows.clone());
        let lengths = lengths(&self.spec.null);
        let text = flat.text.as_bytes();
        let spans = flat.column(rows.clone(), self.at);
        let count = rows.len();
        slots.extend(
            spans
                .zip(&mut *block.odd)
                .enumerate()
                .map(|(nth, ((start, end), odd))| {
                    let place = start as usize..end as usize;
                    // A null is a place outside.
                    if let Some(text) = text.get(place.clone())
                        && !has(lengths, text.len())
                        && let Some(slot) = quick(text, place)
                    {
                        return slot;
                    }
                    let slot = match plain(self.spec, flat.cell(rows.start + nth, self.at)) {
                        None => None,
                        Some(text) => slow(text).unwrap_or_else(|| {
                            *odd = true;
                            None
                        }),
                    };
                    slot.unwrap_or_else(|| {
                        *odd |= self.needed;
                        nulls.resize(count, false);
                        nulls[nth] = true;
                        T::FILLER
                    })
                }),
        );
    }

    /// What a text is in the key that it is for; none for what is no key, and what folds to nothing: it is drafted.
    fn key(self, text: &'a str, texts: &'a Bump) -> Option<Cell<'a>> {
        let cell = convert::cell(text, self.spec, self.want, texts).ok()?;
        (!cell.is_empty()).then_some(cell)
    }

    /// The same for a text that is a key as it stands in the file; none for any other.
    #[inline]
    fn quick_key(self, nul: bool) -> impl Fn(&'a str) -> Option<Cell<'a>> {
        let as_it_is = self.want.kind == Kind::Text && self.want.fold.is_none();
        let is_plain = self.plain_text(nul);
        move |text| (as_it_is && is_plain(text.as_bytes())).then_some(Cell::Text(text))
    }

    /// True for a text that is stored as it stands in the file, whatever it says.
    #[inline]
    fn plain_text(self, nul: bool) -> impl Fn(&[u8]) -> bool {
        let most = self.want.max_chars.map_or(usize::MAX, |most| most as usize);
        // There are no more characters than bytes.
        move |text| !nul && text.len() <= most && is_trimmed(text)
    }
}

/// What stands where there is no value.
trait Filler {
    const FILLER: Self;
}

impl Filler for i64 {
    const FILLER: Self = 0;
}

impl Filler for &str {
    const FILLER: Self = "";
}

impl Filler for Cell<'_> {
    const FILLER: Self = Cell::Null;
}

/// The lengths of texts, a bit for each; the last bit stands for all that are longer.
fn lengths(texts: &[String]) -> u64 {
    texts
        .iter()
        .fold(0, |lengths, text| lengths | 1 << text.len().min(63))
}

#[inline]
fn has(lengths: u64, length: usize) -> bool {
    lengths >> length.min(63) & 1 != 0
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
        let (column, new, flat) = (self.column, &mut self.new, block.flat);
        let (lengths, look) = (lengths(&column.spec.null), memo.look(self.memo));
        let whole = flat.text.as_str();
        let quick = column.quick_key(block.nul);
        self.met.clear();
        new.clear();
        // Rows that stand together often refer to the same.
        let mut before: (&[u8], Met) = (&[], Met::Null);
        let spans = flat.column(block.rows.clone(), column.at);
        let cells = block.rows.clone().zip(spans).zip(&mut *block.odd);
        self.met.extend(cells.map(|((row, (start, end)), odd)| {
            // A null is a place outside.
            let place = start as usize..end as usize;
            let seen = whole.as_bytes().get(place.clone());
            let seen = seen.filter(|cell| !has(lengths, cell.len()) && is_trimmed(cell));
            let text = match seen {
                Some(cell) if same(cell, before.0) => return before.1,
                Some(_) => whole.get(place),
                None => plain(column.spec, flat.cell(row, column.at)),
            };
            let met = match text {
                None => (!column.needed).then_some(Met::Null),
                Some(text) => {
                    let hash = look.hash(text.as_bytes());
                    let met = match look.find(hash, text.as_bytes()) {
                        Some(rec) => Some(Met::Known(rec)),
                        None => quick(text)
                            .or_else(|| column.key(text, block.context.texts))
                            .map(|cell| {
                                new.push(New { text, hash, cell });
                                Met::New(new.len() as u32 - 1)
                            }),
                    };
                    if let (Some(cell), Some(met)) = (seen, met) {
                        before = (cell, met);
                    }
                    met
                }
            };
            *odd |= met.is_none();
            met.unwrap_or(Met::Null)
        }));
    }
}
