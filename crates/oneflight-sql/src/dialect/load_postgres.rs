//! Loading on PostgreSQL: columns go in as arrays, and only the numbers of odd rows come back.
//!
//! ```text
//!   insert      ins: INSERT … SELECT FROM unnest(arrays) WHERE NOT EXISTS … ON CONFLICT DO NOTHING RETURNING key
//!               numbers of those who are not in ins, looked for only if fewer rows were made than sent
//!   differing   SELECT number FROM unnest(arrays) WHERE NOT EXISTS (the row, exactly as said)
//! ```
//!
//! K1. Rows are inserted in the order of their keys: writers that insert the same ones wait for each other, and never in a ring.
//! K2. Each row is looked for by the unique index. `OFFSET 0` keeps the planner from joining instead: while a table grows faster
//!     than its statistics it reads all of it for each chunk, and the time grows with the square of the rows.

use super::load::{compared, told};
use super::postgres::same_key;
use super::{Col, Layout, Room};
use crate::columns::{Cells, Columns, Values, span};
use crate::driver::{Bind, BindColumn, Mode, Pipeline, Statement};
use crate::value::Kind;
use std::cmp::Ordering;
use std::sync::Arc;

/// Inserts the rows that are missing; returns the numbers of those that it has not made.
pub(super) fn insert(layout: &Layout, rows: &Arc<Columns>) -> Pipeline {
    let said = told(rows);
    let sent = Sent::new(layout, rows, &said);
    let key: Vec<&str> = layout.key.iter().map(|col| &*col.quoted).collect();
    let columns = layout
        .key
        .iter()
        .chain(said.iter().map(|&at| &layout.attributes[at]));
    let (columns, values): (Vec<&str>, Vec<String>) = columns
        .zip(&sent.names)
        .map(|(col, name)| (&*col.quoted, put(col, name)))
        .unzip();
    let by_key = layout.key.iter().zip(&sent.names);
    let by_key: Vec<String> = by_key.map(|(col, name)| in_order(col, name)).collect();
    // What comes in order needs no sorting: nothing but a filter stands between the arrays and the table.
    let order = match is_sorted(rows.key(), rows.len()) {
        true => String::new(),
        false => format!(" ORDER BY {}", by_key.join(", ")),
    };
    let returned: Vec<String> = key.iter().map(|key| format!("e.{key}")).collect();
    let (name, columns, values) = (&layout.name, columns.join(", "), values.join(", "));
    let (key, returned) = (key.join(", "), returned.join(", "));
    let same = same(layout);
    let sql = format!(
        "WITH ins AS (INSERT INTO {name} AS e ({columns}) SELECT {values} FROM {all} \
          WHERE NOT EXISTS (SELECT 1 FROM {name} e WHERE {same} OFFSET 0){order} \
          ON CONFLICT ({key}) DO NOTHING RETURNING {returned}) \
         SELECT t.i - 1 FROM {keys} WHERE (SELECT count(*) FROM ins) < cardinality($1) \
          AND NOT EXISTS (SELECT 1 FROM ins e WHERE {same})",
        all = sent.unnest(sent.names.len()),
        keys = sent.unnest(layout.key.len()),
    );
    let statement = sent.statement(sql).returns([Kind::Int]);
    Pipeline::new(Mode::Write { lock: None }).step(statement)
}

/// Asks which rows are not there exactly as said.
pub(super) fn differing(layout: &Layout, rows: &Arc<Columns>) -> Pipeline {
    let said = compared(layout, rows);
    let sent = Sent::new(layout, rows, &said);
    let as_said: String = said
        .iter()
        .zip(&sent.names[layout.key.len()..])
        .map(|(&at, name)| format!(" AND {}", is_as_said(&layout.attributes[at], name)))
        .collect();
    let (name, same) = (&layout.name, same(layout));
    let sql = format!(
        "SELECT t.i - 1, (EXISTS (SELECT 1 FROM {name} e WHERE {same} OFFSET 0))::int::int8 FROM {all} \
         WHERE NOT EXISTS (SELECT 1 FROM {name} e WHERE {same}{as_said} OFFSET 0)",
        all = sent.unnest(sent.names.len()),
    );
    let statement = sent.statement(sql).returns([Kind::Int, Kind::Int]);
    Pipeline::new(Mode::Plain).step(statement)
}

/// The arrays of a statement: the columns of the key, then those of some attributes.
struct Sent {
    names: Vec<String>,
    types: Vec<&'static str>,
    binds: Vec<Bind>,
}

