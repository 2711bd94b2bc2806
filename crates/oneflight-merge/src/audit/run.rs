//! Runs the audit, table by table.

use super::query::Database;
use super::report::{AuditReport, TableAudit};
use super::{check, keys};
use crate::error::Error;
use crate::plan::Plan;
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
