//! The waiters of a flight that have been polled: a slot each, O(1) to join, to re-poll and to leave.
//!
//!   first: a slot in the flight itself, so that a lone caller allocates nothing
//!   crowd: all that only a flight with several waiters needs: a slab of slots with a free list, and whose turn it is
//!
//! Q1. A slot belongs to one waiter from `set` or `reserve_for_pilot` until `remove`.
//! Q2. No waker is dropped or woken in here, only cloned: what leaves the queue is handed out, to be dropped or woken after the lock.
//! Q3. Between two polls of the work nobody is called more than a few times, however often it is woken: flights that wake each
//!     other in a ring come to rest.

use super::panics::hushed;
use std::task::Waker;

/// The slot of a waiter that has none yet, and the name of nobody.
pub(crate) const NOBODY: u32 = u32::MAX;

/// The slots of a flight's waiters.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    first: Option<Waker>,
    crowd: Option<Box<Crowd>>,
}

#[derive(Debug)]
struct Crowd {
    slots: Vec<Option<Waker>>,
    /// Slots that are nobody's.
    free: Vec<u32>,
    /// Where the search for somebody to wake goes on.
    cursor: u32,
    /// The waiter that polled the work last.
    driver: u32,
    /// The waiter that is a task of the flight's own: woken every time, since it alone is sure to be polled.
    pilot: u32,
    /// How many others are woken with the driver; doubled whenever a wake went unanswered.
    backups: u32,
    /// How many of them have been woken since the work was polled last.
    called: u32,
}

/// Whom to wake, after the lock. Two of them need no allocation.
#[derive(Debug, Default)]
pub(crate) struct Call {
    first: Option<Waker>,
    second: Option<Waker>,
    more: Vec<Waker>,
}

/// All wakers of a queue.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Queue);

impl Queue {
    /// Puts the waker of the waiter in slot `at`, or in a new slot if it is `NOBODY`; hands out the one it replaces (Q2).
    pub(crate) fn set(&mut self, at: &mut u32, waker: &Waker) -> Option<Waker> {
        if *at == NOBODY {
            *at = self.add(waker.clone());
            return None;
        }
        let slot = self.slot(*at);
        if slot.as_ref().is_some_and(|there| there.will_wake(waker)) {
            return None;
        }
        slot.replace(waker.clone())
    }

    /// Frees slot `at`; hands out its waker (Q2). A queue that has been taken meanwhile has neither.
    pub(crate) fn remove(&mut self, at: u32) -> Option<Waker> {
        if at == NOBODY {
            return None;
        }
        if at == 0 {
            if let Some(crowd) = &mut self.crowd {
                crowd.left(0);
            }
            return self.first.take();
        }
        let crowd = self.crowd.as_mut()?;
        let waker = crowd.slots.get_mut(at as usize - 1)?.take();
        crowd.left(at);
        waker
    }

    /// A slot for the pilot, who has not been polled yet.
    pub(crate) fn reserve_for_pilot(&mut self) -> u32 {
        let crowd = self.crowd.get_or_insert_default();
        let at = crowd.add(None);
        crowd.pilot = at;
        at
    }

    /// The waiter in slot `at` has polled the work: the next wake is for it, and for one more.
    pub(crate) fn driven_by(&mut self, at: u32) {
        if let Some(crowd) = &mut self.crowd {
            crowd.driver = at;
            crowd.backups = 1;
            crowd.called = 0;
        }
    }

    /// The last wake was answered by nobody: as many more of `others` as have been woken so far, and not those again.
    ///
    /// It comes to an end (Q3), since what waits here may be the work of another flight that this one waits for.
    pub(crate) fn call_more(&mut self, others: u32) -> Call {
        let mut call = Call::default();
        if let Some(crowd) = &mut self.crowd {
            crowd.backups = crowd.backups.saturating_mul(2);
            // Twice round, for those who have left may have been counted instead of those who have not been called.
            let limit = crowd.backups.min(others.saturating_mul(2));
            crowd.add_backups(&mut call, limit, &self.first);
        }
        call
    }

    /// The driver, and as many of `others` as a wake needs, the pilot first; if the driver has left, one of the others takes its
    /// place.
    pub(crate) fn call(&mut self, others: u32) -> Call {
        let Some(crowd) = &mut self.crowd else {
            return Call {
                first: self.first.clone(),
                ..Call::default()
            };
        };
        let mut call = Call {
            first: crowd.waker(crowd.driver, &self.first),
            ..Call::default()
        };
        crowd.called = 0;
        if call.first.is_none()
            && let Some((at, waker)) = crowd.next(NOBODY, &self.first)
        {
            crowd.driver = at;
            call.first = Some(waker);
        }
        crowd.add_pilot(&mut call, &self.first);
        crowd.add_backups(&mut call, crowd.backups.min(others), &self.first);
        call
    }

    /// As [`call`](Self::call), but for the driver, who is awake.
    pub(crate) fn call_backups(&mut self, others: u32) -> Call {
        let mut call = Call::default();
        if let Some(crowd) = &mut self.crowd {
            crowd.add_pilot(&mut call, &self.first);
            crowd.add_backups(&mut call, crowd.backups.min(others), &self.first);
        }
        call
    }

    /// Any waiter, with its slot; it is the driver from now on.
    pub(crate) fn any(&mut self) -> Option<(u32, Waker)> {
        let Some(crowd) = &mut self.crowd else {
            return Some((0, self.first.clone()?));
        };
        let (at, waker) = crowd.next(NOBODY, &self.first)?;
        crowd.driver = at;
        Some((at, waker))
    }

    /// Empties the queue.
    pub(crate) fn take(&mut self) -> Wakers {
        Wakers(std::mem::take(self))
    }

