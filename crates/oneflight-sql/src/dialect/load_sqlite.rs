//! Loading on SQLite: everything is bound, cell by cell, to statements that stay prepared.
//!
//! K1. Rows come in lists of [`ROWS`], what is left in lists whose sizes are powers of two, so that few texts are prepared.
//! K2. The whole insert is one transaction, so one row that is there already takes all of it back (I1).

use super::load::{compared, told};
use super::{Layout, Room};
use crate::columns::Columns;
use crate::driver::{Bind, BindRows, Mode, Pipeline, Statement};
use crate::value::{Kind, Value};
use std::ops::Range;
use std::sync::Arc;

/// The most rows of one statement (K1), and the most parameters.
const ROWS: usize = 256;
const BINDS: usize = 16_000;

/// Inserts all rows, or none (K2).
pub(super) fn insert(layout: &Layout, rows: &Arc<Columns>) -> Pipeline {
    let said: Arc<[usize]> = told(rows).into();
    let columns = layout.key.iter().map(|col| col.quoted.as_str());
    let columns = columns.chain(said.iter().map(|&at| layout.attributes[at].quoted.as_str()));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let width = layout.key.len() + said.len();
    let marks = format!("({})", vec!["?"; width].join(", "));
    let statement = |list: Range<usize>| {
        let lists = vec![marks.as_str(); list.len()].join(", ");
        // A constraint of the table's own may say what a conflict does; `OR ABORT` overrules it.
        let sql = format!(
            "INSERT OR ABORT INTO {} ({columns}) VALUES {lists}",
            layout.name
        );
        Statement::new(sql).bind(bind(rows, &said, list))
    };
    lists(rows.len(), width)
        .map(statement)
        .fold(Pipeline::new(Mode::Write { lock: None }), Pipeline::step)
}

/// Asks which rows are not there exactly as said.
pub(super) fn differing(layout: &Layout, rows: &Arc<Columns>) -> Pipeline {
    let said: Arc<[usize]> = compared(layout, rows).into();
    let width = layout.key.len() + said.len();
    let names: String = (0..layout.key.len())
        .map(|at| format!(", k{at}"))
        .chain(said.iter().map(|at| format!(", a{at}")))
        .collect();
    let same_key = layout.key.iter().enumerate();
    let same_key = same_key.map(|(at, col)| format!("e.{} = t.k{at}", col.quoted));
    let same_key = same_key.collect::<Vec<_>>().join(" AND ");
    let is_missing = format!("e.{} IS NULL", layout.key[0].quoted);
    let as_said = said.iter().map(|&at| {
        let col = &layout.attributes[at];
        // A number that a decimal became may have lost digits, and would seem equal all the same.
        let exact = match col.kind {
            Kind::Decimal => format!("typeof(e.{}) = 'text' AND ", col.quoted),
            // So may a text, where the column's type is none of text.
            Kind::Text if col.room != Room::All => {
                format!("typeof(e.{}) = 'text' AND ", col.quoted)
            }
            _ => String::new(),
        };
        format!(
            " OR NOT (t.a{at} IS NULL OR {exact}t.a{at} IS e.{} COLLATE BINARY)",
            col.quoted
        )
    });
    let differs: String = as_said.collect();
    let marks = ", ?".repeat(width);
    let statement = |list: Range<usize>| {
        let first = list.start as i64;
        let lists: Vec<_> = (0..list.len()).map(|at| format!("({at}{marks})")).collect();
        let sql = format!(
            "WITH t(i{names}) AS (VALUES {}) SELECT t.i + ?, NOT ({is_missing}) FROM t LEFT JOIN {} e ON {same_key} \
             WHERE {is_missing}{differs}",
            lists.join(", "),
            layout.name
        );
        Statement::new(sql)
            .bind(bind(rows, &said, list))
            .bind(Bind::One(Kind::Int, Value::Int(first)))
            .returns([Kind::Int, Kind::Int])
    };
    lists(rows.len(), width)
        .map(statement)
        .fold(Pipeline::new(Mode::Plain), Pipeline::step)
}

fn bind(columns: &Arc<Columns>, said: &Arc<[usize]>, rows: Range<usize>) -> Bind {
    Bind::Rows(BindRows {
        columns: columns.clone(),
        said: said.clone(),
        rows,
    })
}

/// Cuts rows into lists (K1).
fn lists(rows: usize, width: usize) -> impl Iterator<Item = Range<usize>> {
    let most = ROWS.min((BINDS / width).max(1));
    let mut start = 0;
    std::iter::from_fn(move || {
        let left = rows - start;
        let size = match left {
            0 => return None,
            left if left >= most => most,
            left => 1 << left.ilog2(),
        };
        start += size;
        Some(start - size..start)
    })
}
