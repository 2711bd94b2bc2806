//! The database that is merged into: its tables made or checked, a sink for each.

use super::options::Options;
use super::sink::Sink;
use crate::error::Error;
use crate::plan::Plan;
use oneflight_sql::driver::{self, Driver};
use oneflight_sql::{Store, Table, ddl};
use std::sync::Arc;

/// An open target.
#[derive(Debug)]
pub(crate) struct Target {
    driver: Arc<dyn Driver>,
}

impl Target {
    /// Connects, and makes or checks the tables. A dry run does it all inside one transaction that is never committed.
    pub(crate) async fn open(plan: &Plan, options: &Options) -> Result<Self, Error> {
        let connect = driver::Options::default().connections(options.connections.max(1));
        let unreachable = |error| Error::database("could not open the target", error);
        let mut driver = driver::connect(&options.into, connect).await.map_err(unreachable)?;
        if options.dry_run {
            driver = driver.rehearse().await.map_err(unreachable)?;
        }
        let tables: Vec<Table> = plan.tables.iter().map(|table| table.sql.clone()).collect();
        ddl::prepare(&driver, &tables).await.map_err(Error::target)?;
        Ok(Self { driver })
    }

    /// A sink for each table of the plan.
    pub(crate) async fn sinks(&self, plan: &Plan) -> Result<Vec<Sink>, Error> {
        let mut sinks = Vec::with_capacity(plan.tables.len());
        for table in &plan.tables {
            let store = Store::open(self.driver.clone(), table.sql.clone()).await.map_err(Error::target)?;
            sinks.push(Sink::Store(store));
        }
        Ok(sinks)
    }

    /// Round trips so far.
    pub(crate) fn round_trips(&self) -> u64 {
        self.driver.round_trips()
    }
}
