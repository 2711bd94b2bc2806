//! The audit: counted by the database itself, without the proxy, after the clock has stopped.

use super::database::Site;
use super::tables::Tables;
use crate::error::Error;
use crate::result::Audit;
use oneflight_sql::driver::Statement;
use oneflight_sql::{Kind, Value};
use std::collections::HashMap;

/// Counts what a way left. `mentioned` are the external ids of the references that it resolved, `answers` what their callers got.
pub(super) async fn audit(
    site: &Site,
    tables: &Tables,
    mentioned: &[String],
    answers: &[i64],
) -> Result<Audit, Error> {
    let (things, links) = (tables.name(), tables.links());
    let counted = counts(
        site,
        &[
            format!("SELECT count(*) FROM {things}"),
            format!("SELECT count(DISTINCT slug) FROM {things}"),
            format!("SELECT count(*) FROM {links}"),
            format!(
                "SELECT count(*) FROM {things} t WHERE NOT EXISTS (SELECT 1 FROM {links} x WHERE x.entity_id = t.id)"
            ),
        ],
    )
    .await?;
    let recorded = recorded(site, &links).await?;
    let given = mentioned.iter().zip(answers);
    let strays = given.filter(|(external, id)| recorded.get(external.as_str()) != Some(id));
    let mut expected: Vec<&str> = mentioned.iter().map(String::as_str).collect();
    expected.sort_unstable();
    expected.dedup();
    Ok(Audit {
        expected: expected.len() as u64,
        rows: counted[0],
        distinct: counted[1],
        links: counted[2],
        orphans: counted[3],
        // Whoever got no answer at all is astray too.
        strays: strays.count() as u64 + mentioned.len().abs_diff(answers.len()) as u64,
        ..Audit::default()
    })
}

/// The answers to queries that count.
pub(super) async fn counts(site: &Site, queries: &[String]) -> Result<Vec<u64>, Error> {
    let mut counts = Vec::new();
    for sql in queries {
        let statement = Statement::new(sql.as_str()).returns([Kind::Int]);
        let rows = site.near().query(statement).await?;
        match rows.iter().next() {
            Some([Value::Int(count)]) => counts.push(u64::try_from(*count).unwrap_or(0)),
            _ => return Err(Error::internal(format!("no count: {sql}"))),
        }
    }
    Ok(counts)
}

/// Which external id leads to which row.
async fn recorded(site: &Site, links: &str) -> Result<HashMap<Box<str>, i64>, Error> {
    let sql = format!("SELECT external_id, entity_id FROM {links}");
    let statement = Statement::new(sql).returns([Kind::Text, Kind::Int]);
    let rows = site.near().query(statement).await?;
    let pairs = rows.iter().filter_map(|row| match row {
        [Value::Text(external), Value::Int(id)] => Some((external.as_ref().into(), *id)),
        _ => None,
    });
    Ok(pairs.collect())
}
