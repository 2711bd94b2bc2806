//! From the text of a value to a cell of the column's type. What does not fit is said with what was expected.

use super::number;
use super::records::{ValueSpec, Want};
use super::time::{self, Pattern};
use super::values::{Fault, kept, trimmed};
use crate::batch::Cell;
use bumpalo::Bump;
use oneflight_sql::{Fold, Kind};

/// The cell of a column for this text; `texts` holds what does not stand in it as it is stored.
#[inline]
pub(crate) fn cell<'a>(
    text: &'a str,
    spec: &ValueSpec,
    want: &Want,
    texts: &'a Bump,
) -> Result<Cell<'a>, Fault> {
    if want.kind == Kind::Text {
        return match want.fold {
            Some(fold) => folded(text, fold, spec, want, texts),
            None => {
                check_text(text, spec, want)?;
                Ok(Cell::Text(text))
            }
        };
    }
    let Some(cell) = value(trimmed(text), want.kind, &spec.pattern, texts) else {
        return Err(spec.fault(text, expected(want.kind, &spec.pattern)));
    };
    match (cell, want.max_chars) {
        (Cell::Bytes(bytes), Some(max)) if bytes.len() > max as usize => Err(spec.fault(
            text,
            format!("expected at most {max} bytes, found {}", bytes.len()),
        )),
        _ => Ok(cell),
    }
}

/// Checks that a text fits a column; says what was expected if not.
pub(crate) fn check(text: &str, spec: &ValueSpec, want: &Want) -> Result<(), String> {
    cell(text, spec, want, &Bump::new())
        .map(drop)
        .map_err(|fault| fault.reason)
}

/// Checks a text that is stored as it is.
#[inline]
pub(crate) fn check_text(text: &str, spec: &ValueSpec, want: &Want) -> Result<(), Fault> {
    if text.len() >= 8 && memchr::memchr(0, text.as_bytes()).is_some()
        || text.len() < 8 && text.bytes().any(|b| b == 0)
    {
        return Err(spec.fault(
            text,
            "expected a text without NUL characters, which no database stores alike",
        ));
    }
    let Some(max) = want.max_chars else {
        return Ok(());
    };
    if text.len() > max as usize {
        let count = text.chars().count();
        if count > max as usize {
            return Err(spec.fault(
                text,
                format!("expected at most {max} characters, found {count}"),
            ));
        }
    }
    Ok(())
}

fn folded<'a>(
    text: &'a str,
    fold: Fold,
    spec: &ValueSpec,
    want: &Want,
    texts: &'a Bump,
) -> Result<Cell<'a>, Fault> {
    let (key, shown) = fold.both(text);
    // Only a blank text folds to nothing.
    if key.is_empty() {
        return Ok(Cell::Null);
    }
    check_text(&key, spec, want)?;
    Ok(Cell::Folded {
        key: kept(key, texts),
        shown: kept(shown, texts),
    })
}

#[inline]
fn value<'a>(text: &'a str, kind: Kind, pattern: &Pattern, texts: &'a Bump) -> Option<Cell<'a>> {
    if let Pattern::Number(marks) = pattern {
        let usual = texts.alloc_str(&marks.usual(text)?);
        return value(usual, kind, &Pattern::Usual, texts);
    }
    Some(match kind {
        Kind::Text => Cell::Text(text),
        Kind::Int => Cell::Int(number::integer(text)?),
        Kind::Real => Cell::Real(number::real(text)?),
        Kind::Decimal => Cell::Decimal(kept(number::decimal(text)?, texts)),
        Kind::Bool => Cell::Bool(boolean(text)?),
        Kind::Date => Cell::Date(time::date(text, pattern)?),
        Kind::Timestamp => Cell::Timestamp(time::timestamp(text, pattern)?),
        Kind::Uuid => Cell::Uuid(uuid(text)?),
        Kind::Bytes if *pattern == Pattern::Base64 => {
            Cell::Bytes(texts.alloc_slice_copy(&base64(text)?))
        }
        Kind::Bytes => {
            let digits = text.strip_prefix("\\x").or(text.strip_prefix("0x"));
            Cell::Bytes(texts.alloc_slice_copy(&hex(digits.unwrap_or(text))?))
        }
        // A kind that is newer than this crate cannot stand in a mapping.
        _ => return None,
    })
}

