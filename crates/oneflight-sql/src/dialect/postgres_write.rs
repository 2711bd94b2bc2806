//! PostgreSQL: the statements that lock, insert, link and update.
//!
//! ```text
//!   locks (only if something is missing) · INSERT … WHERE NOT EXISTS … ON CONFLICT DO NOTHING · link
//!   lock the rows in order · UPDATE
//! ```
//!
//! G3. Each statement after the locks has a new snapshot, so its guards are true until the commit.
//! G4. Rows are looked for one by one, by their indexes (`OFFSET 0`): the plan does not hang on statistics of a growing table.
//! G5. Arrays come sorted, and rows are inserted in their order; writers that take no lock of ours cannot deadlock on them.

use super::ask::{hit_kinds, said};
use super::postgres::{
    Arrays, each, get, linked, push_cols, push_external, put, same_external, same_key, selected,
};
use super::{Ask, Create, Dialect, Layout, Links, convert};
use crate::driver::{Bind, Rows, Statement};
use crate::value::{Kind, Value};

/// Rows that share one lock: `pg_advisory_xact_lock(class of the table, stripe)`.
const STRIPES: u32 = 256;
/// More stripes than this at once, and the table's lock is taken instead: locks of a server are not without number.
const MANY: usize = 64;

/// The locks of a batch.
#[derive(Debug)]
pub(crate) struct Lock(pub(crate) Vec<i64>);

impl Lock {
    /// The stripes of these hashes.
    pub(crate) fn new(hashes: impl Iterator<Item = u64>) -> Self {
        let mut stripes: Vec<i64> = hashes
            .map(|hash| i64::from((hash >> 32) as u32 % STRIPES))
            .collect();
        stripes.sort_unstable();
        stripes.dedup();
        Self(stripes)
    }
}

/// `NOT EXISTS` for key and external id.
fn is_missing(layout: &Layout) -> String {
    let mut guards = Vec::new();
    if let Some(links) = &layout.links {
        guards.push(format!(
            "NOT EXISTS (SELECT 1 FROM {} x WHERE {} OFFSET 0)",
            links.name,
            same_external(links)
        ));
    }
    if !layout.key.is_empty() {
        guards.push(format!(
            "NOT EXISTS (SELECT 1 FROM {} e WHERE {} OFFSET 0)",
            layout.name,
            same_key(&layout.key, put)
        ));
    }
    guards.join(" AND ")
}

fn create_arrays(layout: &Layout, creates: &[Create], said: &[usize]) -> Arrays {
    let mut arrays = Arrays::new();
    if layout.links.is_some() {
        push_external(
            &mut arrays,
            creates.iter().map(|create| create.unless.clone()),
        );
    }
    push_cols(
        &mut arrays,
        'k',
        &layout.key,
        creates.iter().map(|create| &*create.key),
    );
    for &at in said {
        let values = creates
            .iter()
            .map(|create| create.attributes[at].clone())
            .collect();
        arrays.push(
            format!("a{at}"),
            convert::wire_in(Dialect::Postgres, &layout.attributes[at]),
            values,
        );
    }
    arrays
}

/// Takes the locks of a batch, but only if something is missing.
pub(crate) fn lock(layout: &Layout, lock: &Lock, creates: &[Create], links: &[Ask]) -> Statement {
    let mut arrays = create_arrays(layout, creates, &[]);
    let class = layout.class;
    let mut missing = vec![format!(
        "EXISTS (SELECT 1 FROM {} WHERE {})",
        arrays.unnest(2),
        is_missing(layout)
    )];
    if let (Some(known), false) = (&layout.links, links.is_empty()) {
        let mut external = Arrays::new();
        push_external(
            &mut external,
            links.iter().map(|link| link.external.clone()),
        );
        missing.push(format!(
            "EXISTS (SELECT 1 FROM {} WHERE NOT EXISTS (SELECT 1 FROM {} x WHERE {} OFFSET 0))",
            external.unnest(2 + arrays.binds.len()),
            known.name,
            same_external(known)
        ));
        arrays.binds.extend(external.binds);
    }
    let missing = missing.join(" OR ");
    // A batch that takes stripes shares the lock of the table with its like; a large one takes that for itself.
    let (shared, stripes) = match lock.0.len() > MANY {
        true => ("", Vec::new()),
        false => ("_shared", lock.0.iter().copied().map(Value::Int).collect()),
    };
    let sql = format!(
        "SELECT count(pg_advisory_xact_lock({class}, s::int4)) FROM \
         (SELECT s, pg_advisory_xact_lock{shared}({class}, {STRIPES}) AS of_table FROM \
          (SELECT -1::int8 AS s WHERE cardinality($1::int8[]) = 0 UNION ALL SELECT unnest($1::int8[])) u \
          WHERE {missing} ORDER BY 1 OFFSET 0) v WHERE s >= 0 AND of_table IS NOT NULL"
    );
    let binds = std::iter::once(Bind::Many(Kind::Int, stripes))
        .chain(arrays.binds)
        .collect();
    Statement {
        sql: sql.into(),
        binds,
        returns: vec![Kind::Int],
    }
}

