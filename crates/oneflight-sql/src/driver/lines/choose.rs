//! What is known of the lines, and which of them a pipeline takes. Nothing waits here.

use super::line::Line;
use crate::driver::error::{DriverError, Fault};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What a rehearsal weighs: it has a line for itself until it ends, behind nobody, and nobody goes behind it (A6).
pub(in crate::driver) const FOR_GOOD: usize = 1 << 40;

/// Pipelines that a line carries at once, at most; who comes then waits for one to be answered.
const CARRIED: usize = 32;

/// What a value that is bound takes the server, about: a row of five with four foreign keys was measured at 20 µs.
const A_VALUE: Duration = Duration::from_micros(4);

/// What it weighs that somebody decides something on the way, about: he has the line for himself until he is done.
pub(in crate::driver) const A_DECISION: usize = 25_000;

/// Nobody waits for a connection who is answered sooner than this.
const SOON: Duration = Duration::from_millis(10);

/// After a connection that could not be had, none is sent for by those who have another line: so long at first, and twice as long
/// each time, up to the second.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// All lines, and all that are on their way.
#[derive(Debug, Default)]
pub(super) struct State {
    open: Vec<Carrying>,
    /// The number of the next pipeline.
    next: u64,
    /// How many seats there are, and how many are taken (A1).
    most: usize,
    seats: usize,
    /// Connections on their way, and how many of them nobody has asked for yet.
    opening: usize,
    spare: usize,
    /// How long the last one took to open.
    took: Duration,
    /// How many could not be had, why the last one could not, and when those who have another line try again.
    failures: u64,
    why: Option<DriverError>,
    pause: Duration,
    pause_ends: Option<Instant>,
}

/// A line, and what it carries.
#[derive(Debug)]
struct Carrying {
    line: Arc<Line>,
    /// The numbers of its pipelines, the oldest first.
    pipelines: VecDeque<u64>,
    weight: usize,
    /// Since when the oldest that is unanswered has been the oldest: the server has been at it for so long.
    since: Instant,
}

/// What somebody wants, and what was so when he came.
#[derive(Debug)]
pub(super) struct Wish {
    weight: usize,
    /// How many connections could not be had before he came.
    failures: u64,
    /// True if a connection is, or was, on its way because of him.
    has_asked: bool,
}

/// Where a pipeline goes; without a line it waits until something has changed.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) line: Option<(Arc<Line>, u64)>,
    /// True if a connection is to be sent for. It is counted already.
    pub(super) sends: bool,
}

impl State {
    /// So many connections on their way, none of them asked for.
    pub(super) fn opening(most: usize, opening: usize) -> Self {
        Self {
            most,
            seats: opening,
            opening,
            spare: opening,
            ..Self::default()
        }
    }

    /// One line, and never another.
    pub(super) fn single(line: Line) -> Self {
        Self {
            open: vec![Carrying::new(line)],
            ..Self::default()
        }
    }

    /// False while none is open and some are on their way.
    pub(super) fn is_open(&self) -> Result<bool, DriverError> {
        match self.open.is_empty() && !self.is_coming() {
            true => Err(self.why.clone().unwrap_or_else(closed)),
            false => Ok(!self.open.is_empty()),
        }
    }

    pub(super) fn wish(&self, weight: usize) -> Wish {
        Wish {
            weight,
            failures: self.failures,
            has_asked: false,
        }
    }

    pub(super) fn choose(&mut self, wish: &mut Wish) -> Result<Choice, DriverError> {
        let now = Instant::now();
        self.open.retain(|carrying| carrying.line.is_usable());
        let sends = self.seats_another(wish, now);
        let worth = self.took.max(SOON);
        let open = self.open.iter().enumerate();
        // Who keeps a line for good takes none that others are on: one that has not asked for the pen yet would wait for him.
        let with_room = open.filter(|(_, line)| match wish.weight {
            FOR_GOOD.. => line.is_idle(),
            _ => line.has_room(),
        });
        let waits = with_room.map(|(at, line)| (line.wait(now), at));
        let line = match waits.min() {
            Some((wait, at)) if !self.is_coming() || wait <= worth => {
                self.next += 1;
                let carrying = &mut self.open[at];
                carrying.take(self.next, wish.weight, now);
                Some((carrying.line.clone(), self.next))
            }
            Some(_) => None,
            None if self.is_coming() || !self.is_all_held() => None,
            None if self.failures > wish.failures => {
                return Err(self.why.clone().unwrap_or_else(closed));
            }
            // What is held, or retired and not closed yet, leaves its seat to somebody one day.
            None if self.seats > 0 || !self.open.is_empty() => None,
            None => return Err(closed()),
        };
        Ok(Choice { line, sends })
    }

