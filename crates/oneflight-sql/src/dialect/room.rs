//! What a column keeps of a value. A key that is stored otherwise than it is looked up would be missing for ever: each run would make
//! its row again, or find it in its own way. Any other value would be less than what was said, and differ from it at each run.
//!
//! O1. What a room keeps is read back, and compared, as it was written.

use super::Dialect;
use crate::value::{Kind, Value, ValueRef};
use std::fmt;

/// What a column keeps. One that refuses aloud what it cannot keep needs no room of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// All that its kind has.
    All,
    /// Decimals to this place behind the point; if it is negative, to one before the point.
    Places(i32),
    /// Times to so many digits of a second.
    SecondDigits(u32),
    /// Texts of so many characters: of a longer one, spaces at its end are cut off without a word.
    Chars(usize),
    /// Texts of so many bytes: a longer one is cut without a word.
    TextBytes(usize),
    /// Texts without a space at their end.
    Trimmed,
    /// Texts that do not read as a number.
    NoNumber,
    /// Integers of 64 bits, and numbers of no more digits than a float keeps.
    Digits,
    /// Floats of 32 bits, which are near what was said by declaration; with decimals to this place, if there is a number.
    Single(Option<i32>),
    /// Exactly so many bytes: shorter ones are filled up.
    Bytes(usize),
    /// A year of the type of that name: small numbers are taken for years of our time.
    Year,
}

/// Digits that every float keeps.
const FLOAT_DIGITS: usize = 15;

/// Bytes that PostgreSQL's type `name` keeps.
const NAME: usize = 63;

impl Room {
    /// The room for `kind` in a column of the type `full`, in lower case and with what stands in brackets.
    pub(crate) fn of(dialect: Dialect, kind: Kind, full: &str) -> Self {
        let sizes = sizes(full);
        let size = |at: usize| sizes.get(at).copied();
        let size_of = |at: usize| size(at).and_then(|size| usize::try_from(size).ok());
        match (dialect, kind) {
            (Dialect::Sqlite, kind) => by_affinity(kind, full),
            (_, Kind::Decimal) if sizes.is_empty() => Self::All,
            (_, Kind::Decimal) => Self::Places(size(1).unwrap_or(0)),
            (_, Kind::Timestamp) => {
                let default = if dialect == Dialect::MySql { 0 } else { 6 };
                match size(0).and_then(|digits| u32::try_from(digits).ok()) {
                    Some(6..) => Self::All,
                    Some(digits) => Self::SecondDigits(digits),
                    None if default == 6 => Self::All,
                    None => Self::SecondDigits(default),
                }
            }
            (_, Kind::Text) if full.ends_with("[]") => Self::All,
            (Dialect::Postgres, Kind::Text) if full == "name" => Self::TextBytes(NAME),
            (Dialect::Postgres, Kind::Text) if full == "\"char\"" => Self::TextBytes(1),
            (_, Kind::Text) if is_fixed(full) => Self::Trimmed,
            (_, Kind::Text) if is_varying(full) => size_of(0).map_or(Self::All, Self::Chars),
            (_, Kind::Bytes) if full.starts_with("binary") => Self::Bytes(size_of(0).unwrap_or(1)),
            (_, Kind::Int) if full.starts_with("year") => Self::Year,
            (_, Kind::Real) if full == "real" || full.starts_with("float") => Self::Single(size(1)),
            (Dialect::MySql, Kind::Real) if sizes.len() == 2 => Self::Places(sizes[1]),
            _ => Self::All,
        }
    }

