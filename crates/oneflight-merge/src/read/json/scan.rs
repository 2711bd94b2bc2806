//! The extents of JSON values: brackets and strings, without looking into them.
//!
//! X1. A value is passed in pieces as they come; what is kept of it has a bound.
//! X2. Brackets match; a document that ends inside one is truncated.

use crate::read::error::{Kind, ReadError};
use crate::read::text::Text;
use memchr::{memchr_iter, memchr2};

/// A position in a document.
pub(super) struct Scanner {
    text: Text,
    line: u64,
}

/// What is kept of a value.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) text: String,
    /// True if the value was longer than what may be kept; then nothing is.
    pub(super) over: bool,
    most: usize,
}

impl Kept {
    /// Keeps values of at most so many bytes.
    pub(super) fn at_most(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.over = false;
    }

    fn push(&mut self, piece: &str) {
        self.over |= self.text.len() + piece.len() > self.most;
        if self.over {
            self.text.clear();
        } else {
            self.text.push_str(piece);
        }
    }
}

impl Scanner {
    pub(super) fn new(text: Text) -> Self {
        Self { text, line: 1 }
    }

    pub(super) fn line(&self) -> u64 {
        self.line
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.text.bytes_read()
    }

    pub(super) fn error(&self, kind: Kind, message: impl Into<String>) -> ReadError {
        self.text.error(kind, self.line, message)
    }

    /// An error on another line than this one.
    pub(super) fn error_at(&self, kind: Kind, line: u64, message: impl Into<String>) -> ReadError {
        self.text.error(kind, line, message)
    }

