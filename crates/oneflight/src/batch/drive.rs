//! Driving: any caller that is polled moves all batches on, and starts new ones.
//!
//! A poll takes things to do from the window until there are none, then parks. All that is the user's (the batch function, its
//! work, wakers, drops) runs with the lock open.

use super::answers::{IntoAnswers, Landing};
use super::run::{Limits, Parked, Todo};
use super::window::{Leftovers, Window};
use crate::error::Error;
use crate::hash::RandomState;
use crate::sync::Mutex;
use crate::waiting::nest;
use crate::waiting::panics::{guarded, hushed};
use crate::waiting::queue::wake_all;
use crate::waiting::waits::{self, Id, Named, Source, Target, Text};
use hashbrown::HashTable;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

/// So many things are done in one poll of a caller, which then yields to its task's neighbours.
const STEPS_A_POLL: usize = 32;

type Answers<K, V, E> = Result<Vec<(K, Result<Option<V>, E>)>, E>;
type Running<K, V, E> = Pin<Box<dyn Future<Output = Answers<K, V, E>> + Send>>;
type Function<K, V, E> = Box<dyn Fn(Vec<K>) -> Running<K, V, E> + Send + Sync>;

type Waiting<K, V, E> = Window<K, Landing<V, E>, Work<K, V, E>>;

/// A batch's work, and the waker that it is polled with.
pub(super) struct Work<K, V, E> {
    running: Running<K, V, E>,
    waker: Waker,
    source: Source,
}

/// What a loader and its callers share.
pub(super) struct Core<K, V, E> {
    pub(super) window: Mutex<Waiting<K, V, E>>,
    pub(super) limits: Limits,
    pub(super) hasher: RandomState,
    function: Function<K, V, E>,
    /// A key, as it is told.
    show: fn(&K) -> String,
}

impl<K, V, E> Core<K, V, E> {
    pub(super) fn new<F, Fut>(limits: Limits, function: F) -> Arc<Self>
    where
        K: fmt::Debug,
        F: Fn(Vec<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswers<K, V, E>> + Send + 'static,
    {
        let function = move |keys| -> Running<K, V, E> {
            let work = function(keys);
            Box::pin(async move { work.await.into_answers() })
        };
        Arc::new(Self {
            window: Mutex::new(Window::new()),
            limits,
            hasher: RandomState::default(),
            function: Box::new(function),
            show: |key| format!("{key:?}"),
        })
    }

    /// Where this loader's batches are known by.
    pub(super) fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    /// A key as one that others wait for.
    pub(super) fn named(&self, key: &K) -> Arc<dyn Named> {
        Arc::new(Text((self.show)(key)))
    }

    /// Drops what was taken out under the lock, and wakes.
    pub(super) fn clear(&self, left: Leftovers<K, Landing<V, E>, Work<K, V, E>>) {
        let Leftovers {
            wake,
            wakers,
            keys,
            landings,
            works,
        } = left;
        for (run, work) in works {
            self.discard(run, work);
        }
        wake_all(wake);
        drop((wakers, keys, landings));
    }

    /// Drops a work that nobody waits for, then frees its slot for what waits.
    fn discard(&self, run: u32, work: Work<K, V, E>) {
        // A panic in a drop is nobody's answer: there is nobody.
        hushed(|| drop(work));
        self.close(run);
    }

    fn close(&self, run: u32) {
        let mut window = self.window.lock();
        window.close(run);
        let wake = if window.has_work(self.limits) {
            window.ring()
        } else {
            Vec::new()
        };
        drop(window);
        wake_all(wake);
    }

    /// Ends a call that waits no longer.
    pub(super) fn leave(&self, call: u32, ties: &[u32]) {
        let mut window = self.window.lock();
        let mut left = window.leave(call, ties);
        // What this call was woken for is somebody else's to do now (B3).
        if window.has_work(self.limits) {
            left.wake = window.ring();
        }
        drop(window);
        self.clear(left);
    }
}

impl<K, V, E> Core<K, V, E>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    /// Moves everything on, then says whether this call has all its answers.
    pub(super) fn poll(self: &Arc<Self>, call: u32, cx: &Context<'_>) -> Poll<()> {
        for _ in 0..STEPS_A_POLL {
            // LOCK: closed at the end of this statement.
            let todo = self.window.lock().next(self.limits);
            let Some(todo) = todo else { break };
            if self.step(call, todo).is_break() {
                break;
            }
        }
        self.park(call, cx)
    }

    /// Ready if the call has all its answers; else it is parked, in the same critical section.
    fn park(&self, call: u32, cx: &Context<'_>) -> Poll<()> {
        let mut spare = None;
        loop {
            let mut window = self.window.lock();
            let state = &window.calls[call];
            let is_over = state.pending == 0;
            let is_known = state
                .waker
                .as_ref()
                .is_some_and(|waker| waker.will_wake(cx.waker()));
            let before = match spare.take() {
                _ if is_over => None,
                spare if is_known => {
                    window.touch(call);
                    spare
                }
                Some(waker) => window.park(call, waker),
                None => {
                    drop(window);
                    // A waker's `clone` is the user's too (B5).
                    spare = Some(cx.waker().clone());
                    continue;
                }
            };
            // What is left to do is for those who are woken, this call first if it waits (B3).
            let wake = if window.has_work(self.limits) {
                window.ring()
            } else {
                Vec::new()
            };
            drop(window);
            wake_all(wake);
            drop(before);
            return if is_over {
                Poll::Ready(())
            } else {
                Poll::Pending
            };
        }
    }

