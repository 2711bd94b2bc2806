//! One column of the records of a chunk.
//!
//! C1. Every record has an entry in the column's vector, one that means nothing where the cell is unset or null.
//! C2. `gaps` is empty as long as every cell has a value; then it has an entry for each record.

use crate::plan::{ColumnKind, ColumnPlan};
use oneflight_sql::{Kind, Value};

/// A cell of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// The feed says nothing about this column.
    Unset,
    /// The feed says null.
    Null,
    /// A text.
    Text(&'a str),
    /// A text of a folded key column.
    Folded {
        /// The folded text, which identifies.
        key: &'a str,
        /// The text as the feed spells it, cleaned at the edges.
        shown: &'a str,
    },
    /// An integer.
    Int(i64),
    /// A float.
    Real(f64),
    /// A decimal number, in its canonical form.
    Decimal(&'a str),
    /// True or false.
    Bool(bool),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// A UUID.
    Uuid([u8; 16]),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A reference: an index into the records of the table that the column refers to.
    Ref(u32),
}

impl Cell<'_> {
    /// The value to be stored: of a folded text the spelling, of a null the null. None if nothing is said, and for a reference.
    pub fn value(&self) -> Option<Value> {
        Some(match *self {
            Self::Unset | Self::Ref(_) => return None,
            Self::Null => Value::Null,
            Self::Text(text) | Self::Folded { shown: text, .. } => Value::Text(text.into()),
            Self::Int(int) => Value::Int(int),
            Self::Real(real) => Value::Real(real),
            Self::Decimal(text) => Value::Decimal(text.into()),
            Self::Bool(bool) => Value::Bool(bool),
            Self::Date(days) => Value::Date(days),
            Self::Timestamp(micros) => Value::Timestamp(micros),
            Self::Uuid(uuid) => Value::Uuid(uuid),
            Self::Bytes(bytes) => Value::Bytes(bytes.into()),
        })
    }

    /// True if there is nothing in it: it is unset or null.
    #[inline]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Unset | Self::Null)
    }

    /// True if both say the same: null and unset are alike, and of folded texts the keys count. Floats are compared by their bits.
    #[inline]
    pub(crate) fn is_same(&self, other: &Cell<'_>) -> bool {
        match (self, other) {
            (Self::Unset | Self::Null, Cell::Unset | Cell::Null) => true,
            (Self::Folded { key: a, .. }, Cell::Folded { key: b, .. }) => a == b,
            (Self::Real(a), Cell::Real(b)) => a.to_bits() == b.to_bits(),
            (a, b) => *a == *b,
        }
    }
}

/// The cells of one column of [`Recs`](super::Recs), record by record.
#[derive(Debug)]
pub(crate) struct RecCells {
    meaning: Meaning,
    data: Data,
    gaps: Vec<Gap>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Scalar(Kind),
    Folded,
    Ref,
}

#[derive(Debug)]
enum Data {
    /// What fits in 64 bits.
    Words(Vec<i64>),
    Texts(Texts),
    Folded {
        keys: Texts,
        shown: Texts,
    },
    Bytes(Vec<Box<[u8]>>),
}

/// What stands where there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    No,
    Null,
    Unset,
}

/// Texts, all in one buffer.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    buffer: String,
    spans: Vec<(usize, usize)>,
}

impl RecCells {
    pub(crate) fn new(plan: &ColumnPlan) -> Self {
        let meaning = match plan.kind {
            ColumnKind::Ref(_) => Meaning::Ref,
            ColumnKind::Scalar(Kind::Text) if plan.fold.is_some() => Meaning::Folded,
            ColumnKind::Scalar(kind) => Meaning::Scalar(kind),
        };
        let data = match meaning {
            Meaning::Folded => Data::Folded {
                keys: Texts::default(),
                shown: Texts::default(),
            },
            Meaning::Scalar(Kind::Text | Kind::Decimal) => Data::Texts(Texts::default()),
            Meaning::Scalar(Kind::Bytes | Kind::Uuid) => Data::Bytes(Vec::new()),
            Meaning::Scalar(_) | Meaning::Ref => Data::Words(Vec::new()),
        };
        Self {
            meaning,
            data,
            gaps: Vec::new(),
        }
    }

    pub(crate) fn reserve(&mut self, records: usize) {
        match &mut self.data {
            Data::Words(words) => words.reserve(records),
            Data::Texts(texts) => texts.spans.reserve(records),
            Data::Folded { keys, shown } => {
                keys.spans.reserve(records);
                shown.spans.reserve(records);
            }
            Data::Bytes(bytes) => bytes.reserve(records),
        }
    }

