//! What the database can count by itself: keys twice, references to nothing, a crosswalk that has gone astray.

use super::query::{Database, EXAMPLES, Row, shown};
use super::report::{Finding, FindingKind, TableAudit};
use crate::error::Error;
use crate::plan::{KeyPlan, TablePlan};
use oneflight_sql::{Column, Crosswalk, Reference, Table};

/// Checks one table.
pub(super) async fn table(
    database: &Database,
    plan: &TablePlan,
    audit: &mut TableAudit,
) -> Result<(), Error> {
    let check = Check {
        database,
        table: &plan.sql,
    };
    check.duplicates(audit).await?;
    let attributes = plan
        .sql
        .attributes
        .iter()
        .map(|attribute| &attribute.column);
    for column in plan.sql.key.iter().chain(attributes) {
        if let Some(reference) = &column.references {
            check.dangling(column, reference, audit).await?;
        }
    }
    if let (Some(crosswalk), Some(id)) = (&plan.sql.crosswalk, &plan.sql.id) {
        check.crosswalk(crosswalk, id, audit).await?;
        if plan.key == KeyPlan::External {
            check.orphans(crosswalk, id, audit).await?;
        }
    }
    Ok(())
}

struct Check<'c> {
    database: &'c Database,
    table: &'c Table,
}

