//! Characters of a file: decoded block by block, checked, and handed out as one growing window.
//!
//!   Stream ──▶ [undecoded tail] ──decoder──▶ [consumed │ rest] ──▶ a parser
//!
//! T1. `rest` is valid UTF-8 and begins where the parser stopped; a parser that needs more calls `fill` and looks again.
//! T2. A window grows to twice its rest at most, so that looking again is linear in all; beyond [`MAX_ROW`] the parser gives up.

use super::error::{Kind, ReadError};
use super::stream::Stream;
use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::memchr_iter;
use std::fmt;
use std::sync::Arc;

/// The most bytes that a row may have, as UTF-8.
pub const MAX_ROW: usize = 64 << 20;

const BLOCK: usize = 1 << 18;

/// The decoded text of a file.
pub(super) struct Text {
    name: Arc<str>,
    stream: Stream,
    /// None: UTF-8, which needs no conversion.
    decoder: Option<Decoder>,
    undecoded: Vec<u8>,
    window: String,
    at: usize,
    ended: bool,
    position: Position,
}

/// Where decoding stands, for messages.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    offset: u64,
    newlines: u64,
    returns: u64,
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Text")
            .field("name", &self.name)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl Text {
    /// Reads the first block and settles the encoding.
    pub(super) fn open(
        name: &Arc<str>,
        mut stream: Stream,
        label: Option<&str>,
    ) -> Result<Self, ReadError> {
        let mut undecoded = Vec::new();
        let ended = stream.append(&mut undecoded, BLOCK)? < BLOCK;
        let (encoding, mark) = settle(&undecoded, label)
            .map_err(|why| ReadError::new(Kind::Encoding, name, None, why))?;
        undecoded.drain(..mark);
        let mut text = Self {
            name: name.clone(),
            stream,
            decoder: (encoding != UTF_8).then(|| encoding.new_decoder_without_bom_handling()),
            undecoded,
            window: String::new(),
            at: 0,
            ended,
            position: Position {
                offset: mark as u64,
                ..Position::default()
            },
        };
        text.decode()?;
        Ok(text)
    }

    /// What has been decoded and not been consumed (T1).
    pub(super) fn rest(&self) -> &str {
        &self.window[self.at..]
    }

    /// Moves past the first `count` bytes of the rest.
    pub(super) fn consume(&mut self, count: usize) {
        self.at += count;
        debug_assert!(
            self.window.is_char_boundary(self.at),
            "T1: a consumer stopped inside a character"
        );
    }

    /// True if nothing comes after the rest.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Decodes another block behind the rest. Returns false if there is none.
    pub(super) fn fill(&mut self) -> Result<bool, ReadError> {
        if self.ended {
            return Ok(false);
        }
        self.window.drain(..self.at);
        self.at = 0;
        let want = BLOCK.max(
            self.window
                .len()
                .min(MAX_ROW.saturating_sub(self.window.len())),
        );
        self.ended = self.stream.append(&mut self.undecoded, want)? < want;
        self.decode()?;
        Ok(true)
    }

    /// Bytes read so far, as stored.
    pub(super) fn bytes_read(&self) -> u64 {
        self.stream.bytes_read()
    }

    /// An error in this file.
    pub(super) fn error(&self, kind: Kind, line: u64, message: impl Into<String>) -> ReadError {
        ReadError::new(kind, &self.name, Some(line), message)
    }

    /// The error of a row that is longer than anything that is kept (T2), if this one is.
    pub(super) fn check_row(&self, bytes: usize, line: u64, what: &str) -> Result<(), ReadError> {
        if bytes <= MAX_ROW {
            return Ok(());
        }
        Err(self.error(
            Kind::Malformed,
            line,
            format!("{what} longer than {} MiB", MAX_ROW >> 20),
        ))
    }

    fn decode(&mut self) -> Result<(), ReadError> {
        let before = self.window.len();
        let (taken, wrong) = match &mut self.decoder {
            None => decode_utf8(&self.undecoded, &mut self.window, self.ended),
            Some(decoder) => decode_other(decoder, &self.undecoded, &mut self.window, self.ended),
        };
        let new = &self.window.as_bytes()[before..];
        self.position.newlines += memchr_iter(b'\n', new).count() as u64;
        if self.position.newlines == 0 {
            self.position.returns += memchr_iter(b'\r', new).count() as u64;
        }
        if let Some(length) = wrong {
            return Err(self.undecodable(taken, length));
        }
        self.position.offset += taken as u64;
        self.undecoded.drain(..taken);
        Ok(())
    }

    fn undecodable(&self, at: usize, length: usize) -> ReadError {
        let Position {
            offset,
            newlines,
            returns,
        } = self.position;
        let line = 1 + if newlines == 0 { returns } else { newlines };
        let wrong = &self.undecoded[at..(at + length.max(1)).min(self.undecoded.len())];
        let bytes = wrong
            .iter()
            .map(|byte| format!("0x{byte:02X}"))
            .collect::<Vec<_>>()
            .join(" ");
        let at = offset + at as u64;
        let message = match &self.decoder {
            None => format!(
                "not UTF-8: {bytes} at byte {at}; if the file is in another encoding, name it, such as encoding = \"windows-1252\""
            ),
            Some(decoder) => format!("not {}: {bytes} at byte {at}", decoder.encoding().name()),
        };
        self.error(Kind::Encoding, line, message)
    }
}

