//! Numbers as text: no digit goes through a float unless the mapping says `real`.
//!
//! U1. The canonical text of a decimal: `-` or nothing, no leading zero but one before the point, no trailing zero after it.

use serde_json::Number;
use std::borrow::Cow;

/// The most digits that a number may have on each side of the point: within what MariaDB holds.
const INTEGER_DIGITS: usize = 35;
const FRACTION_DIGITS: usize = 20;

/// The text of a JSON number: its digits as they stand, but an integral one as an integer.
pub(crate) fn json_text(number: &Number) -> Cow<'_, str> {
    let text = number.as_str();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Cow::Borrowed(text);
    }
    match decimal(text) {
        Some(canonical) if !canonical.contains('.') || text.contains(['e', 'E']) => {
            Cow::Owned(canonical.into_owned())
        }
        // Too many digits to be made canonical: it stays as it is.
        _ => Cow::Borrowed(text),
    }
}

/// The canonical text of a decimal number (U1); none if it is none, or too long.
pub(crate) fn decimal(text: &str) -> Option<Cow<'_, str>> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (digits, exponent) = match digits.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let plain = exponent == 0 && fraction.is_empty() && text.len() == whole.len();
    if plain && whole.len() <= INTEGER_DIGITS && (whole.len() == 1 || !whole.starts_with('0')) {
        return Some(Cow::Borrowed(text));
    }
    shift(whole, fraction, exponent).map(|canonical| {
        Cow::Owned(if negative && canonical != "0" {
            format!("-{canonical}")
        } else {
            canonical
        })
    })
}

/// The marks between the digits of a number, where they are not the usual ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Between thousands.
    group: Option<char>,
    /// Before the fraction.
    point: char,
}

impl Marks {
    /// Ways to write a number, each by an example.
    pub(crate) const EXAMPLES: [&str; 7] = [
        "1234.56", "1234,56", "1,234.56", "1.234,56", "1 234,56", "1 234.56", "1'234.56",
    ];

    /// The marks of one of the examples.
    pub(crate) fn by_example(example: &str) -> Option<Self> {
        let known = Self::EXAMPLES.contains(&example);
        let marks: Vec<char> = example
            .chars()
            .filter(|char| !char.is_ascii_digit())
            .collect();
        match marks[..] {
            [point] if known => Some(Self { group: None, point }),
            [group, point] if known => Some(Self {
                group: Some(group),
                point,
            }),
            _ => None,
        }
    }

    /// The number with the usual marks; none if the marks stand where they cannot.
    pub(crate) fn usual(self, text: &str) -> Option<String> {
        let (whole, fraction) = match text.split_once(self.point) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text, None),
        };
        let is_group = |char: char| match self.group {
            // A space that does not break a line is a space.
            Some(' ') => char.is_whitespace(),
            group => group == Some(char),
        };
        let mut usual = String::with_capacity(text.len());
        for (nth, group) in whole.split(is_group).enumerate() {
            if nth > 0 && group.len() != 3 {
                return None;
            }
            usual.push_str(group);
        }
        if usual.contains([',', '.']) {
            return None;
        }
        if let Some(fraction) = fraction {
            usual.push('.');
            usual.push_str(fraction);
        }
        Some(usual)
    }
}

/// An integer of 64 bits: digits with or without a sign; zeros after a point, or an exponent, do no harm.
#[inline]
pub(crate) fn integer(text: &str) -> Option<i64> {
    plain_integer(text.as_bytes())
        .or_else(|| text.parse().ok())
        .or_else(|| decimal(text)?.parse().ok())
}

/// An integer of up to 16 digits without a sign, as nearly all are; any other is left to `integer`.
#[inline(always)]
pub(super) fn plain_integer(text: &[u8]) -> Option<i64> {
    match text.len() {
        1..=8 => digits(text),
        9..=16 => {
            let (high, low) = text.split_at(text.len() - 8);
            Some(digits(high)? * 100_000_000 + digits(low)?)
        }
        _ => None,
    }
}

/// The number that 1 to 8 digits say.
#[inline(always)]
fn digits(text: &[u8]) -> Option<i64> {
    // The first digit is to stand lowest and the last one highest, after as many zeros as are missing. The two halves may overlap.
    let missing = 8 * (8 - text.len() as u32);
    let word = match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << missing
                | u64::from(u32::from_le_bytes(*last)) << 32
        }
        _ => match (text.first_chunk(), text.last_chunk()) {
            (Some(first), Some(last)) => {
                u64::from(u16::from_le_bytes(*first)) << missing
                    | u64::from(u16::from_le_bytes(*last)) << 48
            }
            _ => u64::from(*text.first()?) << missing,
        },
    };
    let zeros = u64::from_ne_bytes([b'0'; 8]) & ((1 << missing) - 1);
    let pairs = pairs(word | zeros)?;
    let fours = (pairs & 0x00ff_00ff_00ff_00ff).wrapping_mul(1 + (100 << 16)) >> 16;
    let eight = (fours & 0x0000_ffff_0000_ffff).wrapping_mul(1 + (10_000 << 32)) >> 32;
    Some(eight.cast_signed())
}

/// The four numbers of two digits each that eight digits are, 16 bits for each; the higher 8 of them mean nothing. The first is the
/// lowest, as the first digit is.
#[inline]
pub(super) fn pairs(word: u64) -> Option<u64> {
    const HIGH: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    // A digit is 0x30 to 0x39: neither it nor the same with 6 more is beyond 0x3f.
    let more = word.wrapping_add(0x0606_0606_0606_0606);
    let is_digits = (word & HIGH) | ((more & HIGH) >> 4) == 0x3333_3333_3333_3333;
    is_digits.then(|| (word & !HIGH).wrapping_mul(1 + (10 << 8)) >> 8)
}

