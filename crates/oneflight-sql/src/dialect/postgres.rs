//! PostgreSQL: arrays in, guards in the statement, so that a batch is one round trip.
//!
//! ```text
//!   BEGIN · advisory locks · INSERT what neither crosswalk nor key knows · link · COMMIT · find
//! ```

use super::ask::hit_kinds;
use super::{Ask, Col, Dialect, Layout, Links, convert};
use crate::driver::{Bind, Statement};
use crate::value::{Kind, Value};
use std::fmt::Write;

/// Arrays for `unnest`, gathered while a statement is written.
pub(super) struct Arrays {
    pub(super) binds: Vec<Bind>,
    columns: Vec<String>,
}

impl Arrays {
    pub(super) fn new() -> Self {
        Self {
            binds: Vec::new(),
            columns: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, name: String, kind: Kind, values: Vec<Value>) {
        self.columns.push(name);
        self.binds.push(Bind::Many(kind, values));
    }

    /// `unnest($1::text[], …) WITH ORDINALITY t(…, i)`, its parameters counted from `first`.
    pub(super) fn unnest(&self, first: usize) -> String {
        let mut sql = "unnest(".to_owned();
        for (at, bind) in self.binds.iter().enumerate() {
            let (Bind::Many(kind, _) | Bind::One(kind, _)) = bind else {
                continue;
            };
            let _ = write!(
                sql,
                "{}${}::{}[]",
                if at == 0 { "" } else { ", " },
                first + at,
                wire_type(*kind)
            );
        }
        let _ = write!(sql, ") WITH ORDINALITY t({}, i)", self.columns.join(", "));
        sql
    }
}

fn wire_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "int8",
        Kind::Real => "float8",
        Kind::Bool => "bool",
        Kind::Bytes => "bytea",
        _ => "text",
    }
}

/// A travelled value as the column's own type.
pub(super) fn put(col: &Col, expression: &str) -> String {
    match col.kind {
        // A time travels without its zone, which is UTC.
        Kind::Timestamp if col.db_type.contains("with time zone") => {
            format!("({expression} || '+00')::{}", col.db_type)
        }
        _ => format!("{expression}::{}", col.db_type),
    }
}

/// A column as it travels out.
pub(super) fn get(col: &Col) -> String {
    let name = format!("e.{}", col.quoted);
    match col.kind {
        Kind::Date => format!("({name} - date '1970-01-01')::int8"),
        Kind::Timestamp => format!("(extract(epoch from {name}) * 1000000)::int8"),
        _ => format!(
            "{name}::{}",
            wire_type(convert::wire_out(Dialect::Postgres, col))
        ),
    }
}

pub(super) fn selected(layout: &Layout) -> String {
    columns(layout).fold(String::new(), |sql, col| sql + ", " + &get(col))
}

/// `e.k0 = t.k0::type AND …`, the values put as `put` says.
pub(super) fn same_key(cols: &[Col], put: impl Fn(&Col, &str) -> String) -> String {
    let parts = cols
        .iter()
        .enumerate()
        .map(|(at, col)| format!("e.{} = {}", col.quoted, put(col, &format!("t.k{at}"))));
    parts.collect::<Vec<_>>().join(" AND ")
}

pub(super) fn same_external(links: &Links) -> String {
    let (source, id) = (put(&links.source, "t.s"), put(&links.external_id, "t.x"));
    format!(
        "x.{} = {source} AND x.{} = {id}",
        links.source.quoted, links.external_id.quoted
    )
}

pub(super) fn push_external(
    arrays: &mut Arrays,
    externals: impl Iterator<Item = Option<[Value; 2]>>,
) {
    let (sources, ids) = externals
        .map(|external| external.unwrap_or([Value::Null, Value::Null]).into())
        .unzip();
    arrays.push("s".into(), Kind::Text, sources);
    arrays.push("x".into(), Kind::Text, ids);
}