    /// What the column makes of a number, and what is compared with it; none where that is the value itself.
    ///
    /// A float of 32 bits means the shortest number that it may be told as: 0.1, and not 0.10000000149011612.
    pub(crate) fn nearest(self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Self::Single(_), Value::Real(real)) => {
                (*real as f32).to_string().parse().ok().map(Value::Real)
            }
            _ => None,
        }
    }

    /// True if the nearest number is none: PostgreSQL refuses to make it of the one that is said.
    pub(crate) fn empties(self, value: ValueRef<'_>) -> bool {
        match (self, value) {
            (Self::Single(_), ValueRef::Real(real)) => real != 0.0 && real as f32 == 0.0,
            _ => false,
        }
    }

    /// True if the column keeps the value as it is, or as near as it keeps any.
    pub(crate) fn keeps(self, value: ValueRef<'_>) -> bool {
        match (self, value) {
            (Self::Places(places), ValueRef::Decimal(text)) => last_place(text) <= places,
            (Self::Places(places), ValueRef::Real(real)) => last_place(&real.to_string()) <= places,
            (Self::Single(places), ValueRef::Real(real)) => {
                (real as f32).is_finite()
                    && places.is_none_or(|places| last_place(&real.to_string()) <= places)
            }
            (Self::SecondDigits(digits), ValueRef::Timestamp(micros)) => {
                micros % 10_i64.pow(6_u32.saturating_sub(digits)) == 0
            }
            (Self::Chars(most), ValueRef::Text(text)) => {
                text.len() <= most || text.chars().count() <= most
            }
            (Self::TextBytes(most), ValueRef::Text(text)) => text.len() <= most,
            (Self::Trimmed, ValueRef::Text(text)) => !text.ends_with(' '),
            (Self::NoNumber, ValueRef::Text(text)) => !reads_as_number(text),
            (Self::Digits, ValueRef::Decimal(text)) => {
                text.parse::<i64>().is_ok() || digits(text) <= FLOAT_DIGITS
            }
            (Self::Bytes(size), ValueRef::Bytes(bytes)) => bytes.len() == size,
            (Self::Year, ValueRef::Int(year)) => matches!(year, 0 | 1901..=2155),
            _ => true,
        }
    }
}

impl fmt::Display for Room {
    /// What is expected of a value, or of the column.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("any value"),
            Self::Places(places @ 1..) | Self::Single(Some(places @ 1..)) => write!(
                f,
                "no more than {places} digits behind the point, or a column that keeps more"
            ),
            Self::Places(_) | Self::Single(Some(_)) => f.write_str(
                "a number without digits that are rounded away, or a column that keeps more",
            ),
            Self::Single(None) => {
                f.write_str("a number below 3.5e38, or a column of double precision")
            }
            Self::SecondDigits(0) => {
                f.write_str("whole seconds, or a column of datetime(6) or timestamp(6)")
            }
            Self::SecondDigits(digits) => write!(
                f,
                "no more than {digits} digits of a second, or a column of datetime(6) or timestamp(6)"
            ),
            Self::Chars(most) => write!(f, "no more than {most} characters, or a wider column"),
            Self::TextBytes(1) => f.write_str("no more than 1 byte, or a column of type text"),
            Self::TextBytes(most) => {
                write!(f, "no more than {most} bytes, or a column of type text")
            }
            Self::Trimmed => f.write_str("no space at the end, or a column of type varchar"),
            Self::NoNumber => {
                f.write_str("a text that does not read as a number, or a column of type text")
            }
            Self::Digits => write!(
                f,
                "no more than {FLOAT_DIGITS} digits, or a column of type text"
            ),
            Self::Bytes(size) => write!(f, "exactly {size} bytes, or a column of varbinary"),
            Self::Year => f.write_str("0 or a year from 1901 to 2155, or a column of smallint"),
        }
    }
}

/// The numbers in the brackets of a type.
fn sizes(full: &str) -> Vec<i32> {
    let within = full
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'));
    let sizes = within.map_or("", |(sizes, _)| sizes).split(',');
    sizes.filter_map(|size| size.trim().parse().ok()).collect()
}

/// True for `char(n)` and `character(n)`, which keep no spaces at the end.
fn is_fixed(full: &str) -> bool {
    matches!(name(full), "char" | "character" | "bpchar")
}

/// True for `varchar(n)`. In the brackets of other types that are written as text stands something else: `time(0)`, `vector(3)`.
fn is_varying(full: &str) -> bool {
    matches!(name(full), "varchar" | "character varying")
}

/// The name of a type, without what stands in brackets.
fn name(full: &str) -> &str {
    full.split('(').next().unwrap_or_default().trim_end()
}

