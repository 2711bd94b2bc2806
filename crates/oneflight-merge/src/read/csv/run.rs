//! Runs of plain records: many at once, for those that need no second thought.
//!
//!   a slice of text ──compare──▶ a bit for each special byte ──▶ marks, the places of them ──▶ spans
//!
//! A record is plain if it has as many cells as there are columns, stands on one line, and each of its cells is bare, or quoted as a
//! whole with no quote within. At anything else a run ends, and `record` says what it is.
//!
//! Z1. A run comes to what its records come to one by one.
//! Z2. It is copied to the chunk in one piece (V1), up to the end of its last whole record.
//! Z3. A slice is looked through once, whatever records stand in it: marks outlive a run.

use super::record::{Dialect, line_end};
use crate::rows::Flat;
use memchr::memchr3;

/// Bytes of a slice: few enough for all that is found in it to stay in the cache.
const SLICE: usize = 1 << 14;

/// Records of a run, at most.
const MOST: usize = 256;

/// How far a run reaches. Each of its rows is a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// Finds runs.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// The places of special bytes in the last slice, from its beginning on.
    marks: Vec<u32>,
    /// How many there are.
    count: usize,
    /// The first of them that has not been passed.
    next: usize,
    /// How many bytes the slice has, and how many of them have been passed.
    looked: usize,
    passed: usize,
    /// The spans of a run.
    spans: Vec<(u32, u32)>,
}

impl Runs {
    /// Parses the plain records at the beginning of `text`: at most so many, and none that begins after so many bytes. `ended` says
    /// that nothing comes after the text.
    pub(super) fn run(
        &mut self,
        dialect: &Dialect,
        text: &str,
        ended: bool,
        most: Run,
        flat: &mut Flat,
    ) -> Run {
        let slice = &text.as_bytes()[..text.len().min(SLICE)];
        let (mut run, whole) = self.marked(dialect, text, ended, most, flat);
        if run.rows == 0 && !whole && (self.passed > 0 || self.looked < slice.len()) {
            self.marks.resize(SLICE, 0);
            self.count = mark(slice, dialect, &mut self.marks);
            (self.next, self.passed, self.looked) = (0, 0, slice.len());
            (run, _) = self.marked(dialect, text, ended, most, flat);
        }
        flat.text.push_str(&text[..run.bytes]);
        run
    }

    /// Says that so many bytes have been passed, in a run or otherwise.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.passed += bytes;
        let marks = &self.marks[self.next..self.count];
        let passed = marks
            .iter()
            .take_while(|mark| (**mark as usize) < self.passed);
        self.next += passed.count();
    }

    /// The run of the records that have marks, whose text is not copied yet; and whether the next one has all of its own.
    fn marked(
        &mut self,
        dialect: &Dialect,
        text: &str,
        ended: bool,
        most: Run,
        flat: &mut Flat,
    ) -> (Run, bool) {
        let mut records = Records {
            bytes: text.as_bytes(),
            delimiter: dialect.delimiter(),
            quote: dialect.quote(),
            comment: dialect.comment(),
            ended,
            marks: self.marks[self.next..self.count].iter(),
            passed: self.passed,
            base: flat.text.len() as u32,
        };
        self.spans.resize(MOST * flat.width, Flat::NULL);
        let mut slots = self.spans.chunks_exact_mut(flat.width.max(1));
        let (mut run, mut left) = (Run::default(), records.marks.len());
        while run.rows < most.rows
            && run.bytes < most.bytes
            && let Some(slots) = slots.next()
            && let Some(next) = records.record(run.bytes, slots)
        {
            run.rows += 1;
            run.bytes = next;
            left = records.marks.len();
        }
        let whole = records.marks.len() > 0;
        self.next = self.count - left;
        let spans = &self.spans[..run.rows * flat.width];
        flat.spans.extend_from_slice(spans);
        (run, whole)
    }
}

struct Records<'t> {
    bytes: &'t [u8],
    delimiter: u8,
    quote: Option<u8>,
    comment: Option<u8>,
    ended: bool,
    marks: std::slice::Iter<'t, u32>,
    /// How many bytes of the slice stand before these.
    passed: usize,
    /// Where the text will begin in the chunk.
    base: u32,
}

