//! Where the price is from: slow, sometimes down, and counted.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// A price, and when it was the price.
#[derive(Clone, Copy, Debug)]
pub(super) struct Price {
    pub(super) at: Instant,
}

/// The source has failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Down;

/// How often the source was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Calls {
    /// In all.
    pub(crate) all: u64,
    /// At most at the same time.
    pub(crate) at_once: u64,
    /// Bursts (P2).
    pub(crate) bursts: u64,
    #[serde(skip)]
    under_way: u64,
}

/// The source.
#[derive(Debug)]
pub(super) struct Source {
    slow: Duration,
    /// When it fails, counted from the start.
    down: Option<Range<Duration>>,
    start: Instant,
    calls: Mutex<Calls>,
}

/// A call that is under way; dropped with the work, it is over.
struct UnderWay<'s>(&'s Source);

impl Calls {
    /// Those that came after `before`.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            all: self.all - before.all,
            bursts: self.bursts - before.bursts,
            ..self
        }
    }
}

impl Source {
    pub(super) fn new(slow: Duration, down: Option<Range<Duration>>) -> Self {
        Self {
            slow,
            down,
            start: Instant::now(),
            calls: Mutex::default(),
        }
    }

    /// The price, after a while; an error after as long a while if it is down then.
    pub(super) async fn price(self: Arc<Self>) -> Result<Price, Down> {
        let under_way = self.begin();
        sleep(self.slow).await;
        drop(under_way);
        let now = self.start.elapsed();
        match &self.down {
            Some(down) if down.contains(&now) => Err(Down),
            _ => Ok(Price { at: Instant::now() }),
        }
    }

    pub(super) fn calls(&self) -> Calls {
        *self.locked()
    }

    fn begin(&self) -> UnderWay<'_> {
        let mut calls = self.locked();
        calls.all += 1;
        calls.bursts += u64::from(calls.under_way == 0);
        calls.under_way += 1;
        calls.at_once = calls.at_once.max(calls.under_way);
        UnderWay(self)
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
