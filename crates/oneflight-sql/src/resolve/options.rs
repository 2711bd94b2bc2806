//! The bounds of a resolver, each with its name.

/// How much a [`Resolver`](crate::Resolver) does at once, and how much it remembers.
///
/// # Examples
/// ```
/// use oneflight_sql::Options;
///
/// let options = Options::new().remember(1_000_000).max_batch(10_000);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub(crate) remember: usize,
    pub(crate) max_batch: usize,
    pub(crate) batches_in_flight: usize,
}

impl Options {
    /// The defaults: 65,536 ids remembered, at most 5,000 records a batch, at most two batches in flight.
    pub fn new() -> Self {
        Self {
            remember: 65_536,
            max_batch: 5_000,
            batches_in_flight: 2,
        }
    }

    /// How many ids are remembered at most. With 0, every call asks the database.
    ///
    /// A remembered id takes about 70 bytes, more if it is no integer. It is not looked at again: if others may delete rows, [`forget`] them or set this to 0.
    ///
    /// [`forget`]: crate::Resolver::forget
    pub fn remember(mut self, ids: usize) -> Self {
        self.remember = ids;
        self
    }

    /// How many records are sent at once, at most. 0 counts as 1.
    pub fn max_batch(mut self, records: usize) -> Self {
        self.max_batch = records.max(1);
        self
    }

    /// How many batches are in flight at once, at most. 0 counts as 1. Each takes a connection, unless the driver writes one behind
    /// the other, as [`PgDriver`](crate::driver::PgDriver) does.
    ///
    /// More than two make the batches smaller: that pays on a slow link, and nowhere else.
    pub fn batches_in_flight(mut self, batches: usize) -> Self {
        self.batches_in_flight = batches.max(1);
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}
