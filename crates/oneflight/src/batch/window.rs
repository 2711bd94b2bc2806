//! The window: which keys wait, which batches run, who waits for what. It decides; the driver acts.
//!
//! ```text
//!   call ──ties──▶ seat (one a key) ──▶ queued ──take──▶ flying in a run ──land──▶ gone; the ties hold the answer
//! ```
//!
//! W1. A seat is queued, or belongs to one run. W2. A call's `pending` counts its ties that have no answer yet.
//! W3. A call is in `parked` exactly while it has a waker. W4. A run's `wanted` counts its seats that have a tie.
//! W5. Nothing here calls a waker or drops what is the user's: it is handed out as [`Leftovers`].

use super::run::Run;
use super::slab::{Chain, Slab};
use crate::waiting::waits::Id;
use hashbrown::HashTable;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

/// How many callers are woken when a batch can go on: the one that was here last, and those that have waited longest.
///
/// One would do, were it not for callers that live but are never polled again: so many of them, less one, may be woken in vain.
pub(super) const WOKEN_AT_ONCE: usize = 8;

/// So much room is kept when all is done.
const KEPT: usize = 1_024;

/// All that waits and flies. `L` is what a batch came to, `W` its work.
pub(super) struct Window<K, L, W> {
    pub(super) table: HashTable<u32>,
    pub(super) seats: Slab<Seat<K>>,
    pub(super) ties: Slab<Tie<L>>,
    pub(super) calls: Slab<Call>,
    pub(super) runs: Slab<Run<W>>,
    /// Seats that wait for a slot.
    pub(super) queue: Chain,
    /// Seats that a batch waits for: they need no slot (B6).
    pub(super) urgent: Chain,
    /// Calls that have left a waker; the one that was here last comes last.
    pub(super) parked: Chain,
    /// Runs that were woken.
    pub(super) ready: VecDeque<u32>,
    /// Which runs wait for which ties.
    pub(super) nested: Vec<Nested>,
    pub(super) is_closed: bool,
    pub(super) slots_taken: usize,
    /// Calls that are polled inside of works.
    pub(super) in_works: usize,
    pub(super) counts: Counts,
}

/// A key that waits or flies.
pub(super) struct Seat<K> {
    /// None once its batch is landing.
    pub(super) key: Option<K>,
    pub(super) hash: u64,
    pub(super) ties: Chain,
    pub(super) place: Place,
}

/// Where a key is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Queued,
    Urgent,
    Flying(u32),
    Landing,
}

/// One key of one call.
pub(super) struct Tie<L> {
    pub(super) call: u32,
    pub(super) state: Waits<L>,
}

pub(super) enum Waits<L> {
    For(u32),
    Over(Arc<L>, u32),
}

/// Somebody who waits.
pub(super) struct Call {
    pub(super) pending: usize,
    pub(super) waker: Option<Waker>,
    /// The batch that made the call.
    pub(super) inside: Option<Id>,
    /// It is polled inside of a work.
    pub(super) in_work: bool,
}

/// A batch waits for what a tie stands for.
pub(super) struct Nested {
    pub(super) inside: Id,
    pub(super) call: u32,
    pub(super) tie: u32,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) asked: u64,
    pub(super) joined: u64,
    pub(super) sent: u64,
    pub(super) batches: u64,
    pub(super) dropped: u64,
}

/// What is to be woken and dropped once the lock is open (B5).
#[must_use = "wakers are to be called, and what is the user's dropped, once the lock is open"]
pub(super) struct Leftovers<K, L, W> {
    pub(super) wake: Vec<Waker>,
    pub(super) wakers: Vec<Waker>,
    pub(super) keys: Vec<K>,
    pub(super) landings: Vec<Arc<L>>,
    /// Works that nobody waits for, with their runs, whose slots are free once the work is gone.
    pub(super) works: Vec<(u32, W)>,
}

impl<K, L, W> Window<K, L, W> {
    pub(super) fn new() -> Self {
        Self {
            table: HashTable::new(),
            seats: Slab::new(),
            ties: Slab::new(),
            calls: Slab::new(),
            runs: Slab::new(),
            queue: Chain::new(),
            urgent: Chain::new(),
            parked: Chain::new(),
            ready: VecDeque::new(),
            nested: Vec::new(),
            is_closed: false,
            slots_taken: 0,
            in_works: 0,
            counts: Counts::default(),
        }
    }

    /// Makes room for so many more keys.
    pub(super) fn reserve(&mut self, keys: usize) {
        let Self {
            seats, ties, table, ..
        } = self;
        seats.reserve(keys);
        ties.reserve(keys);
        table.reserve(keys, |&seat| seats[seat].hash);
    }