    /// Does one thing. Breaks if the batch would be polled again at once, which would starve the caller's task.
    fn step(self: &Arc<Self>, call: u32, mut todo: Todo<K, Work<K, V, E>>) -> ControlFlow<()> {
        let (run, id) = match &mut todo {
            Todo::Launch { run, id, wake, .. } => {
                wake_all(std::mem::take(wake));
                (*run, *id)
            }
            Todo::Poll { run, id, .. } => (*run, *id),
        };
        let stands = nest::enter_batch(id, self.address(), self.awaited(run, call));
        let polled = guarded(|| {
            let mut work = match todo {
                Todo::Launch { keys, .. } => Work {
                    running: (self.function)(keys),
                    waker: self.bell(run, id),
                    source: Source::new(id),
                },
                Todo::Poll { work, .. } => work,
            };
            match work
                .running
                .as_mut()
                .poll(&mut Context::from_waker(&work.waker))
            {
                Poll::Ready(answers) => Ok(answers),
                Poll::Pending => Err(work),
            }
        });
        let noted = stands.end();
        if noted && !matches!(polled, Ok(Err(_))) {
            waits::ended(id);
        }
        match polled {
            Ok(Err(mut work)) => {
                work.source.noted |= noted;
                return self.put_back(run, work);
            }
            Ok(Ok(answers)) => self.land(run, |keys| self.sort(keys, answers)),
            Err(error) => self.land(run, |_| Landing::All(error)),
        }
        ControlFlow::Continue(())
    }

    /// The name of what the caller, who is polled inside of a work, waits for in a batch; none if it does not wait for it.
    fn awaited(&self, run: u32, call: u32) -> Option<Arc<dyn Named>> {
        if !nest::is_inside() {
            return None;
        }
        let named = guarded::<_, E>(|| {
            // LOCK: closed at the end of this statement.
            let key = self.window.lock().awaited(run, call);
            key.map(|key| self.named(&key))
        });
        named.ok().flatten()
    }

    /// What a call waits for that is polled inside of a work.
    pub(super) fn targets(&self, call: u32, ties: &[u32]) -> Vec<Target> {
        // LOCK: closed at the end of this statement.
        let batches = self.window.lock().awaited_by(call, ties);
        let target = |(id, key)| Target {
            id,
            name: self.named(&key),
        };
        batches.into_iter().map(target).collect()
    }

    fn bell(self: &Arc<Self>, run: u32, id: Id) -> Waker {
        let core = Arc::downgrade(self);
        Waker::from(Arc::new(Bell { core, run, id }))
    }

    fn put_back(&self, run: u32, work: Work<K, V, E>) -> ControlFlow<()> {
        // LOCK: closed at the end of this statement.
        let parked = self.window.lock().put_back(run, work);
        match parked {
            Parked::Idle => ControlFlow::Continue(()),
            Parked::Ready => ControlFlow::Break(()),
            Parked::Abandoned(work) => {
                self.discard(run, work);
                ControlFlow::Continue(())
            }
        }
    }

    /// Gives everybody who waits for a batch what it came to.
    fn land(&self, run: u32, sort: impl FnOnce(&[(u64, K)]) -> Landing<V, E>) {
        // LOCK: closed at the end of this statement.
        let keys = self.window.lock().begin_landing(run);
        let Some(keys) = keys else {
            return self.close(run);
        };
        let landing = guarded(|| sort(&keys));
        let landing = landing.unwrap_or_else(Landing::All);
        let landing = Arc::new(landing);
        // LOCK: closed at the end of this statement.
        let wake = self.window.lock().end_landing(run, &landing);
        wake_all(wake);
        // Each on its own: one that panics when it is dropped is no concern of whoever drives, nor of the other keys.
        for key in keys {
            hushed(|| drop(key));
        }
    }

    /// Puts the answers in the order of the keys: the first for a key counts, and a key without one has no value.
    fn sort(&self, keys: &[(u64, K)], answers: Answers<K, V, E>) -> Landing<V, E> {
        let answers = match answers {
            Ok(answers) => answers,
            Err(error) => return Landing::All(Error::from_work(error)),
        };
        let mut sorted: Vec<_> = keys.iter().map(|_| None).collect();
        let mut index = HashTable::new();
        for (turn, (key, answer)) in answers.into_iter().enumerate() {
            // An answer in the place of its key needs no look-up.
            let is_next = keys.get(turn).is_some_and(|(_, asked)| *asked == key);
            let place = if is_next {
                Some(turn)
            } else {
                self.find(&mut index, keys, &key)
            };
            if let Some(slot) = place
                .and_then(|place| sorted.get_mut(place))
                .filter(|slot| slot.is_none())
            {
                *slot = Some(answer);
            }
        }
        let sorted = sorted.into_iter().map(|answer| match answer {
            Some(answer) => answer.map_err(Error::from_work),
            None => Ok(None),
        });
        Landing::Each(sorted.collect())
    }

    /// The place of a key, by an index that is made when it is first needed.
    fn find(&self, index: &mut HashTable<usize>, keys: &[(u64, K)], key: &K) -> Option<usize> {
        if index.is_empty() {
            for (place, (hash, _)) in keys.iter().enumerate() {
                index.insert_unique(*hash, place, |&place| keys[place].0);
            }
        }
        let hash = self.hasher.hash_one(key);
        index.find(hash, |&place| keys[place].1 == *key).copied()
    }
}

/// What a batch's work is woken with.
struct Bell<K, V, E> {
    core: Weak<Core<K, V, E>>,
    run: u32,
    id: Id,
}

impl<K, V, E> Wake for Bell<K, V, E>
where
    K: Send + 'static,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let Some(core) = self.core.upgrade() else {
            return;
        };
        // LOCK: closed at the end of this statement.
        let wake = core.window.lock().stir(self.run, self.id);
        wake_all(wake);
    }
}
