//! Values as text (C1).

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::schema::types::Type;
use std::fmt::Write;

/// What the bits of a column mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Text, a number, or bytes that are hopefully text.
    Plain,
    Unsigned,
    /// Digits after the point.
    Decimal(u32),
    Date,
    /// Units in a second.
    Time(i64),
    /// Units in a second, and whether it is in UTC.
    Timestamp(i64, bool),
    Uuid,
    Float16,
    Interval,
}

impl Meaning {
    /// The meaning of a primitive type.
    pub(super) fn of(kind: &Type) -> Self {
        let info = kind.get_basic_info();
        let scale = match kind {
            Type::PrimitiveType { scale, .. } => u32::try_from(*scale).unwrap_or(0),
            _ => 0,
        };
        match info.logical_type_ref() {
            Some(LogicalType::Decimal(decimal)) => {
                Self::Decimal(u32::try_from(decimal.scale).unwrap_or(0))
            }
            Some(LogicalType::Date) => Self::Date,
            Some(LogicalType::Time(time)) => Self::Time(per_second(&time.unit)),
            Some(LogicalType::Timestamp(stamp)) => {
                Self::Timestamp(per_second(&stamp.unit), stamp.is_adjusted_to_u_t_c)
            }
            Some(LogicalType::Integer(integer)) if !integer.is_signed => Self::Unsigned,
            Some(LogicalType::Uuid) => Self::Uuid,
            Some(LogicalType::Float16) => Self::Float16,
            _ => Self::converted(info.converted_type(), scale, kind.get_physical_type()),
        }
    }

    fn converted(kind: ConvertedType, scale: u32, physical: Physical) -> Self {
        match kind {
            ConvertedType::DECIMAL => Self::Decimal(scale),
            ConvertedType::DATE => Self::Date,
            ConvertedType::TIME_MILLIS => Self::Time(1_000),
            ConvertedType::TIME_MICROS => Self::Time(1_000_000),
            ConvertedType::TIMESTAMP_MILLIS => Self::Timestamp(1_000, true),
            ConvertedType::TIMESTAMP_MICROS => Self::Timestamp(1_000_000, true),
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64 => Self::Unsigned,
            ConvertedType::INTERVAL => Self::Interval,
            // The old 96-bit timestamps do not say whether they are in UTC.
            _ if physical == Physical::INT96 => Self::Timestamp(1_000_000_000, false),
            _ => Self::Plain,
        }
    }
}

fn per_second(unit: &TimeUnit) -> i64 {
    match unit {
        TimeUnit::MILLIS => 1_000,
        TimeUnit::MICROS => 1_000_000,
        TimeUnit::NANOS => 1_000_000_000,
    }
}

/// Appends a 32-bit integer; an unsigned one is read from the same bits.
pub(super) fn int32(value: i32, meaning: Meaning, out: &mut String) {
    match meaning {
        Meaning::Unsigned => push(out, value.cast_unsigned()),
        _ => int64(i64::from(value), meaning, out),
    }
}

/// Appends a 64-bit integer.
pub(super) fn int64(value: i64, meaning: Meaning, out: &mut String) {
    match meaning {
        Meaning::Unsigned => push(out, value.cast_unsigned()),
        Meaning::Decimal(scale) => decimal(i128::from(value), scale, out),
        Meaning::Date => date(value, out),
        Meaning::Time(units) => time(value, units, out),
        Meaning::Timestamp(units, utc) => timestamp(value, units, utc, out),
        _ => push(out, value),
    }
}

/// Appends a double as the shortest text that reads back the same.
pub(super) fn double(value: f64, out: &mut String) {
    let plain = value == 0.0 || !value.is_finite() || (1e-7..1e21).contains(&value.abs());
    if plain {
        push(out, value)
    } else {
        push(out, format_args!("{value:e}"))
    }
}

/// Appends a float as the shortest text that reads back the same.
pub(super) fn float(value: f32, out: &mut String) {
    let plain = value == 0.0 || !value.is_finite() || (1e-7..1e21).contains(&value.abs());
    if plain {
        push(out, value)
    } else {
        push(out, format_args!("{value:e}"))
    }
}

/// Appends bytes. False if they have no text (C2).
pub(super) fn bytes(value: &[u8], meaning: Meaning, out: &mut String) -> bool {
    match meaning {
        Meaning::Decimal(scale) => match big_endian(value) {
            Some(unscaled) => decimal(unscaled, scale, out),
            None => return false,
        },
        Meaning::Uuid if value.len() == 16 => {
            for (at, byte) in value.iter().enumerate() {
                if matches!(at, 4 | 6 | 8 | 10) {
                    out.push('-');
                }
                push(out, format_args!("{byte:02x}"));
            }
        }
        Meaning::Float16 if value.len() == 2 => {
            float(half(u16::from_le_bytes([value[0], value[1]])), out)
        }
        Meaning::Interval => value
            .iter()
            .for_each(|byte| push(out, format_args!("{byte:02x}"))),
        _ => match std::str::from_utf8(value) {
            Ok(text) => out.push_str(text),
            Err(_) => return false,
        },
    }
    true
}