pub(super) fn push_cols<'a>(
    arrays: &mut Arrays,
    prefix: char,
    cols: &[Col],
    rows: impl Iterator<Item = &'a [Value]> + Clone,
) {
    for (at, col) in cols.iter().enumerate() {
        let values = rows
            .clone()
            .map(|row| row.get(at).cloned().unwrap_or(Value::Null))
            .collect();
        arrays.push(
            format!("{prefix}{at}"),
            convert::wire_in(Dialect::Postgres, col),
            values,
        );
    }
}

/// Finds rows by external id and by key.
pub(super) fn find(layout: &Layout, asks: &[Ask]) -> Statement {
    let mut arrays = Arrays::new();
    let nothing: &[Value] = &[];
    let by_external = asks.iter().any(|ask| ask.external.is_some());
    let by_key = asks.iter().any(|ask| ask.key.is_some()) && !layout.key.is_empty();
    if layout.links.is_some() {
        push_external(&mut arrays, asks.iter().map(|ask| ask.external.clone()));
    }
    push_cols(
        &mut arrays,
        'k',
        &layout.key,
        asks.iter().map(|ask| ask.key.as_deref().unwrap_or(nothing)),
    );
    let (unnest, selected, name) = (arrays.unnest(1), selected(layout), &layout.name);
    let mut parts = Vec::new();
    if let (Some(links), true) = (&layout.links, by_external) {
        parts.push(format!(
            "SELECT t.i - 1, 1::int8, 0::int8{selected} FROM {unnest} {} {}",
            each(&links.name, "x", [&links.id], &same_external(links)),
            each(name, "e", columns(layout), &linked(layout, links, "x")),
        ));
    }
    if by_key || parts.is_empty() {
        let taken = match &layout.links {
            Some(links) if by_external => format!(
                "(t.s IS NOT NULL AND EXISTS (SELECT 1 FROM {} y WHERE {} AND y.{} = {} OFFSET 0))::int::int8",
                links.name,
                linked(layout, links, "y"),
                links.source.quoted,
                put(&links.source, "t.s"),
            ),
            _ => "0::int8".to_owned(),
        };
        // Whoever is known by an external id is not looked for by key as well.
        let unknown = match &layout.links {
            Some(links) if by_external => format!(
                " WHERE NOT EXISTS (SELECT 1 FROM {} x WHERE {} OFFSET 0)",
                links.name,
                same_external(links)
            ),
            _ => String::new(),
        };
        parts.push(format!(
            "SELECT t.i - 1, 0::int8, {taken}{selected} FROM {unnest} {}{unknown}",
            each(
                name,
                "e",
                columns(layout),
                &match layout.key.is_empty() {
                    true => "false".to_owned(),
                    false => same_key(&layout.key, put),
                }
            ),
        ));
    }
    Statement {
        sql: parts.join(" UNION ALL ").into(),
        binds: arrays.binds,
        returns: hit_kinds(layout),
    }
}

/// The columns that are read.
fn columns(layout: &Layout) -> impl Iterator<Item = &Col> {
    layout.id.iter().chain(&layout.attributes)
}

/// Joins the row of a table that a condition names, row by row. `OFFSET 0` keeps the planner from reading all of a table that
/// grows faster than its statistics.
pub(super) fn each<'c>(
    table: &str,
    alias: &str,
    columns: impl IntoIterator<Item = &'c Col>,
    condition: &str,
) -> String {
    let columns = columns.into_iter();
    let columns: Vec<_> = columns
        .map(|col| format!("{alias}.{}", col.quoted))
        .collect();
    let columns = match columns.is_empty() {
        true => "1".to_owned(),
        false => columns.join(", "),
    };
    format!(
        "CROSS JOIN LATERAL (SELECT {columns} FROM {table} {alias} WHERE {condition} OFFSET 0) {alias}"
    )
}

pub(super) fn linked(layout: &Layout, links: &Links, alias: &str) -> String {
    let id = layout
        .id
        .as_ref()
        .map(|id| id.quoted.as_str())
        .unwrap_or_default();
    format!("e.{id} = {alias}.{}", links.id.quoted)
}
