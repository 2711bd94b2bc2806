//! The pricing service: slow, sometimes down, and counted. It stands for whatever a page waits for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// A price in cents.
pub(crate) type Price = u32;

/// The service has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Down;

/// The service.
#[derive(Debug)]
pub(crate) struct Pricing {
    slow: Duration,
    fails: Fails,
    calls: Mutex<Calls>,
}

/// When it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fails {
    Never,
    /// From its second call on: there is a price to remember, and then none to get.
    AfterOne,
}

/// How often it was called.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    /// In all.
    pub(crate) all: u64,
    /// At most at the same time.
    pub(crate) at_once: u64,
    under_way: u64,
}

/// A call that is under way; when it is dropped, it is over.
struct UnderWay<'p>(&'p Pricing);

impl Pricing {
    pub(crate) fn new(slow: Duration, fails: Fails) -> Self {
        Self {
            slow,
            fails,
            calls: Mutex::default(),
        }
    }

    /// The price of a product, after a while. It owns what it uses: a refresh may go on when the visitor has gone.
    pub(crate) async fn price(self: Arc<Self>, product: String) -> Result<Price, Down> {
        let (number, _under_way) = self.begin();
        sleep(self.slow).await;
        match self.fails {
            Fails::AfterOne if number > 1 => Err(Down),
            Fails::Never | Fails::AfterOne => Ok(100 + 50 * product.len() as Price),
        }
    }

    pub(crate) fn calls(&self) -> Calls {
        *self.locked()
    }

    fn begin(&self) -> (u64, UnderWay<'_>) {
        let mut calls = self.locked();
        calls.all += 1;
        calls.under_way += 1;
        calls.at_once = calls.at_once.max(calls.under_way);
        (calls.all, UnderWay(self))
    }

    fn locked(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.locked().under_way -= 1;
    }
}
