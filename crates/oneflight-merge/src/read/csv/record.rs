//! One record of delimited text: from characters to cells.
//!
//!   start ──quote──▶ quoted ──quote──▶ closed ──delimiter│line end──▶ …
//!     └──────────────▶ bare ───────────────────────delimiter│line end──▶ …
//!
//! V1. A record is copied to the chunk as it stands, delimiters and all, but for what quoting and escaping added inside cells;
//!     cells are spans of that copy. Nothing is allocated for a cell or a record.
//! V2. A record whose end is not in sight leaves the buffers as they were; the caller looks again with more text.
//! V3. `\n`, `\r\n` and `\r` end a line alike, and lines inside quotes are counted.
//! V4. The escape character is taken away where it protects something: a quote, a delimiter, the end of a line, itself.
//!     Anywhere else it stands for itself, so that `\N` stays `\N`.

use crate::plan::Csv;
use crate::rows::Flat;
use memchr::{memchr, memchr2, memchr2_iter};

/// How a file is delimited.
#[derive(Debug)]
pub(super) struct Dialect {
    delimiter: u8,
    quote: Option<u8>,
    escape: Option<u8>,
    comment: Option<u8>,
    /// True for each byte that can end or change a bare cell.
    special: [bool; 256],
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A record: its cells are in the buffers.
    Record(Extent),
    /// A record with text after a closing quote; its cells are in the buffers.
    Stray(Extent),
    /// An empty line or a comment.
    Nothing(Extent),
    /// More text is needed (V2).
    More,
    /// The text ends inside quotes that were opened this many lines below the start.
    Unclosed(u64),
}

/// How far something reaches: bytes, and ends of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) bytes: usize,
    pub(super) lines: u64,
}

impl Dialect {
    pub(super) fn new(csv: &Csv) -> Self {
        // An escape that is the quote itself is nothing but a doubled quote.
        let escape = csv.escape.filter(|escape| Some(*escape) != csv.quote);
        let mut special = [false; 256];
        for byte in [Some(csv.delimiter), Some(b'\n'), Some(b'\r'), escape]
            .into_iter()
            .flatten()
        {
            special[usize::from(byte)] = true;
        }
        Self {
            delimiter: csv.delimiter,
            quote: csv.quote,
            escape,
            comment: csv.comment,
            special,
        }
    }

    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    pub(super) fn quote(&self) -> Option<u8> {
        self.quote
    }

    pub(super) fn comment(&self) -> Option<u8> {
        self.comment
    }

    /// What ends or changes a cell: delimiter, line feed, carriage return, quote and escape.
    pub(super) fn marks(&self) -> [u8; 5] {
        let [quote, escape] = [self.quote, self.escape].map(|byte| byte.unwrap_or(b'\r'));
        [self.delimiter, b'\n', b'\r', quote, escape]
    }

    /// Parses the record at the beginning of `text`, which is not empty. `ended` says that nothing comes after it.
    pub(super) fn record(&self, text: &str, ended: bool, flat: &mut Flat) -> Found {
        let bytes = text.as_bytes();
        if Some(bytes[0]) == self.comment {
            return match memchr2(b'\n', b'\r', bytes) {
                Some(end) => line_end(bytes, end, ended).map_or(Found::More, |end| {
                    Found::Nothing(Extent {
                        bytes: end,
                        lines: 1,
                    })
                }),
                None if ended => Found::Nothing(Extent {
                    bytes: bytes.len(),
                    lines: 0,
                }),
                None => Found::More,
            };
        }
        if matches!(bytes[0], b'\n' | b'\r') {
            return line_end(bytes, 0, ended).map_or(Found::More, |end| {
                Found::Nothing(Extent {
                    bytes: end,
                    lines: 1,
                })
            });
        }
        let (text_before, spans_before) = (flat.text.len(), flat.spans.len());
        let cells = CellScan {
            dialect: self,
            text,
            bytes,
            ended,
            first_break: memchr2(b'\n', b'\r', bytes).unwrap_or(bytes.len()),
            at: 0,
            copied: 0,
            lines: 0,
            stray: false,
        };
        let found = cells.parse(flat);
        if matches!(found, Found::More | Found::Unclosed(_)) {
            flat.text.truncate(text_before);
            flat.spans.truncate(spans_before);
        }
        found
    }
}

/// The index after the end of a line at `at`; none if it cannot be told yet whether `\r` is followed by `\n`.
pub(super) fn line_end(bytes: &[u8], at: usize, ended: bool) -> Option<usize> {
    match (bytes[at], bytes.get(at + 1)) {
        (b'\r', Some(b'\n')) => Some(at + 2),
        (b'\r', None) if !ended => None,
        _ => Some(at + 1),
    }
}

/// The ends of lines in `bytes`, which do not end between `\r` and `\n`.
pub(super) fn line_ends(bytes: &[u8]) -> u64 {
    memchr2_iter(b'\n', b'\r', bytes)
        .filter(|&at| bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'))
        .count() as u64
}

struct CellScan<'a> {
    dialect: &'a Dialect,
    text: &'a str,
    bytes: &'a [u8],
    ended: bool,
    /// No line ends before this index.
    first_break: usize,
    at: usize,
    /// How far the record has been copied, or left out.
    copied: usize,
    lines: u64,
    stray: bool,
}

