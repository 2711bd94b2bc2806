//! The walk along the path to the rows.
//!
//!   Value(step) ──scalar, row──▶ After ──`,`──▶ Value(step) …        frames: the arrays and objects around this place
//!        └─`[` or `{`: a frame──▶ Value(step + 1)                    scopes: the objects among them, as rows see them
//!
//! M1. Only what is on the path is entered; everything beside it is passed, and kept if rows may ask for it.

use super::late::{Late, MAX_SCOPE_MEMBER, Members};
use super::scan::{Kept, Scanner};
use crate::plan::Step;
use crate::read::error::{Kind, ReadError, listed};
use crate::read::text::MAX_ROW;
use crate::rows::Scope;
use std::io;
use std::sync::Arc;

/// What the walk is for (J1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To put aside the members that stand after rows.
    Survey,
    /// To hand out rows.
    Rows,
}

/// A walk.
pub(super) struct Walker {
    scan: Scanner,
    steps: Vec<Step>,
    purpose: Purpose,
    late: Late,
    frames: Vec<Frame>,
    scopes: Vec<Arc<Scope>>,
    next: Next,
    tallies: Vec<Tally>,
}

enum Frame {
    Array {
        step: usize,
    },
    Object {
        step: usize,
        members: Members,
        kept: usize,
        entered: bool,
    },
}

enum Next {
    /// A value stands here, with the path from this step on before it.
    Value(usize),
    /// The first element, or the end, of the array on top.
    First(usize),
    /// A key, or the end, of the object on top.
    Key { first: bool },
    /// What stands after a value.
    After,
}

/// How often a member on the path was looked for and found, and what there was where it was not.
#[derive(Default)]
struct Tally {
    looked: u64,
    found: u64,
    line: u64,
    keys: Vec<String>,
}

impl Walker {
    pub(super) fn new(scan: Scanner, steps: &[Step], purpose: Purpose, late: Late) -> Self {
        let tallies = steps.iter().map(|_| Tally::default()).collect();
        Self {
            scan,
            steps: steps.to_vec(),
            purpose,
            late,
            frames: Vec::new(),
            scopes: Vec::new(),
            next: Next::Value(0),
            tallies,
        }
    }

    /// What the survey has put aside.
    pub(super) fn into_late(self) -> Late {
        self.late
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.scan.bytes_read()
    }

    /// What encloses the row that was handed out last.
    pub(super) fn scope(&self) -> Option<&Arc<Scope>> {
        self.scopes.last()
    }

    /// Walks to the end of the next row, which goes to `row`, and returns the line that it begins on; none at the end of the
    /// document. A survey keeps nothing of the row.
    pub(super) fn row(&mut self, row: &mut Kept) -> Result<Option<u64>, ReadError> {
        loop {
            match self.next {
                Next::Value(step) if step == self.steps.len() => {
                    return self.take_row(row).map(Some);
                }
                Next::Value(step) => self.enter(step)?,
                Next::First(step) => match self.scan.need("an array")? {
                    b']' => self.close(),
                    _ => self.next = Next::Value(step + 1),
                },
                Next::Key { first } => self.member(first)?,
                Next::After => match self.frames.last() {
                    None => return self.end().map(|()| None),
                    Some(Frame::Array { step }) => {
                        let step = *step;
                        match self.scan.need("an array")? {
                            b',' => {
                                self.scan.eat();
                                self.next = Next::Value(step + 1);
                            }
                            b']' => self.close(),
                            _ => return Err(self.scan.unexpected("`,` or `]`")),
                        }
                    }
                    Some(Frame::Object { .. }) => match self.scan.need("an object")? {
                        b',' => {
                            self.scan.eat();
                            self.next = Next::Key { first: false };
                        }
                        b'}' => self.close_object()?,
                        _ => return Err(self.scan.unexpected("`,` or `}`")),
                    },
                },
            }
        }
    }

