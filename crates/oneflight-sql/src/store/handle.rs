//! What the callers of a store see of it.

use super::flow::Flow;
use super::open;
use crate::catalog::Found;
use crate::columns::{Columns, Loaded};
use crate::dialect::Layout;
use crate::driver::Driver;
use crate::error::Error;
use crate::record::{Outcome, Record};
use crate::schema::Table;
use crate::value::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One table whose rows are found by key, or created, in batches.
///
/// A store remembers nothing and shares no flights; [`Resolver`](crate::Resolver) does, on top of it.
#[derive(Clone, Debug)]
pub struct Store {
    flow: Flow,
}

impl Store {
    /// Opens a table: reads how the database has it, and checks that it fits its description.
    ///
    /// # Cancel safety
    /// Nothing is written.
    ///
    /// # Errors
    /// [`Error::is_schema`]: the table or a column is absent or of another kind, the unique index on exactly the key columns (or on
    /// source and external id of the crosswalk) is missing or decides nothing (partial, deferrable, over a prefix), or a key
    /// column takes texts that differ for equal. The message holds the statement that mends it.
    /// [`Error::is_usage`]: the description contradicts itself.
    pub async fn open(driver: Arc<dyn Driver>, table: Table) -> Result<Self, Error> {
        let stores = Self::open_all(driver, vec![table]).await?;
        let store = stores.into_iter().next();
        store.ok_or_else(|| Error::internal("a table was opened and is not there"))
    }

    /// Opens tables, in their order, and reads how the database has them all at once: one round trip where statements are
    /// pipelined.
    ///
    /// # Cancel safety
    /// Nothing is written.
    ///
    /// # Errors
    /// As for [`Store::open`], of the first table that has one.
    pub async fn open_all(driver: Arc<dyn Driver>, tables: Vec<Table>) -> Result<Vec<Self>, Error> {
        let layouts = open::open(&*driver, tables).await?;
        Ok(Self::over(&driver, layouts))
    }

    /// Opens tables of which is known already how the database has them, one entry for each of their [`names`](open::names).
    pub(crate) async fn open_found(
        driver: &Arc<dyn Driver>,
        tables: Vec<Table>,
        found: Vec<Option<Found>>,
    ) -> Result<Vec<Self>, Error> {
        let layouts = open::layouts(&**driver, tables, found).await?;
        Ok(Self::over(driver, layouts))
    }

    fn over(driver: &Arc<dyn Driver>, layouts: Vec<Layout>) -> Vec<Self> {
        let store = |layout| Self {
            flow: Flow {
                driver: driver.clone(),
                layout: Arc::new(layout),
                expects_misses: Arc::new(AtomicBool::new(driver.is_pipelined())),
                loads_new: Arc::default(),
            },
        };
        layouts.into_iter().map(store).collect()
    }

    /// The same table, with guesses of its own, from now on, about whether the next rows are there: one who only completes rows
    /// says nothing of what another asks for.
    pub(crate) fn apart(mut self) -> Self {
        // ORDERING: Relaxed, guesses that are never wrong, only slower.
        let copy = |guess: &AtomicBool| Arc::new(AtomicBool::new(guess.load(Ordering::Relaxed)));
        self.flow.expects_misses = copy(&self.flow.expects_misses);
        self.flow.loads_new = copy(&self.flow.loads_new);
        self
    }

    /// Says that the table was made just now: nothing is looked for before the first rows go in.
    pub(crate) fn expect_none(&self) {
        // ORDERING: Relaxed, as above.
        self.flow.expects_misses.store(true, Ordering::Relaxed);
        self.flow.loads_new.store(true, Ordering::Relaxed);
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.flow.layout.table
    }

    /// The driver.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.flow.driver
    }

    /// True if no unique index stands on the table but those of its id and its key: then rows with different keys are never in each
    /// other's way, and may be loaded side by side.
    pub fn is_keyed_alone(&self) -> bool {
        self.flow.layout.is_keyed_alone
    }

    /// The ids of those records that are there, in their order; null for a row of a table without an id column. Creates none
    /// and changes nothing. One round trip.
    ///
    /// # Cancel safety
    /// Nothing is written.
    ///
    /// # Errors
    /// A record does not fit the table, or the database failed, also after several attempts.
    pub async fn find(&self, records: &[Record]) -> Result<Vec<Option<Value>>, Error> {
        self.flow.find(records).await
    }

    /// Finds or creates the rows of the records, links their external ids, and applies their attributes. One outcome each, in
    /// their order; a record may come more than once.
    ///
    /// A record that is refused fails alone: its batch is halved until it is found. Deadlocks, busy locks and lost connections
    /// are tried again, a bounded number of times.
    ///
    /// # Cancel safety
    /// A transaction that has begun is finished; what has not begun is left out. Merging the same records again completes them.
    ///
    /// # Errors
    /// Each record has its own: [`Error::is_refused`] if it is to blame, [`Error::is_usage`] if it does not fit the table,
    /// [`Error::is_database`] if the database failed.
    pub async fn merge(&self, records: Vec<Record>) -> Vec<Result<Outcome, Error>> {
        self.flow.merge(records).await
    }

    /// Finds or creates rows whose ids nobody asks for, and applies their attributes: what [`Store::merge`] does, row by row,
    /// with the same outcomes, for rows that come by the thousands and are mostly all new or all there as they are said.
    ///
    /// `load` is right for facts and links: tables that nobody refers to and that have no crosswalk. It inserts all rows at once, or
    /// asks which of them are not there exactly as said; only those that are left over are read one by one. `merge` is right
    /// where ids or external ids are needed. A key that comes twice is no mistake, but makes the rows go the long way.
    ///
    /// # Cancel safety
    /// As for [`Store::merge`]: a transaction that has begun is finished, and loading the same rows again completes them.
    ///
    /// # Errors
    /// Each row has its own, in [`Loaded`], as for [`Store::merge`].
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use oneflight_sql::{Cells, Column, Columns, Effect, Kind, Store, Table, ddl, driver};
    /// use std::sync::Arc;
    ///
    /// let key = |name: &str| Column { name: name.into(), kind: Kind::Int, max_chars: None, references: None };
    /// let seen = Table {
    ///     name: "seen".into(),
    ///     id: None,
    ///     key: vec![key("person"), key("place")],
    ///     attributes: Vec::new(),
    ///     newest_by: None,
    ///     crosswalk: None,
    /// };
    /// let db = driver::connect("sqlite::memory:", driver::Options::default()).await?;
    /// ddl::prepare(&db, std::slice::from_ref(&seen)).await?;
    /// let store = Store::open(db, seen).await?;
    ///
    /// let (mut people, mut places) = (Cells::new(Kind::Int), Cells::new(Kind::Int));
    /// for row in 0..1_000 {
    ///     people.push_int(row % 100);
    ///     places.push_int(row / 100);
    /// }
    /// let rows = Arc::new(Columns::new(vec![people, places], Vec::new()));
    /// assert_eq!(store.load(&rows).await.alike(), Some(Effect::Created));
    /// assert_eq!(store.load(&rows).await.alike(), Some(Effect::Found));
    /// # Ok(()) }
    /// ```
    pub async fn load(&self, rows: &Arc<Columns>) -> Loaded {
        self.flow.load(rows).await
    }
}
