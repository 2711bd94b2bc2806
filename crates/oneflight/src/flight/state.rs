//! The state of a flight, as pure transitions: who may poll the work, who is woken, when it is over. Everything here happens
//! under the flight's lock; what must not (waking, dropping, polling) is handed out.
//!
//! ```text
//!          begin             landing              land
//!   Idle ───────────▶ Polling ─────────▶ Landing ─────────▶ Landed
//!     ▲     pending      │  │
//!     └──────────────────┘  └──────── last one left ──────▶ Abandoned      (from Idle too; and from both to Landed, from outside)
//! ```
//!
//! S1. At most one poll of the work at a time: between `begin` and `pending` or `land`.
//! S2. A wake of the work is answered by a poll: `woken` stays set until somebody begins, and whoever is polled while it is set
//!     begins.
//! S3. Landed and Abandoned are final. Nobody joins from Landing on, and nobody but the one who is landing ends the flight.

use super::queue::{Queue, Wakers, wake_all};
use std::task::Waker;

const NOBODY: u32 = u32::MAX;

/// What a flight is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Idle,
    Polling,
    /// The work is done; its answer is about to be published.
    Landing,
    Landed,
    Abandoned,
}

/// The state of a flight.
#[derive(Debug)]
pub(crate) struct State {
    phase: Phase,
    /// The work has been woken (or never polled) and nobody has answered yet.
    woken: bool,
    /// The waiter that is a task of the flight's own: woken every time, since it alone is sure to be polled.
    pilot: u32,
    /// The waiter that polled last.
    driver: u32,
    /// How many others are woken with the driver; doubled whenever a wake went unanswered.
    backups: u32,
    /// Callers that wait now.
    waiters: u32,
    /// Callers that have waited, ever.
    callers: u32,
    queue: Queue,
}

