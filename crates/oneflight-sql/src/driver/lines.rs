//! The connections of a [`PgDriver`](super::PgDriver), and who sends on which.
//!
//! ```text
//!   pipeline ─▶ a line that carries nothing ─▶ else a new one, if there may be more ─▶ else behind what a line carries already
//!
//!   line:   BEGIN a b COMMIT · BEGIN c COMMIT · d ───▶ server      written one behind the other, answered in that order
//! ```
//!
//! A pipeline that decides nothing on the way is written in one go, and the next one may be written behind it before it is answered:
//! on a slow link nobody waits for a connection, only for the server.
//!
//! A1. Lines that are open and those on their way are together never more than were allowed.
//! A2. The messages of two pipelines never mix: who writes holds the line's `pen`, to the end if he decides something on the way.
//! A3. Nobody writes on a line that may have a transaction open which nobody will end.
//! A4. Answers are believed in the order of their questions, up to the first that is out of step.

use super::error::{DriverError, Fault};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{Notify, OwnedMutexGuard, oneshot};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config, NoTls};

/// As many connections are opened beside the first one, if there may be so many: a link of 40 ms takes 160 ms to open, and whoever
/// has several tables needs several connections at once.
const WARM: usize = 3;

/// Pipelines that a line carries at once, at most; who comes then waits for one to be answered.
const CARRIED: usize = 32;

/// All connections.
#[derive(Debug)]
pub(super) struct Lines {
    config: Option<Config>,
    most: usize,
    state: Mutex<State>,
    /// Told when a line carries less, or is there, or is gone.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    open: Vec<Carrying>,
    /// Connections on their way that nobody waits for yet. They are given up with the driver.
    warming: Vec<Warming>,
    /// Those that somebody waits for.
    coming: usize,
}

/// A line, and what it carries.
#[derive(Debug)]
struct Carrying {
    line: Arc<Line>,
    pipelines: usize,
    weight: usize,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) client: Client,
    pen: Arc<tokio::sync::Mutex<()>>,
    /// Told when what was written last has been answered.
    last: Mutex<Option<oneshot::Receiver<()>>>,
    is_broken: AtomicBool,
}

/// What is written on a line, and what was written before it. When this is dropped, it has been answered.
pub(super) struct Answered<'l> {
    line: &'l Line,
    before: Option<oneshot::Receiver<()>>,
    _tells: oneshot::Sender<()>,
}

impl Answered<'_> {
    /// True if what was answered is what was asked (A4): all before it was.
    pub(super) async fn believed(mut self) -> bool {
        if let Some(before) = self.before.take() {
            // Answers come in order, so that it has its own already; it is dropped unsent.
            let _ = before.await;
        }
        !self.line.is_broken()
    }
}

impl Lines {
    /// Opens the first line, and sends for a few more.
    pub(super) async fn connect(config: Config, most: usize) -> Result<Arc<Self>, DriverError> {
        let warm = most.saturating_sub(1).min(WARM);
        let warming = (0..warm).map(|_| Warming::new(config.clone())).collect();
        let first = open(&config).await?;
        Ok(Self::of(Some(config), first, warming, most))
    }

    /// One line that cannot be made anew.
    pub(super) fn single(client: Client) -> Arc<Self> {
        Self::of(None, client, Vec::new(), 1)
    }

    fn of(config: Option<Config>, first: Client, warming: Vec<Warming>, most: usize) -> Arc<Self> {
        let state = State {
            open: vec![Carrying::new(first)],
            warming,
            coming: 0,
        };
        Arc::new(Self {
            config,
            most: most.clamp(1, 1_000),
            state: Mutex::new(state),
            changed: Notify::new(),
        })
    }

    /// A place on a line, for a pipeline of this weight, and the line's pen (A2).
    pub(super) async fn place(
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
        loop {
            let changed = self.changed.notified();
            // LOCK: let go of before anything waits.
            let choice = self.state.lock().choose(self, weight)?;
            match choice {
                Choice::Taken(line) => {
                    let lines = self.clone();
                    return Ok(Place {
                        lines,
                        line,
                        weight,
                    });
                }
                Choice::Open(warming) => self.open(warming).await?,
                Choice::Wait => changed.await,
            }
        }
    }

