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
    // Up to 18 digits cannot overflow, and no sign is the usual case.
    if matches!(text.len(), 1..=18) {
        let digits = text.bytes().try_fold(0, |int: i64, byte| {
            let digit = byte.wrapping_sub(b'0');
            (digit < 10).then(|| int * 10 + i64::from(digit))
        });
        if digits.is_some() {
            return digits;
        }
    }
    text.parse().ok().or_else(|| decimal(text)?.parse().ok())
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
