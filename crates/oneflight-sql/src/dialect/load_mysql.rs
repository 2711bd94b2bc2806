//! Loading on MySQL and MariaDB: all values are literals, so that a chunk is one text and one round trip.
//!
//! ```text
//!   insert      GET_LOCK · BEGIN · is none of the keys there? · INSERT ... VALUES · COMMIT · RELEASE_LOCK
//!   differing   SELECT number, is it there? FROM JSON_TABLE LEFT JOIN table WHERE not as said
//! ```
//!
//! M1. A text stops at the first statement that fails. So the question before the insert is put such that it fails if a key is
//!     there: nothing is inserted then, and `AUTO_INCREMENT` has not moved (I2).
//! M2. It is all under the lock of the database, as every writer of ours is, so nobody comes between question and insert. Whoever takes
//!     no lock of ours makes the insert fail, as a whole: it is a plain one. What `ON DUPLICATE KEY UPDATE` counts as changed
//!     depends on the client's flags, and says with sqlx's of a row that was there that it was made.
//! M3. The lock is held for as long as the text runs on the server. A chunk of more than a megabyte is several texts, each a round
//!     trip; one that fails takes another to give the lock back.

use super::list::{self, Listed, json_columns, json_table, listed, push_text, put};
use super::load::{compared, told};
use super::mysql_write::LONG;
use super::values::{quoted, same_key};
use super::{Col, Dialect, Layout, convert, literal};
use crate::columns::{Cells, Columns};
use crate::driver::{Mode, Pipeline, Statement, TWO_ROWS};
use crate::value::{Kind, Value};

/// Inserts all rows, or none (M1, M2).
pub(super) fn insert(layout: &Layout, rows: &Columns) -> Pipeline {
    let said = told(rows).into_iter();
    let said =
        said.filter_map(|at| Some((&layout.attributes[at], rows.attributes()[at].as_ref()?)));
    let columns: Vec<(&Col, &Cells)> = layout.key.iter().zip(rows.key()).chain(said).collect();
    let begin = format!(
        "INSERT INTO {} ({}) VALUES ",
        layout.name,
        quoted(columns.iter().map(|(col, _)| *col))
    );
    let binary: Vec<bool> = columns.iter().map(|(col, _)| is_binary(col)).collect();
    let asked = lists(layout, rows, &[]).into_iter();
    let asked = asked.map(|(_, keys)| none_is_there(layout, &keys));
    let lock = layout.lock.clone();
    let mut pipeline = asked.fold(Pipeline::new(Mode::Write { lock }), Pipeline::step);
    let mut sql = String::with_capacity(LONG / 2);
    for row in 0..rows.len() {
        sql.push_str(if sql.is_empty() { &begin } else { ",\n" });
        for (at, (_, cells)) in columns.iter().enumerate() {
            sql.push(if at == 0 { '(' } else { ',' });
            literal::cell(&mut sql, cells, row, binary[at]);
        }
        sql.push(')');
        if sql.len() > LONG {
            pipeline = pipeline.step(Statement::new(std::mem::take(&mut sql)));
        }
    }
    if !sql.is_empty() {
        pipeline = pipeline.step(Statement::new(sql));
    }
    pipeline
}

/// A statement that fails if one of the keys is there (M1).
fn none_is_there(layout: &Layout, keys: &str) -> Statement {
    Statement::new(format!(
        "SET @oneflight_new = IF((SELECT COUNT(*) FROM {keys} STRAIGHT_JOIN {} e ON {}) = 0, 1, {TWO_ROWS})",
        layout.name,
        same_key(layout, &layout.key)
    ))
}

