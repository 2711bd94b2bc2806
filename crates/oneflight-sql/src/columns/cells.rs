//! The cells of one column.

use crate::value::{Kind, Value};
use std::hash::{Hash, Hasher};

/// The cells of one column, all of one kind or null.
///
/// # Examples
/// ```
/// use oneflight_sql::{Cells, Kind, Value};
///
/// let mut names = Cells::new(Kind::Text);
/// names.push_text("Åsa");
/// names.push_null();
/// assert_eq!((names.len(), names.text(0), names.text(1)), (2, Some("Åsa"), None));
/// assert_eq!(names.value(1), Value::Null);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    kind: Kind,
    len: usize,
    /// One bit a cell, set where it is null. Empty as long as none is; short where the last ones are not.
    nulls: Vec<u64>,
    values: Values,
}

/// The values; where a cell is null, whatever stands there says nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    /// Integers, or microseconds.
    Ints(Vec<i64>),
    Days(Vec<i32>),
    Reals(Vec<f64>),
    Bools(Vec<bool>),
    Uuids(Vec<[u8; 16]>),
    /// Texts or decimals: all of them, and where each ends.
    Texts(String, Vec<usize>),
    Bytes(Vec<u8>, Vec<usize>),
}

impl Cells {
    /// No cells yet.
    pub fn new(kind: Kind) -> Self {
        Self::with_capacity(kind, 0)
    }

    /// No cells yet, and room for as many.
    pub fn with_capacity(kind: Kind, cells: usize) -> Self {
        let values = match kind {
            Kind::Int | Kind::Timestamp => Values::Ints(Vec::with_capacity(cells)),
            Kind::Date => Values::Days(Vec::with_capacity(cells)),
            Kind::Real => Values::Reals(Vec::with_capacity(cells)),
            Kind::Bool => Values::Bools(Vec::with_capacity(cells)),
            Kind::Uuid => Values::Uuids(Vec::with_capacity(cells)),
            Kind::Text | Kind::Decimal => Values::Texts(String::new(), Vec::with_capacity(cells)),
            Kind::Bytes => Values::Bytes(Vec::new(), Vec::with_capacity(cells)),
        };
        Self {
            kind,
            len: 0,
            nulls: Vec::new(),
            values,
        }
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The kind of the cells.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// True if the cell is null.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls
            .get(row / 64)
            .is_some_and(|bits| bits >> (row % 64) & 1 == 1)
    }

    /// True if any cell is null.
    pub fn has_nulls(&self) -> bool {
        !self.nulls.is_empty()
    }

    /// Takes all cells out and keeps the room.
    pub fn clear(&mut self) {
        self.len = 0;
        self.nulls.clear();
        match &mut self.values {
            Values::Ints(ints) => ints.clear(),
            Values::Days(days) => days.clear(),
            Values::Reals(reals) => reals.clear(),
            Values::Bools(bools) => bools.clear(),
            Values::Uuids(uuids) => uuids.clear(),
            Values::Texts(text, ends) => {
                text.clear();
                ends.clear();
            }
            Values::Bytes(bytes, ends) => {
                bytes.clear();
                ends.clear();
            }
        }
    }

    /// Adds a cell.
    ///
    /// # Panics
    /// The value is of another kind.
    pub fn push(&mut self, value: &Value) {
        match value {
            Value::Null => self.push_null(),
            Value::Text(text) => self.push_text(text),
            Value::Int(int) => self.push_int(*int),
            Value::Real(real) => self.push_real(*real),
            Value::Decimal(text) => self.push_decimal(text),
            Value::Bool(bool) => self.push_bool(*bool),
            Value::Date(days) => self.push_date(*days),
            Value::Timestamp(micros) => self.push_timestamp(*micros),
            Value::Uuid(uuid) => self.push_uuid(*uuid),
            Value::Bytes(bytes) => self.push_bytes(bytes),
        }
    }

    /// Adds a null.
    pub fn push_null(&mut self) {
        let (word, bit) = (self.len / 64, self.len % 64);
        if self.nulls.len() <= word {
            self.nulls.resize(word + 1, 0);
        }
        self.nulls[word] |= 1 << bit;
        self.len += 1;
        match &mut self.values {
            Values::Ints(ints) => ints.push(0),
            Values::Days(days) => days.push(0),
            Values::Reals(reals) => reals.push(0.0),
            Values::Bools(bools) => bools.push(false),
            Values::Uuids(uuids) => uuids.push([0; 16]),
            Values::Texts(text, ends) => ends.push(text.len()),
            Values::Bytes(bytes, ends) => ends.push(bytes.len()),
        }
    }

    /// Adds a text.
    ///
    /// # Panics
    /// The cells are of another kind.
    pub fn push_text(&mut self, text: &str) {
        self.push_str(Kind::Text, text);
    }

    /// Adds a decimal, in the canonical form that [`Value::Decimal`] has.
    ///
    /// # Panics
    /// The cells are of another kind.
    pub fn push_decimal(&mut self, text: &str) {
        self.push_str(Kind::Decimal, text);
    }