/// What a polled waiter has to do.
#[derive(Debug)]
pub(crate) enum Turn {
    /// Wait; the old waker is to be dropped.
    Wait(#[allow(dead_code, reason = "held to be dropped after the lock")] Option<Waker>),
    /// Poll the work.
    Drive,
    /// Take the answer, which this many callers share.
    Landed(u32),
    /// Nothing will come any more.
    Abandoned,
}

/// Whom to wake, after the lock. Two of them need no allocation.
#[derive(Debug, Default)]
pub(crate) struct Call {
    first: Option<Waker>,
    second: Option<Waker>,
    more: Vec<Waker>,
}

/// What the leaving of a waiter comes to.
#[derive(Debug)]
pub(crate) enum Left {
    /// Others go on; one of them may have to be woken.
    Goes(Option<Waker>),
    /// It was the last: the work is to be dropped, unless it is being polled (then by the one who polls).
    Last { polling: bool, wakers: Wakers },
    /// It was over already.
    Over,
}

impl State {
    /// A flight with its leader in slot 0, whose work is still being made: nobody may poll it.
    pub(crate) fn making() -> Self {
        Self {
            phase: Phase::Polling,
            woken: true,
            pilot: NOBODY,
            driver: NOBODY,
            backups: 1,
            waiters: 1,
            callers: 1,
            queue: Queue::with_one(),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// True if its end is settled (S3).
    pub(crate) fn is_over(&self) -> bool {
        matches!(
            self.phase,
            Phase::Landing | Phase::Landed | Phase::Abandoned
        )
    }

    pub(crate) fn is_piloted(&self) -> bool {
        self.pilot != NOBODY
    }

    pub(crate) fn callers(&self) -> u32 {
        self.callers
    }

    pub(crate) fn waiters(&self) -> u32 {
        self.waiters
    }

    /// One more caller; none if it is too late.
    pub(crate) fn join(&mut self) -> Option<u32> {
        if self.is_over() {
            return None;
        }
        self.waiters += 1;
        self.callers = self.callers.saturating_add(1);
        Some(self.queue.add())
    }

    /// A slot for the autopilot, unless there is one already. `counts`: it keeps the flight up by itself.
    pub(crate) fn board(&mut self, counts: bool) -> Option<u32> {
        if self.is_over() || self.is_piloted() {
            return None;
        }
        self.waiters += u32::from(counts);
        self.pilot = self.queue.add();
        Some(self.pilot)
    }

    /// A waiter was polled.
    pub(crate) fn begin(&mut self, slot: u32, waker: &Waker) -> Turn {
        match self.phase {
            Phase::Landed => Turn::Landed(self.callers),
            Phase::Abandoned => Turn::Abandoned,
            Phase::Idle if self.woken => {
                self.phase = Phase::Polling;
                self.woken = false;
                self.driver = slot;
                self.backups = 1;
                Turn::Drive
            }
            Phase::Idle | Phase::Polling | Phase::Landing => {
                Turn::Wait(self.queue.set(slot, waker))
            }
        }
    }

    /// The work is made, or was polled and is pending. False if the flight is over meanwhile: then the work is to be dropped.
    pub(crate) fn pending(
        &mut self,
        by: Option<(u32, &Waker)>,
    ) -> Result<(Call, Option<Waker>), ()> {
        if self.is_over() {
            return Err(());
        }
        debug_assert_eq!(self.phase, Phase::Polling, "S1");
        self.phase = Phase::Idle;
        let old = by.and_then(|(slot, waker)| self.queue.set(slot, waker));
        // The work was woken while it was polled, or joiners came while it was made.
        let call = if self.woken {
            self.call()
        } else {
            Call::default()
        };
        Ok((call, old))
    }

    /// The work woke us: whom to wake in turn.
    pub(crate) fn wake(&mut self) -> Call {
        match self.phase {
            Phase::Landing | Phase::Landed | Phase::Abandoned => Call::default(),
            Phase::Polling => {
                self.woken = true;
                Call::default()
            }
            Phase::Idle => {
                if std::mem::replace(&mut self.woken, true) {
                    self.backups = self.backups.saturating_mul(2);
                }
                self.call()
            }
        }
    }

    /// The work has ended: from here on the end is settled. False if somebody else has settled it (S3).
    pub(crate) fn landing(&mut self) -> bool {
        let mine = !self.is_over();
        if mine {
            debug_assert_eq!(self.phase, Phase::Polling, "S1");
            self.phase = Phase::Landing;
        }
        mine
    }

    /// Publishes the end; hands out who is to be woken.
    pub(crate) fn land(&mut self) -> Wakers {
        debug_assert!(
            !matches!(self.phase, Phase::Landed | Phase::Abandoned),
            "S3"
        );
        self.phase = Phase::Landed;
        self.queue.take()
    }

    /// A waiter leaves. `counts`: it is a caller, or an autopilot that keeps the flight up.
    pub(crate) fn leave(&mut self, slot: u32, counts: bool) -> (Left, Option<Waker>) {
        if self.is_over() {
            return (Left::Over, None);
        }
        let old = self.queue.remove(slot);
        self.waiters -= u32::from(counts);
        if self.waiters == 0 {
            let polling = self.phase == Phase::Polling;
            self.phase = Phase::Abandoned;
            return (
                Left::Last {
                    polling,
                    wakers: self.queue.take(),
                },
                old,
            );
        }
        let mut next = None;
        if self.driver == slot {
            self.driver = NOBODY;
        }
        if self.pilot == slot {
            self.pilot = NOBODY;
        }
        if self.phase == Phase::Idle && self.woken {
            // The one who left may be the one who was woken: pass the wake on (S2).
            next = self.queue.next(NOBODY).map(|(at, waker)| {
                self.driver = at;
                waker
            });
        }
        (Left::Goes(next), old)
    }

    /// The driver, and as many others as a wake needs, the pilot first; if the driver has left, one of the others takes its place.
    fn call(&mut self) -> Call {
        let mut call = Call {
            first: self.queue.waker(self.driver),
            ..Call::default()
        };
        if call.first.is_none()
            && let Some((at, waker)) = self.queue.next(NOBODY)
        {
            self.driver = at;
            call.first = Some(waker);
        }
        if self.pilot != self.driver {
            call.second = self.queue.waker(self.pilot);
        }
        let others = self.waiters.saturating_sub(1) + u32::from(self.is_piloted());
        for _ in u32::from(call.second.is_some())..self.backups.min(others) {
            match self.queue.next(self.driver) {
                Some((_, waker)) if call.second.is_none() => call.second = Some(waker),
                Some((_, waker)) => call.more.push(waker),
                None => break,
            }
        }
        call
    }
}

impl Call {
    /// Wakes them. Never under a lock.
    pub(crate) fn wake(self) {
        wake_all(self.first.into_iter().chain(self.second).chain(self.more));
    }
}
