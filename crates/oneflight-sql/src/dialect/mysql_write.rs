//! MySQL and MariaDB: rows that are missing are inserted as literals, so that they travel with whatever else is said at once.
//!
//! A statement with thousands of parameters has to be prepared, one trip more, for each number of rows anew; as literals the
//! server takes the same rows in the same time.

use super::ask::said;
use super::values::quoted;
use super::{Create, Layout, Links, literal};
use crate::driver::Statement;
use crate::value::Value;

/// A statement takes no more rows once it is this long, in bytes.
pub(super) const LONG: usize = 1 << 19;

/// Inserts rows, all of which are missing. Where a writer that takes no lock of ours was faster, it fails, and is to be looked again.
/// (With `ON DUPLICATE KEY UPDATE` nobody could tell: sqlx asks for counts in which a row that was there is one that was made.)
pub(super) fn insert(layout: &Layout, creates: &[&Create]) -> Vec<Statement> {
    inserts(layout, creates)
        .into_iter()
        .map(|(statement, _)| statement)
        .collect()
}

/// Inserts rows that are known by their external id alone, each list followed by its links.
pub(super) fn insert_linked(layout: &Layout, links: &Links, creates: &[&Create]) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut rest = creates;
    for (insert, rows) in inserts(layout, creates) {
        let (list, after) = rest.split_at(rows);
        rest = after;
        statements.extend([insert, link(links, list)]);
    }
    statements
}

/// Statements, and how many rows each inserts.
fn inserts(layout: &Layout, creates: &[&Create]) -> Vec<(Statement, usize)> {
    let said = said(layout, creates);
    let attributes = said.iter().map(|&at| &layout.attributes[at]);
    let columns = quoted(layout.key.iter().chain(attributes));
    let begin = format!("INSERT INTO {} ({columns}) VALUES ", layout.name);
    let (mut statements, mut sql, mut rows) = (Vec::new(), String::new(), 0);
    for create in creates {
        sql.push_str(if rows == 0 { &begin } else { ", " });
        let cells = create.key.iter();
        let cells = cells.chain(said.iter().map(|&at| &create.attributes[at]));
        sql.push('(');
        for (at, value) in cells.enumerate() {
            sql.push_str(if at == 0 { "" } else { "," });
            literal::value(&mut sql, value);
        }
        sql.push(')');
        rows += 1;
        if sql.len() > LONG {
            statements.push((Statement::new(std::mem::take(&mut sql)), rows));
            rows = 0;
        }
    }
    if rows > 0 {
        statements.push((Statement::new(sql), rows));
    }
    statements
}

/// Links the rows that the statement before has made. Their ids follow one another: InnoDB sets aside a run for the statement.
fn link(links: &Links, creates: &[&Create]) -> Statement {
    let columns = quoted([&links.source, &links.external_id, &links.id]);
    let mut sql = format!("INSERT INTO {} ({columns}) VALUES ", links.name);
    for (at, create) in creates.iter().enumerate() {
        sql.push_str(if at == 0 { "(" } else { ", (" });
        for value in create
            .unless
            .as_ref()
            .unwrap_or(&[Value::Null, Value::Null])
        {
            literal::value(&mut sql, value);
            sql.push(',');
        }
        sql.push_str(&format!(
            "LAST_INSERT_ID() + {at} * @@SESSION.auto_increment_increment)"
        ));
    }
    Statement::new(sql)
}