    /// Opens a line: one on its way if there is any, else a new one.
    async fn open(&self, warming: Option<Warming>) -> Result<(), DriverError> {
        let coming = Coming(self);
        let config = self.config.as_ref().ok_or_else(closed)?;
        let client = match warming {
            // One that failed or was lost on its way is opened again.
            Some(mut warming) => match (&mut warming.0).await {
                Ok(Ok(client)) if !client.is_closed() => client,
                _ => open(config).await?,
            },
            None => open(config).await?,
        };
        self.state.lock().open.push(Carrying::new(client));
        drop(coming);
        Ok(())
    }
}

/// Where a pipeline goes.
enum Choice {
    Taken(Arc<Line>),
    Open(Option<Warming>),
    Wait,
}

impl State {
    fn choose(&mut self, lines: &Lines, weight: usize) -> Result<Choice, DriverError> {
        self.open.retain(|carrying| carrying.line.is_usable());
        let is_idle = |carrying: &Carrying| carrying.pipelines == 0;
        let may_open = lines.config.is_some() && self.open.len() + self.coming < lines.most;
        if may_open && !self.open.iter().any(is_idle) {
            self.coming += 1;
            return Ok(Choice::Open(self.warming.pop()));
        }
        let is_dead = self.open.is_empty() && self.coming == 0;
        let has_room = |carrying: &&mut Carrying| carrying.pipelines < CARRIED;
        let lightest = self.open.iter_mut().filter(has_room);
        // A line whose pen is held is one on which somebody decides something: he may be at it for long.
        let lightest = lightest
            .min_by_key(|carrying| (carrying.line.pen.try_lock().is_err(), carrying.weight));
        match lightest {
            Some(carrying) => {
                carrying.pipelines += 1;
                carrying.weight += weight;
                Ok(Choice::Taken(carrying.line.clone()))
            }
            None if is_dead => Err(closed()),
            None => Ok(Choice::Wait),
        }
    }
}

impl Carrying {
    fn new(client: Client) -> Self {
        let line = Line {
            client,
            pen: Arc::default(),
            last: Mutex::default(),
            is_broken: AtomicBool::new(false),
        };
        Self {
            line: Arc::new(line),
            pipelines: 0,
            weight: 0,
        }
    }
}

impl Line {
    fn is_usable(&self) -> bool {
        !self.is_broken() && !self.client.is_closed()
    }

    fn is_broken(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `retire`, though pen and channels order the two already.
        self.is_broken.load(Ordering::Acquire)
    }

    /// Says that the next thing is written, while the pen is held.
    pub(super) fn next(&self) -> Answered<'_> {
        let (tells, told) = oneshot::channel();
        Answered {
            line: self,
            before: self.last.lock().replace(told),
            _tells: tells,
        }
    }

    /// Says that nobody must write on it any more (A3), while the pen is held. It is closed when the last answer is there.
    pub(super) fn retire(&self) {
        // ORDERING: Release, see `is_usable`.
        self.is_broken.store(true, Ordering::Release);
    }
}

/// A place on a line; given back when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    lines: Arc<Lines>,
    pub(super) line: Arc<Line>,
    weight: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.lines.state.lock();
        let mut open = state.open.iter_mut();
        if let Some(carrying) = open.find(|carrying| Arc::ptr_eq(&carrying.line, &self.line)) {
            carrying.pipelines -= 1;
            carrying.weight -= self.weight;
        }
        state.open.retain(|carrying| carrying.line.is_usable());
        drop(state);
        self.lines.changed.notify_waiters();
    }
}

/// A line that somebody waits for; when this is dropped it is there, or nobody waits for it any more.
struct Coming<'l>(&'l Lines);

impl Drop for Coming<'_> {
    fn drop(&mut self) {
        self.0.state.lock().coming -= 1;
        self.0.changed.notify_waiters();
    }
}

/// A connection on its way; given up when this is dropped.
#[derive(Debug)]
struct Warming(JoinHandle<Result<Client, DriverError>>);

impl Warming {
    fn new(config: Config) -> Self {
        Self(tokio::spawn(async move { open(&config).await }))
    }
}

impl Drop for Warming {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn open(config: &Config) -> Result<Client, DriverError> {
    let (client, connection) = config
        .connect(NoTls)
        .await
        .map_err(DriverError::from_postgres)?;
    tokio::spawn(async move {
        // An error of the connection reaches those who wait through the client.
        let _ = connection.await;
    });
    Ok(client)
}

fn closed() -> DriverError {
    DriverError::new(Fault::Lost, "the connection is closed")
}
