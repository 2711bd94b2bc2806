//! The window's batches: taking one, moving it on, landing it, giving it up.
//!
//! ```text
//!   Polling ◀──▶ Idle / Ready          Polling ──land──▶ Landing ──▶ gone
//!      └──▶ Stirred (woken meanwhile)     any ──last waiter leaves──▶ Abandoned ──▶ gone
//! ```
//!
//! T1. A run that is `Ready` stands in `ready`, once. T2. A run that takes a slot keeps it until its work is gone.

use super::window::{Leftovers, Place, Seat, Waits, Window};
use crate::waiting::waits::Id;
use std::sync::Arc;
use std::task::Waker;

/// A batch that runs.
pub(super) struct Run<W> {
    pub(super) id: Id,
    pub(super) wanted: usize,
    seats: Vec<u32>,
    takes_slot: bool,
    phase: Phase<W>,
}

enum Phase<W> {
    /// It waits to be woken.
    Idle(W),
    /// It was woken, and waits for a caller.
    Ready(W),
    /// A caller has it.
    Polling,
    /// A caller has it, and it was woken meanwhile.
    Stirred,
    /// Its answers are being sorted.
    Landing,
    /// Nobody waits for it, and its work is yet to be dropped.
    Abandoned,
}

/// What a caller is to do next.
pub(super) enum Todo<K, W> {
    Launch {
        run: u32,
        id: Id,
        keys: Vec<K>,
        /// Calls inside of works, whose keys these are: they are to say whom they wait for.
        wake: Vec<Waker>,
    },
    Poll {
        run: u32,
        id: Id,
        work: W,
    },
}

/// How large batches are, and how many run at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) max_batch: usize,
    pub(super) max_in_flight: usize,
}

/// What became of a work that has been polled.
pub(super) enum Parked<W> {
    /// It waits to be woken.
    Idle,
    /// It was woken meanwhile.
    Ready,
    /// Nobody waits for it: it is to be dropped, and its run closed.
    Abandoned(W),
}

impl<K, L, W> Window<K, L, W> {
    /// True if a caller could do something.
    pub(super) fn has_work(&self, limits: Limits) -> bool {
        let may_take = self.slots_taken < limits.max_in_flight && !self.queue.is_empty();
        may_take || !self.ready.is_empty() || !self.urgent.is_empty()
    }

    /// Takes the next thing to do: a run that was woken, else a batch of what waits.
    pub(super) fn next(&mut self, limits: Limits) -> Option<Todo<K, W>>
    where
        K: Clone,
    {
        if let Some(todo) = self.take_ready() {
            return Some(todo);
        }
        let takes_slot = self.urgent.is_empty();
        let may_take = !takes_slot || self.slots_taken < limits.max_in_flight;
        let line = if takes_slot {
            &self.queue
        } else {
            &self.urgent
        };
        if line.is_empty() || !may_take {
            return None;
        }
        let count = line.len().min(limits.max_batch);
        let mut seats = Vec::with_capacity(count);
        seats.extend(self.seats.walk(line).take(count));
        // The keys' own `clone` may panic: nothing has changed yet.
        let keys = seats
            .iter()
            .filter_map(|&seat| self.seats[seat].key.clone());
        let keys: Vec<K> = keys.collect();
        let (run, id) = self.open(seats, takes_slot);
        let wake = self.ring_works(run);
        Some(Todo::Launch {
            run,
            id,
            keys,
            wake,
        })
    }

    fn take_ready(&mut self) -> Option<Todo<K, W>> {
        while let Some(at) = self.ready.pop_front() {
            let Some(run) = self.runs.get_mut(at) else {
                continue;
            };
            match std::mem::replace(&mut run.phase, Phase::Polling) {
                Phase::Ready(work) => {
                    let id = run.id;
                    return Some(Todo::Poll { run: at, id, work });
                }
                phase => run.phase = phase,
            }
        }
        None
    }

    fn open(&mut self, seats: Vec<u32>, takes_slot: bool) -> (u32, Id) {
        let id = Id::of_new_batch();
        let sent = seats.len();
        let run = self.runs.insert(Run {
            id,
            wanted: sent,
            seats,
            takes_slot,
            phase: Phase::Polling,
        });
        for &seat in &self.runs[run].seats {
            let line = if takes_slot {
                &mut self.queue
            } else {
                &mut self.urgent
            };
            self.seats.unlink(line, seat);
            self.seats[seat].place = Place::Flying(run);
        }
        self.slots_taken += usize::from(takes_slot);
        self.counts.batches += 1;
        self.counts.sent += sent as u64;
        (run, id)
    }

    /// Hands out the wakers of those who wait for a batch inside of a work.
    fn ring_works(&mut self, run: u32) -> Vec<Waker> {
        let mut wake = Vec::new();
        if self.in_works == 0 {
            return wake;
        }
        let seats = self.runs[run].seats.iter();
        let ties = seats.flat_map(|&seat| self.ties.walk(&self.seats[seat].ties));
        let calls = ties.map(|tie| self.ties[tie].call);
        let calls: Vec<u32> = calls.filter(|&call| self.calls[call].in_work).collect();
        wake.extend(calls.into_iter().filter_map(|call| self.unpark(call)));
        wake
    }

