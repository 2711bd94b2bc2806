//! The state of a flight, as pure transitions: who may poll the work, who is woken, when it is over. What must not be done under
//! a lock (waking, dropping, polling) is handed out.
//!
//! ```text
//!           publish        begin             landing              land
//!   Making ────────▶ Idle ───────▶ Polling ─────────▶ Landing ─────────▶ Landed
//!                     ▲  pending      │  │               ▲
//!                     └───────────────┘  │               └── settle (from outside: from Making, Idle and Polling)
//!                     └──────────────────┴─ last one left ──▶ Abandoned
//! ```
//!
//!   word: phase, "the work has been woken", "there is a pilot", how many wait. Every transition is one atomic step of it.
//!   queue: the wakers, under a lock. A flight with one caller takes the lock only to wait.
//!
//! S1. At most one poll of the work at a time: between `begin` and `pending` or `landing`.
//! S2. A wake of the work is answered by a poll: WOKEN stays set until somebody begins, and whoever is polled while it is set
//!     begins. A waiter registers under the lock, and who sets WOKEN in Idle, or makes Idle of something else while somebody is
//!     registered, looks for somebody to wake under it.
//! S3. Landing, Landed and Abandoned are never left for another end. Nobody joins from Landing on, and the one who put the phase
//!     to Landing lands the flight.
//! S4. A flight whose only waiter puts it to Landing needs no more: nobody can see it any more, and it stays there.

use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering};
use crate::waiting::queue::{Call, NOBODY, Queue, Wakers};
use std::task::Waker;

/// What a flight is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// The leader makes the work.
    Making,
    Idle,
    Polling,
    /// The end is settled; the answer is about to be published.
    Landing,
    Landed,
    Abandoned,
}

/// Phase, flags and waiters in one word.
#[derive(Clone, Copy)]
struct Word(u64);

/// The work has been woken (or never polled) and nobody has answered yet.
const WOKEN: u64 = 1 << 3;
/// There is an autopilot.
const PILOTED: u64 = 1 << 4;
/// Somebody waits for the work to be made.
const WANTED: u64 = 1 << 5;
/// The graph of who waits for whom knows of it: its end is to be told there.
const NOTED: u64 = 1 << 6;
/// One waiter.
const WAITER: u64 = 1 << 32;

/// The state of a flight.
#[derive(Debug)]
pub(crate) struct State {
    word: AtomicU64,
    /// Callers that have waited, ever. Counted under the shard's lock, as all joining is.
    callers: AtomicU32,
    queue: Mutex<Queue>,
}

/// What a polled waiter has to do.
#[derive(Debug)]
pub(crate) enum Turn {
    /// Wait; the old waker is to be dropped.
    Wait(#[allow(dead_code, reason = "held to be dropped after the lock")] Option<Waker>),
    /// Poll the work.
    Drive,
    /// Take the answer.
    Landed,
    /// Nothing will come any more.
    Abandoned,
}

/// Who leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Caller,
    /// An autopilot; `counts` if it keeps the flight up by itself.
    Pilot {
        counts: bool,
    },
}

/// What is to be done after a poll that was not ready, after the lock.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The work was woken while it was polled: the one who polled it is to be woken, to poll it again.
    pub(crate) again: bool,
    /// And so are these.
    pub(crate) call: Call,
    /// To be dropped.
    pub(crate) old: Option<Waker>,
}

/// What the leaving of a waiter comes to.
#[derive(Debug)]
pub(crate) enum Left {
    /// Others go on; one of them may have to be woken.
    Goes(Option<Waker>),
    /// It was the last: the work is to be dropped, unless somebody has it in hand (who will see, and drop it).
    Last { in_hand: bool, wakers: Wakers },
    /// It was over already.
    Over,
}

/// The flight is over: what the caller wanted to do with the work is not to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Over;

