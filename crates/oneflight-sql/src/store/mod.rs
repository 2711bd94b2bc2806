//! The store.

use crate::driver::Driver;
use crate::error::Error;
use crate::record::{Outcome, Record};
use crate::schema::Table;
use crate::value::Value;
use std::sync::Arc;

/// One table whose rows are found by key, or created, in batches.
#[derive(Clone, Debug)]
pub struct Store {
    driver: Arc<dyn Driver>,
    table: Arc<Table>,
}

impl Store {
    /// Opens.
    pub async fn open(driver: Arc<dyn Driver>, table: Table) -> Result<Self, Error> {
        Ok(Self { driver, table: Arc::new(table) })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The driver.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    /// Finds.
    pub async fn find(&self, records: &[Record]) -> Result<Vec<Option<Value>>, Error> {
        Err(Error::internal(format!("{} records: soon", records.len())))
    }

    /// Merges.
    pub async fn merge(&self, records: Vec<Record>) -> Vec<Result<Outcome, Error>> {
        records.iter().map(|_| Err(Error::internal("soon"))).collect()
    }
}