impl Check<'_> {
    /// Keys that several rows have. A unique index would not allow it, if it is there.
    async fn duplicates(&self, audit: &mut TableAudit) -> Result<(), Error> {
        let key = &self.table.key;
        if key.is_empty() {
            return Ok(());
        }
        let from = self.database.table(&self.table.name);
        let names = key
            .iter()
            .map(|column| format!("t.{}", self.database.name(&column.name)))
            .collect::<Vec<_>>();
        let whole = names
            .iter()
            .map(|name| format!("{name} IS NOT NULL"))
            .collect::<Vec<_>>()
            .join(" AND ");
        let names = names.join(", ");
        let groups = format!("FROM {from} AS t WHERE {whole} GROUP BY {names} HAVING COUNT(*) > 1");
        let texts = key
            .iter()
            .map(|column| self.database.text("t", column))
            .collect::<Vec<_>>()
            .join(", ");
        self.find(
            audit,
            FindingKind::DuplicateKey,
            list(key),
            format!("SELECT COUNT(*) FROM (SELECT COUNT(*) AS n {groups}) AS g"),
            (
                format!("SELECT {texts} {groups} ORDER BY {names} LIMIT {EXAMPLES}"),
                key.len(),
            ),
            |row| {
                row.iter()
                    .map(|cell| shown(cell.as_deref()))
                    .collect::<Vec<_>>()
                    .join(", ")
            },
        )
        .await
    }

    /// References to rows that are not there. A foreign key would not allow it, if it is there and enforced.
    async fn dangling(
        &self,
        column: &Column,
        to: &Reference,
        audit: &mut TableAudit,
    ) -> Result<(), Error> {
        let database = self.database;
        let (from, other) = (database.table(&self.table.name), database.table(&to.table));
        let (name, id) = (database.name(&column.name), database.name(&to.column));
        let rest = format!(
            "FROM {from} AS t LEFT JOIN {other} AS r ON r.{id} = t.{name} WHERE t.{name} IS NOT NULL AND r.{id} IS NULL"
        );
        let who = self.who();
        self.find(
            audit,
            FindingKind::Dangling,
            column.name.clone(),
            format!("SELECT COUNT(*) {rest}"),
            (
                format!(
                    "SELECT {who}, {} {rest} LIMIT {EXAMPLES}",
                    database.id_text("t", &column.name)
                ),
                2,
            ),
            |row| {
                format!(
                    "{} refers to {} {}",
                    shown(row[0].as_deref()),
                    to.table,
                    shown(row[1].as_deref())
                )
            },
        )
        .await
    }

    /// Crosswalk rows that point nowhere, and external ids that stand there twice.
    async fn crosswalk(
        &self,
        crosswalk: &Crosswalk,
        id: &str,
        audit: &mut TableAudit,
    ) -> Result<(), Error> {
        let database = self.database;
        let (ours, theirs) = (
            database.table(&self.table.name),
            database.table(&crosswalk.table),
        );
        let [source, external, entity] = [&crosswalk.source, &crosswalk.external_id, &crosswalk.id]
            .map(|name| format!("x.{}", database.name(name)));
        let id = database.name(id);
        let rest = format!(
            "FROM {theirs} AS x LEFT JOIN {ours} AS t ON t.{id} = {entity} WHERE t.{id} IS NULL"
        );
        let points = database.id_text("x", &crosswalk.id);
        self.find(
            audit,
            FindingKind::CrosswalkDangling,
            crosswalk.table.clone(),
            format!("SELECT COUNT(*) {rest}"),
            (
                format!("SELECT {source}, {external}, {points} {rest} LIMIT {EXAMPLES}"),
                3,
            ),
            |row| {
                format!(
                    "{} {} points at {}",
                    shown(row[0].as_deref()),
                    shown(row[1].as_deref()),
                    shown(row[2].as_deref())
                )
            },
        )
        .await?;
        let groups =
            format!("FROM {theirs} AS x GROUP BY {source}, {external} HAVING COUNT(*) > 1");
        self.find(
            audit,
            FindingKind::CrosswalkTwice,
            crosswalk.table.clone(),
            format!("SELECT COUNT(*) FROM (SELECT COUNT(*) AS n {groups}) AS g"),
            (
                format!("SELECT {source}, {external} {groups} LIMIT {EXAMPLES}"),
                2,
            ),
            |row| format!("{} {}", shown(row[0].as_deref()), shown(row[1].as_deref())),
        )
        .await
    }

    /// Rows of a table that is known by external ids alone, and that none leads to.
    async fn orphans(
        &self,
        crosswalk: &Crosswalk,
        id: &str,
        audit: &mut TableAudit,
    ) -> Result<(), Error> {
        let database = self.database;
        let (ours, theirs) = (
            database.table(&self.table.name),
            database.table(&crosswalk.table),
        );
        let (name, entity) = (database.name(id), database.name(&crosswalk.id));
        let rest = format!(
            "FROM {ours} AS t LEFT JOIN {theirs} AS x ON x.{entity} = t.{name} WHERE x.{entity} IS NULL"
        );
        self.find(
            audit,
            FindingKind::Orphan,
            id.to_owned(),
            format!("SELECT COUNT(*) {rest}"),
            (
                format!(
                    "SELECT {} {rest} LIMIT {EXAMPLES}",
                    database.id_text("t", id)
                ),
                1,
            ),
            |row| shown(row[0].as_deref()),
        )
        .await
    }

    /// Counts, and asks for examples only if there is something.
    async fn find(
        &self,
        audit: &mut TableAudit,
        kind: FindingKind,
        column: String,
        count: String,
        (examples, width): (String, usize),
        show: impl Fn(&Row) -> String,
    ) -> Result<(), Error> {
        let count = self.database.count(&self.table.name, count).await?;
        if count > 0 {
            let examples = self
                .database
                .texts(&self.table.name, examples, width)
                .await?
                .iter()
                .map(show)
                .collect();
            audit.findings.push(Finding {
                kind,
                column,
                count,
                examples,
            });
        }
        Ok(())
    }

    /// An expression that names a row: its id, or the first column of its key.
    fn who(&self) -> String {
        match (&self.table.id, self.table.key.first()) {
            (Some(id), _) => self.database.id_text("t", id),
            (None, Some(column)) => self.database.text("t", column),
            (None, None) => "NULL".to_owned(),
        }
    }
}

fn list(columns: &[Column]) -> String {
    columns
        .iter()
        .map(|column| column.name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}