    pub(super) fn begin(&mut self, inside: Option<Id>) -> u32 {
        self.calls.insert(Call {
            pending: 0,
            waker: None,
            inside,
            in_work: false,
        })
    }

    /// Ties a call to a key: to its seat if it waits or flies, else to a new one at the end of the queue, which takes the key.
    ///
    /// A seat in one of the batches that wait for this call (`blockers`) is no use: then there is no tie, but the batch.
    pub(super) fn enter(
        &mut self,
        call: u32,
        hash: u64,
        key: &mut Option<K>,
        blockers: &[Id],
    ) -> Result<u32, Id>
    where
        K: Eq,
    {
        let seats = &self.seats;
        let found = self.table.find(hash, |&seat| {
            let seat = &seats[seat];
            seat.hash == hash && seat.key == *key
        });
        let found = found.copied();
        self.counts.asked += 1;
        let inside = self.calls[call].inside;
        let seat = match found {
            Some(seat) => {
                self.join(seat, inside.is_some(), blockers)?;
                seat
            }
            None => self.enqueue(key.take(), hash, inside.is_some()),
        };
        let state = Waits::For(seat);
        let tie = self.ties.insert(Tie { call, state });
        self.ties.link(&mut self.seats[seat].ties, tie);
        self.calls[call].pending += 1;
        if let Some(inside) = inside {
            self.nested.push(Nested { inside, call, tie });
        }
        Ok(tie)
    }

    /// Makes a seat fit to be joined; the batch, if those who would join it would wait for themselves.
    fn join(&mut self, seat: u32, is_urgent: bool, blockers: &[Id]) -> Result<(), Id> {
        match self.seats[seat].place {
            Place::Flying(run) => {
                let id = self.runs[run].id;
                if blockers.contains(&id) {
                    return Err(id);
                }
                if self.seats[seat].ties.is_empty() {
                    self.runs[run].wanted += 1;
                }
            }
            Place::Queued if is_urgent => {
                self.seats.unlink(&mut self.queue, seat);
                self.seats.link(&mut self.urgent, seat);
                self.seats[seat].place = Place::Urgent;
            }
            Place::Queued | Place::Urgent => {}
            Place::Landing => debug_assert!(false, "B1: a key that lands is in the table"),
        }
        self.counts.joined += 1;
        Ok(())
    }

    fn enqueue(&mut self, key: Option<K>, hash: u64, is_urgent: bool) -> u32 {
        let place = if is_urgent {
            Place::Urgent
        } else {
            Place::Queued
        };
        let ties = Chain::new();
        let seat = self.seats.insert(Seat {
            key,
            hash,
            ties,
            place,
        });
        let line = if is_urgent {
            &mut self.urgent
        } else {
            &mut self.queue
        };
        self.seats.link(line, seat);
        let seats = &self.seats;
        self.table
            .insert_unique(hash, seat, |&seat| seats[seat].hash);
        seat
    }

    /// The batches that wait, directly or through others, for this one; and this one.
    pub(super) fn blockers(&self, inside: Id) -> Vec<Id> {
        let mut blockers = vec![inside];
        loop {
            let before = blockers.len();
            for nested in &self.nested {
                let Waits::For(seat) = self.ties[nested.tie].state else {
                    continue;
                };
                let Place::Flying(run) = self.seats[seat].place else {
                    continue;
                };
                if blockers.contains(&self.runs[run].id) && !blockers.contains(&nested.inside) {
                    blockers.push(nested.inside);
                }
            }
            if blockers.len() == before {
                return blockers;
            }
        }
    }

    /// Lets the next call for this key start a new flight, unless the key only waits: then what it gets is new anyway.
    pub(super) fn forget(&mut self, hash: u64, key: &K) -> bool
    where
        K: Eq,
    {
        let seats = &self.seats;
        let is_it = |&seat: &u32| {
            let seat = &seats[seat];
            let is_flying = matches!(seat.place, Place::Flying(_));
            is_flying && seat.hash == hash && seat.key.as_ref() == Some(key)
        };
        let found = self.table.find_entry(hash, is_it);
        found.map(|entry| entry.remove()).is_ok()
    }

    /// Takes a seat out of the table, if it is there: a newer one of the same key stays.
    pub(super) fn unlist(&mut self, seat: u32) {
        let hash = self.seats[seat].hash;
        if let Ok(entry) = self.table.find_entry(hash, |&other| other == seat) {
            entry.remove();
        }
    }