impl Sent {
    fn new(layout: &Layout, rows: &Arc<Columns>, said: &[usize]) -> Self {
        let keys = layout.key.iter().enumerate();
        let keys = keys.map(|(at, col)| (format!("t.k{at}"), col, at));
        let attributes = said.iter().map(|&at| {
            let (name, col) = (format!("t.a{at}"), &layout.attributes[at]);
            (name, col, layout.key.len() + at)
        });
        let mut sent = Self {
            names: Vec::new(),
            types: Vec::new(),
            binds: Vec::new(),
        };
        for (name, col, at) in keys.chain(attributes) {
            sent.names.push(name);
            sent.types.push(wire_type(col.kind));
            let columns = rows.clone();
            sent.binds.push(Bind::Column(BindColumn { columns, at }));
        }
        sent
    }

    /// `unnest($1::int8[], …) WITH ORDINALITY t(k0, …, i)` of the first `columns` arrays.
    fn unnest(&self, columns: usize) -> String {
        let (mut arrays, mut names) = (Vec::new(), String::new());
        let sent = self.names.iter().zip(&self.types).take(columns);
        for (at, (name, wire)) in sent.enumerate() {
            arrays.push(format!("${}::{wire}[]", at + 1));
            names += &name["t.".len()..];
            names += ", ";
        }
        format!("unnest({}) WITH ORDINALITY t({names}i)", arrays.join(", "))
    }

    fn statement(self, sql: String) -> Statement {
        self.binds
            .into_iter()
            .fold(Statement::new(sql), Statement::bind)
    }
}

/// What a column's cells travel as.
fn wire_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "int8",
        Kind::Real => "float8",
        Kind::Bool => "bool",
        Kind::Bytes => "bytea",
        Kind::Date => "date",
        Kind::Timestamp => "timestamp",
        Kind::Uuid => "uuid",
        Kind::Text | Kind::Decimal => "text",
    }
}

/// A travelled value as the column's own type.
fn put(col: &Col, name: &str) -> String {
    match col.kind {
        // A time travels in UTC.
        Kind::Timestamp if col.db_type.contains("with time zone") => {
            format!("({name} AT TIME ZONE 'UTC')::{}", col.db_type)
        }
        _ => format!("{name}::{}", col.db_type),
    }
}

/// `e.key = t.k0::type AND …`.
fn same(layout: &Layout) -> String {
    same_key(&layout.key, put)
}

/// True where a row has what is said of an attribute, or nothing is said of it; as the store compares, to the bit.
fn is_as_said(col: &Col, name: &str) -> String {
    let column = format!("e.{}", col.quoted);
    let is_same = match col.kind {
        Kind::Text => format!("{column}::text COLLATE \"C\" = {name}"),
        // A column of 32 bits is near what is said, and compared as near.
        Kind::Real if matches!(col.room, Room::Single(_)) => {
            format!("float4send({column}) = float4send({name}::float4)")
        }
        Kind::Real => format!("float8send({column}::float8) = float8send({name})"),
        _ => format!("{column} = {}", put(col, name)),
    };
    format!("({name} IS NULL OR {is_same})")
}

/// How keys are put in order: the same in every process, whatever the column's collation (K1).
fn in_order(col: &Col, name: &str) -> String {
    match wire_type(col.kind) {
        "text" => format!("{name} COLLATE \"C\""),
        _ => name.to_owned(),
    }
}

/// True if the keys come in order.
fn is_sorted(key: &[Cells], rows: usize) -> bool {
    let ordered = |row: usize| {
        let mut orders = key.iter().map(|cells| compare(cells, row - 1, row));
        orders.find(|order| order.is_ne()) != Some(Ordering::Greater)
    };
    (1..rows).all(ordered)
}

fn compare(cells: &Cells, a: usize, b: usize) -> Ordering {
    match cells.values() {
        Values::Ints(ints) => ints[a].cmp(&ints[b]),
        Values::Days(days) => days[a].cmp(&days[b]),
        Values::Bools(bools) => bools[a].cmp(&bools[b]),
        Values::Uuids(uuids) => uuids[a].cmp(&uuids[b]),
        Values::Texts(text, ends) => text[span(ends, a)].cmp(&text[span(ends, b)]),
        Values::Bytes(bytes, ends) => bytes[span(ends, a)].cmp(&bytes[span(ends, b)]),
        // No key is a float.
        Values::Reals(_) => Ordering::Equal,
    }
}
