//! Days, times, decimals and UUIDs as text, and back. UTC, ISO 8601, years 1 to 9999.

/// The days that have a text: years 1 to 9999, which every database can hold.
pub(super) const DAYS: std::ops::RangeInclusive<i64> = -719_162..=2_932_896;
pub(super) const MICROS_A_DAY: i64 = 86_400_000_000;

/// The days since 1970 of a civil day (Howard Hinnant's algorithm).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// `2026-11-29`; none for a day outside of [`DAYS`].
pub(crate) fn date(days: i64) -> Option<String> {
    DAYS.contains(&days).then(|| {
        let (year, month, day) = civil(days);
        format!("{year:04}-{month:02}-{day:02}")
    })
}

/// `2026-11-29 17:20:00.000001`.
pub(crate) fn timestamp(micros: i64) -> Option<String> {
    let date = date(micros.div_euclid(MICROS_A_DAY))?;
    let of_day = micros.rem_euclid(MICROS_A_DAY);
    let (seconds, micros) = (of_day / 1_000_000, of_day % 1_000_000);
    Some(format!(
        "{date} {:02}:{:02}:{:02}.{micros:06}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    ))
}

/// Reads `YYYY-MM-DD`.
pub(super) fn parse_date(text: &str) -> Option<i32> {
    let mut parts = text.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let fits = (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let days = days(year, month, day);
    (fits && civil(days) == (year, month, day))
        .then(|| i32::try_from(days).ok())
        .flatten()
}

/// Reads `YYYY-MM-DD[ T]HH:MM:SS[.ffffff][Z]`, or a day alone.
pub(super) fn parse_timestamp(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once([' ', 'T']) {
        Some((date, time)) => (date, time.trim_end_matches('Z').trim_end_matches("+00:00")),
        None => (text, "00:00:00"),
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = time.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hours, minutes) = (parts.next()??, parts.next()??);
    let seconds = parts.next().unwrap_or(Some(0))?;
    let fraction: i64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    Some(
        i64::from(parse_date(date)?) * 86_400_000_000
            + (hours * 3600 + minutes * 60 + seconds) * 1_000_000
            + fraction,
    )
}

/// Canonical: no sign on zero, no leading zeros but one, no trailing zeros after the point.
pub(super) fn decimal(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.trim_start_matches('+')),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    match (whole, fraction.trim_end_matches('0')) {
        ("0", "") => "0".to_owned(),
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    }
}

/// `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`.
pub(crate) fn uuid(uuid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Reads a UUID with or without hyphens.
pub(super) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| *c != '-')
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect();
    (digits.len() == 32)
        .then(|| bytes.try_into().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_survives_being_text() {
        for day in (-719_162..=2_932_896)
            .step_by(13)
            .chain([-1, 0, 1, 11_016, 2_932_896])
        {
            let text = date(day).unwrap();
            assert_eq!(parse_date(&text), Some(day as i32), "{text}");
        }
        assert_eq!(date(0).as_deref(), Some("1970-01-01"));
        assert_eq!(date(20_786).as_deref(), Some("2026-11-29"));
        assert_eq!(date(2_932_897), None);
        assert_eq!(parse_date("2026-02-30"), None);
    }

    #[test]
    fn every_microsecond_survives_being_text() {
        for micros in [0, -1, 1, 1_795_972_800_000_001, -62_135_596_800_000_000] {
            assert_eq!(parse_timestamp(&timestamp(micros).unwrap()), Some(micros));
        }
        assert_eq!(
            parse_timestamp("1970-01-02T00:00:01.5Z"),
            Some(86_401_500_000)
        );
        assert_eq!(parse_timestamp("1970-01-02"), Some(86_400_000_000));
    }

    #[test]
    fn a_decimal_has_one_spelling() {
        for (text, canonical) in [
            ("1.50", "1.5"),
            ("-0.0", "0"),
            ("007", "7"),
            ("100", "100"),
            (".5", "0.5"),
            ("-1.000", "-1"),
            ("0", "0"),
        ] {
            assert_eq!(decimal(text), canonical);
        }
    }

    #[test]
    fn a_uuid_survives_being_text() {
        let bytes = *b"0123456789abcdef";
        assert_eq!(parse_uuid(&uuid(&bytes)), Some(bytes));
        assert_eq!(parse_uuid("not one"), None);
    }
}