fn push(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{value}");
}

/// A big-endian number in two's complement of at most 128 bits.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let negative = *bytes.first()? & 0x80 != 0;
    let fill = if negative { 0xff } else { 0 };
    let extra = bytes.len().saturating_sub(16);
    if bytes[..extra].iter().any(|byte| *byte != fill) {
        return None;
    }
    let mut whole = [fill; 16];
    whole[16 - (bytes.len() - extra)..].copy_from_slice(&bytes[extra..]);
    let value = i128::from_be_bytes(whole);
    (extra == 0 || (value < 0) == negative).then_some(value)
}

fn decimal(unscaled: i128, scale: u32, out: &mut String) {
    if scale == 0 {
        return push(out, unscaled);
    }
    let scale = scale as usize;
    let digits = unscaled.unsigned_abs().to_string();
    if unscaled < 0 {
        out.push('-');
    }
    if digits.len() > scale {
        push(
            out,
            format_args!(
                "{}.{}",
                &digits[..digits.len() - scale],
                &digits[digits.len() - scale..]
            ),
        );
    } else {
        push(out, format_args!("0.{digits:0>scale$}"));
    }
}

/// Days since 1970-01-01, in the proleptic Gregorian calendar.
fn date(days: i64, out: &mut String) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    if year < 0 {
        push(out, format_args!("-{:04}-{month:02}-{day:02}", -year));
    } else {
        push(out, format_args!("{year:04}-{month:02}-{day:02}"));
    }
}

fn time(value: i64, units: i64, out: &mut String) {
    let seconds = value.div_euclid(units);
    push(
        out,
        format_args!(
            "{:02}:{:02}:{:02}",
            seconds / 3_600,
            seconds / 60 % 60,
            seconds % 60
        ),
    );
    let fraction = value.rem_euclid(units);
    if fraction != 0 {
        let width = units.ilog10() as usize;
        let digits = format!("{fraction:0>width$}");
        push(out, format_args!(".{}", digits.trim_end_matches('0')));
    }
}

fn timestamp(value: i64, units: i64, utc: bool, out: &mut String) {
    let day = 86_400 * units;
    date(value.div_euclid(day), out);
    out.push('T');
    time(value.rem_euclid(day), units, out);
    if utc {
        out.push('Z');
    }
}

fn half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let fraction = f32::from(bits & 0x3ff);
    sign * match (bits >> 10) & 0x1f {
        0 => fraction * 2f32.powi(-24),
        0x1f if fraction == 0.0 => f32::INFINITY,
        0x1f => f32::NAN,
        exponent => (1.0 + fraction / 1_024.0) * 2f32.powi(i32::from(exponent) - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(write: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn dates_and_times_are_iso_text() {
        assert_eq!(shown(|o| date(0, o)), "1970-01-01");
        assert_eq!(shown(|o| date(19_417, o)), "2023-03-01");
        assert_eq!(shown(|o| date(-719_528, o)), "0000-01-01");
        assert_eq!(shown(|o| date(11_016, o)), "2000-02-29");
        assert_eq!(
            shown(|o| timestamp(-1, 1_000, true, o)),
            "1969-12-31T23:59:59.999Z"
        );
        assert_eq!(
            shown(|o| timestamp(1_500_000, 1_000_000, false, o)),
            "1970-01-01T00:00:01.5"
        );
        assert_eq!(shown(|o| time(45_296_000, 1_000, o)), "12:34:56");
    }

    #[test]
    fn decimals_keep_their_scale_and_sign() {
        assert_eq!(shown(|o| decimal(-5, 2, o)), "-0.05");
        assert_eq!(shown(|o| decimal(12_345, 2, o)), "123.45");
        assert_eq!(shown(|o| decimal(i128::MIN, 0, o)), i128::MIN.to_string());
        assert_eq!(big_endian(&[0xff, 0xfe]), Some(-2));
        assert_eq!(big_endian(&[0x80; 17]), None);
        assert_eq!(big_endian(&[]), None);
    }

    #[test]
    fn floats_are_the_shortest_text_and_integral_ones_have_no_point() {
        assert_eq!(shown(|o| double(0.1, o)), "0.1");
        assert_eq!(shown(|o| double(6.0, o)), "6");
        assert_eq!(shown(|o| double(1e300, o)), "1e300");
        assert_eq!(shown(|o| float(0.1, o)), "0.1");
        assert_eq!(shown(|o| float(half(0x3555), o)), "0.33325195");
        assert_eq!(half(0xc000), -2.0);
    }
}