impl State {
    /// A flight with its leader, who is making the work: nobody may poll it.
    #[inline]
    pub(crate) fn making() -> Self {
        Self {
            word: AtomicU64::new(Phase::Making as u64 | WOKEN | WAITER),
            callers: AtomicU32::new(1),
            queue: Mutex::new(Queue::default()),
        }
    }

    /// True if its end is settled (S3).
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.read().is_over()
    }

    /// Its end is to be told. Only by the one who has the work in hand, who sees it when dropping the work.
    pub(crate) fn note(&self) {
        // An error means that it was noted before.
        let _ = self.update(|word| match word.has(NOTED) {
            true => Err(Over),
            false => Ok(word.with(NOTED)),
        });
    }

    /// True if its end is to be told.
    pub(crate) fn is_noted(&self) -> bool {
        self.read().has(NOTED)
    }

    /// How many have called so far.
    #[inline]
    pub(crate) fn callers(&self) -> u32 {
        // ORDERING: Relaxed: written under the shard's lock, and read under it or after the flight has left the table under it.
        self.callers.load(Ordering::Relaxed)
    }

    /// True if so many callers wait for it, or more. Only under the shard's lock, where they become no more.
    #[inline]
    pub(crate) fn is_full(&self, most: u32) -> bool {
        if most == u32::MAX {
            return false;
        }
        let word = self.read();
        !word.is_over() && word.waiters().saturating_sub(word.has(PILOTED).into()) >= most
    }

    /// One more caller, unless it is too late. Only under the shard's lock.
    #[inline]
    pub(crate) fn join(&self) -> bool {
        let joined = self.update(|word| word.unless_over().map(|word| word.more()));
        if joined.is_ok() {
            // ORDERING: Relaxed, and two steps: nobody else writes, for all join under the shard's lock.
            self.callers.store(
                self.callers.load(Ordering::Relaxed).saturating_add(1),
                Ordering::Relaxed,
            );
        }
        joined.is_ok()
    }

    /// A slot for the autopilot, unless there is one already. `counts`: it keeps the flight up by itself.
    pub(crate) fn board(&self, counts: bool) -> Option<u32> {
        let mut queue = self.queue.lock();
        let boarded = self.update(|word| match word.unless_over()? {
            word if word.has(PILOTED) => Err(Over),
            word if counts => Ok(word.with(PILOTED).more()),
            word => Ok(word.with(PILOTED)),
        });
        boarded.is_ok().then(|| queue.reserve_for_pilot())
    }

    /// The work is made: whoever is polled may poll it. True if somebody waits for that: then [`State::call`] is due.
    #[inline]
    pub(crate) fn publish(&self) -> Result<bool, Over> {
        let made = self.update(|word| {
            let word = word.unless_over()?;
            Ok(word.without(WANTED).in_phase(Phase::Idle))
        })?;
        debug_assert_eq!(made.phase(), Phase::Making, "S1: made twice");
        Ok(made.has(WANTED))
    }

    /// Whom to wake, now that the work is made.
    #[cold]
    pub(crate) fn call(&self) -> Call {
        let mut queue = self.queue.lock();
        queue.call(self.read().others())
    }

    /// A waiter was polled.
    #[inline]
    pub(crate) fn begin(&self, slot: &mut u32, waker: &Waker) -> Turn {
        self.turn().unwrap_or_else(|| self.wait(slot, waker))
    }

    fn wait(&self, slot: &mut u32, waker: &Waker) -> Turn {
        let mut queue = self.queue.lock();
        // Under the lock once more: who changes the phase into one that this waiter cares for looks into the queue after it (S2).
        loop {
            if let Some(turn) = self.turn() {
                return turn;
            }
            let word = self.read();
            let waits = match word.phase() {
                Phase::Making => self.swap(word, word.with(WANTED)),
                Phase::Idle => !word.has(WOKEN),
                Phase::Polling | Phase::Landing => true,
                Phase::Landed | Phase::Abandoned => false,
            };
            if waits {
                return Turn::Wait(queue.set(slot, waker));
            }
        }
    }

    /// What a waiter has to do, if it need not wait.
    #[inline]
    fn turn(&self) -> Option<Turn> {
        loop {
            let word = self.read();
            match word.phase() {
                Phase::Landed => return Some(Turn::Landed),
                Phase::Abandoned => return Some(Turn::Abandoned),
                Phase::Idle if word.has(WOKEN) => {
                    let polling = word.without(WOKEN).in_phase(Phase::Polling);
                    if self.swap(word, polling) {
                        return Some(Turn::Drive);
                    }
                }
                Phase::Making | Phase::Idle | Phase::Polling | Phase::Landing => return None,
            }
        }
    }

    /// The work was polled and is pending; the waiter that did it waits.
    #[inline]
    pub(crate) fn pending(&self, slot: &mut u32, waker: &Waker) -> Result<Pending, Over> {
        // It is alone, and the work was woken while it was polled: then it need not be found in the queue, for it is polled again.
        let again = self.update(|word| match word.unless_over()? {
            word if word.is_alone() && word.has(WOKEN) => Ok(word.in_phase(Phase::Idle)),
            _ => Err(Over),
        });
        if again.is_ok() {
            return Ok(Pending {
                again: true,
                ..Pending::default()
            });
        }
        self.put_back(slot, waker)
    }

    fn put_back(&self, slot: &mut u32, waker: &Waker) -> Result<Pending, Over> {
        let mut queue = self.queue.lock();
        let word = self.update(|word| Ok(word.unless_over()?.in_phase(Phase::Idle)))?;
        debug_assert_eq!(word.phase(), Phase::Polling, "S1");
        let old = queue.set(slot, waker);
        queue.driven_by(*slot);
        let again = word.has(WOKEN);
        let call = if again {
            queue.call_backups(word.others())
        } else {
            Call::default()
        };
        Ok(Pending { again, call, old })
    }

    /// The work woke us. True if that is noted: by one who has the work in hand, and will see the mark when it puts the work
    /// back; or by nobody, for the flight is over. Else [`State::wake`] is due.
    #[inline]
    pub(crate) fn note_wake(&self) -> bool {
        let noted = self.update(|word| match word.phase() {
            Phase::Making | Phase::Polling => Ok(word.with(WOKEN)),
            Phase::Idle | Phase::Landing | Phase::Landed | Phase::Abandoned => Err(Over),
        });
        noted.is_ok() || self.is_over()
    }

    /// The work woke us: whom to wake in turn.
    pub(crate) fn wake(&self) -> Call {
        let mut queue = self.queue.lock();
        match self.update(|word| Ok(word.unless_over()?.with(WOKEN))) {
            Ok(word) if word.phase() == Phase::Idle => {
                if word.has(WOKEN) {
                    queue.call_more(word.others())
                } else {
                    queue.call(word.others())
                }
            }
            Ok(_) | Err(Over) => Call::default(),
        }
    }

    /// The one who has the work in hand settles its end. True if nobody else waits: then the caller takes the answer with it (S4).
    #[inline]
    pub(crate) fn landing(&self) -> Result<bool, Over> {
        let word = self.update(|word| Ok(word.unless_over()?.in_phase(Phase::Landing)))?;
        debug_assert!(word.is_in_hand(), "S1");
        Ok(word.is_alone())
    }

    /// Settles the end from outside. True if somebody has the work in hand, who will drop it.
    pub(crate) fn settle(&self) -> Result<bool, Over> {
        let word = self.update(|word| Ok(word.unless_over()?.in_phase(Phase::Landing)))?;
        Ok(word.is_in_hand())
    }

    /// Publishes the end that the caller has settled; hands out who is to be woken.
    pub(crate) fn land(&self) -> Wakers {
        let mut queue = self.queue.lock();
        let landed = self.update(|word| Ok(word.in_phase(Phase::Landed)));
        debug_assert!(
            landed.is_ok_and(|word| word.phase() == Phase::Landing),
            "S3: a flight lands once"
        );
        queue.take()
    }

    /// A waiter leaves.
    pub(crate) fn leave(&self, slot: u32, who: Who) -> (Left, Option<Waker>) {
        let left = self.update(|word| {
            let word = word.unless_over()?;
            let word = match who {
                Who::Caller => word.fewer(),
                Who::Pilot { counts: true } => word.fewer().without(PILOTED),
                Who::Pilot { counts: false } => word.without(PILOTED),
            };
            Ok(match word.waiters() {
                0 => word.in_phase(Phase::Abandoned),
                _ => word,
            })
        });
        let Ok(word) = left else {
            return (Left::Over, None);
        };
        let counted = u32::from(!matches!(who, Who::Pilot { counts: false }));
        if word.waiters() == counted {
            let wakers = if word.has(PILOTED) {
                self.queue.lock().take()
            } else {
                Wakers::default()
            };
            let in_hand = word.is_in_hand();
            return (Left::Last { in_hand, wakers }, None);
        }
        if slot == NOBODY && !word.is_unanswered() {
            // It never waited, so it cannot be the one who was woken; unless it has just polled the work, and its waker panicked
            // when it was to be put into the queue.
            return (Left::Goes(None), None);
        }
        let mut queue = self.queue.lock();
        let old = queue.remove(slot);
        let word = self.read();
        // The one who left may be the one who was woken: pass the wake on (S2).
        let next = word.is_unanswered().then(|| queue.any()).flatten();
        (Left::Goes(next.map(|(_, waker)| waker)), old)
    }

    #[inline]
    fn read(&self) -> Word {
        // ORDERING: Acquire pairs with the Release of every update: who sees a phase sees what was written before it.
        Word(self.word.load(Ordering::Acquire))
    }

    /// One step of the word; false if it is another by now.
    #[inline]
    fn swap(&self, from: Word, to: Word) -> bool {
        // ORDERING: AcqRel: the work and the answer are handed from one phase to the next (N1, N3).
        self.word
            .compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// The word before the step that `next` describes; its error if it has none.
    #[inline]
    fn update(&self, next: impl Fn(Word) -> Result<Word, Over>) -> Result<Word, Over> {
        loop {
            let word = self.read();
            if self.swap(word, next(word)?) {
                return Ok(word);
            }
        }
    }
}