/// Names and values of the columns of a new row.
fn new_row(layout: &Layout, said: &[usize]) -> (String, String) {
    let keys = layout
        .key
        .iter()
        .enumerate()
        .map(|(at, col)| (col, format!("t.k{at}")));
    let attributes = said
        .iter()
        .map(|&at| (&layout.attributes[at], format!("t.a{at}")));
    let (names, values): (Vec<_>, Vec<_>) = keys
        .chain(attributes)
        .map(|(col, from)| (col.quoted.clone(), put(col, &from)))
        .unzip();
    (names.join(", "), values.join(", "))
}

/// Inserts the rows that neither crosswalk nor key knows; returns the handles of those that were made.
pub(crate) fn insert(layout: &Layout, creates: &[Create]) -> Statement {
    let said = said(layout, creates);
    let arrays = create_arrays(layout, creates, &said);
    let (names, values) = new_row(layout, &said);
    let keys: Vec<_> = layout.key.iter().map(|col| col.quoted.as_str()).collect();
    let sql = format!(
        "INSERT INTO {} AS e ({names}) SELECT {values} FROM {} WHERE {} ORDER BY t.i ON CONFLICT ({}) DO NOTHING RETURNING {}",
        layout.name,
        arrays.unnest(1),
        is_missing(layout),
        keys.join(", "),
        layout
            .handle()
            .iter()
            .map(get)
            .collect::<Vec<_>>()
            .join(", "),
    );
    Statement {
        sql: sql.into(),
        binds: arrays.binds,
        returns: handle_kinds(layout),
    }
}

fn handle_kinds(layout: &Layout) -> Vec<Kind> {
    layout
        .handle()
        .iter()
        .map(|col| convert::wire_out(Dialect::Postgres, col))
        .collect()
}

/// The handles that [`insert`] or [`insert_linked`] returned.
pub(crate) fn created(layout: &Layout, rows: &Rows) -> Vec<Box<[Value]>> {
    let read = |row: &[Value]| {
        layout
            .handle()
            .iter()
            .zip(row)
            .map(|(col, value)| convert::decode(Dialect::Postgres, col, value.clone()))
            .collect()
    };
    rows.iter().map(read).collect()
}

/// Inserts rows that are known by their external id alone, each together with its link.
pub(crate) fn insert_linked(layout: &Layout, links: &Links, creates: &[Create]) -> Statement {
    let said = said(layout, creates);
    let arrays = create_arrays(layout, creates, &said);
    let (names, values) = new_row(layout, &said);
    let id = layout
        .id
        .as_ref()
        .map(|id| id.quoted.as_str())
        .unwrap_or_default();
    let comma = if names.is_empty() { "" } else { ", " };
    let sql = format!(
        "WITH n AS MATERIALIZED (SELECT {next} AS id, t.* FROM (SELECT * FROM {unnest} WHERE {missing} ORDER BY t.i) t), \
         e AS (INSERT INTO {name} AS e ({id}{comma}{names}) OVERRIDING SYSTEM VALUE \
          SELECT t.id{comma}{values} FROM n t ORDER BY t.i RETURNING {returned}), \
         x AS (INSERT INTO {crosswalk} ({s}, {x}, {to}) SELECT {put_s}, {put_x}, t.id FROM n t ORDER BY t.i) \
         SELECT * FROM e",
        next = layout.next_id.as_deref().unwrap_or("NULL"),
        unnest = arrays.unnest(1),
        missing = is_missing(layout),
        name = layout.name,
        returned = layout
            .handle()
            .iter()
            .map(get)
            .collect::<Vec<_>>()
            .join(", "),
        crosswalk = links.name,
        s = links.source.quoted,
        x = links.external_id.quoted,
        to = links.id.quoted,
        put_s = put(&links.source, "t.s"),
        put_x = put(&links.external_id, "t.x"),
    );
    Statement {
        sql: sql.into(),
        binds: arrays.binds,
        returns: handle_kinds(layout),
    }
}

