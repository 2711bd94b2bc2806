//! Days and instants, read from text: ISO 8601, or a pattern of the mapping. A day that does not exist is none.

use super::number::{Marks, pairs};

/// How a value is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// As is usual for the type: ISO 8601, hex.
    #[default]
    Usual,
    /// By a pattern such as `%d/%m/%Y`.
    Fields(Vec<Field>),
    /// Seconds since 1970.
    UnixSeconds,
    /// Milliseconds since 1970.
    UnixMillis,
    /// A number with these marks between its digits.
    Number(Marks),
    /// Base64, with or without padding.
    Base64,
}

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// This character.
    Char(char),
    /// `%Y`.
    Year,
    /// `%y`: 00 to 68 are 2000 to 2068.
    ShortYear,
    /// `%m`.
    Month,
    /// `%b` or `%B`: an English name, in full or its first three letters.
    MonthName,
    /// `%d` or `%e`.
    Day,
    /// `%H`.
    Hour,
    /// `%I`: 1 to 12, with `%p`.
    Hour12,
    /// `%p`.
    Half,
    /// `%M`.
    Minute,
    /// `%S`.
    Second,
    /// `%f`: digits of a fraction of a second.
    Fraction,
    /// `%z`: `Z`, `+01:00`, `+0100`.
    Offset,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Reads a pattern.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn fields(pattern: &str) -> Result<Vec<Field>, String> {
    let mut fields = Vec::new();
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        if char != '%' {
            fields.push(Field::Char(char));
            continue;
        }
        match chars.next() {
            Some('Y') => fields.push(Field::Year),
            Some('y') => fields.push(Field::ShortYear),
            Some('m') => fields.push(Field::Month),
            Some('b' | 'B') => fields.push(Field::MonthName),
            Some('d' | 'e') => fields.push(Field::Day),
            Some('H') => fields.push(Field::Hour),
            Some('I') => fields.push(Field::Hour12),
            Some('p') => fields.push(Field::Half),
            Some('M') => fields.push(Field::Minute),
            Some('S') => fields.push(Field::Second),
            Some('f') => fields.push(Field::Fraction),
            Some('z') => fields.push(Field::Offset),
            Some('F') => fields.extend(self::fields("%Y-%m-%d")?),
            Some('T') => fields.extend(self::fields("%H:%M:%S")?),
            Some('%') => fields.push(Field::Char('%')),
            other => {
                let other = other.map(String::from).unwrap_or_default();
                return Err(format!(
                    "`%{other}` is not known; there are %Y %y %m %b %d %H %I %p %M %S %f %z %F %T %%"
                ));
            }
        }
    }
    Ok(fields)
}

/// Days since 1970-01-01.
pub(crate) fn date(text: &str, pattern: &Pattern) -> Option<i32> {
    match pattern {
        Pattern::Fields(fields) => Reader::new(text).fields(fields)?.days(),
        Pattern::UnixSeconds | Pattern::UnixMillis => {
            i32::try_from(timestamp(text, pattern)?.div_euclid(DAY)).ok()
        }
        Pattern::Usual | Pattern::Base64 | Pattern::Number(_) => {
            if let Some(days) = plain_date(text.as_bytes()) {
                return Some(days);
            }
            let mut reader = Reader::new(text);
            let moment = reader.iso_date()?;
            reader.rest.is_empty().then(|| moment.days())?
        }
    }
}

/// A day like 2010-08-14, as nearly all are; any other is left to the reader.
#[inline]
pub(super) fn plain_date(text: &[u8]) -> Option<i32> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else {
        return None;
    };
    let pairs = pairs(u64::from_le_bytes([y1, y2, y3, y4, m1, m2, d1, d2]))?;
    let [century, _, year, _, month, _, day, _] = pairs.to_le_bytes().map(u32::from);
    days(century * 100 + year, month, day)
}

/// Days since 1970-01-01 of a day that exists, in the years 1 to 9999.
#[inline]
fn days(year: u32, month: u32, day: u32) -> Option<i32> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1..=9999).contains(&year) || day == 0 || day > last {
        return None;
    }
    // Years begin in March, so that the leap day is the last of its year.
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + of_year;
    Some(days.cast_signed() - 719_468)
}

/// Microseconds since 1970-01-01T00:00:00Z. A text without an offset is UTC; a day alone is its beginning.
pub(crate) fn timestamp(text: &str, pattern: &Pattern) -> Option<i64> {
    match pattern {
        Pattern::Fields(fields) => Reader::new(text).fields(fields)?.micros(),
        Pattern::UnixSeconds => unix(text, 6),
        Pattern::UnixMillis => unix(text, 3),
        Pattern::Usual | Pattern::Base64 | Pattern::Number(_) => {
            Reader::new(text).iso_timestamp()?.micros()
        }
    }
}

