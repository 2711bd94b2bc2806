//! Opening a table: is it there, does it fit, and what decides between two writers?
//!
//! N1. No unique index on exactly the key columns, no store: without one, two writers make two rows.
//! N2. However many tables are opened, all are read at once: where statements are pipelined, in one round trip.

use crate::catalog::{self, Found, FoundColumn};
use crate::dialect::{Col, Dialect, Layout, Links, Room};
use crate::driver::{Driver, Statement};
use crate::error::Error;
use crate::schema::{Column, Crosswalk, Policy, Table};
use crate::value::{Kind, Value};
use std::sync::Arc;

/// Reads how the database has `tables`, and checks that they can be worked with.
pub(super) async fn open(driver: &dyn Driver, tables: Vec<Table>) -> Result<Vec<Layout>, Error> {
    tables.iter().try_for_each(describes)?;
    let names = names(&tables);
    let found = catalog::read(driver, &names).await.map_err(|error| {
        let what = format!(
            "could not read what the tables {} are like",
            names.join(", ")
        );
        Error::driver(what, error)
    })?;
    layouts(driver, tables, found).await
}

/// The names of the tables, each with its crosswalk's behind it.
pub(crate) fn names(tables: &[Table]) -> Vec<String> {
    let names = tables.iter().flat_map(|table| {
        let crosswalk = table.crosswalk.as_ref();
        [
            Some(&table.name),
            crosswalk.map(|crosswalk| &crosswalk.table),
        ]
    });
    names.flatten().cloned().collect()
}

/// The layouts of tables, of what was found for each of their [`names`].
pub(super) async fn layouts(
    driver: &dyn Driver,
    tables: Vec<Table>,
    found: Vec<Option<Found>>,
) -> Result<Vec<Layout>, Error> {
    let (mut layouts, mut found) = (Vec::with_capacity(tables.len()), found.into_iter());
    // The database that the connection is in has one name for all tables.
    let mut lock_here = None;
    for table in tables {
        describes(&table)?;
        let on = found.next().flatten();
        let links = table.crosswalk.as_ref().map(|_| found.next().flatten());
        let is_here = crate::dialect::split(&table.name).0.is_none();
        let lock = match lock_here.clone().filter(|_| is_here) {
            Some(lock) => lock,
            None => lock_name(driver, &table.name).await?,
        };
        if is_here {
            lock_here = Some(lock.clone());
        }
        layouts.push(Layout {
            lock,
            ..layout(driver.dialect(), table, on, links.flatten())?
        });
    }
    Ok(layouts)
}

/// The layout of a table, but for its lock.
fn layout(
    dialect: Dialect,
    table: Table,
    found: Option<Found>,
    found_links: Option<Found>,
) -> Result<Layout, Error> {
    let found = found.ok_or_else(|| absent(&table.name))?;
    let (name, table) = (dialect.quote_table(&table.name), Arc::new(table));
    let on = Place {
        dialect,
        table: &table.name,
        found: &found,
    };
    let id = table.id.as_deref().map(|id| on.id(id)).transpose()?;
    let key: Result<Vec<_>, _> = table.key.iter().map(|column| on.column(column)).collect();
    let key = key?;
    let attributes = table
        .attributes
        .iter()
        .map(|attribute| on.column(&attribute.column))
        .collect::<Result<Vec<_>, _>>()?;
    if !table.key.is_empty() {
        let names: Vec<_> = table.key.iter().map(|column| &*column.name).collect();
        on.unique(&names)?;
        names.iter().try_for_each(|name| on.exact(name))?;
    }
    let next_id = table
        .id
        .as_deref()
        .and_then(|id| found.column(dialect, id))
        .and_then(|column| column.default.clone());
    let links = match &table.crosswalk {
        Some(crosswalk) => Some(links(dialect, crosswalk, found_links, id.as_ref())?),
        None => None,
    };
    if table.key.is_empty() {
        counts(dialect, &table, &found)?;
    }
    let key_names: Vec<&str> = key.iter().map(|col| col.name.as_str()).collect();
    let is_keyed_alone = found.uniques.iter().all(|unique| {
        let covers = |names: &[&str]| unique.covers(dialect, names);
        covers(&key_names) || table.id.as_deref().is_some_and(|id| covers(&[id]))
    });
    Ok(Layout {
        dialect,
        is_keyed_alone,
        name,
        id,
        next_id,
        key,
        attributes,
        links,
        class: class_of(found.oid),
        lock: None,
        table,
    })
}

