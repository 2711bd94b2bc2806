//! Preparing tables: one process makes what is absent, everybody checks what is present (T1, T2).

use super::create;
use super::names::{fnv, lock_name};
use crate::catalog::{self, Found};
use crate::dialect::Dialect;
use crate::driver::{Bind, Driver, DriverError, Fault, Mode, Patience, Pipeline, Rows, Statement};
use crate::error::Error;
use crate::schema::Table;
use crate::store::{Place, Store, absent, names};
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
    let (states, _) = prepared(driver, tables).await?;
    Ok(states)
}

/// [`prepare`]s the tables and opens them: one look at the database tells what is there and how it is, so that tables that are
/// there cost one round trip where statements are pipelined, and tables that are absent one more.
///
/// # Cancel safety
/// As for [`prepare`].
///
/// # Errors
/// As for [`prepare`] and [`Store::open`].
///
/// # Examples
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use oneflight_sql::{Fold, Table, ddl, driver};
///
/// let db = driver::connect("sqlite::memory:", driver::Options::default()).await?;
/// let tag = Table::builder("tag").id("id").key_text("name", Fold::EXACT).build()?;
/// let opened = ddl::prepare_and_open(&db, &[tag.table().clone()]).await?;
/// let (store, state) = &opened[0];
/// assert_eq!((&*store.table().name, *state), ("tag", ddl::TableState::Created));
/// # Ok(()) }
/// ```
pub async fn prepare_and_open(
    driver: &Arc<dyn Driver>,
    tables: &[Table],
) -> Result<Vec<(Store, TableState)>, Error> {
    let (states, found) = prepared(driver, tables).await?;
    let stores = Store::open_found(driver, tables.to_vec(), found).await?;
    let opened: Vec<_> = stores.into_iter().zip(states).collect();
    let made = opened
        .iter()
        .filter(|(_, state)| *state == TableState::Created);
    made.for_each(|(store, _)| store.expect_none());
    Ok(opened)
}

/// What became of the tables, and how the database has them and their crosswalks.
async fn prepared(
    driver: &Arc<dyn Driver>,
    tables: &[Table],
) -> Result<(Vec<TableState>, Vec<Option<Found>>), Error> {
    let names = names(tables);
    let mut patience = Patience::default();
    let Made { present, found } = loop {
        match made(driver, tables, &names).await {
            Ok(made) => break made,
            // Nothing of it does harm when it is done twice.
            Err(error) => patience.after(error).await.map_err(|error| {
                let doing = format!("could not prepare the tables {}", names.join(", "));
                Error::driver(doing, error)
            })?,
        }
    };
    let (mut states, mut at) = (Vec::with_capacity(tables.len()), 0);
    for table in tables {
        check(driver.dialect(), table, found[at].as_ref())?;
        states.push(match present[at] {
            true => TableState::Present,
            false => TableState::Created,
        });
        at += if table.crosswalk.is_some() { 2 } else { 1 };
    }
    Ok((states, found))
}

/// What was there of the names asked for, and how they are now.
struct Made {
    present: Vec<bool>,
    found: Vec<Option<Found>>,
}

/// Makes what is absent.
async fn made(
    driver: &Arc<dyn Driver>,
    tables: &[Table],
    names: &[String],
) -> Result<Made, DriverError> {
    let mut found = catalog::read(&**driver, names).await?;
    loop {
        let present: Vec<bool> = found.iter().map(Option::is_some).collect();
        if !present.contains(&false) {
            return Ok(Made { present, found });
        }
        if driver.dialect() != Dialect::Postgres {
            let present = create_absent(driver, tables, names).await?;
            let found = catalog::read(&**driver, names).await?;
            return Ok(Made { present, found });
        }
        let error = match create_at_once(&**driver, tables, names, &present).await {
            Ok(found) => return Ok(Made { present, found }),
            Err(error) => error,
        };
        // Who made a table between the look and the lock made more present than there was: at most once for each table.
        found = catalog::read(&**driver, names).await?;
        let grew = |(found, was): (&Option<Found>, &bool)| found.is_some() && !was;
        if !found.iter().zip(&present).any(grew) {
            return Err(error);
        }
    }
}

/// PostgreSQL: makes what was seen to be absent, under the lock (T1), and looks at all of it, in one go. A table that is there
/// all the same is an error, and then nothing is made.
async fn create_at_once(
    driver: &dyn Driver,
    tables: &[Table],
    names: &[String],
    present: &[bool],
) -> Result<Vec<Option<Found>>, DriverError> {
    // The number is ours: the same in every process.
    let key = fnv(*b"oneflight:ddl") as i64;
    let lock = Statement::new(format!("SELECT pg_advisory_xact_lock({key})"));
    let creates = create::statements(Dialect::Postgres, "", tables, present);
    let skipped = 1 + creates.len();
    let pipeline = creates.into_iter().fold(
        Pipeline::new(Mode::Write { lock: None }).step(lock),
        Pipeline::step,
    );
    let looks = catalog::looks(Dialect::Postgres, names).into_iter();
    let rows = driver.run(looks.fold(pipeline, Pipeline::after)).await?;
    Ok(catalog::found(Dialect::Postgres, &rows[skipped..]))
}

/// SQLite and MySQL: is it there?
fn look(dialect: Dialect, name: &str) -> Statement {
    let (schema, table) = crate::dialect::split(name);
    let sql = match dialect {
        Dialect::MySql => {
            "SELECT CAST(count(*) AS SIGNED) FROM information_schema.tables \
             WHERE table_name = ? AND table_schema = coalesce(?, database())"
        }
        _ => "SELECT count(*) FROM pragma_table_info(?1, coalesce(?2, 'main'))",
    };
    let schema = Bind::One(Kind::Text, schema.map_or(Value::Null, Value::from));
    Statement::new(sql)
        .text(table)
        .bind(schema)
        .returns([Kind::Int])
}

fn is_there(rows: &Rows) -> bool {
    matches!(rows.iter().next(), Some([Value::Int(count)]) if *count > 0)
}

/// SQLite and MySQL: makes what is absent, under a lock (T1). Returns which were there.
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
    for name in names {
        pipeline = pipeline.step(look(dialect, name));
    }
    let (owned, count) = (tables.to_vec(), names.len());
    let pipeline = pipeline.then(move |rows| {
        let present: Vec<bool> = rows.iter().map(is_there).collect();
        Ok(create::statements(dialect, flavor, &owned, &present))
    });
    let rows = driver.run(pipeline).await?;
    Ok(rows[..count].iter().map(is_there).collect())
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
fn check(dialect: Dialect, table: &Table, found: Option<&Found>) -> Result<(), Error> {
    let found = found.ok_or_else(|| absent(&table.name))?;
    let on = Place {
        dialect,
        table: &table.name,
        found,
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