    fn add(&mut self, waker: Waker) -> u32 {
        match (&self.first, &mut self.crowd) {
            (None, _) => {
                self.first = Some(waker);
                0
            }
            (Some(_), crowd) => crowd.get_or_insert_default().add(Some(waker)),
        }
    }

    fn slot(&mut self, at: u32) -> &mut Option<Waker> {
        match &mut self.crowd {
            Some(crowd) if at > 0 => &mut crowd.slots[at as usize - 1],
            _ => {
                debug_assert_eq!(at, 0, "Q1: a slot that was never given out");
                &mut self.first
            }
        }
    }
}

impl Default for Crowd {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            cursor: 0,
            driver: 0,
            pilot: NOBODY,
            backups: 1,
            called: 0,
        }
    }
}

impl Crowd {
    fn add(&mut self, waker: Option<Waker>) -> u32 {
        if let Some(at) = self.free.pop() {
            self.slots[at as usize - 1] = waker;
            return at;
        }
        self.slots.push(waker);
        u32::try_from(self.slots.len()).unwrap_or(NOBODY)
    }

    fn left(&mut self, at: u32) {
        if at > 0 {
            self.free.push(at);
        }
        if self.driver == at {
            self.driver = NOBODY;
        }
        if self.pilot == at {
            self.pilot = NOBODY;
        }
    }

    /// A copy of the waker in slot `at`.
    fn waker(&self, at: u32, first: &Option<Waker>) -> Option<Waker> {
        match at {
            0 => first.clone(),
            _ => self.slots.get(at as usize - 1)?.clone(),
        }
    }

    /// The pilot, unless it drives.
    fn add_pilot(&mut self, call: &mut Call, first: &Option<Waker>) {
        if self.pilot != self.driver {
            call.second = self.waker(self.pilot, first);
            self.called += u32::from(call.second.is_some());
        }
    }

    /// Others, until so many have been called.
    fn add_backups(&mut self, call: &mut Call, limit: u32, first: &Option<Waker>) {
        for _ in self.called..limit {
            self.called += 1;
            match self.next(self.driver, first) {
                Some((_, waker)) if call.second.is_none() => call.second = Some(waker),
                Some((_, waker)) => call.more.push(waker),
                None => break,
            }
        }
    }

    /// The next waiter in turn that has a waker, and is not in slot `but`.
    ///
    /// It goes on where it stopped, so that a mass of waiters that leave one by one costs one walk, not one each.
    fn next(&mut self, but: u32, first: &Option<Waker>) -> Option<(u32, Waker)> {
        let slots = u32::try_from(self.slots.len() + 1).unwrap_or(NOBODY);
        for _ in 0..slots {
            self.cursor = (self.cursor + 1) % slots;
            let at = self.cursor;
            if at != but
                && let Some(waker) = self.waker(at, first)
            {
                return Some((at, waker));
            }
        }
        None
    }
}

impl Call {
    /// Wakes them. Never under a lock.
    #[inline]
    pub(crate) fn wake(self) {
        let Self {
            first,
            second,
            more,
        } = self;
        for waker in [first, second].into_iter().flatten() {
            hushed(|| waker.wake());
        }
        if !more.is_empty() {
            wake_all(more);
        }
    }
}

impl Wakers {
    /// Wakes them all. Never under a lock.
    pub(crate) fn wake(self) {
        let Queue { first, crowd } = self.0;
        let rest = crowd.map(|crowd| crowd.slots).unwrap_or_default();
        wake_all(first.into_iter().chain(rest.into_iter().flatten()));
    }
}

/// Wakes them all, also when one of them panics. Never under a lock.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(|waker| hushed(|| waker.wake()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue_of(waiters: u32) -> Queue {
        let mut queue = Queue::default();
        for expected in 0..waiters {
            let mut at = NOBODY;
            queue.set(&mut at, Waker::noop());
            assert_eq!(at, expected);
        }
        queue
    }

    #[test]
    fn slots_are_used_again_and_never_shared() {
        let mut queue = queue_of(4);
        for at in [2, 0, 1] {
            assert!(queue.remove(at).is_some());
        }
        let mut again = [NOBODY; 4];
        again
            .iter_mut()
            .for_each(|at| drop(queue.set(at, Waker::noop())));
        again.sort_unstable();
        assert_eq!(again, [0, 1, 2, 4]);
    }

    #[test]
    fn a_call_is_for_the_driver_and_a_backup_in_turn_and_for_more_when_it_was_not_answered() {
        let mut queue = queue_of(5);
        queue.driven_by(2);
        let len = |call: Call| [call.first, call.second].iter().flatten().count() + call.more.len();
        assert_eq!(len(queue.call(4)), 2);
        let more: Vec<_> = (0..5).map(|_| len(queue.call_more(4))).collect();
        assert_eq!(more, [1, 2, 4, 0, 0]);
        queue.driven_by(2);
        assert_eq!(len(queue.call(4)), 2);
    }

    #[test]
    fn the_search_goes_round_and_skips_the_one_it_is_told_to() {
        let mut queue = queue_of(4);
        queue.remove(2);
        let first = queue.first.clone();
        let crowd = queue.crowd.as_mut().expect("four waiters are a crowd");
        let found: Vec<u32> = (0..4)
            .filter_map(|_| crowd.next(0, &first))
            .map(|(at, _)| at)
            .collect();
        assert_eq!(found, [1, 3, 1, 3]);
    }

    #[test]
    fn a_slot_is_no_more_than_a_waker() {
        assert_eq!(size_of::<Option<Waker>>(), size_of::<Waker>());
        assert_eq!(size_of::<Queue>(), 3 * size_of::<usize>());
    }
}