pub(crate) fn absent(table: &str) -> Error {
    Error::schema(format!("there is no table `{table}`"))
}

/// A row without a key gets its id before it gets its link, so the database has to give it.
fn counts(dialect: Dialect, table: &Table, found: &Found) -> Result<(), Error> {
    let id = table.id.as_deref().and_then(|id| found.column(dialect, id));
    let gives =
        |id: &FoundColumn| id.counts || dialect == Dialect::Postgres && id.default.is_some();
    if id.is_some_and(gives) {
        return Ok(());
    }
    let what =
        "a table without a natural key needs an id column that the database counts by itself";
    Err(Error::schema(format!("table `{}`: {what}", table.name)))
}

/// What can be told from the description alone.
fn describes(table: &Table) -> Result<(), Error> {
    let wrong = |what: String| Err(Error::usage(format!("table `{}`: {what}", table.name)));
    match (&table.crosswalk, &table.id) {
        (Some(_), None) => return wrong("a crosswalk needs a table with an id column".to_owned()),
        (None, _) if table.key.is_empty() => {
            return wrong("expected a key, a crosswalk, or both".to_owned());
        }
        _ => {}
    }
    if let Some(real) = table.key.iter().find(|column| column.kind == Kind::Real) {
        return wrong(format!(
            "key column `{}` is a float, and a float is no key",
            real.name
        ));
    }
    if let Some(by) = &table.newest_by
        && !table
            .attributes
            .iter()
            .any(|attribute| attribute.column.name == *by)
    {
        return wrong(format!("`newest_by` names `{by}`, which is no attribute"));
    }
    let dated = table
        .attributes
        .iter()
        .find(|attribute| attribute.policy == Policy::Newest);
    match (dated, &table.newest_by) {
        (Some(attribute), None) => wrong(format!(
            "`{}` is taken if newest, and `newest_by` is not said",
            attribute.column.name
        )),
        _ => Ok(()),
    }
}

fn links(
    dialect: Dialect,
    crosswalk: &Crosswalk,
    found: Option<Found>,
    id: Option<&Col>,
) -> Result<Links, Error> {
    let found = found.ok_or_else(|| absent(&crosswalk.table))?;
    let on = Place {
        dialect,
        table: &crosswalk.table,
        found: &found,
    };
    let text = |name: &str| on.named(name, Kind::Text);
    let (source, external_id) = (text(&crosswalk.source)?, text(&crosswalk.external_id)?);
    let to = on.named(&crosswalk.id, id.map_or(Kind::Int, |id| id.kind))?;
    on.unique(&[&crosswalk.source, &crosswalk.external_id])?;
    on.exact(&crosswalk.source)?;
    on.exact(&crosswalk.external_id)?;
    Ok(Links {
        name: dialect.quote_table(&crosswalk.table),
        source,
        external_id,
        id: to,
    })
}

/// A table that is there, and what is expected of it.
pub(crate) struct Place<'f> {
    pub(crate) dialect: Dialect,
    pub(crate) table: &'f str,
    pub(crate) found: &'f Found,
}

