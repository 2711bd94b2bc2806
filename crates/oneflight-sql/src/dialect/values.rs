//! SQLite and MySQL/MariaDB: what is missing is known before it is inserted.
//!
//! ```text
//!   sqlite  BEGIN IMMEDIATE · find · (decide) · insert · link · update · find · COMMIT
//!   mysql   GET_LOCK · BEGIN · find · (decide) · insert · link · update · find · COMMIT · RELEASE_LOCK
//! ```
//!
//! V1. On SQLite `VALUES` come in sizes that are powers of two, so that few texts are prepared, again and again. On MySQL nothing
//!     is prepared: all values are literals.
//! V2. Whoever runs `insert` or `link` holds the lock of all writers, and has read under it that the rows are missing.

use super::ask::{hit_kinds, said};
use super::list::{List, Listed, bind, list, listed, listed_external, put, with};
use super::{Ask, Col, Create, Dialect, Layout, Links, mysql_write};
use crate::driver::{Bind, Statement};
use crate::value::{Kind, Value};

/// The most rows of one list, and the most parameters of one statement.
fn limits(dialect: Dialect) -> (usize, usize) {
    match dialect {
        // In the process: longer lists cost more to prepare than they save.
        Dialect::Sqlite => (512, 16_000),
        _ => (8_192, usize::MAX),
    }
}

/// Cuts rows into lists (V1).
fn lists<T>(dialect: Dialect, width: usize, mut rows: Vec<T>) -> Vec<Vec<T>> {
    let (most_rows, most_binds) = limits(dialect);
    let most: usize = (most_binds / width.max(1)).clamp(1, most_rows);
    let mut lists = Vec::new();
    while !rows.is_empty() {
        let size = match dialect {
            Dialect::Sqlite => (1 << most.ilog2()).min(1 << rows.len().ilog2()),
            _ => most.min(rows.len()),
        };
        let rest = rows.split_off(size);
        lists.push(std::mem::replace(&mut rows, rest));
    }
    lists
}

/// `(?, ?), (?, ?)`.
fn marks(rows: usize, width: usize) -> String {
    let row = format!("({})", vec!["?"; width].join(", "));
    vec![row; rows].join(", ")
}

/// A column as it travels out.
fn get(layout: &Layout, col: &Col) -> String {
    let name = format!("e.{}", col.quoted);
    match (layout.dialect, col.kind) {
        (Dialect::MySql, Kind::Int | Kind::Bool) => format!("CAST({name} AS SIGNED)"),
        (Dialect::MySql, Kind::Real) => format!("CAST({name} AS DOUBLE)"),
        (Dialect::MySql, Kind::Date) => format!("DATEDIFF({name}, '1970-01-01')"),
        (Dialect::MySql, Kind::Timestamp) => {
            format!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {name})")
        }
        (Dialect::MySql, Kind::Decimal) => format!("CAST({name} AS CHAR)"),
        _ => name,
    }
}

fn selected(layout: &Layout) -> String {
    layout
        .id
        .iter()
        .chain(&layout.attributes)
        .fold(String::new(), |sql, col| sql + ", " + &get(layout, col))
}

fn join(layout: &Layout) -> &'static str {
    // The list leads, and each of its rows is looked up by the index.
    if layout.dialect == Dialect::Sqlite {
        "CROSS JOIN"
    } else {
        "STRAIGHT_JOIN"
    }
}

pub(super) fn same_key(layout: &Layout, cols: &[Col]) -> String {
    let parts = cols.iter().enumerate();
    let parts = parts.map(|(at, col)| {
        format!(
            "e.{} = {}",
            col.quoted,
            put(layout, col, &format!("t.k{at}"))
        )
    });
    parts.collect::<Vec<_>>().join(" AND ")
}