/// A finite float. There is one zero: some databases store `-0` as `0`, where it would differ from itself in the next run.
pub(crate) fn real(text: &str) -> Option<f64> {
    let real: f64 = text.parse().ok()?;
    real.is_finite().then_some(real + 0.0)
}

/// The digits with the point moved to the right by `exponent`, without superfluous zeros.
fn shift(whole: &str, fraction: &str, exponent: i32) -> Option<String> {
    let joined = format!("{whole}{fraction}");
    let leading = joined.len() - joined.trim_start_matches('0').len();
    let digits = joined.trim_matches('0');
    if digits.is_empty() {
        return Some("0".into());
    }
    // The value is `0.digits` times ten to the `point`.
    let point =
        i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()? + i64::from(exponent);
    let after = i64::try_from(digits.len()).ok()? - point;
    if point > INTEGER_DIGITS as i64 || after > FRACTION_DIGITS as i64 {
        return None;
    }
    Some(match usize::try_from(point) {
        Ok(0) => format!("0.{digits}"),
        Ok(point) if point >= digits.len() => {
            format!("{digits}{}", "0".repeat(point - digits.len()))
        }
        Ok(point) => format!("{}.{}", &digits[..point], &digits[point..]),
        Err(_) => format!("0.{}{digits}", "0".repeat(usize::try_from(-point).ok()?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_zero_among_the_floats() {
        for text in ["0", "-0", "-0.0", "-1e-400"] {
            assert_eq!(real(text).map(f64::to_bits), Some(0), "{text}");
        }
    }

    #[test]
    fn a_decimal_has_one_text() {
        for (text, canonical) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.00", "0"),
            ("007", "7"),
            ("+7", "7"),
            ("7.", "7"),
            (".50", "0.5"),
            ("1.50", "1.5"),
            ("100", "100"),
            ("1e3", "1000"),
            ("1.25e1", "12.5"),
            ("-12.5E-3", "-0.0125"),
            ("0.0001e4", "1"),
            ("10e-1", "1"),
            ("0e99", "0"),
            ("12345678901234567890123", "12345678901234567890123"),
        ] {
            assert_eq!(decimal(text).as_deref(), Some(canonical), "{text}");
        }
    }

    #[test]
    fn what_is_no_decimal_or_too_long_is_none() {
        let long = "1".repeat(36);
        for text in [
            "", "-", ".", "1.2.3", "1,5", "1e", "e5", "0x1", "NaN", "1e99", "1e-99", "--1",
            "1 000", "१", &long,
        ] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    #[test]
    fn an_integer_is_one_of_64_bits() {
        assert_eq!(integer("42"), Some(42));
        assert_eq!(integer("42.0"), Some(42));
        assert_eq!(integer("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(integer("9223372036854775808"), None);
        assert_eq!(integer("42.5"), None);
        assert_eq!(integer(""), None);
    }

    #[test]
    fn an_integer_of_plain_digits_is_read_as_any_other() {
        let slowly = |text: &str| text.parse::<u64>().ok().map(u64::cast_signed);
        for length in 1..=16 {
            for number in [0, 1, 9, 10_203_040_506_070_809, 9_999_999_999_999_999_i64] {
                let text = format!("{:0length$}", number % 10_i64.pow(length as u32));
                assert_eq!(plain_integer(text.as_bytes()), slowly(&text), "{text}");
                // Any other byte in any place is no digit.
                for at in 0..length {
                    for byte in (0..=255).filter(|byte: &u8| !byte.is_ascii_digit()) {
                        let mut bytes = text.clone().into_bytes();
                        bytes[at] = byte;
                        assert_eq!(plain_integer(&bytes), None, "{bytes:?}");
                    }
                }
            }
        }
        assert_eq!(plain_integer(b""), None);
        assert_eq!(plain_integer(&[b'1'; 17]), None);
        assert_eq!(integer("123456789012345678"), Some(123_456_789_012_345_678));
    }

    #[test]
    fn a_json_number_keeps_its_digits_and_an_integral_one_has_one_text() {
        for (json, text) in [
            ("6", "6"),
            ("42.0", "42"),
            ("4.2e1", "42"),
            ("1.50", "1.50"),
            ("-3", "-3"),
            ("-0.0", "0"),
            ("1e400", "1e+400"),
            ("12345678901234567890", "12345678901234567890"),
            ("1.5e-3", "0.0015"),
        ] {
            let number: Number = serde_json::from_str(json).expect(json);
            assert_eq!(json_text(&number), text, "{json}");
        }
    }

    #[test]
    fn a_number_is_read_by_an_example_of_its_marks() {
        for (example, text, usual) in [
            ("1.234,56", "-1.234.567,8", Some("-1234567.8")),
            ("1.234,56", "0,5", Some("0.5")),
            ("1.234,56", "1.5", None),
            ("1,234.56", "1,234", Some("1234")),
            ("1,234.56", "1,23", None),
            ("1234,56", "1234,5", Some("1234.5")),
            ("1 234,56", "1\u{a0}234,5", Some("1234.5")),
            ("1'234.56", "1'234.5", Some("1234.5")),
            ("1234,56", "1.234,5", None),
        ] {
            let marks = Marks::by_example(example).expect(example);
            assert_eq!(marks.usual(text).as_deref(), usual, "{example}: {text}");
        }
        assert_eq!(Marks::by_example("12,34"), None);
    }

    #[test]
    fn a_real_is_finite() {
        assert_eq!(real("1.5e3"), Some(1500.0));
        for text in ["NaN", "inf", "1e999", "", "1,5"] {
            assert_eq!(real(text), None, "{text}");
        }
    }
}
