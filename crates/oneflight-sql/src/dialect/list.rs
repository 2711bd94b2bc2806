//! A list of rows that a statement joins: `VALUES` on SQLite, one JSON document on MySQL.
//!
//! The types of parameters in `VALUES` are guessed by MySQL before they are bound: MariaDB 10.11 then finds nothing, and says
//! nothing. The columns of a JSON list say their types.

use super::{Col, Dialect, Layout, Links, Room, convert, literal};
use crate::driver::Bind;
use crate::value::{Kind, Value};
use std::fmt::Write;

/// A column of a list.
pub(super) struct Listed<'c> {
    pub(super) name: String,
    pub(super) col: &'c Col,
    /// True if it is compared, and not only stored.
    pub(super) compared: bool,
}

pub(super) fn listed(prefix: char, cols: &[Col], compared: bool) -> Vec<Listed<'_>> {
    cols.iter()
        .enumerate()
        .map(|(at, col)| Listed {
            name: format!("{prefix}{at}"),
            col,
            compared,
        })
        .collect()
}

pub(super) fn listed_external(links: &Links) -> [Listed<'_>; 2] {
    [("s", &links.source), ("x", &links.external_id)].map(|(name, col)| Listed {
        name: name.into(),
        col,
        compared: true,
    })
}

/// A list of rows that a statement joins.
pub(super) struct List {
    /// What comes before the statement.
    pub(super) with: String,
    /// What stands in its FROM, under the alias `t`.
    pub(super) from: String,
    /// The number of a row, counted from the first of the list. On SQLite the list's own first number is to be bound for it,
    /// after all lists: were it part of the text, each list of a batch would be prepared on its own.
    pub(super) number: &'static str,
    pub(super) binds: Vec<Bind>,
}

/// Makes a list. Its name is `name`.
pub(super) fn list<'v>(
    layout: &Layout,
    name: &str,
    cols: &[Listed<'_>],
    rows: impl ExactSizeIterator<Item = Vec<&'v Value>>,
) -> List {
    match layout.dialect {
        Dialect::Sqlite => {
            let names = cols
                .iter()
                .fold("i".to_owned(), |names, col| names + ", " + &col.name);
            let mut with = format!("{name}({names}) AS (VALUES ");
            let marks = ", ?".repeat(cols.len());
            let mut binds = Vec::with_capacity(cols.len() * rows.len());
            for (at, row) in rows.enumerate() {
                let _ = write!(with, "{}({at}{marks})", if at == 0 { "" } else { ", " });
                binds.extend(
                    cols.iter()
                        .zip(row)
                        .map(|(col, value)| bind(layout, col.col, value)),
                );
            }
            with.push(')');
            List {
                with,
                from: format!("{name} t"),
                number: "t.i + ?",
                binds,
            }
        }
        _ => {
            let columns = json_columns(layout, cols);
            let mut json = String::from("[");
            for (at, row) in rows.enumerate() {
                json.push_str(if at == 0 { "[" } else { ",[" });
                for (at, value) in row.into_iter().enumerate() {
                    json.push_str(if at == 0 { "" } else { "," });
                    push_json(&mut json, value);
                }
                json.push(']');
            }
            json.push(']');
            List {
                with: String::new(),
                from: json_table(&json, &columns),
                number: "t.i - 1",
                binds: Vec::new(),
            }
        }
    }
}

/// A JSON document as a table of its rows, under the alias `t`; `columns` begin with a comma.
pub(super) fn json_table(json: &str, columns: &str) -> String {
    let mut from = String::with_capacity(json.len() + columns.len() + 64);
    from.push_str("JSON_TABLE(");
    literal::text(&mut from, json);
    let _ = write!(from, ", '$[*]' COLUMNS (i FOR ORDINALITY{columns})) t");
    from
}

pub(super) fn with(lists: &[&List]) -> String {
    let lists: Vec<_> = lists
        .iter()
        .map(|list| list.with.as_str())
        .filter(|with| !with.is_empty())
        .collect();
    if lists.is_empty() {
        String::new()
    } else {
        format!("WITH {} ", lists.join(", "))
    }
}

pub(super) fn push_text(json: &mut String, text: &str) {
    if text
        .bytes()
        .any(|byte| matches!(byte, b'"' | b'\\') || byte < b' ')
    {
        return json.push_str(&serde_json::Value::from(text).to_string());
    }
    json.push('"');
    json.push_str(text);
    json.push('"');
}

/// A value that travels.
pub(super) fn push_json(json: &mut String, value: &Value) {
    match value {
        Value::Text(text) | Value::Decimal(text) => push_text(json, text),
        Value::Int(int) => drop(write!(json, "{int}")),
        Value::Bool(bool) => json.push(if *bool { '1' } else { '0' }),
        Value::Real(real) => drop(write!(json, "{real:e}")),
        Value::Bytes(bytes) => {
            json.push('"');
            literal::digits(json, bytes);
            json.push('"');
        }
        Value::Null => json.push_str("null"),
        other => unreachable!("P1: {other:?} does not travel as it is"),
    }
}

/// MySQL: the columns of a JSON list, each after a comma.
pub(super) fn json_columns(layout: &Layout, cols: &[Listed<'_>]) -> String {
    let columns = cols.iter().enumerate();
    let columns = columns
        .map(|(at, col)| format!(", {} {} PATH '$[{at}]'", col.name, json_type(layout, col)));
    columns.collect()
}

/// MySQL: the type of a column of a JSON list.
fn json_type(layout: &Layout, listed: &Listed<'_>) -> String {
    match convert::wire_in(layout.dialect, listed.col) {
        Kind::Int => "BIGINT".to_owned(),
        // As near as the column keeps it, so that the two compare.
        Kind::Real if matches!(listed.col.room, Room::Single(_)) => "FLOAT".to_owned(),
        Kind::Real => "DOUBLE".to_owned(),
        Kind::Text if !listed.compared => "LONGTEXT CHARACTER SET utf8mb4".to_owned(),
        // Longer than any index can hold, twice over for bytes in hexadecimal digits.
        _ => match &listed.col.collation {
            Some(collation) => {
                let charset = collation.split('_').next().unwrap_or("utf8mb4");
                format!("VARCHAR(3072) CHARACTER SET {charset} COLLATE {collation}")
            }
            None if listed.compared => "VARCHAR(6144) CHARACTER SET ascii".to_owned(),
            None => "LONGTEXT CHARACTER SET ascii".to_owned(),
        },
    }
}

/// A value of a list as the column's own type.
pub(super) fn put(layout: &Layout, col: &Col, expression: &str) -> String {
    match (layout.dialect, col.kind) {
        (Dialect::Sqlite, _) => expression.to_owned(),
        (_, Kind::Date) => format!("CAST({expression} AS DATE)"),
        (_, Kind::Timestamp) => format!("CAST({expression} AS DATETIME(6))"),
        (_, Kind::Decimal) => format!("CAST({expression} AS DECIMAL(65, 30))"),
        _ if convert::wire_in(layout.dialect, col) == Kind::Bytes => format!("UNHEX({expression})"),
        _ => expression.to_owned(),
    }
}

pub(super) fn bind(layout: &Layout, col: &Col, value: &Value) -> Bind {
    Bind::One(convert::wire_in(layout.dialect, col), value.clone())
}
