//! Where the records of one table go: through a resolver, which remembers ids and shares flights, if other tables refer to it;
//! straight to the store if nobody does.

use super::turns::Turn;
use oneflight_sql::{Error, Outcome, Record, Store, Value};

/// The way into one table.
#[derive(Debug)]
pub(crate) enum Sink {
    /// A table that nobody refers to: its ids are of no use, and its rows come once.
    Store(Store),
}

impl Sink {
    /// Finds or creates the records. The turn ends as soon as the order of the batches is settled.
    pub(crate) async fn write(&self, records: Vec<Record>, turn: Turn<'_>) -> Vec<Result<Outcome, Error>> {
        match self {
            Self::Store(store) => {
                let outcomes = store.merge(records).await;
                drop(turn);
                outcomes
            }
        }
    }

    /// Applies attributes to records that are there.
    pub(crate) async fn complete(&self, records: Vec<Record>) -> Vec<Result<Outcome, Error>> {
        match self {
            Self::Store(store) => store.merge(records).await,
        }
    }

    /// The ids of those records that are there.
    pub(crate) async fn find(&self, records: Vec<Record>) -> Result<Vec<Option<Value>>, Error> {
        match self {
            Self::Store(store) => store.find(&records).await,
        }
    }
}
