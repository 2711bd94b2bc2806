//! All connections: places taken and given back, connections sent for and arriving.

use super::choose::{Choice, State};
use super::line::{Line, Place};
use super::seat::Coming;
use crate::driver::error::DriverError;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, OwnedMutexGuard};
use tokio::task::JoinSet;
use tokio_postgres::{Client, Config};

/// As many connections are opened beside the first one, if there may be so many: a link of 40 ms takes 160 ms to open, and whoever
/// has several tables needs several connections at once.
const WARM: usize = 3;

/// All connections.
#[derive(Debug)]
pub(in crate::driver) struct Lines {
    /// How another one is opened; none if that cannot be done.
    config: Option<Config>,
    state: Mutex<State>,
    /// Told when a line carries less, or is there, or cannot be had, or is closed.
    changed: Notify,
    /// Those who open connections. They are given up with the driver.
    opening: Mutex<JoinSet<()>>,
}

impl Lines {
    /// Opens a few connections, and returns when the first is there: where a server has room for no more, one is enough.
    pub(in crate::driver) async fn connect(
        config: Config,
        most: usize,
    ) -> Result<Arc<Self>, DriverError> {
        let most = most.clamp(1, 1_000);
        let warm = most.min(1 + WARM);
        let lines = Self::of(Some(config), State::opening(most, warm));
        for _ in 0..warm {
            lines.send_for();
        }
        loop {
            let changed = lines.changed.notified();
            // LOCK: let go of before anything waits.
            let is_open = lines.state.lock().is_open()?;
            if is_open {
                break;
            }
            changed.await;
        }
        Ok(lines)
    }

    /// One line that cannot be made anew.
    pub(in crate::driver) fn single(client: Client) -> Arc<Self> {
        Self::of(None, State::single(Line::of(client, None)))
    }

    fn of(config: Option<Config>, state: State) -> Arc<Self> {
        Arc::new(Self {
            config,
            state: Mutex::new(state),
            changed: Notify::new(),
            opening: Mutex::default(),
        })
    }

    /// A place on a line, for a pipeline of this weight, and the line's pen (A2).
    pub(in crate::driver) async fn place(
        self: &Arc<Self>,
        weight: usize,
    ) -> Result<(Place, OwnedMutexGuard<()>), DriverError> {
        loop {
            let place = self.next(weight).await?;
            let pen = place.line.pen.clone().lock_owned().await;
            if place.line.is_usable() {
                return Ok((place, pen));
            }
        }
    }

    async fn next(self: &Arc<Self>, weight: usize) -> Result<Place, DriverError> {
        let mut wish = self.state.lock().wish(weight);
        loop {
            let changed = self.changed.notified();
            // LOCK: let go of before anything waits.
            let choice = self.state.lock().choose(&mut wish)?;
            let Choice { line, sends } = choice;
            if sends {
                self.send_for();
            }
            match line {
                Some((line, number)) => {
                    return Ok(Place {
                        lines: self.clone(),
                        line,
                        number,
                        weight,
                    });
                }
                None => changed.await,
            }
        }
    }

    /// Sends for a connection, which the state counts already. It has a task of its own: who sent for it may have another line by
    /// then, or be gone.
    fn send_for(self: &Arc<Self>) {
        if let Some(config) = &self.config {
            let coming = Coming::open(self, config.clone());
            let mut opening = self.opening.lock();
            while opening.try_join_next().is_some() {}
            opening.spawn(coming);
        }
    }

    pub(super) fn arrived(&self, opened: Result<Line, DriverError>, took: Duration) {
        self.state.lock().arrived(opened, took);
        self.changed.notify_waiters();
    }

    pub(super) fn free_seat(&self) {
        self.state.lock().free_seat();
        self.changed.notify_waiters();
    }

    pub(super) fn give_back(&self, place: &Place) {
        let mut state = self.state.lock();
        state.give_back(&place.line, place.number, place.weight);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits until no connection is on its way.
    #[cfg(test)]
    pub(super) async fn settled(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.state.lock().is_coming() {
                return;
            }
            changed.await;
        }
    }
}