/// Asks which rows are not there exactly as said; none if a decimal has more digits than could be compared.
pub(super) fn differing(layout: &Layout, rows: &Columns) -> Option<Pipeline> {
    let said = compared(layout, rows);
    let cells = rows
        .key()
        .iter()
        .chain(said.iter().filter_map(|&at| rows.attributes()[at].as_ref()));
    if cells.into_iter().any(|cells| !digits_fit(cells)) {
        return None;
    }
    let is_missing = format!("e.{} IS NULL", layout.key[0].quoted);
    let differs: String = said
        .iter()
        .map(|&at| differs(layout, &layout.attributes[at], &format!("t.a{at}")))
        .collect();
    let same_key = same_key(layout, &layout.key);
    let ask = |(first, list): (usize, String)| {
        let first = first as i64 - 1;
        let sql = format!(
            "SELECT t.i + {first}, NOT ({is_missing}) FROM {list} LEFT JOIN {} e ON {same_key} WHERE {is_missing}{differs}",
            layout.name,
        );
        Statement::new(sql).returns([Kind::Int, Kind::Int])
    };
    let asked = lists(layout, rows, &said).into_iter().map(ask);
    Some(asked.fold(Pipeline::new(Mode::Plain), Pipeline::step))
}

/// ` OR` it is said, and otherwise than it stands there. Texts are compared as bytes, whatever the collation.
fn differs(layout: &Layout, col: &Col, said: &str) -> String {
    let is = format!("e.{}", col.quoted);
    let (is, put) = match col.kind {
        Kind::Text => (
            format!("BINARY CONVERT({is} USING utf8mb4)"),
            format!("BINARY CONVERT({said} USING utf8mb4)"),
        ),
        _ => (is, put(layout, col, said)),
    };
    format!(" OR NOT ({said} IS NULL OR {is} <=> {put})")
}

/// Whether all decimals have no more digits than the type that they are compared as.
fn digits_fit(cells: &Cells) -> bool {
    cells.kind() != Kind::Decimal
        || (0..cells.len()).all(|row| {
            let (whole, fraction) = cells
                .text(row)
                .map_or(("", ""), |text| text.split_once('.').unwrap_or((text, "")));
            whole.len() <= 35 && fraction.len() <= 30
        })
}

/// The keys of the rows, and these attributes, as what stands in a FROM; each list with the number of its first row.
fn lists(layout: &Layout, rows: &Columns, said: &[usize]) -> Vec<(usize, String)> {
    let mut listed = listed('k', &layout.key, true);
    let mut columns: Vec<&Cells> = rows.key().iter().collect();
    for (&at, cells) in said
        .iter()
        .filter_map(|at| Some((at, rows.attributes()[*at].as_ref()?)))
    {
        listed.push(Listed {
            name: format!("a{at}"),
            col: &layout.attributes[at],
            compared: false,
        });
        columns.push(cells);
    }
    let types = json_columns(layout, &listed);
    let binary: Vec<bool> = listed.iter().map(|listed| is_binary(listed.col)).collect();
    let (mut lists, mut json, mut first) = (Vec::new(), String::new(), 0);
    for row in 0..rows.len() {
        json.push_str(if json.is_empty() { "[[" } else { ",[" });
        for (at, cells) in columns.iter().enumerate() {
            json.push_str(if at == 0 { "" } else { "," });
            push_json(&mut json, cells, row, binary[at]);
        }
        json.push(']');
        if json.len() > LONG || row + 1 == rows.len() {
            json.push(']');
            lists.push((first, json_table(&json, &types)));
            json.clear();
            first = row + 1;
        }
    }
    lists
}

fn push_json(json: &mut String, cells: &Cells, row: usize, is_binary: bool) {
    if let Some(text) = cells.text(row) {
        return push_text(json, text);
    }
    match cells.value(row) {
        value @ (Value::Date(_) | Value::Timestamp(_) | Value::Uuid(_)) => {
            json.push('"');
            match value {
                Value::Uuid(uuid) if is_binary => literal::digits(json, &uuid),
                _ => literal::plain(json, cells, row),
            }
            json.push('"');
        }
        value => list::push_json(json, &value),
    }
}

/// True for a UUID that is stored as its bytes.
fn is_binary(col: &Col) -> bool {
    col.kind == Kind::Uuid && convert::wire_in(Dialect::MySql, col) == Kind::Bytes
}