/// How a cell ended.
enum End {
    Delimiter,
    Line,
    /// The record cannot be finished.
    Stop(Found),
}

impl CellScan<'_> {
    fn parse(mut self, flat: &mut Flat) -> Found {
        loop {
            let end = match self.bytes.get(self.at) {
                Some(&byte) if Some(byte) == self.dialect.quote => self.quoted(flat),
                _ => self.bare(flat),
            };
            match end {
                End::Delimiter => {}
                End::Stop(found) => return found,
                End::Line => {
                    self.leave_out(0, flat);
                    let extent = Extent {
                        bytes: self.at,
                        lines: self.lines,
                    };
                    return if self.stray {
                        Found::Stray(extent)
                    } else {
                        Found::Record(extent)
                    };
                }
            }
        }
    }

    /// Copies what stands before this place, and leaves out `count` bytes.
    fn leave_out(&mut self, count: usize, flat: &mut Flat) {
        flat.text.push_str(&self.text[self.copied..self.at]);
        self.at += count;
        self.copied = self.at;
    }

    /// Where this place will be in the copy.
    fn place(&self, flat: &Flat) -> u32 {
        (flat.text.len() + self.at - self.copied) as u32
    }

    /// Moves on, and counts the lines that end on the way.
    fn pass(&mut self, to: usize) {
        if to > self.first_break {
            self.lines += line_ends(&self.bytes[self.at..to]);
        }
        self.at = to;
    }

    fn bare(&mut self, flat: &mut Flat) -> End {
        let start = self.place(flat);
        loop {
            let special = &self.dialect.special;
            let rest = &self.bytes[self.at..];
            let length = rest.iter().position(|&byte| special[usize::from(byte)]);
            self.at += length.unwrap_or(rest.len());
            let escaped = self.dialect.escape.is_some()
                && self.bytes.get(self.at) == self.dialect.escape.as_ref();
            if !escaped {
                flat.spans.push((start, self.place(flat)));
                return self.end();
            }
            match self.protected() {
                None if !self.ended => return End::Stop(Found::More),
                // The escape stands for itself.
                None | Some(0) => self.at += 1,
                Some(length) => {
                    self.leave_out(1, flat);
                    self.pass(self.at + length);
                }
            }
        }
    }

    /// The length of what the escape at `at` protects: zero if nothing, none if it cannot be told.
    fn protected(&self) -> Option<usize> {
        let next = *self.bytes.get(self.at + 1)?;
        let special = self.dialect.special[usize::from(next)]
            || Some(next) == self.dialect.quote
            || next == b'\'';
        match next {
            b'\r' => line_end(self.bytes, self.at + 1, self.ended).map(|end| end - self.at - 1),
            _ if special => Some(1),
            _ => Some(0),
        }
    }

    fn quoted(&mut self, flat: &mut Flat) -> End {
        let quote = self.bytes[self.at];
        let opened = self.lines;
        self.at += 1;
        let start = self.place(flat);
        loop {
            let inside = &self.bytes[self.at..];
            let stop = match self.dialect.escape {
                Some(escape) => memchr2(quote, escape, inside),
                None => memchr(quote, inside),
            };
            let Some(length) = stop else {
                return self.open_end(opened);
            };
            self.pass(self.at + length);
            if self.bytes[self.at] != quote {
                match self.protected() {
                    None => return self.open_end(opened),
                    Some(0) => self.at += 1,
                    Some(length) => {
                        self.leave_out(1, flat);
                        self.pass(self.at + length);
                    }
                }
                continue;
            }
            match self.bytes.get(self.at + 1) {
                // Of two quotes one is meant.
                Some(&next) if next == quote => {
                    self.at += 1;
                    self.leave_out(1, flat);
                }
                None if !self.ended => return End::Stop(Found::More),
                _ => {
                    flat.spans.push((start, self.place(flat)));
                    self.at += 1;
                    return self.closed();
                }
            }
        }
    }

    fn open_end(&self, opened: u64) -> End {
        End::Stop(if self.ended {
            Found::Unclosed(opened)
        } else {
            Found::More
        })
    }

    /// After a closing quote: blanks are no content, anything else is not allowed to be there.
    fn closed(&mut self) -> End {
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte == self.dialect.delimiter || matches!(byte, b'\n' | b'\r') {
                break;
            }
            self.stray |= !matches!(byte, b' ' | b'\t');
            self.at += 1;
        }
        self.end()
    }

    /// At a delimiter, the end of a line, or the end of the text.
    fn end(&mut self) -> End {
        match self.bytes.get(self.at) {
            Some(&byte) if byte == self.dialect.delimiter => {
                self.at += 1;
                End::Delimiter
            }
            Some(_) => match line_end(self.bytes, self.at, self.ended) {
                Some(end) => {
                    self.at = end;
                    self.lines += 1;
                    End::Line
                }
                None => End::Stop(Found::More),
            },
            None if self.ended => End::Line,
            None => End::Stop(Found::More),
        }
    }
}