    /// The cell of a record.
    #[inline]
    pub(crate) fn get(&self, at: u32) -> Cell<'_> {
        let at = at as usize;
        match self.gaps.get(at) {
            Some(Gap::Null) => return Cell::Null,
            Some(Gap::Unset) => return Cell::Unset,
            Some(Gap::No) | None => {}
        }
        match (&self.data, self.meaning) {
            (Data::Words(words), Meaning::Ref) => Cell::Ref(words[at] as u32),
            (Data::Words(words), Meaning::Scalar(kind)) => word(kind, words[at]),
            (Data::Texts(texts), Meaning::Scalar(Kind::Decimal)) => Cell::Decimal(texts.get(at)),
            (Data::Texts(texts), _) => Cell::Text(texts.get(at)),
            (Data::Folded { keys, shown }, _) => Cell::Folded {
                key: keys.get(at),
                shown: shown.get(at),
            },
            (Data::Bytes(bytes), Meaning::Scalar(Kind::Uuid)) => {
                // A column of UUIDs holds nothing else (`set`).
                Cell::Uuid(<[u8; 16]>::try_from(&*bytes[at]).unwrap_or_default())
            }
            (Data::Bytes(bytes), _) => Cell::Bytes(&bytes[at]),
            (Data::Words(_), Meaning::Folded) => Cell::Unset,
        }
    }

    /// Appends the cells of the next records.
    pub(crate) fn extend<'c>(&mut self, cells: impl Iterator<Item = Cell<'c>>) {
        cells.for_each(|cell| self.push(cell));
    }

    /// The words of a column of words, to append those of the next records; none if some cell has no value (C2).
    #[inline]
    pub(crate) fn words(&mut self) -> Option<&mut Vec<i64>> {
        match &mut self.data {
            Data::Words(words) if self.gaps.is_empty() => Some(words),
            _ => None,
        }
    }

    /// The texts of a column of texts, to append those of the next records; none if some cell has no value (C2).
    #[inline]
    pub(crate) fn texts(&mut self) -> Option<&mut Texts> {
        match &mut self.data {
            Data::Texts(texts) if self.gaps.is_empty() => Some(texts),
            _ => None,
        }
    }

    /// Appends the cell of the next record.
    #[inline]
    pub(crate) fn push(&mut self, cell: Cell<'_>) {
        let at = self.len();
        match &mut self.data {
            Data::Words(words) => words.push(bits(cell)),
            Data::Texts(texts) => texts.push(text(cell)),
            Data::Folded { keys, shown } => {
                let (key, spelling) = pair(cell);
                keys.push(key);
                shown.push(spelling);
            }
            Data::Bytes(bytes) => bytes.push(blob(cell)),
        }
        let gap = Gap::of(cell);
        if gap != Gap::No || !self.gaps.is_empty() {
            self.gaps.resize(at, Gap::No);
            self.gaps.push(gap);
        }
    }

    /// Puts another cell in the place of that of a record.
    pub(crate) fn set(&mut self, at: u32, cell: Cell<'_>) {
        let (len, at) = (self.len(), at as usize);
        match &mut self.data {
            Data::Words(words) => words[at] = bits(cell),
            Data::Texts(texts) => texts.set(at, text(cell)),
            Data::Folded { keys, shown } => {
                let (key, spelling) = pair(cell);
                keys.set(at, key);
                shown.set(at, spelling);
            }
            Data::Bytes(bytes) => bytes[at] = blob(cell),
        }
        let gap = Gap::of(cell);
        if gap != Gap::No || !self.gaps.is_empty() {
            self.gaps.resize(len, Gap::No);
            self.gaps[at] = gap;
        }
    }

    fn len(&self) -> usize {
        match &self.data {
            Data::Words(words) => words.len(),
            Data::Texts(texts) => texts.spans.len(),
            Data::Folded { keys, .. } => keys.spans.len(),
            Data::Bytes(bytes) => bytes.len(),
        }
    }
}

impl Gap {
    #[inline]
    fn of(cell: Cell<'_>) -> Self {
        match cell {
            Cell::Unset => Self::Unset,
            Cell::Null => Self::Null,
            _ => Self::No,
        }
    }
}

impl Texts {
    #[inline]
    fn get(&self, at: usize) -> &str {
        let (start, end) = self.spans[at];
        &self.buffer[start..end]
    }

    #[inline]
    pub(crate) fn push(&mut self, text: &str) {
        let start = self.buffer.len();
        self.buffer.push_str(text);
        self.spans.push((start, self.buffer.len()));
    }

    fn set(&mut self, at: usize, text: &str) {
        let start = self.buffer.len();
        self.buffer.push_str(text);
        self.spans[at] = (start, self.buffer.len());
    }
}

/// The cell that this is in a column of words.
#[inline]
pub(crate) fn word(kind: Kind, bits: i64) -> Cell<'static> {
    match kind {
        Kind::Real => Cell::Real(f64::from_bits(bits.cast_unsigned())),
        Kind::Bool => Cell::Bool(bits != 0),
        Kind::Date => Cell::Date(bits as i32),
        Kind::Timestamp => Cell::Timestamp(bits),
        _ => Cell::Int(bits),
    }
}

/// What a column of words holds of a cell (C1).
#[inline]
fn bits(cell: Cell<'_>) -> i64 {
    match cell {
        Cell::Int(int) | Cell::Timestamp(int) => int,
        Cell::Real(real) => real.to_bits().cast_signed(),
        Cell::Bool(bool) => i64::from(bool),
        Cell::Date(days) => i64::from(days),
        Cell::Ref(rec) => i64::from(rec),
        _ => 0,
    }
}

#[inline]
fn text(cell: Cell<'_>) -> &str {
    match cell {
        Cell::Text(text) | Cell::Decimal(text) => text,
        _ => "",
    }
}

#[inline]
fn pair(cell: Cell<'_>) -> (&str, &str) {
    match cell {
        Cell::Folded { key, shown } => (key, shown),
        _ => ("", ""),
    }
}

fn blob(cell: Cell<'_>) -> Box<[u8]> {
    match cell {
        Cell::Uuid(uuid) => uuid.into(),
        Cell::Bytes(bytes) => bytes.into(),
        _ => Box::default(),
    }
}
