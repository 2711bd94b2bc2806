//! One connection: who writes on it, what is answered, and when it is over.

use super::pool::Lines;
use super::seat::Seat;
use crate::driver::error::DriverError;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_postgres::{Client, Config, NoTls};

/// So long a connection that nobody wants any more may take to part from its server. One that still waits for an answer, which
/// nobody else does, would keep its seat for ever.
const FAREWELL: Duration = Duration::from_secs(1);

/// One connection.
#[derive(Debug)]
pub(in crate::driver) struct Line {
    pub(in crate::driver) client: Client,
    pub(super) pen: Arc<tokio::sync::Mutex<()>>,
    /// Told when what was written last has been answered.
    last: Mutex<Option<oneshot::Receiver<()>>>,
    is_broken: AtomicBool,
    /// Tells the connection, by being dropped, that nobody wants it any more.
    _wanted: Option<oneshot::Sender<()>>,
}

/// What is written on a line, and what was written before it. When this is dropped, it has been answered.
pub(in crate::driver) struct Answered<'l> {
    line: &'l Line,
    before: Option<oneshot::Receiver<()>>,
    _tells: oneshot::Sender<()>,
}

impl Answered<'_> {
    /// True if what was answered is what was asked (A4): all before it was.
    pub(in crate::driver) async fn believed(mut self) -> bool {
        if let Some(before) = self.before.take() {
            // Answers come in order, so that it has its own already; it is dropped unsent.
            let _ = before.await;
        }
        !self.line.is_broken()
    }
}

impl Line {
    /// Opens a connection, which takes the seat and keeps it until its socket is closed (A1).
    pub(super) async fn open(
        config: &Config,
        seat: &mut Option<Seat>,
    ) -> Result<Self, DriverError> {
        let (client, connection) = config
            .connect(NoTls)
            .await
            .map_err(DriverError::from_postgres)?;
        let seat = seat.take();
        let (wanted, unwanted) = oneshot::channel::<()>();
        tokio::spawn(async move {
            let farewell = async {
                let _ = unwanted.await;
                tokio::time::sleep(FAREWELL).await;
            };
            // An error of the connection reaches those who wait through the client.
            tokio::select! {
                _ = connection => {}
                () = farewell => {}
            }
            drop(seat);
        });
        Ok(Self::of(client, Some(wanted)))
    }

    /// A connection that somebody else drives.
    pub(super) fn of(client: Client, wanted: Option<oneshot::Sender<()>>) -> Self {
        Self {
            client,
            pen: Arc::default(),
            last: Mutex::default(),
            is_broken: AtomicBool::new(false),
            _wanted: wanted,
        }
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.is_broken() && !self.client.is_closed()
    }

    fn is_broken(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `retire`, though pen and channels order the two already.
        self.is_broken.load(Ordering::Acquire)
    }

    /// Says that the next thing is written, while the pen is held.
    pub(in crate::driver) fn next(&self) -> Answered<'_> {
        let (tells, told) = oneshot::channel();
        Answered {
            line: self,
            before: self.last.lock().replace(told),
            _tells: tells,
        }
    }

    /// Says that nobody must write on it any more (A3), while the pen is held. It is closed when the last answer is there.
    pub(in crate::driver) fn retire(&self) {
        // ORDERING: Release, see `is_usable`.
        self.is_broken.store(true, Ordering::Release);
    }
}

/// A place on a line; given back when this is dropped.
#[derive(Debug)]
pub(in crate::driver) struct Place {
    pub(super) lines: Arc<Lines>,
    pub(in crate::driver) line: Arc<Line>,
    pub(super) number: u64,
    pub(super) weight: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.lines.give_back(self);
    }
}