fn expected(kind: Kind, pattern: &Pattern) -> &'static str {
    match (kind, pattern) {
        (_, Pattern::Number(_)) => "expected a number, written as `format` says",
        (Kind::Int, _) => "expected a whole number of at most 64 bits",
        (Kind::Real, _) => "expected a finite number such as `-1.5e3`",
        (Kind::Decimal, _) => {
            "expected a decimal number with at most 35 digits before the point and 20 after it"
        }
        (Kind::Bool, _) => "expected true or false (also t/f, yes/no, y/n, on/off, 1/0)",
        (Kind::Date, Pattern::Fields(_)) => "expected a day that exists, written as `format` says",
        (Kind::Date, _) => {
            "expected a day that exists, written like 2010-08-14 (`format` names another way)"
        }
        (Kind::Timestamp, Pattern::Fields(_)) => {
            "expected a moment that exists, written as `format` says"
        }
        (Kind::Timestamp, Pattern::UnixSeconds) => "expected seconds since 1970",
        (Kind::Timestamp, Pattern::UnixMillis) => "expected milliseconds since 1970",
        (Kind::Timestamp, _) => {
            "expected a moment that exists, written like 2010-08-14T12:45:00Z (`format` names another way)"
        }
        (Kind::Uuid, _) => "expected a UUID such as 67e55044-10b1-426f-9247-bb680e5fe0c8",
        (Kind::Bytes, Pattern::Base64) => "expected bytes in base64",
        (Kind::Bytes, _) => {
            "expected bytes as pairs of hexadecimal digits (`format = \"base64\"` reads base64)"
        }
        _ => "expected another kind of value",
    }
}

fn boolean(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(&["true", "t", "yes", "y", "on", "1"]) {
        return Some(true);
    }
    is(&["false", "f", "no", "n", "off", "0"]).then_some(false)
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let text = text.strip_prefix("urn:uuid:").unwrap_or(text);
    let text = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'))
        .unwrap_or(text);
    let hyphens = text.match_indices('-').map(|(at, _)| at);
    if text.len() == 36 && hyphens.eq([8, 13, 18, 23]) {
        return hex(&text.replace('-', ""))?.try_into().ok();
    }
    if text.len() == 32 {
        hex(text)?.try_into().ok()
    } else {
        None
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        (bits, count) = (bits << 6 | u32::from(digit), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    // What is left over must be padding.
    (count < 6 && bits & ((1 << count) - 1) == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_words_that_people_write() {
        for (text, boolean) in [
            ("TRUE", Some(true)),
            ("n", Some(false)),
            ("1", Some(true)),
            ("2", None),
            ("", None),
        ] {
            assert_eq!(super::boolean(text), boolean, "{text}");
        }
    }

    #[test]
    fn a_uuid_has_its_hyphens_in_their_places_or_none() {
        let plain = uuid("67e5504410b1426f9247bb680e5fe0c8");
        assert!(plain.is_some());
        assert_eq!(uuid("67E55044-10b1-426f-9247-bb680e5fe0c8"), plain);
        assert_eq!(uuid("{67e55044-10b1-426f-9247-bb680e5fe0c8}"), plain);
        for text in [
            "67e5504410b1426f9247bb680e5fe0c",
            "67e550441-0b1-426f-9247-bb680e5fe0c8",
            "é".repeat(16).as_str(),
            "-",
        ] {
            assert_eq!(uuid(text), None, "{text}");
        }
    }

    #[test]
    fn bytes_are_hex_or_base64() {
        assert_eq!(hex("00ffA1"), Some(vec![0, 255, 0xa1]));
        assert_eq!(hex("00f"), None);
        assert_eq!(hex("zz"), None);
        for (text, bytes) in [
            ("", &b""[..]),
            ("TQ==", b"M"),
            ("TWE", b"Ma"),
            ("TWFu", b"Man"),
            ("-_-_", b"\xfb\xff\xbf"),
        ] {
            assert_eq!(base64(text).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(base64("T"), None);
        assert_eq!(base64("TR=="), None);
        assert_eq!(base64("T!"), None);
    }
}