/// SQLite keeps what a column of text, of bytes or without a type is given; what another type is given, and reads as a number,
/// becomes one.
fn by_affinity(kind: Kind, full: &str) -> Room {
    let names = |parts: &[&str]| parts.iter().any(|part| full.contains(part));
    let is_numeric =
        !full.is_empty() && (names(&["int"]) || !names(&["char", "clob", "text", "blob"]));
    match kind {
        Kind::Text if is_numeric => Room::NoNumber,
        Kind::Decimal if is_numeric => Room::Digits,
        _ => Room::All,
    }
}

/// The place of the last digit of a canonical decimal that is not zero: 2 for `1.25`, -3 for `5000`.
fn last_place(decimal: &str) -> i32 {
    let place = match decimal.split_once('.') {
        Some((_, fraction)) => i32::try_from(fraction.len()),
        None if decimal == "0" => return i32::MIN,
        None => {
            i32::try_from(decimal.len() - decimal.trim_end_matches('0').len()).map(|zeros| -zeros)
        }
    };
    place.unwrap_or(i32::MAX)
}

/// How many digits a canonical decimal has, without zeros at either end.
fn digits(decimal: &str) -> usize {
    let digits: String = decimal.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len()
}

/// True if SQLite may take the text for a number.
fn reads_as_number(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
        && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn the_type_says_what_is_kept() {
        use Dialect::{MySql, Postgres, Sqlite};
        for (dialect, kind, full, room) in [
            (MySql, Kind::Timestamp, "datetime", Room::SecondDigits(0)),
            (
                MySql,
                Kind::Timestamp,
                "timestamp(3)",
                Room::SecondDigits(3),
            ),
            (MySql, Kind::Timestamp, "datetime(6)", Room::All),
            (
                Postgres,
                Kind::Timestamp,
                "timestamp without time zone",
                Room::All,
            ),
            (
                Postgres,
                Kind::Timestamp,
                "timestamp(0) with time zone",
                Room::SecondDigits(0),
            ),
            (Sqlite, Kind::Timestamp, "datetime", Room::All),
            (
                MySql,
                Kind::Decimal,
                "decimal(10,2) unsigned",
                Room::Places(2),
            ),
            (Postgres, Kind::Decimal, "numeric", Room::All),
            (Postgres, Kind::Decimal, "numeric(3,-2)", Room::Places(-2)),
            (Sqlite, Kind::Decimal, "decimal(10,2)", Room::Digits),
            (Sqlite, Kind::Decimal, "text", Room::All),
            (Sqlite, Kind::Decimal, "", Room::All),
            (MySql, Kind::Text, "varchar(10)", Room::Chars(10)),
            (MySql, Kind::Text, "char(10)", Room::Trimmed),
            (MySql, Kind::Text, "longtext", Room::All),
            (Postgres, Kind::Text, "character varying(3)", Room::Chars(3)),
            (Postgres, Kind::Text, "character(3)", Room::Trimmed),
            (Postgres, Kind::Text, "name", Room::TextBytes(63)),
            (Postgres, Kind::Text, "\"char\"", Room::TextBytes(1)),
            (Sqlite, Kind::Text, "varchar(3)", Room::All),
            (Sqlite, Kind::Text, "string", Room::NoNumber),
            (Sqlite, Kind::Text, "", Room::All),
            (MySql, Kind::Bytes, "binary(16)", Room::Bytes(16)),
            (MySql, Kind::Bytes, "varbinary(16)", Room::All),
            (MySql, Kind::Int, "year(4)", Room::Year),
            (MySql, Kind::Real, "float", Room::Single(None)),
            (MySql, Kind::Real, "float(8,2)", Room::Single(Some(2))),
            (MySql, Kind::Real, "double(10,2) unsigned", Room::Places(2)),
            (MySql, Kind::Real, "double", Room::All),
            (Postgres, Kind::Real, "real", Room::Single(None)),
            (Postgres, Kind::Real, "double precision", Room::All),
            (Sqlite, Kind::Real, "real", Room::All),
            (MySql, Kind::Int, "bigint(20)", Room::All),
        ] {
            assert_eq!(Room::of(dialect, kind, full), room, "{full}");
        }
    }

    #[test]
    fn what_is_written_as_text_is_measured_if_it_is_one() {
        use Dialect::{MySql, Postgres};
        for (dialect, full) in [
            (Postgres, "time(0) without time zone"),
            (Postgres, "interval(0)"),
            (Postgres, "character varying(3)[]"),
            (Postgres, "character(3)[]"),
            (Postgres, "numeric(10,2)[]"),
            (Postgres, "bit varying(3)"),
            (Postgres, "vector(1536)"),
            (Postgres, "geometry(Point,4326)"),
            (MySql, "time(3)"),
            (MySql, "bit(8)"),
            (MySql, "enum('1','2')"),
        ] {
            assert_eq!(Room::of(dialect, Kind::Text, full), Room::All, "{full}");
        }
        assert_eq!(Room::of(Postgres, Kind::Text, "bpchar"), Room::Trimmed);
    }

    #[test]
    fn a_number_is_compared_as_near_as_it_is_kept() {
        let nearest = |real: f64| Room::Single(None).nearest(&Value::Real(real));
        assert_eq!(nearest(51.5073509), Some(Value::Real(51.50735)));
        assert_eq!(nearest(51.50735), Some(Value::Real(51.50735)));
        assert_eq!(nearest(f64::from(0.1_f32)), Some(Value::Real(0.1)));
        assert_eq!(nearest(16_777_217.0), Some(Value::Real(16_777_216.0)));
        assert_eq!(Room::All.nearest(&Value::Real(51.5073509)), None);
    }

    #[test]
    fn a_value_is_kept_or_it_is_not() {
        let decimal = |text: &str| Value::Decimal(text.into());
        for (room, value, is_kept) in [
            (Room::Places(2), decimal("-1.25"), true),
            (Room::Places(2), decimal("1.255"), false),
            (Room::Places(0), decimal("7"), true),
            (Room::Places(-2), decimal("500"), true),
            (Room::Places(-2), decimal("510"), false),
            (Room::Places(-2), decimal("0"), true),
            (Room::SecondDigits(0), Value::Timestamp(-3_000_000), true),
            (Room::SecondDigits(0), Value::Timestamp(500_000), false),
            (Room::SecondDigits(3), Value::Timestamp(1_500), false),
            (Room::Chars(2), Value::from("éé"), true),
            (Room::Chars(2), Value::from("ab "), false),
            (Room::TextBytes(2), Value::from("é"), true),
            (Room::TextBytes(2), Value::from("éa"), false),
            (Room::Trimmed, Value::from("a "), false),
            (Room::NoNumber, Value::from("007"), false),
            (Room::NoNumber, Value::from(" 1e3 "), false),
            (Room::NoNumber, Value::from("e"), true),
            (Room::NoNumber, Value::from("1-2"), true),
            (Room::Digits, decimal("9223372036854775807"), true),
            (Room::Digits, decimal("9223372036854775808"), false),
            (Room::Digits, decimal("-0.000123456789012345"), true),
            (Room::Digits, decimal("0.1234567890123456"), false),
            (Room::Bytes(2), Value::from(vec![1]), false),
            (Room::Bytes(1), Value::from(vec![1]), true),
            (Room::Single(None), Value::Real(0.1), true),
            (Room::Single(None), Value::Real(51.5073509), true),
            (Room::Single(None), Value::Real(2_147_483_648.0), true),
            (Room::Single(None), Value::Real(-1e30), true),
            (Room::Single(None), Value::Real(1e300), false),
            (Room::Single(None), Value::Real(-3.5e38), false),
            (Room::Single(Some(2)), Value::Real(1.1), true),
            (Room::Single(Some(2)), Value::Real(1.255), false),
            (Room::Single(Some(2)), Value::Real(1e300), false),
            (Room::Places(2), Value::Real(1.25), true),
            (Room::Places(2), Value::Real(1.255), false),
            (Room::Year, Value::Int(5), false),
            (Room::Year, Value::Int(2010), true),
        ] {
            assert_eq!(room.keeps((&value).into()), is_kept, "{room:?} {value:?}");
        }
    }
}