    /// Ends a call that has all its answers, and hands them out in the order of the ties.
    pub(super) fn finish(
        &mut self,
        call: u32,
        ties: &[u32],
        mut put: impl FnMut(Arc<L>, u32),
    ) -> Option<Waker> {
        let waker = self.end(call);
        for &tie in ties {
            match self.ties.remove(tie).map(|tie| tie.state) {
                Some(Waits::Over(landing, place)) => put(landing, place),
                _ => debug_assert!(false, "W2: a call ended before its answers were there"),
            }
        }
        self.tidy();
        waker
    }

    /// Ends a call whatever it waits for. Nobody else notices (B2).
    pub(super) fn leave(&mut self, call: u32, ties: &[u32]) -> Leftovers<K, L, W> {
        let mut left = Leftovers::new();
        left.wakers.extend(self.end(call));
        for &tie in ties {
            match self.ties.get_mut(tie).map(|tie| &tie.state) {
                Some(&Waits::For(seat)) => {
                    self.ties.unlink(&mut self.seats[seat].ties, tie);
                    self.ties.remove(tie);
                    if self.seats[seat].ties.is_empty() {
                        self.give_up(seat, &mut left);
                    }
                }
                Some(Waits::Over(..)) => {
                    let state = self.ties.remove(tie).map(|tie| tie.state);
                    if let Some(Waits::Over(landing, _)) = state {
                        left.landings.push(landing);
                    }
                }
                None => {}
            }
        }
        self.tidy();
        left
    }

    fn end(&mut self, call: u32) -> Option<Waker> {
        let waker = self.unpark(call);
        if let Some(Call {
            inside, in_work, ..
        }) = self.calls.remove(call)
        {
            self.in_works -= usize::from(in_work);
            if inside.is_some() {
                self.nested.retain(|nested| nested.call != call);
            }
        }
        waker
    }

    /// Nobody waits for this key any more.
    fn give_up(&mut self, seat: u32, left: &mut Leftovers<K, L, W>) {
        let line = match self.seats[seat].place {
            Place::Queued => &mut self.queue,
            Place::Urgent => &mut self.urgent,
            Place::Flying(run) => return self.give_up_flying(run, left),
            Place::Landing => return,
        };
        self.seats.unlink(line, seat);
        self.unlist(seat);
        let seat = self.seats.remove(seat);
        left.keys.extend(seat.and_then(|seat| seat.key));
    }

    /// Hands out the waker of a call, which then counts as woken.
    pub(super) fn unpark(&mut self, call: u32) -> Option<Waker> {
        let waker = self.calls.get_mut(call)?.waker.take()?;
        self.calls.unlink(&mut self.parked, call);
        Some(waker)
    }

    /// Notes that a parked call was here just now: it is the likeliest to come again.
    pub(super) fn touch(&mut self, call: u32) {
        self.calls.unlink(&mut self.parked, call);
        self.calls.link(&mut self.parked, call);
    }

    /// Parks a call, last; hands back the waker that it had.
    pub(super) fn park(&mut self, call: u32, waker: Waker) -> Option<Waker> {
        let before = self.unpark(call);
        self.calls[call].waker = Some(waker);
        self.calls.link(&mut self.parked, call);
        before
    }

    /// Picks the callers to be woken when there is something to do.
    pub(super) fn ring(&mut self) -> Vec<Waker> {
        let mut wake = Vec::new();
        let mut next = self.parked.last();
        while let Some(call) = next {
            wake.extend(self.unpark(call));
            next = self.parked.first().filter(|_| wake.len() < WOKEN_AT_ONCE);
        }
        wake
    }

    /// Gives memory back when nothing waits and there is much of it.
    pub(super) fn tidy(&mut self) {
        let is_idle = self.seats.len() + self.ties.len() + self.calls.len() == 0;
        let room = self
            .seats
            .capacity()
            .max(self.ties.capacity())
            .max(self.calls.capacity());
        if is_idle && room > KEPT {
            self.seats = Slab::new();
            self.ties = Slab::new();
            self.calls = Slab::new();
            self.table = HashTable::new();
            (self.queue, self.urgent, self.parked) = (Chain::new(), Chain::new(), Chain::new());
        }
    }
}

impl<K, L, W> Leftovers<K, L, W> {
    pub(super) const fn new() -> Self {
        Self {
            wake: Vec::new(),
            wakers: Vec::new(),
            keys: Vec::new(),
            landings: Vec::new(),
            works: Vec::new(),
        }
    }
}
