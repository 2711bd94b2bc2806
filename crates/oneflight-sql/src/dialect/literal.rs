//! MySQL: values as they stand in the text of a statement.
//!
//! J1. A literal says the same in every SQL mode: a text that holds a backslash, which may or may not escape what follows it, or a
//!     NUL stands in hexadecimal digits. In all other texts only the quote is doubled.

use super::text;
use crate::columns::Cells;
use crate::value::Value;
use std::fmt::Write;

/// A value that travels.
pub(super) fn value(sql: &mut String, value: &Value) {
    match value {
        Value::Text(text) | Value::Decimal(text) => self::text(sql, text),
        Value::Int(int) => drop(write!(sql, "{int}")),
        Value::Bool(bool) => sql.push(if *bool { '1' } else { '0' }),
        Value::Real(real) => drop(write!(sql, "{real:e}")),
        Value::Bytes(bytes) => self::bytes(sql, bytes),
        Value::Null => sql.push_str("NULL"),
        other => unreachable!("P1: {other:?} does not travel as it is"),
    }
}

/// A cell, which fits (its year is one of ours); `is_binary` says that a UUID is stored as 16 bytes.
pub(super) fn cell(sql: &mut String, cells: &Cells, row: usize, is_binary: bool) {
    if let Some(text) = cells.text(row) {
        return self::text(sql, text);
    }
    match cells.value(row) {
        Value::Uuid(uuid) if is_binary => bytes(sql, &uuid),
        Value::Date(_) | Value::Timestamp(_) | Value::Uuid(_) => {
            sql.push('\'');
            plain(sql, cells, row);
            sql.push('\'');
        }
        other => value(sql, &other),
    }
}

/// A day, a point in time or a UUID, without quotes.
pub(super) fn plain(sql: &mut String, cells: &Cells, row: usize) {
    let text = match cells.value(row) {
        Value::Date(days) => text::date(days.into()),
        Value::Timestamp(micros) => text::timestamp(micros),
        Value::Uuid(uuid) => Some(text::uuid(&uuid)),
        _ => None,
    };
    match text {
        Some(text) => sql.push_str(&text),
        None => unreachable!("I4: a misfit was left in: {:?}", cells.value(row)),
    }
}

/// A text (J1).
pub(super) fn text(sql: &mut String, text: &str) {
    if text.bytes().any(|byte| matches!(byte, b'\\' | 0)) {
        sql.push_str("_utf8mb4 ");
        return bytes(sql, text.as_bytes());
    }
    sql.push('\'');
    let mut parts = text.split('\'');
    sql.push_str(parts.next().unwrap_or_default());
    parts.for_each(|part| {
        sql.push_str("''");
        sql.push_str(part);
    });
    sql.push('\'');
}

/// Bytes, in hexadecimal digits.
pub(super) fn bytes(sql: &mut String, bytes: &[u8]) {
    sql.push_str("x'");
    digits(sql, bytes);
    sql.push('\'');
}

/// Hexadecimal digits.
pub(super) fn digits(sql: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().for_each(|byte| {
        sql.push(DIGITS[usize::from(byte >> 4)].into());
        sql.push(DIGITS[usize::from(byte & 15)].into());
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Kind;

    #[test]
    fn a_text_cannot_leave_its_quotes() {
        let written = |text: &str| {
            let mut sql = String::new();
            super::text(&mut sql, text);
            sql
        };
        assert_eq!(written(""), "''");
        assert_eq!(written("naïve"), "'naïve'");
        assert_eq!(written("O'Neill''"), "'O''Neill'''''");
        assert_eq!(written("\\'"), "_utf8mb4 x'5c27'");
        assert_eq!(written("a\0"), "_utf8mb4 x'6100'");
        assert_eq!(written("--\n/*"), "'--\n/*'");
    }

    #[test]
    fn a_cell_is_written_as_its_value_travels() {
        let mut cells = Cells::new(Kind::Date);
        cells.push_date(20_786);
        cells.push_null();
        let mut sql = String::new();
        cell(&mut sql, &cells, 0, false);
        cell(&mut sql, &cells, 1, false);
        let mut uuid = Cells::new(Kind::Uuid);
        uuid.push_uuid(*b"0123456789abcdef");
        cell(&mut sql, &uuid, 0, true);
        assert_eq!(sql, "'2026-11-29'NULLx'30313233343536373839616263646566'");
    }
}