/// Decides on the encoding, by its label and the mark at the beginning. Returns the length of the mark.
fn settle(first: &[u8], label: Option<&str>) -> Result<(&'static Encoding, usize), String> {
    let mark = Encoding::for_bom(first);
    let Some(label) = label else {
        return match mark {
            None => match utf16_without_mark(first) {
                Some(guess) => Err(format!(
                    "the file looks like {}; name it: encoding = \"{}\"",
                    guess.name(),
                    guess.name()
                )),
                None => Ok((UTF_8, 0)),
            },
            Some((encoding, length)) if encoding == UTF_8 => Ok((UTF_8, length)),
            Some((encoding, _)) => Err(format!(
                "the file is {} by its byte order mark; name it: encoding = \"{}\"",
                encoding.name(),
                encoding.name()
            )),
        };
    };
    let Some(named) = Encoding::for_label_no_replacement(label.as_bytes()) else {
        return Err(format!(
            "the encoding `{label}` is unknown; a name of the WHATWG Encoding Standard was expected, such as windows-1252"
        ));
    };
    match mark {
        None => Ok((named, 0)),
        Some((marked, length)) if marked == named => Ok((named, length)),
        // The bare name leaves the order of the bytes to the mark.
        Some((marked, length))
            if label.trim().eq_ignore_ascii_case("utf-16") && marked != UTF_8 =>
        {
            Ok((marked, length))
        }
        Some((marked, _)) => Err(format!(
            "the file is {} by its byte order mark, not {}",
            marked.name(),
            named.name()
        )),
    }
}

fn utf16_without_mark(first: &[u8]) -> Option<&'static Encoding> {
    match *first {
        [low, 0, next, 0, ..] if low != 0 && next != 0 => Some(UTF_16LE),
        [0, low, 0, next, ..] if low != 0 && next != 0 => Some(UTF_16BE),
        _ => None,
    }
}

/// Returns how many bytes were decoded and, if they stopped at a wrong sequence, its length.
fn decode_utf8(bytes: &[u8], window: &mut String, last: bool) -> (usize, Option<usize>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            window.push_str(text);
            (bytes.len(), None)
        }
        Err(error) => {
            let valid = error.valid_up_to();
            window.push_str(std::str::from_utf8(&bytes[..valid]).unwrap_or_default());
            match error.error_len() {
                Some(length) => (valid, Some(length)),
                None if last => (valid, Some(bytes.len() - valid)),
                None => (valid, None),
            }
        }
    }
}

fn decode_other(
    decoder: &mut Decoder,
    bytes: &[u8],
    window: &mut String,
    last: bool,
) -> (usize, Option<usize>) {
    let mut taken = 0;
    loop {
        let rest = &bytes[taken..];
        // The length is unknown only if it overflows; the loop then grows the window step by step.
        window.reserve(
            decoder
                .max_utf8_buffer_length_without_replacement(rest.len())
                .unwrap_or(BLOCK)
                .max(16),
        );
        let (result, read) = decoder.decode_to_string_without_replacement(rest, window, last);
        taken += read;
        match result {
            DecoderResult::InputEmpty => return (taken, None),
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(length, after) => {
                let length = usize::from(length);
                return (
                    taken.saturating_sub(length + usize::from(after)),
                    Some(length),
                );
            }
        }
    }
}