impl Place<'_> {
    pub(crate) fn column(&self, column: &Column) -> Result<Col, Error> {
        self.named(&column.name, column.kind)
    }

    /// A column of this kind.
    pub(crate) fn named(&self, name: &str, kind: Kind) -> Result<Col, Error> {
        let table = self.table;
        let found = self.found.column(self.dialect, name).ok_or_else(|| {
            let known: Vec<_> = self
                .found
                .columns
                .iter()
                .map(|column| format!("`{}`", column.name))
                .collect();
            Error::schema(format!(
                "table `{table}` has no column `{name}`: it has {}",
                known.join(", ")
            ))
        })?;
        if !catalog::fits(self.dialect, kind, found.kind) {
            let is = if found.db_type.is_empty() {
                "untyped"
            } else {
                &found.db_type
            };
            return Err(Error::schema(format!(
                "column `{name}` of table `{table}` is {is}, expected one for {kind}"
            )));
        }
        Ok(Col {
            name: name.to_owned(),
            quoted: self.dialect.quote(&found.name),
            kind,
            db_type: found.db_type.clone(),
            full_type: found.full_type.clone(),
            room: Room::of(self.dialect, kind, &found.full_type),
            collation: found
                .collation
                .clone()
                .filter(|_| self.dialect == Dialect::MySql),
        })
    }

    /// The id column, whose kind the database tells.
    pub(crate) fn id(&self, name: &str) -> Result<Col, Error> {
        let found = self.found.column(self.dialect, name);
        self.named(
            name,
            found.and_then(|column| column.kind).unwrap_or(Kind::Text),
        )
    }

    /// A unique index on exactly these columns that decides at once, for every row (N1).
    pub(crate) fn unique(&self, columns: &[&str]) -> Result<(), Error> {
        let why = match self.found.unique(self.dialect, columns) {
            Some(unique) => match &unique.flaw {
                Some(flaw) => format!("is of no use: {flaw}"),
                None => return Ok(()),
            },
            None => "is missing".to_owned(),
        };
        Err(Error::schema(format!(
            "table `{}`: the unique index on ({}) {why}; without one, two writers make two rows. Create it with: {}",
            self.table,
            columns.join(", "),
            create_unique(self.dialect, self.table, columns)
        )))
    }

    /// A text column in which texts that differ are never equal.
    pub(crate) fn exact(&self, name: &str) -> Result<(), Error> {
        let Some(column) = self.found.column(self.dialect, name) else {
            return Ok(());
        };
        let (table, quoted) = (
            self.dialect.quote_table(self.table),
            self.dialect.quote(name),
        );
        let collation = column.collation.as_deref().unwrap_or(&column.db_type);
        let utf8 = self.dialect != Dialect::MySql
            || column.kind != Some(Kind::Text)
            // A charset of three bytes makes a question mark of what it lacks, and so one key of many.
            || collation.starts_with("utf8mb4");
        if column.exact && utf8 {
            return Ok(());
        }
        let change = match self.dialect {
            Dialect::Postgres => {
                format!("ALTER TABLE {table} ALTER COLUMN {quoted} TYPE text COLLATE \"C\"")
            }
            _ => format!(
                "ALTER TABLE {table} MODIFY {quoted} VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL"
            ),
        };
        Err(Error::schema(format!(
            "column `{name}` of table `{}` compares by {collation}, which takes texts that differ for equal; keys are compared \
             bytewise. Change it, for example with: {change}",
            self.table
        )))
    }
}

/// The statement that creates a unique index.
pub(crate) fn create_unique(dialect: Dialect, table: &str, columns: &[&str]) -> String {
    let name = crate::ddl::index_name(dialect, table, columns, "key");
    let quoted: Vec<_> = columns.iter().map(|column| dialect.quote(column)).collect();
    let (name, on) = match (dialect, crate::dialect::split(table)) {
        // SQLite keeps the schema with the name of the index.
        (Dialect::Sqlite, (Some(schema), table)) => (
            format!("{}.{}", dialect.quote(schema), dialect.quote(&name)),
            dialect.quote(table),
        ),
        _ => (dialect.quote(&name), dialect.quote_table(table)),
    };
    format!(
        "CREATE UNIQUE INDEX {name} ON {on} ({});",
        quoted.join(", ")
    )
}

/// MySQL: the name of the lock that all writers of the table's database take. Foreign keys lock rows of other tables, so one
/// lock for each table would not keep two writers apart.
pub(crate) async fn lock_name(driver: &dyn Driver, table: &str) -> Result<Option<Arc<str>>, Error> {
    if driver.dialect() != Dialect::MySql {
        return Ok(None);
    }
    let schema = match crate::dialect::split(table).0 {
        Some(schema) => schema.to_owned(),
        None => {
            let name = Statement::new("SELECT CAST(database() AS CHAR)").returns([Kind::Text]);
            let rows = catalog::ask(driver, name).await.map_err(|error| {
                Error::driver("could not ask for the name of the database", error)
            })?;
            match rows.iter().next() {
                Some([Value::Text(name)]) => name.to_string(),
                _ => {
                    return Err(Error::schema(format!(
                        "table `{table}`: the connection has no database"
                    )));
                }
            }
        }
    };
    Ok(Some(crate::ddl::lock_name(&schema)))
}

/// PostgreSQL: the class of a table's advisory locks. The constant keeps other programs' locks apart.
fn class_of(oid: i64) -> i32 {
    (oid as i32) ^ 0x6f6e_6566
}
