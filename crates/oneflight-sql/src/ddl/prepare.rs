//! Preparing tables: one process makes what is absent, everybody checks what is present (T1, T2).

use super::create;
use super::names::{fnv, lock_name};
use crate::catalog;
use crate::dialect::Dialect;
use crate::driver::{Bind, Driver, DriverError, Fault, Mode, Patience, Pipeline, Rows, Statement};
use crate::error::Error;
use crate::schema::Table;
use crate::store::Place;
use crate::value::{Kind, Value};
use std::sync::Arc;

/// What [`prepare`] found or did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableState {
    /// The table was there, and fits.
    Present,
    /// The table was made.
    Created,
}

/// Creates the tables that are absent, with their keys, foreign keys and crosswalks, and checks those that are present.
///
/// Tables may refer to each other in any order, and in cycles. On MySQL and MariaDB creating a table commits, so a rehearsal
/// makes none there: it needs tables that are there.
///
/// # Cancel safety
/// On SQLite and PostgreSQL all tables are made or none. On MySQL those that are made stay; preparing again makes the rest.
///
/// # Errors
/// [`Error::is_schema`] if a table that is there does not fit: the message names the table, the column, what was found and what was
/// expected. [`Error::is_database`] if the database refused.
pub async fn prepare(driver: &Arc<dyn Driver>, tables: &[Table]) -> Result<Vec<TableState>, Error> {
    let names: Vec<String> = tables
        .iter()
        .flat_map(|table| {
            [
                Some(&table.name),
                table.crosswalk.as_ref().map(|crosswalk| &crosswalk.table),
            ]
        })
        .flatten()
        .cloned()
        .collect();
    let doing = || format!("could not prepare the tables {}", names.join(", "));
    let mut patience = Patience::default();
    let present = loop {
        match made(driver, tables, &names).await {
            Ok(present) => break present,
            // Nothing of it does harm when it is done twice.
            Err(error) => patience
                .after(error)
                .await
                .map_err(|error| Error::driver(doing(), error))?,
        }
    };
    let mut states = Vec::with_capacity(tables.len());
    let mut present = present.into_iter();
    for table in tables {
        let was_there = present.next().unwrap_or(true);
        if table.crosswalk.is_some() {
            present.next();
        }
        check(&**driver, table).await?;
        states.push(if was_there {
            TableState::Present
        } else {
            TableState::Created
        });
    }
    Ok(states)
}

/// Makes what is absent. Returns which of the tables were there.
async fn made(
    driver: &Arc<dyn Driver>,
    tables: &[Table],
    names: &[String],
) -> Result<Vec<bool>, DriverError> {
    let present = present(&**driver, names).await?;
    match present.contains(&false) {
        true => create_absent(driver, tables, names).await,
        false => Ok(present),
    }
}

/// Which of the tables are there.
async fn present(driver: &dyn Driver, names: &[String]) -> Result<Vec<bool>, DriverError> {
    let looks = names.iter().map(|name| look(driver.dialect(), name));
    let rows = driver
        .run(looks.fold(Pipeline::new(Mode::Plain), Pipeline::step))
        .await?;
    Ok(rows.iter().map(is_there).collect())
}

fn look(dialect: Dialect, name: &str) -> Statement {
    let (schema, table) = crate::dialect::split(name);
    let schema = || Bind::One(Kind::Text, schema.map_or(Value::Null, Value::from));
    let statement = match dialect {
        // Not `to_regclass`: it answers from the session's cache, which inside a transaction does not yet know of a table that
        // another process has made while this one waited for the lock.
        Dialect::Postgres => Statement::new(
            "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = $1 \
             AND n.nspname = ANY (CASE WHEN $2::text IS NULL THEN current_schemas(true)::text[] ELSE ARRAY[$2::text] END)",
        )
        .text(table)
        .bind(schema()),
        Dialect::Sqlite => {
            Statement::new("SELECT count(*) FROM pragma_table_info(?1, coalesce(?2, 'main'))").text(table).bind(schema())
        }
        Dialect::MySql => Statement::new(
            "SELECT CAST(count(*) AS SIGNED) FROM information_schema.tables \
             WHERE table_name = ? AND table_schema = coalesce(?, database())",
        )
        .text(table)
        .bind(schema()),
    };
    statement.returns([Kind::Int])
}

fn is_there(rows: &Rows) -> bool {
    matches!(rows.iter().next(), Some([Value::Int(count)]) if *count > 0)
}

/// Makes what is absent, under a lock (T1). Returns which were there.
async fn create_absent(
    driver: &Arc<dyn Driver>,
    tables: &[Table],
    names: &[String],
) -> Result<Vec<bool>, DriverError> {
    let dialect = driver.dialect();
    if dialect == Dialect::MySql && driver.is_rehearsal() {
        let what = "creating a table would commit on this database, so a rehearsal needs tables that are there";
        return Err(DriverError::new(Fault::Schema, what));
    }
    let flavor = flavor(&**driver).await?;
    let mut pipeline = Pipeline::new(Mode::Write {
        lock: Some(lock_name("oneflight:ddl")),
    });
    let mut skipped = 0;
    if dialect == Dialect::Postgres {
        skipped = 1;
        // The number is ours: the same in every process.
        let key = fnv(*b"oneflight:ddl") as i64;
        pipeline = pipeline.step(Statement::new(format!(
            "SELECT pg_advisory_xact_lock({key})"
        )));
    }
    for name in names {
        pipeline = pipeline.step(look(dialect, name));
    }
    let (owned, count) = (tables.to_vec(), names.len());
    let pipeline = pipeline.then(move |rows| {
        let present: Vec<bool> = rows[skipped..].iter().map(is_there).collect();
        Ok(create::statements(dialect, flavor, &owned, &present))
    });
    let rows = driver.run(pipeline).await?;
    Ok(rows[skipped..skipped + count]
        .iter()
        .map(is_there)
        .collect())
}

/// The collation that compares bytewise, and does not pad.
async fn flavor(driver: &dyn Driver) -> Result<&'static str, DriverError> {
    if driver.dialect() != Dialect::MySql {
        return Ok("");
    }
    let version = Statement::new("SELECT CAST(version() AS CHAR)").returns([Kind::Text]);
    let rows = driver.query(version).await?;
    let is_mariadb = matches!(rows.iter().next(), Some([Value::Text(version)]) if version.to_lowercase().contains("mariadb"));
    Ok(if is_mariadb {
        "utf8mb4_nopad_bin"
    } else {
        "utf8mb4_0900_bin"
    })
}

/// Checks a table that is there.
async fn check(driver: &dyn Driver, table: &Table) -> Result<(), Error> {
    let dialect = driver.dialect();
    let found = catalog::read(driver, &table.name).await;
    let found = found.map_err(|error| {
        Error::driver(
            format!("could not read what table `{}` is like", table.name),
            error,
        )
    })?;
    let found =
        found.ok_or_else(|| Error::schema(format!("there is no table `{}`", table.name)))?;
    let on = Place {
        dialect,
        table: &table.name,
        found: &found,
    };
    let columns = table
        .key
        .iter()
        .chain(table.attributes.iter().map(|attribute| &attribute.column));
    for column in columns {
        on.column(column)?;
    }
    if let Some(id) = &table.id {
        on.id(id)?;
    }
    if !table.key.is_empty() {
        on.unique(
            &table
                .key
                .iter()
                .map(|column| column.name.as_str())
                .collect::<Vec<_>>(),
        )?;
    }
    Ok(())
}
