//! The database that is merged into: its tables made or checked, a sink for each.

use super::options::Options;
use super::sink::Sink;
use crate::error::Error;
use crate::plan::Plan;
use oneflight_sql::driver::{self, Driver, DriverError};
use oneflight_sql::{Dialect, Resolver, Store, Table, ddl};
use std::sync::Arc;

/// How many records go into one batch: all that wait, so that no chunk's are torn apart and go into two at once. That is no more than
/// workers times what one chunk says of one table, since a chunk waits for its records before it comes with others (M1); a store
/// makes short transactions of them.
const ALL_THAT_WAIT: usize = usize::MAX;

/// An open target.
#[derive(Debug)]
pub(crate) struct Target {
    driver: Arc<dyn Driver>,
    /// A store for each table of the plan.
    stores: Vec<Store>,
    /// MySQL and MariaDB, where creating a table commits: what a dry run had to make, and is to take back.
    made: Option<Made>,
}

#[derive(Debug)]
struct Made {
    driver: Arc<dyn Driver>,
    tables: Vec<Table>,
}

impl Target {
    /// Connects, and changes nothing.
    pub(crate) async fn connect(options: &Options) -> Result<Arc<dyn Driver>, Error> {
        // SQLite has one writer. A second connection would wait for it asleep, and lose what it has cached with each of its commits.
        let connections = match Dialect::of_url(&options.into) {
            Some(Dialect::Sqlite) => 1,
            _ => options.connections.max(1),
        };
        let connect = driver::Options::default()
            .connections(connections)
            .transient(options.dry_run);
        driver::connect(&options.into, connect)
            .await
            .map_err(unreachable)
    }

    /// Makes or checks the tables. A dry run does it all inside one transaction that is never committed.
    pub(crate) async fn open(
        mut driver: Arc<dyn Driver>,
        plan: &Plan,
        options: &Options,
    ) -> Result<Self, Error> {
        let tables: Vec<Table> = plan.tables.iter().map(|table| table.sql.clone()).collect();
        let mut made = None;
        if options.dry_run {
            if driver.dialect() == Dialect::MySql {
                made = Some(Made {
                    driver: driver.clone(),
                    tables: make(&driver, &tables).await?,
                });
            }
            driver = driver.rehearse().await.map_err(unreachable)?;
        }
        let mut target = Self {
            driver,
            stores: Vec::new(),
            made,
        };
        match ddl::prepare_and_open(&target.driver, &tables).await {
            Ok(opened) => {
                target.stores = opened.into_iter().map(|(store, _)| store).collect();
                Ok(target)
            }
            Err(error) => {
                target.close().await?;
                Err(Error::target(error))
            }
        }
    }

    /// Takes back what only a dry run needed. Whatever writes through the target must be gone before.
    pub(crate) async fn close(self) -> Result<(), Error> {
        // The rehearsal is rolled back first: tables that its transaction has used cannot be dropped.
        drop((self.stores, self.driver));
        if let Some(Made { driver, tables }) = self.made {
            ddl::drop_empty(&*driver, &tables)
                .await
                .map_err(Error::target)?;
        }
        Ok(())
    }

    /// A sink for each table of the plan.
    pub(crate) fn sinks(&self, plan: &Plan, options: &Options) -> Vec<Sink> {
        let referenced = plan.tables.iter().filter(|table| table.referenced).count();
        // As many batches at once as there are chunks, where none has to wait for a connection: turns see to their order (T3).
        let at_once = match self.driver.is_pipelined() {
            true => options.workers.max(1),
            false => 1,
        };
        let resolving = oneflight_sql::Options::new()
            .remember(options.remember / referenced.max(1))
            .max_batch(ALL_THAT_WAIT)
            .batches_in_flight(at_once);
        let sink = |(table, store): (&crate::plan::TablePlan, &Store)| {
            let resolver = table
                .referenced
                .then(|| Resolver::over(store.clone(), resolving.clone()));
            Sink::new(store.clone(), resolver)
        };
        plan.tables.iter().zip(&self.stores).map(sink).collect()
    }

    /// Round trips so far.
    pub(crate) fn round_trips(&self) -> u64 {
        self.driver.round_trips()
    }
}

fn unreachable(error: DriverError) -> Error {
    Error::database("could not open the target", error)
}

/// Makes the tables that are absent, and returns them.
async fn make(driver: &Arc<dyn Driver>, tables: &[Table]) -> Result<Vec<Table>, Error> {
    let states = ddl::prepare(driver, tables).await.map_err(Error::target)?;
    let made = tables
        .iter()
        .zip(states)
        .filter(|(_, state)| *state == ddl::TableState::Created);
    Ok(made.map(|(table, _)| table.clone()).collect())
}
