//! NDJSON: a JSON value a line.
//!
//! L1. A line that is no JSON is a bad row, but for a last line that is unfinished: then the file is truncated (Q3).
//! L2. Numbers keep their digits; nesting is bounded by `serde_json`, and a row beyond its bound is bad.

use super::error::{Kind, ReadError, shortened};
use super::input::{Limits, Opened, Part, Reading};
use super::text::Text;
use crate::rows::{Bad, Rows, Tree};
use memchr::memchr;

struct Reader {
    text: Text,
    line: u64,
}

pub(super) fn start(text: Text) -> Opened {
    Opened {
        reading: Box::new(Reader { text, line: 1 }),
        columns: Vec::new(),
    }
}

impl Reading for Reader {
    fn next(&mut self, limits: Limits) -> Result<Option<Part>, ReadError> {
        let (mut trees, mut bad, mut bytes) = (Vec::new(), Vec::new(), 0);
        while !limits.reached(trees.len() + bad.len(), bytes) {
            let Some((length, newline)) = self.line()? else {
                break;
            };
            let row = &self.text.rest()[..length];
            if !row.trim_matches([' ', '\t', '\r']).is_empty() {
                match serde_json::from_str(row) {
                    Ok(value) => trees.push(Tree {
                        value,
                        parent: None,
                        line: self.line,
                    }),
                    Err(error) if error.is_eof() && !newline => {
                        let message =
                            "truncated: the last line is unfinished, and has no end of line";
                        return Err(self.text.error(Kind::Truncated, self.line, message));
                    }
                    Err(error) => bad.push(bad_line(self.line, row, &error)),
                }
                bytes += length;
            }
            self.text.consume(length + usize::from(newline));
            self.line += 1;
        }
        if trees.is_empty() && bad.is_empty() {
            return Ok(None);
        }
        Ok(Some(Part {
            rows: Rows::Tree(trees),
            bad,
            bytes_read: self.text.bytes_read(),
        }))
    }
}

impl Reader {
    /// The length of the line at the beginning of the rest, and whether it has an end of line; none at the end of the file.
    fn line(&mut self) -> Result<Option<(usize, bool)>, ReadError> {
        let mut searched = 0;
        loop {
            let rest = self.text.rest();
            if let Some(at) = memchr(b'\n', &rest.as_bytes()[searched..]) {
                return Ok(Some((searched + at, true)));
            }
            searched = rest.len();
            self.text.check_row(searched, self.line, "a line that is")?;
            if !self.text.fill()? {
                return Ok((searched > 0).then_some((searched, false)));
            }
        }
    }
}

fn bad_line(line: u64, row: &str, error: &serde_json::Error) -> Bad {
    let why = error.to_string();
    // The line that serde counts is always the first; ours is the line of the file.
    let why = why
        .rsplit_once(" at line ")
        .map_or(why.as_str(), |(why, _)| why);
    let hint = match row.trim_start().as_bytes().first() {
        Some(b'[' | b'{') if error.is_eof() => {
            "; a document that spans lines is of the format json"
        }
        _ => "",
    };
    let reason = format!("not a JSON value: {why} at column {}{hint}", error.column());
    Bad {
        line,
        column: None,
        value: Some(shortened(row.trim())),
        reason,
    }
}