/// A decimal number of units of ten to the `-digits` microseconds; what is finer than a microsecond is cut off.
fn unix(text: &str, digits: usize) -> Option<i64> {
    let number = super::number::decimal(text)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let fraction: String = fraction
        .chars()
        .chain("000000".chars())
        .take(digits)
        .collect();
    let micros: i64 = format!("{whole}{fraction}").parse().ok()?;
    in_range(micros)
}

/// What has been read of a date and a time.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    year: i32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
    afternoon: Option<bool>,
    offset_minutes: i32,
}

impl Moment {
    fn days(self) -> Option<i32> {
        days(u32::try_from(self.year).ok()?, self.month, self.day)
    }

    fn micros(self) -> Option<i64> {
        let hour = match (self.afternoon, self.hour) {
            (None, hour) => hour,
            (Some(afternoon), hour @ 1..=12) => hour % 12 + if afternoon { 12 } else { 0 },
            _ => return None,
        };
        // A leap second is the second before it.
        let second = if self.second == 60 { 59 } else { self.second };
        if hour > 23 || self.minute > 59 || second > 59 || self.offset_minutes.abs() > 24 * 60 {
            return None;
        }
        let seconds = i64::from(hour) * 3600 + i64::from(self.minute) * 60 + i64::from(second);
        let offset = i64::from(self.offset_minutes) * 60;
        in_range(
            i64::from(self.days()?) * DAY + (seconds - offset) * SECOND + i64::from(self.micros),
        )
    }
}