    /// The next byte that is no white space; none at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            let rest = self.text.rest().as_bytes();
            match rest
                .iter()
                .position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
            {
                Some(at) => {
                    let byte = rest[at];
                    self.pass(at, None);
                    return Ok(Some(byte));
                }
                None => {
                    self.pass(self.text.rest().len(), None);
                    if !self.text.fill()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Like `peek`, where the document cannot end.
    pub(super) fn need(&mut self, inside: &str) -> Result<u8, ReadError> {
        self.peek()?.ok_or_else(|| self.truncated(inside))
    }

    /// Passes the ASCII character that `peek` returned.
    pub(super) fn eat(&mut self) {
        self.pass(1, None);
    }

    /// Passes a value; a copy goes to `keep`.
    pub(super) fn value(&mut self, keep: Option<&mut Kept>) -> Result<(), ReadError> {
        match self.need("a value")? {
            b'"' => self.string(keep),
            b'{' | b'[' => self.container(keep),
            _ => self.scalar(keep),
        }
    }

    /// Passes a key and the colon behind it, and returns the key.
    pub(super) fn key(&mut self) -> Result<String, ReadError> {
        const LONGEST: usize = 1 << 16;
        if self.need("an object")? != b'"' {
            return Err(self.unexpected("a key in quotes"));
        }
        let mut kept = Kept::at_most(LONGEST);
        self.string(Some(&mut kept))?;
        if kept.over {
            return Err(self.error(Kind::Malformed, "a key that is longer than 64 KiB"));
        }
        let key = serde_json::from_str(&kept.text);
        let key = key.map_err(|why| {
            self.error(
                Kind::Malformed,
                format!("not JSON: a key that is no text: {why}"),
            )
        })?;
        if self.need("an object")? != b':' {
            return Err(self.unexpected("`:` after the key"));
        }
        self.eat();
        Ok(key)
    }

    /// The error of a character that cannot stand here.
    pub(super) fn unexpected(&self, expected: &str) -> ReadError {
        let found = match self.text.rest().chars().next() {
            Some(c) if c.is_control() => c.escape_unicode().to_string(),
            Some(c) => c.to_string(),
            None => String::new(),
        };
        self.error(
            Kind::Malformed,
            format!("not JSON: `{found}` where {expected} was expected"),
        )
    }

    fn truncated(&self, inside: &str) -> ReadError {
        self.error(
            Kind::Truncated,
            format!("truncated: the document ends inside {inside}"),
        )
    }

    fn pass(&mut self, count: usize, keep: Option<&mut Kept>) {
        let passed = &self.text.rest()[..count];
        self.line += memchr_iter(b'\n', passed.as_bytes()).count() as u64;
        if let Some(keep) = keep {
            keep.push(passed);
        }
        self.text.consume(count);
    }

    fn scalar(&mut self, mut keep: Option<&mut Kept>) -> Result<(), ReadError> {
        let mut any = false;
        loop {
            let rest = self.text.rest().as_bytes();
            let end = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.'));
            any |= end.unwrap_or(rest.len()) > 0;
            self.pass(end.unwrap_or(rest.len()), keep.as_deref_mut());
            if end.is_some() || !self.text.fill()? {
                return if any {
                    Ok(())
                } else {
                    Err(self.unexpected("a value"))
                };
            }
        }
    }

    fn string(&mut self, keep: Option<&mut Kept>) -> Result<(), ReadError> {
        let mut state = Extent::default();
        self.extent(&mut state, keep, "a string")
    }

    fn container(&mut self, keep: Option<&mut Kept>) -> Result<(), ReadError> {
        let inside = if self.text.rest().starts_with('{') {
            "an object"
        } else {
            "an array"
        };
        let inside = format!("{inside} that begins at line {}", self.line);
        let mut state = Extent::default();
        self.extent(&mut state, keep, &inside)
    }

    /// Passes pieces until `state` says that the value has ended (X1).
    fn extent(
        &mut self,
        state: &mut Extent,
        mut keep: Option<&mut Kept>,
        inside: &str,
    ) -> Result<(), ReadError> {
        loop {
            let rest = self.text.rest();
            let end = state.advance(rest.as_bytes());
            let length = match end {
                Advance::Ended(length) | Advance::Mismatch(length) => length,
                Advance::More => rest.len(),
            };
            self.pass(length, keep.as_deref_mut());
            match end {
                Advance::Ended(_) => return Ok(()),
                Advance::Mismatch(_) => return Err(self.unexpected("another closing bracket")),
                Advance::More if !self.text.fill()? => return Err(self.truncated(inside)),
                Advance::More => {}
            }
        }
    }
}

/// How far inside a string or a container the scanner is.
#[derive(Default)]
struct Extent {
    within: Within,
    /// Open brackets, the outer ones first: true for an object.
    open: Vec<bool>,
    /// Brackets open beyond those, whose kinds are not looked at.
    deeper: u64,
}

#[derive(Clone, Copy, Default)]
enum Within {
    #[default]
    Brackets,
    Text,
    Escape,
}

enum Advance {
    /// The value ends before this index.
    Ended(usize),
    /// A bracket at this index closes another one.
    Mismatch(usize),
    More,
}

impl Extent {
    /// Kinds of brackets are remembered to this depth; `serde_json` refuses a row long before it.
    const DEEPEST: usize = 1_024;

    fn advance(&mut self, bytes: &[u8]) -> Advance {
        let mut at = 0;
        while at < bytes.len() {
            match self.within {
                Within::Text => match memchr2(b'"', b'\\', &bytes[at..]) {
                    None => return Advance::More,
                    Some(length) => {
                        at += length + 1;
                        self.within = if bytes[at - 1] == b'"' {
                            Within::Brackets
                        } else {
                            Within::Escape
                        };
                        if self.open.is_empty() && matches!(self.within, Within::Brackets) {
                            return Advance::Ended(at);
                        }
                    }
                },
                Within::Escape => {
                    at += 1;
                    self.within = Within::Text;
                }
                Within::Brackets => {
                    let Some(length) = bytes[at..]
                        .iter()
                        .position(|&byte| SPECIAL[usize::from(byte)])
                    else {
                        return Advance::More;
                    };
                    at += length;
                    match bytes[at] {
                        b'"' => self.within = Within::Text,
                        b'{' | b'[' => self.opened(bytes[at] == b'{'),
                        byte => {
                            if !self.closed(byte == b'}') {
                                return Advance::Mismatch(at);
                            }
                            if self.open.is_empty() {
                                return Advance::Ended(at + 1);
                            }
                        }
                    }
                    at += 1;
                }
            }
        }
        Advance::More
    }

    fn opened(&mut self, object: bool) {
        if self.open.len() < Self::DEEPEST {
            self.open.push(object);
        } else {
            self.deeper += 1;
        }
    }

    /// False if the innermost open bracket is of the other kind.
    fn closed(&mut self, object: bool) -> bool {
        if self.deeper > 0 {
            self.deeper -= 1;
            return true;
        }
        self.open.pop() == Some(object)
    }
}

static SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let all = b"\"{}[]";
    let mut at = 0;
    while at < all.len() {
        special[all[at] as usize] = true;
        at += 1;
    }
    special
};