pub(super) fn quoted<'a>(cols: impl IntoIterator<Item = &'a Col>) -> String {
    cols.into_iter()
        .map(|col| col.quoted.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

fn external_binds(external: Option<&[Value; 2]>) -> impl Iterator<Item = Bind> {
    let [source, id] = external.cloned().unwrap_or([Value::Null, Value::Null]);
    [Bind::One(Kind::Text, source), Bind::One(Kind::Text, id)].into_iter()
}

fn linked(layout: &Layout, links: &Links, alias: &str) -> String {
    format!("e.{} = {alias}.{}", quoted(&layout.id), links.id.quoted)
}

fn same_external(layout: &Layout, links: &Links) -> String {
    let (source, id) = (
        put(layout, &links.source, "t.s"),
        put(layout, &links.external_id, "t.x"),
    );
    format!(
        "x.{} = {source} AND x.{} = {id}",
        links.source.quoted, links.external_id.quoted
    )
}

/// Finds rows by external id and by key. `VALUES` that are short of their size are filled up with the last row (V1): found twice
/// is found.
pub(super) fn find(layout: &Layout, asks: &[Ask]) -> Vec<Statement> {
    let by_external = layout.links.is_some() && asks.iter().any(|ask| ask.external.is_some());
    let by_key = !layout.key.is_empty() && asks.iter().any(|ask| ask.key.is_some());
    let width = 2 * usize::from(by_external) * (1 + usize::from(by_key))
        + layout.key.len() * usize::from(by_key);
    let (most_rows, most_binds) = limits(layout.dialect);
    let most = match layout.dialect {
        Dialect::Sqlite => 1usize << (most_binds / width.max(1)).clamp(1, most_rows).ilog2(),
        _ => asks.len().max(1),
    };
    let chunks = asks.chunks(most).enumerate();
    chunks
        .map(|(at, chunk)| find_list(layout, chunk, at * most, by_external, by_key))
        .collect()
}

fn find_list(
    layout: &Layout,
    asks: &[Ask],
    first: usize,
    by_external: bool,
    by_key: bool,
) -> Statement {
    let size = match layout.dialect {
        Dialect::Sqlite => asks.len().next_power_of_two(),
        _ => asks.len(),
    };
    let rows: Vec<&Ask> = (0..size)
        .map(|row| &asks[row.min(asks.len() - 1)])
        .collect();
    let (mut lists, mut parts) = (Vec::new(), Vec::new());
    if let (Some(links), true) = (&layout.links, by_external) {
        let (list, part) = find_by_external(layout, links, &rows);
        lists.push(list);
        parts.push(part);
    }
    if by_key {
        let of_source = layout.links.as_ref().filter(|_| by_external);
        let (list, part) = find_by_key(layout, of_source, &rows);
        lists.push(list);
        parts.push(part);
    }
    if parts.is_empty() {
        // Nobody can be found who has neither an external id nor a key.
        parts.push(format!(
            "SELECT 0, 0, 0{} FROM {} e WHERE 1 = 0",
            selected(layout),
            layout.name
        ));
    }
    let sql = format!(
        "{}{}",
        with(&lists.iter().collect::<Vec<_>>()),
        parts.join(" UNION ALL ")
    );
    let firsts = match layout.dialect {
        Dialect::Sqlite => vec![Bind::One(Kind::Int, Value::Int(first as i64)); lists.len()],
        _ => Vec::new(),
    };
    let binds = lists.into_iter().flat_map(|list| list.binds);
    let binds = binds.chain(firsts).collect();
    Statement {
        sql: sql.into(),
        binds,
        returns: hit_kinds(layout),
    }
}

fn find_by_external(layout: &Layout, links: &Links, rows: &[&Ask]) -> (List, String) {
    let values = rows.iter().map(|ask| external(ask).into());
    let list = list(layout, "tx", &listed_external(links), values);
    let part = format!(
        "SELECT {}, 1, 0{selected} FROM {} {join} {} x ON {} {join} {} e ON {}",
        list.number,
        list.from,
        links.name,
        same_external(layout, links),
        layout.name,
        linked(layout, links, "x"),
        selected = selected(layout),
        join = join(layout),
    );
    (list, part)
}

/// With `of_source`, also tells whether the row has an id of the asker's source.
fn find_by_key(layout: &Layout, of_source: Option<&Links>, rows: &[&Ask]) -> (List, String) {
    let mut cols = listed('k', &layout.key, true);
    cols.extend(of_source.map(|links| Listed {
        name: "s".into(),
        col: &links.source,
        compared: true,
    }));
    let source = |ask| of_source.map(|_| external(ask)[0]);
    let values = rows
        .iter()
        .map(|ask| key(layout, ask).chain(source(*ask)).collect());
    let list = list(layout, "tk", &cols, values);
    let taken = match of_source {
        Some(links) => format!(
            "EXISTS (SELECT 1 FROM {} y WHERE {} AND y.{} = {})",
            links.name,
            linked(layout, links, "y"),
            links.source.quoted,
            put(layout, &links.source, "t.s")
        ),
        None => "0".to_owned(),
    };
    let part = format!(
        "SELECT {}, 0, {taken}{} FROM {} {} {} e ON {}",
        list.number,
        selected(layout),
        list.from,
        join(layout),
        layout.name,
        same_key(layout, &layout.key)
    );
    (list, part)
}

fn external(ask: &Ask) -> [&Value; 2] {
    match &ask.external {
        Some([source, id]) => [source, id],
        None => [&Value::Null, &Value::Null],
    }
}

fn key<'a>(layout: &'a Layout, ask: &'a Ask) -> impl Iterator<Item = &'a Value> {
    (0..layout.key.len()).map(|at| {
        ask.key
            .as_ref()
            .and_then(|key| key.get(at))
            .unwrap_or(&Value::Null)
    })
}

/// Inserts rows, all of which are missing (V2). The statement says how many it must have changed.
pub(crate) fn insert(layout: &Layout, creates: &[&Create]) -> Vec<Statement> {
    if layout.dialect == Dialect::MySql {
        return mysql_write::insert(layout, creates);
    }
    let said = said(layout, creates);
    let columns = quoted(
        layout
            .key
            .iter()
            .chain(said.iter().map(|&at| &layout.attributes[at])),
    );
    let width = layout.key.len() + said.len();
    let insert = |list: Vec<&Create>| {
        if width == 0 {
            return insert_empty(layout, list.len());
        }
        let rows = marks(list.len(), width);
        let sql = format!("INSERT INTO {} ({columns}) VALUES {rows}", layout.name);
        let mut binds = Vec::with_capacity(width * list.len());
        for create in list {
            binds.extend(
                layout
                    .key
                    .iter()
                    .zip(&create.key)
                    .map(|(col, value)| bind(layout, col, value)),
            );
            binds.extend(
                said.iter()
                    .map(|&at| bind(layout, &layout.attributes[at], &create.attributes[at])),
            );
        }
        vec![Statement {
            sql: sql.into(),
            binds,
            returns: Vec::new(),
        }]
    };
    lists(layout.dialect, width, creates.to_vec())
        .into_iter()
        .flat_map(insert)
        .collect()
}

/// SQLite has no `VALUES ()`.
fn insert_empty(layout: &Layout, rows: usize) -> Vec<Statement> {
    let sql = format!("INSERT INTO {} DEFAULT VALUES", layout.name);
    (0..rows).map(|_| Statement::new(sql.clone())).collect()
}

/// Inserts rows that are known by their external id alone, each list followed by its links.
pub(crate) fn insert_linked(layout: &Layout, links: &Links, creates: &[&Create]) -> Vec<Statement> {
    if layout.dialect == Dialect::MySql {
        return mysql_write::insert_linked(layout, links, creates);
    }
    let mut statements = Vec::new();
    let id = quoted(&layout.id);
    // The ids of a list follow one another: SQLite counts on from the highest.
    let of_row = format!("(SELECT max({id}) FROM {}) - ?", layout.name);
    let width = layout.attributes.len().max(3);
    for list in lists(layout.dialect, width, creates.to_vec()) {
        statements.extend(insert(layout, &list));
        let sql = format!(
            "INSERT INTO {} ({}) VALUES {}",
            links.name,
            quoted([&links.source, &links.external_id, &links.id]),
            vec![format!("(?, ?, {of_row})"); list.len()].join(", ")
        );
        let mut link = Statement::new(sql);
        for (at, create) in list.iter().enumerate() {
            link.binds.extend(external_binds(create.unless.as_ref()));
            link = link.int((list.len() - 1 - at) as i64);
        }
        statements.push(link);
    }
    statements
}

/// Links external ids, none of which is known (V2), to the rows that have the keys.
pub(crate) fn link(layout: &Layout, links: &Links, asks: &[&Ask]) -> Vec<Statement> {
    let mut cols = Vec::from(listed_external(links));
    cols.extend(listed('k', &layout.key, true));
    let link = |chunk: Vec<&Ask>| {
        let rows = chunk
            .into_iter()
            .map(|ask| external(ask).into_iter().chain(key(layout, ask)).collect());
        let list = list(layout, "t", &cols, rows);
        let sql = format!(
            "{}INSERT INTO {} ({}) SELECT t.s, t.x, e.{} FROM {} {} {} e ON {}",
            with(&[&list]),
            links.name,
            quoted([&links.source, &links.external_id, &links.id]),
            quoted(&layout.id),
            list.from,
            join(layout),
            layout.name,
            same_key(layout, &layout.key),
        );
        Statement {
            sql: sql.into(),
            binds: list.binds,
            returns: Vec::new(),
        }
    };
    lists(layout.dialect, cols.len(), asks.to_vec())
        .into_iter()
        .map(link)
        .collect()
}

/// Sets columns of rows.
pub(super) fn update(
    layout: &Layout,
    set: &[usize],
    rows: Vec<(Box<[Value]>, Vec<Value>)>,
) -> Vec<Statement> {
    let handle = layout.handle();
    let mut cols = listed('k', handle, true);
    let targets: Vec<&Col> = set.iter().map(|&at| &layout.attributes[at]).collect();
    cols.extend(targets.iter().enumerate().map(|(at, col)| Listed {
        name: format!("a{at}"),
        col,
        compared: false,
    }));
    let sets = |prefix: &str| {
        let sets = targets.iter().enumerate();
        let sets = sets.map(|(at, col)| {
            format!(
                "{prefix}{} = {}",
                col.quoted,
                put(layout, col, &format!("t.a{at}"))
            )
        });
        sets.collect::<Vec<_>>().join(", ")
    };
    let update = |chunk: Vec<(Box<[Value]>, Vec<Value>)>| {
        let rows = chunk
            .iter()
            .map(|(key, values)| key.iter().chain(values).collect());
        let list = list(layout, "t", &cols, rows);
        let (name, same, from) = (&layout.name, same_key(layout, handle), &list.from);
        let sql = match layout.dialect {
            Dialect::Sqlite => format!(
                "{}UPDATE {name} AS e SET {} FROM {from} WHERE {same}",
                with(&[&list]),
                sets("")
            ),
            _ => format!(
                "UPDATE {from} STRAIGHT_JOIN {name} e ON {same} SET {}",
                sets("e.")
            ),
        };
        Statement {
            sql: sql.into(),
            binds: list.binds,
            returns: Vec::new(),
        }
    };
    lists(layout.dialect, cols.len(), rows)
        .into_iter()
        .map(update)
        .collect()
}