/// Only the years 1 to 9999 can be stored in every database.
fn in_range(micros: i64) -> Option<i64> {
    (-719_162 * DAY..2_932_897 * DAY)
        .contains(&micros)
        .then_some(micros)
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    fn iso_date(&mut self) -> Option<Moment> {
        let mut moment = Moment {
            year: self.signed(4, 4)?,
            ..Moment::default()
        };
        self.char('-')?;
        moment.month = self.number(2, 2)?;
        self.char('-')?;
        moment.day = self.number(2, 2)?;
        Some(moment)
    }

    fn iso_timestamp(&mut self) -> Option<Moment> {
        let mut moment = self.iso_date()?;
        if self.rest.is_empty() {
            return Some(moment);
        }
        self.rest = self.rest.strip_prefix(['T', 't', ' '])?;
        moment.hour = self.number(2, 2)?;
        self.char(':')?;
        moment.minute = self.number(2, 2)?;
        if self.char(':').is_some() {
            moment.second = self.number(2, 2)?;
            if self.char('.').or_else(|| self.char(',')).is_some() {
                moment.micros = self.fraction()?;
            }
        }
        self.rest = self.rest.trim_start();
        if !self.rest.is_empty() {
            moment.offset_minutes = self.offset()?;
        }
        self.rest.is_empty().then_some(moment)
    }

    fn fields(mut self, fields: &[Field]) -> Option<Moment> {
        let mut moment = Moment {
            month: 1,
            day: 1,
            ..Moment::default()
        };
        for field in fields {
            match field {
                Field::Char(char) => self.char(*char)?,
                Field::Year => moment.year = self.signed(1, 4)?,
                Field::ShortYear => {
                    let year = self.signed(2, 2)?;
                    moment.year = if year < 69 { 2000 + year } else { 1900 + year };
                }
                Field::Month => moment.month = self.number(1, 2)?,
                Field::MonthName => moment.month = self.month_name()?,
                Field::Day => moment.day = self.number(1, 2)?,
                Field::Hour | Field::Hour12 => moment.hour = self.number(1, 2)?,
                Field::Half => moment.afternoon = Some(self.half()?),
                Field::Minute => moment.minute = self.number(1, 2)?,
                Field::Second => moment.second = self.number(1, 2)?,
                Field::Fraction => moment.micros = self.fraction()?,
                Field::Offset => moment.offset_minutes = self.offset()?,
            }
        }
        self.rest.is_empty().then_some(moment)
    }

    fn char(&mut self, char: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(char)?;
        Some(())
    }

    fn digits(&mut self, least: usize, most: usize) -> Option<&'t str> {
        let count = self
            .rest
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        (count >= least).then_some(digits)
    }

    fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        self.digits(least, most)?.parse().ok()
    }

    fn signed(&mut self, least: usize, most: usize) -> Option<i32> {
        self.digits(least, most)?.parse().ok()
    }

    fn fraction(&mut self) -> Option<u32> {
        let digits = self.digits(1, 12)?;
        let micros: String = digits.chars().chain("000000".chars()).take(6).collect();
        micros.parse().ok()
    }

    fn offset(&mut self) -> Option<i32> {
        if let Some(rest) = self.rest.strip_prefix(['Z', 'z']) {
            self.rest = rest;
            return Some(0);
        }
        let sign = if self.char('+').is_some() {
            1
        } else {
            self.char('-').map(|()| -1)?
        };
        let hours = self.signed(2, 2)?;
        let colon = self.char(':').is_some();
        let minutes = if colon || self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            self.signed(2, 2)?
        } else {
            0
        };
        (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
    }

    fn month_name(&mut self) -> Option<u32> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let name = name.to_ascii_lowercase();
        let month = MONTHS
            .iter()
            .position(|month| *month == name || month[..3] == *name)?;
        self.rest = rest;
        u32::try_from(month + 1).ok()
    }

    fn half(&mut self) -> Option<bool> {
        let half = self.rest.get(..2)?;
        self.rest = &self.rest[2..];
        match half {
            "AM" | "am" => Some(false),
            "PM" | "pm" => Some(true),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(pattern: &str) -> Pattern {
        Pattern::Fields(fields(pattern).expect(pattern))
    }

    #[test]
    fn a_day_that_exists_is_counted_from_1970() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("0001-01-01", -719_162),
            ("9999-12-31", 2_932_896),
        ] {
            assert_eq!(date(text, &Pattern::Usual), Some(days), "{text}");
        }
    }

    #[test]
    fn days_are_counted_one_by_one() {
        let mut counted = -719_162;
        for year in 1..=9999 {
            for month in 1..=13 {
                let last = (0..=32).rev().find(|day| days(year, month, *day).is_some());
                for day in 1..=last.unwrap_or(0) {
                    assert_eq!(
                        days(year, month, day),
                        Some(counted),
                        "{year}-{month}-{day}"
                    );
                    counted += 1;
                }
                assert_eq!(days(year, month, 0), None, "{year}-{month}");
            }
        }
        assert_eq!(counted, 2_932_897);
    }

    #[test]
    fn a_plain_day_is_read_as_by_the_reader() {
        let text = "2010-08-14";
        let slowly = |text: &str| {
            let mut reader = Reader::new(text);
            let moment = reader.iso_date()?;
            reader.rest.is_empty().then(|| moment.days())?
        };
        for at in 0..text.len() {
            for byte in 0..=127_u8 {
                let mut text = text.to_owned();
                text.replace_range(at..=at, char::from(byte).encode_utf8(&mut [0; 4]));
                assert_eq!(plain_date(text.as_bytes()), slowly(&text), "{text:?}");
            }
        }
    }

    #[test]
    fn a_day_that_does_not_exist_is_none() {
        for text in [
            "2023-02-30",
            "2023-02-29",
            "1900-02-29",
            "2023-13-01",
            "2023-00-10",
            "2023-01-00",
            "0000-01-01",
            "2023-1-1",
            "",
            "20230101",
            "2023-01-01T00:00",
            "2023-01-011",
            "-2023-01-01",
            "٢٠٢٣-01-01",
        ] {
            assert_eq!(date(text, &Pattern::Usual), None, "{text}");
        }
    }

    #[test]
    fn a_date_is_read_by_a_pattern() {
        let day = date("2010-08-14", &Pattern::Usual);
        for (pattern, text) in [
            ("%d/%m/%Y", "14/08/2010"),
            ("%d/%m/%Y", "14/8/2010"),
            ("%e %B %Y", "14 August 2010"),
            ("%b %d, %Y", "Aug 14, 2010"),
            ("%d.%m.%y", "14.08.10"),
            ("%Y%m%d", "20100814"),
            ("%F", "2010-08-14"),
        ] {
            assert_eq!(date(text, &by(pattern)), day, "{pattern}");
        }
        assert_eq!(date("14/08/2010 ", &by("%d/%m/%Y")), None);
        assert!(fields("%Q").expect_err("not known").contains("%Y"));
    }

    #[test]
    fn a_timestamp_is_utc_unless_it_has_an_offset() {
        let noon = 12 * 3600 * SECOND;
        for text in [
            "1970-01-01T12:00:00Z",
            "1970-01-01 12:00",
            "1970-01-01T13:00:00.000+01:00",
            "1970-01-01T06:30-0530",
            "1970-01-01 12:00:00.0000009",
            "1970-01-01t12:00:00z",
            "1970-01-01 12:00:00 +00",
        ] {
            assert_eq!(timestamp(text, &Pattern::Usual), Some(noon), "{text}");
        }
        assert_eq!(timestamp("1970-01-01", &Pattern::Usual), Some(0));
        assert_eq!(
            timestamp("1970-01-01T00:00:00.25Z", &Pattern::Usual),
            Some(250_000)
        );
        assert_eq!(
            timestamp("1970-01-01 12:00 PM", &by("%F %I:%M %p")),
            Some(noon)
        );
        assert_eq!(timestamp("43200", &Pattern::UnixSeconds), Some(noon));
        assert_eq!(timestamp("43200000", &Pattern::UnixMillis), Some(noon));
        assert_eq!(timestamp("-0.5", &Pattern::UnixSeconds), Some(-500_000));
    }

    #[test]
    fn a_time_that_does_not_exist_is_none() {
        for text in [
            "1970-01-01T24:00",
            "1970-01-01T12:60",
            "1970-01-01T12",
            "1970-01-01T12:00+25:00",
            "1970-01-01Tnoon",
        ] {
            assert_eq!(timestamp(text, &Pattern::Usual), None, "{text}");
        }
    }
}