    fn take_row(&mut self, row: &mut Kept) -> Result<u64, ReadError> {
        self.scan.need("a row")?;
        let line = self.scan.line();
        row.clear();
        let keep = (self.purpose == Purpose::Rows).then_some(&mut *row);
        self.scan.value(keep)?;
        if row.over {
            return Err(self.scan.error(
                Kind::Malformed,
                format!("a row that is longer than {} MiB", MAX_ROW >> 20),
            ));
        }
        self.next = Next::After;
        Ok(line)
    }

    /// Takes one step into the value that stands here.
    fn enter(&mut self, step: usize) -> Result<(), ReadError> {
        let byte = match self.scan.peek()? {
            Some(byte) => byte,
            None if self.frames.is_empty() => {
                return Err(self.scan.error(
                    Kind::Truncated,
                    "the file is empty; a JSON document was expected",
                ));
            }
            None => self.scan.need("an array")?,
        };
        match (&self.steps[step], byte) {
            // Null where rows could be is no rows.
            (_, b'n') => {
                self.scan.value(None)?;
                self.next = Next::After;
            }
            (Step::Each, b'[') => {
                self.scan.eat();
                self.frames.push(Frame::Array { step });
                self.next = Next::First(step);
            }
            (Step::Each, _) => self.next = Next::Value(step + 1),
            (Step::Member(_), b'{') => {
                self.scan.eat();
                self.frames.push(Frame::Object {
                    step,
                    members: Members::default(),
                    kept: 0,
                    entered: false,
                });
                self.next = Next::Key { first: true };
            }
            (Step::Member(name), other) => {
                let (what, hint) = match other {
                    b'[' => ("an array", "; `[*]` leads into its elements"),
                    b'"' => ("a text", ""),
                    _ => ("a value that is no object", ""),
                };
                let message = format!(
                    "{}: an object with the member `{name}` was expected, and {what} stands there{hint}",
                    self.place(step)
                );
                return Err(self.scan.error(Kind::Header, message));
            }
        }
        Ok(())
    }

    /// Reads a key of the object on top, and either enters its value or passes it.
    fn member(&mut self, first: bool) -> Result<(), ReadError> {
        if self.scan.need("an object")? == b'}' && first {
            return self.close_object();
        }
        let key = self.scan.key()?;
        let Some(Frame::Object {
            step,
            members,
            entered,
            ..
        }) = self.frames.last_mut()
        else {
            return Ok(());
        };
        let step = *step;
        if matches!(&self.steps[step], Step::Member(name) if *name == key) {
            if *entered {
                return Err(self.scan.error(
                    Kind::Malformed,
                    format!("the member `{key}` stands in the object twice"),
                ));
            }
            *entered = true;
            let before = std::mem::take(members);
            self.next = Next::Value(step + 1);
            return if self.purpose == Purpose::Rows {
                self.push_scope(before)
            } else {
                Ok(())
            };
        }
        let late = *entered;
        let tally = &mut self.tallies[step];
        if !late && tally.looked == 0 && tally.keys.len() <= 30 {
            tally.keys.push(key.clone());
            tally.line = self.scan.line();
        }
        self.next = Next::After;
        // The survey needs what comes after the rows, the second walk what comes before them.
        if late != (self.purpose == Purpose::Survey) {
            return self.scan.value(None);
        }
        let (bytes, value) = member_value(&mut self.scan, &key)?;
        if let Some(Frame::Object { members, kept, .. }) = self.frames.last_mut() {
            *kept += key.len() + bytes;
            if *kept > MAX_ROW {
                let message = format!(
                    "the members around the rows take more than {} MiB",
                    MAX_ROW >> 20
                );
                return Err(self.scan.error(Kind::Malformed, message));
            }
            match value {
                Some(value) => drop(members.values.insert(key, value)),
                None => members.omitted.push(key),
            }
        }
        Ok(())
    }