    /// A key in a batch that a call waits for.
    pub(super) fn awaited(&self, run: u32, call: u32) -> Option<K>
    where
        K: Clone,
    {
        let waits = |seat: &&u32| {
            let mut ties = self.ties.walk(&self.seats[**seat].ties);
            ties.any(|tie| self.ties[tie].call == call)
        };
        let seat = self.runs[run].seats.iter().find(waits)?;
        self.seats[*seat].key.clone()
    }

    /// The batches that a call, made or polled inside of a work, waits for, each with a key.
    pub(super) fn awaited_by(&mut self, call: u32, ties: &[u32]) -> Vec<(Id, K)>
    where
        K: Clone,
    {
        // Those that are launched later wake the call.
        self.in_works += usize::from(!std::mem::replace(&mut self.calls[call].in_work, true));
        let mut batches: Vec<(Id, K)> = Vec::new();
        for &tie in ties {
            let Waits::For(seat) = self.ties[tie].state else {
                continue;
            };
            let Seat { key, place, .. } = &self.seats[seat];
            let (&Place::Flying(run), Some(key)) = (place, key) else {
                continue;
            };
            let id = self.runs[run].id;
            if !batches.iter().any(|(other, _)| *other == id) {
                batches.push((id, key.clone()));
            }
        }
        batches
    }

    /// The waker of a run was called. Says who is to be woken for it.
    pub(super) fn stir(&mut self, at: u32, id: Id) -> Vec<Waker> {
        let run = self.runs.get_mut(at).filter(|run| run.id == id);
        let Some(run) = run else { return Vec::new() };
        run.phase = match std::mem::replace(&mut run.phase, Phase::Stirred) {
            Phase::Idle(work) => {
                run.phase = Phase::Ready(work);
                self.ready.push_back(at);
                return self.ring();
            }
            Phase::Polling | Phase::Stirred => Phase::Stirred,
            phase @ (Phase::Ready(_) | Phase::Landing | Phase::Abandoned) => phase,
        };
        Vec::new()
    }

    /// Takes back a work that is not done.
    pub(super) fn put_back(&mut self, at: u32, work: W) -> Parked<W> {
        let Some(run) = self.runs.get_mut(at) else {
            return Parked::Abandoned(work);
        };
        match run.phase {
            Phase::Abandoned => Parked::Abandoned(work),
            Phase::Stirred => {
                run.phase = Phase::Ready(work);
                self.ready.push_back(at);
                Parked::Ready
            }
            _ => {
                run.phase = Phase::Idle(work);
                Parked::Idle
            }
        }
    }

    /// Clears the table for a batch that is done (B1), and hands out its keys with their hashes; none if nobody waits for it.
    pub(super) fn begin_landing(&mut self, at: u32) -> Option<Vec<(u64, K)>> {
        let run = &mut self.runs[at];
        if matches!(run.phase, Phase::Abandoned) {
            return None;
        }
        run.phase = Phase::Landing;
        let seats = std::mem::take(&mut run.seats);
        let mut keys = Vec::with_capacity(seats.len());
        for &at in &seats {
            self.unlist(at);
            let seat = &mut self.seats[at];
            seat.place = Place::Landing;
            keys.extend(seat.key.take().map(|key| (seat.hash, key)));
        }
        self.runs[at].seats = seats;
        Some(keys)
    }

    /// Gives all who wait for a batch what it came to, and says who has got everything now.
    pub(super) fn end_landing(&mut self, at: u32, landing: &Arc<L>) -> Vec<Waker> {
        let mut wake = Vec::new();
        let seats = std::mem::take(&mut self.runs[at].seats);
        for (place, seat) in (0..).zip(seats) {
            let Some(Seat { mut ties, .. }) = self.seats.remove(seat) else {
                continue;
            };
            while let Some(tie) = ties.first() {
                self.ties.unlink(&mut ties, tie);
                self.ties[tie].state = Waits::Over(Arc::clone(landing), place);
                let call = self.ties[tie].call;
                let pending = &mut self.calls[call].pending;
                *pending -= 1;
                if *pending == 0 {
                    wake.extend(self.unpark(call));
                }
            }
        }
        self.close(at);
        wake
    }

    /// A key in flight lost its last waiter. When all the batch's keys have, it is given up.
    pub(super) fn give_up_flying(&mut self, at: u32, left: &mut Leftovers<K, L, W>) {
        let run = &mut self.runs[at];
        run.wanted -= 1;
        if run.wanted > 0 {
            return;
        }
        match std::mem::replace(&mut run.phase, Phase::Abandoned) {
            Phase::Idle(work) | Phase::Ready(work) => left.works.push((at, work)),
            Phase::Polling | Phase::Stirred | Phase::Landing | Phase::Abandoned => {}
        }
        self.counts.dropped += 1;
        for seat in std::mem::take(&mut self.runs[at].seats) {
            self.unlist(seat);
            let seat = self.seats.remove(seat);
            left.keys.extend(seat.and_then(|seat| seat.key));
        }
    }

    /// Ends a run whose work is gone, and frees its slot (T2).
    pub(super) fn close(&mut self, at: u32) {
        if let Some(run) = self.runs.remove(at) {
            self.slots_taken -= usize::from(run.takes_slot);
        }
    }
}
