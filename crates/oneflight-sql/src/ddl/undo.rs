//! Taking back tables that were made for nothing.

use crate::dialect::Dialect;
use crate::driver::{Driver, Mode, Pipeline, Statement};
use crate::error::Error;
use crate::schema::Table;
use crate::store::lock_name;
use crate::value::{Kind, Value};

/// Drops these tables and their crosswalks, if all of them are empty; true if they were.
///
/// For MySQL and MariaDB, where creating a table commits: a rehearsal there needs real tables, and takes back those that it made.
/// No writer of ours is at work meanwhile; another program that is about to fill the tables finds them gone.
///
/// # Cancel safety
/// What has begun is finished.
///
/// # Errors
/// [`Error::is_database`]: the database refused, or was lost.
pub async fn drop_empty(driver: &dyn Driver, tables: &[Table]) -> Result<bool, Error> {
    let names: Vec<&String> = tables
        .iter()
        .flat_map(|table| {
            [
                Some(&table.name),
                table.crosswalk.as_ref().map(|crosswalk| &crosswalk.table),
            ]
        })
        .flatten()
        .collect();
    if names.is_empty() {
        return Ok(true);
    }
    let dialect = driver.dialect();
    let quoted: Vec<String> = names.iter().map(|name| dialect.quote_table(name)).collect();
    let mut pipeline = Pipeline::new(Mode::Write {
        lock: lock_name(driver, names[0]).await?,
    });
    for table in &quoted {
        let look = format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT 1) e");
        pipeline = pipeline.step(Statement::new(look).returns([Kind::Int]));
    }
    let count = quoted.len();
    let pipeline = pipeline.then(move |rows| {
        let is_empty =
            |rows: &crate::driver::Rows| matches!(rows.iter().next(), Some([Value::Int(0)]));
        let statements = match rows[..count].iter().all(is_empty) {
            true => drops(dialect, &quoted),
            false => Vec::new(),
        };
        Ok(statements.into_iter().map(Statement::new).collect())
    });
    let rows = driver.run(pipeline).await;
    let rows = rows
        .map_err(|error| Error::driver("could not take back the tables of a rehearsal", error))?;
    Ok(rows.len() > count)
}

/// References may run in circles, and then no order of dropping is right.
fn drops(dialect: Dialect, quoted: &[String]) -> Vec<String> {
    match dialect {
        Dialect::Postgres => vec![format!("DROP TABLE {}", quoted.join(", "))],
        // Tables without rows break no reference, in whatever order they go.
        Dialect::Sqlite => quoted
            .iter()
            .map(|table| format!("DROP TABLE {table}"))
            .collect(),
        // The end of the transaction, good or bad, gives the session its own setting back.
        Dialect::MySql => vec![
            "SET SESSION foreign_key_checks = 0".to_owned(),
            format!("DROP TABLE {}", quoted.join(", ")),
        ],
    }
}