    fn push_scope(&mut self, mut members: Members) -> Result<(), ReadError> {
        let late = self
            .late
            .take(self.scopes.len())
            .map_err(|e| self.temporary(&e))?;
        members.extend(late);
        let parent = self.scopes.last().cloned();
        self.scopes.push(Arc::new(members.into_scope(parent)));
        Ok(())
    }

    fn close_object(&mut self) -> Result<(), ReadError> {
        if let Some(Frame::Object {
            step,
            members,
            entered,
            ..
        }) = self.frames.last()
        {
            let tally = &mut self.tallies[*step];
            tally.looked += 1;
            tally.found += u64::from(*entered);
            if *entered {
                match self.purpose {
                    Purpose::Rows => drop(self.scopes.pop()),
                    Purpose::Survey => {
                        let level = self
                            .frames
                            .iter()
                            .filter(|frame| matches!(frame, Frame::Object { .. }))
                            .count()
                            - 1;
                        self.late
                            .put(level, members)
                            .map_err(|e| self.temporary(&e))?;
                    }
                }
            }
        }
        self.close();
        Ok(())
    }

    fn close(&mut self) {
        self.scan.eat();
        self.frames.pop();
        self.next = Next::After;
    }

    /// Nothing but white space may follow, and every member on the path must have been there at least once (J3).
    fn end(&mut self) -> Result<(), ReadError> {
        if let Some(byte) = self.scan.peek()? {
            let hint = if matches!(byte, b'{' | b'[') {
                "; a file of one value a line is of the format ndjson"
            } else {
                ""
            };
            return Err(self.scan.error(
                Kind::Malformed,
                format!("something stands after the end of the document{hint}"),
            ));
        }
        let lost = self
            .tallies
            .iter()
            .position(|tally| tally.looked > 0 && tally.found == 0);
        let Some((step, Step::Member(name))) = lost.map(|step| (step, &self.steps[step])) else {
            return Ok(());
        };
        let keys = listed(self.tallies[step].keys.iter().map(String::as_str));
        let message = format!(
            "{}: no member `{name}`; the members there are {keys}",
            self.place(step)
        );
        Err(self.scan.error(Kind::Header, message))
    }

    /// A step of the path, in words.
    fn place(&self, step: usize) -> String {
        let path = |steps: &[Step]| {
            let mut text = String::new();
            for step in steps {
                match step {
                    Step::Each => text.push_str("[*]"),
                    Step::Member(name) => {
                        text.push_str(if text.is_empty() { "" } else { "." });
                        text.push_str(name);
                    }
                }
            }
            text
        };
        let before = match step {
            0 => "the document".to_owned(),
            _ => format!("`{}`", path(&self.steps[..step])),
        };
        format!("the path `{}` leads nowhere in {before}", path(&self.steps))
    }

    fn temporary(&self, error: &io::Error) -> ReadError {
        self.scan
            .error(Kind::Io, format!("cannot use a temporary file: {error}"))
    }
}

/// The value of a member beside the path, with its size; or none if it is too large to keep.
fn member_value(
    scan: &mut Scanner,
    key: &str,
) -> Result<(usize, Option<serde_json::Value>), ReadError> {
    scan.need("an object")?;
    let line = scan.line();
    let mut kept = Kept::at_most(MAX_SCOPE_MEMBER);
    scan.value(Some(&mut kept))?;
    if kept.over {
        return Ok((0, None));
    }
    match serde_json::from_str(&kept.text) {
        Ok(value) => Ok((kept.text.len(), Some(value))),
        Err(why) => {
            let line = line + (why.line() as u64).saturating_sub(1);
            let why = why.to_string();
            let why = why
                .rsplit_once(" at line ")
                .map_or(why.as_str(), |(why, _)| why);
            Err(scan.error_at(
                Kind::Malformed,
                line,
                format!("not JSON: {why} in the member `{key}`"),
            ))
        }
    }
}
