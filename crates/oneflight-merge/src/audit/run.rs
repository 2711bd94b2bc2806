//! Runs the audit, table by table.

use super::query::Database;
use super::report::{AuditReport, TableAudit};
use super::{check, keys};
use crate::error::Error;
use crate::plan::Plan;
use std::path::Path;
use std::time::Instant;

/// Looks for rows that are one under the fold, references to nothing, and external ids astray, in all tables of `plan` in the
/// database at `url`.
///
/// # Cancel safety
/// It only reads: dropping the future leaves nothing behind.
///
/// # Errors
/// If a table or a column of the plan is not there ([`Error::is_usage`]), or the database fails ([`Error::is_database`]).
///
/// # Panics
/// Outside a tokio runtime.
pub async fn audit(plan: &Plan, url: &str) -> Result<AuditReport, Error> {
    let began = Instant::now();
    is_there(url)?;
    let database = Database::connect(url).await?;
    let mut report = AuditReport::default();
    for table in &plan.tables {
        let rows = database.rows_of(&table.sql).await?;
        let mut audit = TableAudit {
            name: table.sql.name.clone(),
            rows,
            ..TableAudit::default()
        };
        check::table(&database, table, &mut audit).await?;
        keys::table(&database, table, &mut audit).await?;
        report.tables.push(audit);
    }
    report.seconds = began.elapsed().as_secs_f64();
    Ok(report)
}

/// A SQLite file that is not there would be made by opening it, and an empty database has nothing to audit.
fn is_there(url: &str) -> Result<(), Error> {
    let Some(path) = url.strip_prefix("sqlite:") else {
        return Ok(());
    };
    let path = path.strip_prefix("//").unwrap_or(path);
    let path = path.split('?').next().unwrap_or(path);
    if Path::new(path).exists() {
        return Ok(());
    }
    Err(Error::usage(format!(
        "there is no database `{path}`: nothing has been merged into it yet"
    )))
}
