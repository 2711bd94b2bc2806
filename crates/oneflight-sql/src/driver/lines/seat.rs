//! What a connection owes: a seat while it is there, and a word to those who wait when it is there or cannot be had.

use super::line::Line;
use super::pool::Lines;
use crate::driver::error::{DriverError, Fault};
use std::sync::{Arc, Weak};
use tokio::time::Instant;
use tokio_postgres::Config;

/// The right to have a connection, from before it is opened until after its socket is closed (A1).
#[derive(Debug)]
pub(super) struct Seat(Weak<Lines>);

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(lines) = self.0.upgrade() {
            lines.free_seat();
        }
    }
}

/// A connection on its way. However that ends, those who wait are told (A5), and only then is the seat of one that did not come free:
/// else it would be given away for a connection that is still counted as coming.
#[derive(Debug)]
pub(super) struct Coming {
    lines: Weak<Lines>,
    sent: Instant,
    opened: Option<Result<Line, DriverError>>,
    seat: Option<Seat>,
}

impl Coming {
    /// Opens a connection in a seat that has been counted already.
    pub(super) fn open(
        lines: &Arc<Lines>,
        config: Config,
    ) -> impl Future<Output = ()> + Send + use<> {
        let lines = Arc::downgrade(lines);
        let mut coming = Self {
            seat: Some(Seat(lines.clone())),
            lines,
            sent: Instant::now(),
            opened: None,
        };
        async move { coming.arrive(&config).await }
    }

    async fn arrive(&mut self, config: &Config) {
        self.opened = Some(Line::open(config, &mut self.seat).await);
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        let Some(lines) = self.lines.upgrade() else {
            return;
        };
        let lost = || DriverError::new(Fault::Lost, "the connection was given up on its way");
        let opened = self.opened.take().unwrap_or_else(|| Err(lost()));
        lines.arrived(opened, self.sent.elapsed());
    }
}
