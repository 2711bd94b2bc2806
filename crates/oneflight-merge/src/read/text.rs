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
    /// Bytes of the file before those that are not decoded.
    offset: u64,
    window: String,
    at: usize,
    ended: bool,
    /// What stands before the window.
    passed: Ends,
}

/// Ends of lines, for messages.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    newlines: u64,
    returns: u64,
}

impl Ends {
    fn add(&mut self, text: &str) {
        self.newlines += memchr_iter(b'\n', text.as_bytes()).count() as u64;
        if self.newlines == 0 {
            self.returns += memchr_iter(b'\r', text.as_bytes()).count() as u64;
        }
    }

    fn count(self) -> u64 {
        match self.newlines {
            0 => self.returns,
            newlines => newlines,
        }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Text")
            .field("name", &self.name)
            .field("offset", &self.offset)
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
            offset: mark as u64,
            window: String::new(),
            at: 0,
            ended,
            passed: Ends::default(),
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
        self.passed.add(&self.window[..self.at]);
        self.window.drain(..self.at);
        self.at = 0;
        let want = BLOCK.max(
            self.window
                .len()
                .min(MAX_ROW.saturating_sub(self.window.len())),
        );
        if self.decoder.is_none() {
            // What follows is read behind the rest, so that it need not be copied there; the rest, which is short, is checked again.
            self.offset -= self.window.len() as u64;
            let mut bytes = std::mem::take(&mut self.window).into_bytes();
            bytes.append(&mut self.undecoded);
            self.undecoded = bytes;
        }
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
        let wrong = match &mut self.decoder {
            None => self.decode_utf8(),
            Some(decoder) => {
                let (taken, wrong) =
                    decode_other(decoder, &self.undecoded, &mut self.window, self.ended);
                self.undecoded.drain(..taken);
                self.offset += taken as u64;
                wrong
            }
        };
        wrong.map_or(Ok(()), |length| Err(self.undecodable(length)))
    }

    /// The bytes become the window without being moved. Returns the length of the wrong sequence that they stop at, if they do.
    fn decode_utf8(&mut self) -> Option<usize> {
        debug_assert!(self.window.is_empty(), "T1: the window would be lost");
        let cut = match self.ended {
            true => 0,
            false => unfinished(&self.undecoded),
        };
        let next = self.undecoded.split_off(self.undecoded.len() - cut);
        let bytes = std::mem::replace(&mut self.undecoded, next);
        let (window, wrong) = match String::from_utf8(bytes) {
            Ok(window) => (window, None),
            Err(error) => {
                let told = error.utf8_error();
                let mut bytes = error.into_bytes();
                let mut rest = bytes.split_off(told.valid_up_to());
                let length = told.error_len().unwrap_or(rest.len());
                rest.append(&mut self.undecoded);
                self.undecoded = rest;
                (String::from_utf8(bytes).unwrap_or_default(), Some(length))
            }
        };
        self.offset += window.len() as u64;
        self.window = window;
        wrong
    }

    fn undecodable(&self, length: usize) -> ReadError {
        let mut ends = self.passed;
        ends.add(&self.window);
        let wrong = &self.undecoded[..length.max(1).min(self.undecoded.len())];
        let bytes = wrong
            .iter()
            .map(|byte| format!("0x{byte:02X}"))
            .collect::<Vec<_>>()
            .join(" ");
        let at = self.offset;
        let message = match &self.decoder {
            None => format!(
                "not UTF-8: {bytes} at byte {at}; if the file is in another encoding, name it, such as encoding = \"windows-1252\""
            ),
            Some(decoder) => format!("not {}: {bytes} at byte {at}", decoder.encoding().name()),
        };
        self.error(Kind::Encoding, 1 + ends.count(), message)
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

/// How many bytes at the end begin a character of UTF-8 that goes on behind them.
fn unfinished(bytes: &[u8]) -> usize {
    let begins = |(back, byte): (usize, &u8)| {
        let length = match byte {
            0x80..=0xbf => return None,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        Some(if length > back { back } else { 0 })
    };
    let mut last = (1..=3).zip(bytes.iter().rev());
    last.find_map(begins).unwrap_or(0)
}

/// Returns how many bytes were decoded and, if they stopped at a wrong sequence, its length.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_is_cut_is_left_for_the_next_block() {
        let text = "aé日🦀";
        for end in 0..=text.len() {
            let whole = (0..=end).rev().find(|at| text.is_char_boundary(*at));
            let cut = end - whole.unwrap_or(0);
            assert_eq!(unfinished(&text.as_bytes()[..end]), cut, "{end}");
        }
        // What can be no beginning is no beginning.
        for wrong in [&b"a\x80"[..], b"a\xff", b"\xc0", b"\x80\x80\x80\x80"] {
            assert_eq!(unfinished(wrong), 0, "{wrong:?}");
        }
    }
}