impl Records<'_> {
    /// Parses the record that begins here into so many spans; returns where the next one begins, or none if this one is not plain,
    /// or not whole.
    #[inline]
    fn record(&mut self, begin: usize, spans: &mut [(u32, u32)]) -> Option<usize> {
        let first = *self.bytes.get(begin)?;
        if Some(first) == self.comment {
            return None;
        }
        let (last, others) = spans.split_last_mut()?;
        let mut start = begin;
        for span in others {
            let mut end = self.mark()?;
            if self.bytes[end] == self.delimiter {
                *span = self.span(start, end);
            } else {
                end = self.quoted(start, end, span)?;
                if self.bytes[end] != self.delimiter {
                    return None;
                }
            }
            start = end + 1;
        }
        let mut end = self.mark()?;
        *last = self.span(start, end);
        if Some(self.bytes[end]) == self.quote {
            end = self.quoted(start, end, last)?;
        }
        match self.bytes[end] {
            // An empty line is no record.
            _ if end == begin => None,
            b'\n' => Some(end + 1),
            b'\r' => {
                let next = line_end(self.bytes, end, self.ended)?;
                if next == end + 2 {
                    self.mark();
                }
                Some(next)
            }
            _ => None,
        }
    }

    #[inline]
    fn mark(&mut self) -> Option<usize> {
        Some(*self.marks.next()? as usize - self.passed)
    }

    #[inline]
    fn span(&self, start: usize, end: usize) -> (u32, u32) {
        (self.base + start as u32, self.base + end as u32)
    }

    /// Parses a cell that begins with a quote here; returns the place of what ends it. None for any other cell, and if it is not plain.
    #[inline]
    fn quoted(&mut self, start: usize, mark: usize, span: &mut (u32, u32)) -> Option<usize> {
        if mark != start || Some(self.bytes[mark]) != self.quote {
            return None;
        }
        let close = loop {
            let mark = self.mark()?;
            match self.bytes[mark] {
                byte if Some(byte) == self.quote => break mark,
                byte if byte == self.delimiter => {}
                // A line end, which is to be counted, or an escape.
                _ => return None,
            }
        };
        *span = self.span(start + 1, close);
        // Another quote is what a quote within begins with: no cell ends with it.
        let after = self.mark()?;
        (after == close + 1).then_some(after)
    }
}

/// Finds the marks of a slice, as many as it says. `marks` has room for one in each place.
fn mark(slice: &[u8], dialect: &Dialect, marks: &mut [u32]) -> usize {
    let [delimiter, feed, back, quote, escape] = dialect.marks();
    // Most slices have no quote, no escape and no carriage return, so that there is less to compare with.
    match memchr3(back, quote, escape, slice) {
        None => find(slice, [delimiter, feed], marks),
        Some(_) => find(slice, dialect.marks(), marks),
    }
}

fn find<const N: usize>(slice: &[u8], special: [u8; N], marks: &mut [u32]) -> usize {
    let mut count = 0;
    let mut put = |at: usize, mut bits: u64| {
        while bits != 0 {
            marks[count] = at as u32 + bits.trailing_zeros();
            count += 1;
            bits &= bits - 1;
        }
    };
    let (blocks, rest) = slice.as_chunks::<64>();
    for (nth, block) in blocks.iter().enumerate() {
        put(nth * 64, bits(block, special));
    }
    let mut block = [0; 64];
    block[..rest.len()].copy_from_slice(rest);
    let inside = (1 << rest.len()) - 1;
    put(blocks.len() * 64, bits(&block, special) & inside);
    count
}

/// A bit for each byte, set if it is one of the special ones. Written so that the compiler compares many bytes at once.
#[inline]
fn bits<const N: usize>(block: &[u8; 64], special: [u8; N]) -> u64 {
    let mut found = [0; 64];
    for special in special {
        for (found, byte) in found.iter_mut().zip(block) {
            *found |= u8::from(*byte == special);
        }
    }
    let mut bits = 0;
    for (nth, word) in found.as_chunks::<8>().0.iter().enumerate() {
        // Each byte is 0 or 1; the product gathers them, the first one lowest, in the highest byte.
        let gathered = u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= gathered << (8 * nth);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_special_byte_has_its_bit() {
        let special = *b",\n\r\"\\";
        for at in 0..64 {
            for byte in 0..=255 {
                let mut block = [b'x'; 64];
                block[at] = byte;
                let expected = u64::from(special.contains(&byte)) << at;
                assert_eq!(bits(&block, special), expected, "{byte} at {at}");
            }
        }
        assert_eq!(bits(&[b','; 64], special), u64::MAX);
    }

    #[test]
    fn marks_stand_in_their_order_and_none_beyond_the_end() {
        // A delimiter of zero must not be found in what the last block is filled up with.
        let special = [0, b'\n'];
        for length in 0..200 {
            let bytes: Vec<u8> = (0..length)
                .map(|at| if at % 7 == 3 { 0 } else { b'x' })
                .collect();
            let mut marks = [0; 200];
            let count = find(&bytes, special, &mut marks);
            let expected: Vec<u32> = (3..length).step_by(7).collect();
            assert_eq!(marks[..count], expected, "{length}");
        }
    }
}