    /// Adds bytes.
    ///
    /// # Panics
    /// The cells are of another kind.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        match &mut self.values {
            Values::Bytes(all, ends) => {
                all.extend_from_slice(bytes);
                ends.push(all.len());
            }
            _ => self.is_not(Kind::Bytes),
        }
        self.len += 1;
    }

    /// The value of a cell.
    ///
    /// # Panics
    /// There is no such row.
    pub fn value(&self, row: usize) -> Value {
        if self.is_null(row) {
            return Value::Null;
        }
        match &self.values {
            Values::Ints(ints) if self.kind == Kind::Timestamp => Value::Timestamp(ints[row]),
            Values::Ints(ints) => Value::Int(ints[row]),
            Values::Days(days) => Value::Date(days[row]),
            Values::Reals(reals) => Value::Real(reals[row]),
            Values::Bools(bools) => Value::Bool(bools[row]),
            Values::Uuids(uuids) => Value::Uuid(uuids[row]),
            Values::Texts(text, ends) if self.kind == Kind::Decimal => {
                Value::Decimal(text[span(ends, row)].into())
            }
            Values::Texts(text, ends) => Value::Text(text[span(ends, row)].into()),
            Values::Bytes(bytes, ends) => Value::Bytes(bytes[span(ends, row)].into()),
        }
    }

    /// The text of a cell; none if it is null or neither a text nor a decimal.
    ///
    /// # Panics
    /// There is no such row.
    pub fn text(&self, row: usize) -> Option<&str> {
        match &self.values {
            Values::Texts(text, ends) if !self.is_null(row) => Some(&text[span(ends, row)]),
            _ => None,
        }
    }

    /// The integer, or the microseconds, of a cell; none if it is null or of another kind.
    ///
    /// # Panics
    /// There is no such row.
    pub fn int(&self, row: usize) -> Option<i64> {
        match &self.values {
            Values::Ints(ints) if !self.is_null(row) => Some(ints[row]),
            _ => None,
        }
    }

    /// The values as they are kept.
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    /// Adds a cell to a hash.
    pub(crate) fn hash_cell(&self, row: usize, into: &mut impl Hasher) {
        match &self.values {
            Values::Ints(ints) => into.write_i64(ints[row]),
            Values::Days(days) => into.write_i32(days[row]),
            Values::Reals(reals) => into.write_u64(reals[row].to_bits()),
            Values::Bools(bools) => into.write_u8(bools[row].into()),
            Values::Uuids(uuids) => into.write(&uuids[row]),
            Values::Texts(text, ends) => text[span(ends, row)].hash(into),
            Values::Bytes(bytes, ends) => bytes[span(ends, row)].hash(into),
        }
    }

    /// The cells of these rows, in this order.
    ///
    /// # Panics
    /// There is no such row.
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut cells = Self::with_capacity(self.kind, rows.len());
        for &row in rows {
            if self.is_null(row) {
                cells.push_null();
                continue;
            }
            match &self.values {
                Values::Texts(text, ends) => cells.push_str(self.kind, &text[span(ends, row)]),
                Values::Bytes(bytes, ends) => cells.push_bytes(&bytes[span(ends, row)]),
                // The others allocate nothing.
                _ => cells.push(&self.value(row)),
            }
        }
        cells
    }

    fn push_str(&mut self, kind: Kind, text: &str) {
        match &mut self.values {
            Values::Texts(all, ends) if self.kind == kind => {
                all.push_str(text);
                ends.push(all.len());
            }
            _ => self.is_not(kind),
        }
        self.len += 1;
    }

    fn is_not(&self, kind: Kind) -> ! {
        panic!("O1: a {kind:?} among cells that are {:?}", self.kind)
    }
}

/// Where the text of a row stands.
pub(crate) fn span(ends: &[usize], row: usize) -> std::ops::Range<usize> {
    let start = row.checked_sub(1).map_or(0, |before| ends[before]);
    start..ends[row]
}

macro_rules! push {
    ($($push:ident: $kind:ident, $values:ident, $type:ty, $doc:literal;)*) => {
        impl Cells { $(
            #[doc = $doc]
            ///
            /// # Panics
            /// The cells are of another kind.
            pub fn $push(&mut self, value: $type) {
                match &mut self.values {
                    Values::$values(values) if self.kind == Kind::$kind => values.push(value),
                    _ => self.is_not(Kind::$kind),
                }
                self.len += 1;
            }
        )* }
    };
}

push! {
    push_int: Int, Ints, i64, "Adds an integer.";
    push_timestamp: Timestamp, Ints, i64, "Adds a point in time, in microseconds since 1970-01-01T00:00:00Z.";
    push_date: Date, Days, i32, "Adds a day, counted from 1970-01-01.";
    push_real: Real, Reals, f64, "Adds a float.";
    push_bool: Bool, Bools, bool, "Adds a boolean.";
    push_uuid: Uuid, Uuids, [u8; 16], "Adds a UUID.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_give_back_what_was_put_in_at_any_place() {
        let of_each_kind = [
            Value::from("naïve"),
            Value::Int(-7),
            Value::Real(1.5),
            Value::Decimal("2.5".into()),
            Value::Bool(true),
            Value::Date(-1),
            Value::Timestamp(9),
            Value::Uuid([3; 16]),
            Value::from(&b"\0x"[..]),
        ];
        for value in of_each_kind {
            let kind = value.kind().unwrap();
            let mut cells = Cells::new(kind);
            // Once with nulls in several words of the bitmap, and once after the room was used before.
            for nulls in [vec![0, 63, 64, 130], vec![], vec![1]] {
                cells.clear();
                let said = |row| {
                    if nulls.contains(&row) {
                        Value::Null
                    } else {
                        value.clone()
                    }
                };
                (0..200).for_each(|row| cells.push(&said(row)));
                assert!(
                    (0..200).all(|row| cells.value(row) == said(row)),
                    "{kind:?}"
                );
                assert_eq!((cells.len(), cells.has_nulls()), (200, !nulls.is_empty()));
                let some = cells.select(&[130, 7, 0]);
                assert_eq!(
                    [0, 1, 2].map(|row| some.value(row)),
                    [said(130), said(7), said(0)]
                );
            }
        }
    }

    #[test]
    #[should_panic(expected = "O1")]
    fn a_microsecond_is_no_integer() {
        Cells::new(Kind::Timestamp).push_int(1);
    }
}
