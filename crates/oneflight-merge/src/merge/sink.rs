//! Where the records of one table go: through a resolver, which remembers ids and shares flights, if other tables refer to it;
//! straight to the store if nobody does, column by column where that is enough.

use oneflight_sql::{Columns, Dialect, Error, Loaded, Outcome, Record, Resolver, Store, Value};
use std::sync::Arc;

/// The way into one table.
#[derive(Debug)]
pub(crate) struct Sink {
    store: Store,
    /// Set for a table that others refer to: its ids are asked for again and again.
    resolver: Option<Resolver>,
}

impl Sink {
    pub(crate) fn new(store: Store, resolver: Option<Resolver>) -> Self {
        Self { store, resolver }
    }

    /// The resolver of a table that others refer to.
    pub(crate) fn resolver(&self) -> Option<&Resolver> {
        self.resolver.as_ref()
    }

    /// True if several chunks may be loaded at once. SQLite has one writer, and on MySQL writers take turns anyway. With another
    /// unique index than the key's, rows with different keys may be in each other's way, and the first is to win.
    pub(crate) fn is_wide(&self) -> bool {
        self.store.driver().dialect() == Dialect::Postgres && self.store.is_keyed_alone()
    }

    /// Finds or creates rows whose ids nobody asks for.
    pub(crate) async fn load(&self, columns: &Arc<Columns>) -> Loaded {
        self.store.load(columns).await
    }

    /// The resolver, if records of several chunks may be under way in it at once: those that are like join one flight, and rows
    /// with different keys are not in each other's way.
    pub(crate) fn queue(&self) -> Option<&Resolver> {
        let is_free = self.store.is_keyed_alone();
        self.resolver.as_ref().filter(|_| is_free)
    }

    /// Finds or creates the records.
    pub(crate) async fn write(&self, records: Vec<Record>) -> Vec<Result<Outcome, Error>> {
        match &self.resolver {
            Some(resolver) => resolver.resolve_many(records).await,
            None => self.store.merge(records).await,
        }
    }

    /// Applies attributes to records that are there.
    pub(crate) async fn complete(&self, records: Vec<Record>) -> Vec<Result<Outcome, Error>> {
        self.store.merge(records).await
    }

    /// The ids of those records that are there.
    pub(crate) async fn find(&self, records: Vec<Record>) -> Result<Vec<Option<Value>>, Error> {
        self.store.find(&records).await
    }
}