impl Word {
    fn phase(self) -> Phase {
        match self.0 & 0b111 {
            0 => Phase::Making,
            1 => Phase::Idle,
            2 => Phase::Polling,
            3 => Phase::Landing,
            4 => Phase::Landed,
            _ => Phase::Abandoned,
        }
    }

    fn in_phase(self, phase: Phase) -> Self {
        Self(self.0 & !0b111 | phase as u64)
    }

    fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    fn with(self, flag: u64) -> Self {
        Self(self.0 | flag)
    }

    fn without(self, flag: u64) -> Self {
        Self(self.0 & !flag)
    }

    fn more(self) -> Self {
        Self(self.0 + WAITER)
    }

    fn fewer(self) -> Self {
        Self(self.0 - WAITER)
    }

    fn waiters(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// True if there is one waiter, and nobody else to wake.
    fn is_alone(self) -> bool {
        self.waiters() == 1 && !self.has(PILOTED)
    }

    /// How many there are to wake besides the driver.
    fn others(self) -> u32 {
        self.waiters().saturating_sub(1) + u32::from(self.has(PILOTED))
    }

    /// True if the work was woken, and whoever is polled next polls it.
    fn is_unanswered(self) -> bool {
        self.phase() == Phase::Idle && self.has(WOKEN)
    }

    fn is_over(self) -> bool {
        matches!(
            self.phase(),
            Phase::Landing | Phase::Landed | Phase::Abandoned
        )
    }

    /// True if somebody makes the work or polls it.
    fn is_in_hand(self) -> bool {
        matches!(self.phase(), Phase::Making | Phase::Polling)
    }

    fn unless_over(self) -> Result<Self, Over> {
        if self.is_over() { Err(Over) } else { Ok(self) }
    }
}
