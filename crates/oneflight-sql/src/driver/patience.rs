//! How long we put up with faults that pass: a lost connection, a deadlock, a lock that others hold.

use super::error::DriverError;
use std::time::Duration;
use tokio::time::Instant;

/// How often a passing fault is tried again.
const RETRIES: u32 = 8;

/// Counts the attempts at one thing, which must be such that it may be done twice.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    attempts: u32,
    /// When it ends, if it is time that ends it.
    until: Option<Instant>,
}

impl Patience {
    /// Puts up with passing faults for `time`, however often they come.
    pub(crate) fn lasting(time: Duration) -> Self {
        Self {
            attempts: 0,
            until: Some(Instant::now() + time),
        }
    }

    /// Waits before the next attempt: longer each time, and never as long as the others do. Gives the error back if it is not
    /// one that passes, or if it has come too often.
    pub(crate) async fn after(&mut self, error: DriverError) -> Result<(), DriverError> {
        let is_over = match self.until {
            Some(until) => Instant::now() >= until,
            None => self.attempts == RETRIES,
        };
        if !error.fault().is_passing() || is_over {
            return Err(error);
        }
        let most = 10u64 << self.attempts.min(6);
        self.attempts += 1;
        let millis = rand::random_range(most / 2..=most);
        tokio::time::sleep(Duration::from_millis(millis)).await;
        Ok(())
    }
}