/// Links external ids to the rows that have the keys. With `exclusive`, not to one that has an id of that source already.
pub(crate) fn link(layout: &Layout, links: &Links, asks: &[Ask], exclusive: bool) -> Statement {
    let mut arrays = Arrays::new();
    let nothing: &[Value] = &[];
    push_external(&mut arrays, asks.iter().map(|ask| ask.external.clone()));
    push_cols(
        &mut arrays,
        'k',
        &layout.key,
        asks.iter().map(|ask| ask.key.as_deref().unwrap_or(nothing)),
    );
    let source = put(&links.source, "t.s");
    let exclusive = match exclusive {
        true => format!(
            " AND NOT EXISTS (SELECT 1 FROM {} y WHERE {} AND y.{} = {source} OFFSET 0)",
            links.name,
            linked(layout, links, "y"),
            links.source.quoted,
        ),
        false => String::new(),
    };
    let sql = format!(
        "INSERT INTO {crosswalk} ({s}, {x}, {to}) SELECT {source}, {id}, e.{of} FROM {unnest} {row} \
         WHERE NOT EXISTS (SELECT 1 FROM {crosswalk} x WHERE {external} OFFSET 0){exclusive} ORDER BY t.i ON CONFLICT DO NOTHING",
        crosswalk = links.name,
        s = links.source.quoted,
        x = links.external_id.quoted,
        to = links.id.quoted,
        id = put(&links.external_id, "t.x"),
        of = layout
            .id
            .as_ref()
            .map(|id| id.quoted.as_str())
            .unwrap_or_default(),
        unnest = arrays.unnest(1),
        row = each(&layout.name, "e", &layout.id, &same_key(&layout.key, put)),
        external = same_external(links),
    );
    Statement {
        sql: sql.into(),
        binds: arrays.binds,
        returns: Vec::new(),
    }
}

/// Locks rows in the order of their handles and reads them as [`find`] does.
pub(crate) fn lock_rows(layout: &Layout, handles: &[Box<[Value]>]) -> Statement {
    let mut arrays = Arrays::new();
    push_cols(
        &mut arrays,
        'k',
        layout.handle(),
        handles.iter().map(|handle| &**handle),
    );
    let order: Vec<_> = layout
        .handle()
        .iter()
        .map(|col| format!("e.{}", col.quoted))
        .collect();
    let sql = format!(
        "SELECT t.i - 1, 0::int8, 0::int8{} FROM {} JOIN {} e ON {} ORDER BY {} FOR NO KEY UPDATE OF e",
        selected(layout),
        arrays.unnest(1),
        layout.name,
        same_key(layout.handle(), put),
        order.join(", ")
    );
    Statement {
        sql: sql.into(),
        binds: arrays.binds,
        returns: hit_kinds(layout),
    }
}

/// Sets columns of rows that are locked.
pub(super) fn update(
    layout: &Layout,
    set: &[usize],
    rows: Vec<(Box<[Value]>, Vec<Value>)>,
) -> Statement {
    let mut arrays = Arrays::new();
    push_cols(
        &mut arrays,
        'k',
        layout.handle(),
        rows.iter().map(|(handle, _)| &**handle),
    );
    let mut sets = Vec::new();
    for (at, &attribute) in set.iter().enumerate() {
        let col = &layout.attributes[attribute];
        let values = rows.iter().map(|(_, values)| values[at].clone()).collect();
        arrays.push(
            format!("a{at}"),
            convert::wire_in(Dialect::Postgres, col),
            values,
        );
        sets.push(format!(
            "{} = {}",
            col.quoted,
            put(col, &format!("t.a{at}"))
        ));
    }
    let sql = format!(
        "UPDATE {} e SET {} FROM {} WHERE {}",
        layout.name,
        sets.join(", "),
        arrays.unnest(1),
        same_key(layout.handle(), put)
    );
    Statement {
        sql: sql.into(),
        binds: arrays.binds,
        returns: Vec::new(),
    }
}