    /// True if a connection is on its way.
    pub(super) fn is_coming(&self) -> bool {
        self.opening > 0
    }

    /// True if there is no line that carries anything but what keeps it for good.
    fn is_all_held(&self) -> bool {
        self.open.iter().all(Carrying::is_held)
    }

    /// Gives a seat to a connection that is to be sent for; false if none is.
    fn seats_another(&mut self, wish: &mut Wish, now: Instant) -> bool {
        let is_stranded = !self.is_coming() && self.is_all_held();
        let wants = match is_stranded {
            true => self.failures == wish.failures,
            false => !wish.has_asked && self.pause_ends.is_none_or(|end| now >= end),
        };
        if !wants || self.open.iter().any(Carrying::is_idle) {
            return false;
        }
        if self.spare > 0 {
            self.spare -= 1;
            wish.has_asked = true;
            return false;
        }
        if self.seats >= self.most {
            return false;
        }
        wish.has_asked = true;
        self.seats += 1;
        self.opening += 1;
        true
    }

    /// A connection has been opened, or cannot be had: its seat is free then.
    pub(super) fn arrived(&mut self, opened: Result<Line, DriverError>, took: Duration) {
        self.opening -= 1;
        self.spare = self.spare.min(self.opening);
        match opened {
            Ok(line) => {
                self.open.push(Carrying::new(line));
                self.took = took;
                (self.pause, self.pause_ends) = (Duration::ZERO, None);
            }
            Err(error) => {
                self.failures += 1;
                self.why = Some(error);
                let now = Instant::now();
                // Those that were sent for together fail together, and make one pause.
                if self.pause_ends.is_none_or(|end| now >= end) {
                    self.pause = (self.pause * 2).clamp(PAUSE, LONGEST_PAUSE);
                    self.pause_ends = Some(now + self.pause);
                }
            }
        }
    }

    /// A connection is closed, or was not had.
    pub(super) fn free_seat(&mut self) {
        self.seats -= 1;
    }

    /// Something was answered, or not even asked.
    pub(super) fn give_back(&mut self, line: &Arc<Line>, number: u64, weight: usize) {
        let mut open = self.open.iter_mut();
        if let Some(carrying) = open.find(|carrying| Arc::ptr_eq(&carrying.line, line)) {
            carrying.give_back(number, weight);
        }
        self.open.retain(|carrying| carrying.line.is_usable());
    }
}

impl Carrying {
    fn new(line: Line) -> Self {
        Self {
            line: Arc::new(line),
            pipelines: VecDeque::new(),
            weight: 0,
            since: Instant::now(),
        }
    }

    fn take(&mut self, number: u64, weight: usize, now: Instant) {
        if self.is_idle() {
            self.since = now;
        }
        self.pipelines.push_back(number);
        self.weight += weight;
    }

    fn give_back(&mut self, number: u64, weight: usize) {
        if self.pipelines.front() == Some(&number) {
            self.since = Instant::now();
        }
        self.pipelines.retain(|&other| other != number);
        self.weight -= weight;
    }

    fn is_idle(&self) -> bool {
        self.pipelines.is_empty()
    }

    /// True if somebody keeps it until he ends (A6).
    fn is_held(&self) -> bool {
        self.weight >= FOR_GOOD
    }

    fn has_room(&self) -> bool {
        self.pipelines.len() < CARRIED && !self.is_held()
    }

    /// A guess how long who goes behind it waits. What it carries takes so long by its weight; and what has been unanswered for
    /// long (it may wait for a lock) will be so for as long again.
    fn wait(&self, now: Instant) -> Duration {
        if self.is_idle() {
            return Duration::ZERO;
        }
        let values = u32::try_from(self.weight).unwrap_or(u32::MAX);
        now.saturating_duration_since(self.since) + A_VALUE.saturating_mul(values)
    }
}

fn closed() -> DriverError {
    DriverError::new(Fault::Lost, "the connection is closed")
}
