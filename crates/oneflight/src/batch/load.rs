//! The callers' futures. Making one queues its keys; dropping one leaves.

use super::answers::Landing;
use super::drive::Core;
use crate::error::{Error, Other};
use crate::waiting::nest;
use crate::waiting::waits::{Ring, Wait};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

type Answer<V, E> = Result<Option<V>, Error<E>>;

/// Waits for one key: see [`Loader::load`](super::Loader::load).
#[must_use = "a future does nothing unless it is polled"]
pub struct Load<K, V, E> {
    caller: Caller<K, V, E>,
    refused: Option<Error<E>>,
}

/// Waits for some keys: see [`Loader::load_many`](super::Loader::load_many).
#[must_use = "a future does nothing unless it is polled"]
pub struct LoadMany<K, V, E> {
    caller: Caller<K, V, E>,
    /// The places, among all the keys, of those that were refused, and why.
    refused: Vec<(usize, Error<E>)>,
}

/// Somebody's place in the window; dropping it gives the place up.
struct Caller<K, V, E> {
    core: Arc<Core<K, V, E>>,
    stage: Stage,
    /// Its place among those who wait inside of a work.
    wait: Wait,
    ties: Ties,
}

enum Stage {
    /// All its keys were refused.
    Outside,
    Waits(u32),
    Over,
}

/// The ties of a call: one without an allocation, or many.
enum Ties {
    One([u32; 1]),
    Many(Vec<u32>),
}

impl<K, V, E> Load<K, V, E>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    pub(super) fn new(core: &Arc<Core<K, V, E>>, key: K) -> Self {
        let mut refused = None;
        let keys = &mut [(core.hasher.hash_one(&key), Some(key))];
        let caller = Caller::enter(core, keys, |_, error| refused = Some(error));
        Self { caller, refused }
    }
}

impl<K, V, E> LoadMany<K, V, E>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    pub(super) fn new(core: &Arc<Core<K, V, E>>, keys: impl IntoIterator<Item = K>) -> Self {
        let keys = keys.into_iter();
        let keys = keys.map(|key| (core.hasher.hash_one(&key), Some(key)));
        let mut keys: Vec<_> = keys.collect();
        let mut refused = Vec::new();
        let caller = Caller::enter(core, &mut keys, |place, error| refused.push((place, error)));
        Self { caller, refused }
    }
}

impl<K, V, E> Caller<K, V, E>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    /// Ties a new call to these keys; those for which it would wait in vain are refused.
    fn enter(
        core: &Arc<Core<K, V, E>>,
        keys: &mut [(u64, Option<K>)],
        mut refuse: impl FnMut(usize, Error<E>),
    ) -> Self {
        let inside = nest::innermost_of(core.address());
        let mut caller = Self {
            core: Arc::clone(core),
            stage: Stage::Outside,
            wait: Wait::none(),
            ties: Ties::Many(Vec::new()),
        };
        // Made before the lock is taken: should a key's `eq` panic, the lock is open again when this leaves.
        let Self { stage, ties, .. } = &mut caller;
        let mut window = core.window.lock();
        if window.is_closed {
            drop(window);
            let closed = Error::from_other(Other::Closed);
            (0..keys.len()).for_each(|place| refuse(place, closed.clone()));
            return caller;
        }
        let blockers = inside.map_or_else(Vec::new, |inside| window.blockers(inside));
        let call = window.begin(inside);
        *stage = Stage::Waits(call);
        let mut vain = Vec::new();
        window.reserve(keys.len());
        ties.reserve(keys.len());
        for (place, (hash, key)) in keys.iter_mut().enumerate() {
            match window.enter(call, *hash, key, &blockers) {
                Ok(tie) => ties.push(tie),
                Err(batch) => vain.push((place, batch)),
            }
        }
        drop(window);
        for (place, batch) in vain {
            let Some(name) = keys[place].1.as_ref().map(|key| core.named(key)) else {
                continue;
            };
            // It may wait by way of what another thread polls: then its own key is all that is known.
            let ring = match nest::is_polled(batch) {
                true => nest::ring(batch, name),
                false => Ring::new([name]),
            };
            refuse(place, ring.error());
        }
        caller
    }

    /// Ready with all the answers, in the order of the ties.
    ///
    /// If it closes a ring of works that wait for each other, it has left.
    fn poll(
        &mut self,
        cx: &Context<'_>,
        mut put: impl FnMut(Arc<Landing<V, E>>, u32),
    ) -> Poll<Result<(), Ring>> {
        let call = match self.stage {
            Stage::Waits(call) => call,
            Stage::Outside => {
                self.stage = Stage::Over;
                return Poll::Ready(Ok(()));
            }
            Stage::Over => panic!("a loader's future was polled after it was ready"),
        };
        if self.core.poll(call, cx).is_pending() {
            let (core, ties) = (&self.core, self.ties.all());
            let Err(ring) = self.wait.pending_all(|| core.targets(call, ties)) else {
                return Poll::Pending;
            };
            self.stage = Stage::Over;
            core.leave(call, ties);
            return Poll::Ready(Err(ring));
        }
        self.wait.end();
        self.stage = Stage::Over;
        // LOCK: closed at the end of this statement.
        let waker = self
            .core
            .window
            .lock()
            .finish(call, self.ties.all(), &mut put);
        drop(waker);
        Poll::Ready(Ok(()))
    }
}

impl Ties {
    fn reserve(&mut self, count: usize) {
        if count > 1 {
            *self = Self::Many(Vec::with_capacity(count));
        }
    }

    fn push(&mut self, tie: u32) {
        match self {
            Self::Many(ties) if ties.capacity() == 0 => *self = Self::One([tie]),
            Self::Many(ties) => ties.push(tie),
            Self::One([first]) => *self = Self::Many(vec![*first, tie]),
        }
    }

    fn all(&self) -> &[u32] {
        match self {
            Self::One(tie) => tie,
            Self::Many(ties) => ties,
        }
    }
}

impl<K, V, E> Future for Load<K, V, E>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    type Output = Answer<V, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut landed = None;
        let put = |landing, place| landed = Some((landing, place));
        if let Err(ring) = ready!(self.caller.poll(cx, put)) {
            return Poll::Ready(Err(ring.error()));
        }
        Poll::Ready(match (landed, self.refused.take()) {
            (Some((landing, place)), _) => landing.answer(place),
            (None, Some(error)) => Err(error),
            (None, None) => Err(Error::lost("a key got neither an answer nor an error")),
        })
    }
}

impl<K, V, E> Future for LoadMany<K, V, E>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    type Output = Vec<Answer<V, E>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut landed = Vec::new();
        let put = |landing, place| landed.push((landing, place));
        if let Err(ring) = ready!(this.caller.poll(cx, put)) {
            let error = ring.error();
            let count = this.caller.ties.all().len() + this.refused.len();
            return Poll::Ready((0..count).map(|_| Err(Error::clone(&error))).collect());
        }
        let mut refused = std::mem::take(&mut this.refused).into_iter().peekable();
        let mut landed = landed.into_iter();
        let mut answers = Vec::with_capacity(landed.len() + refused.len());
        loop {
            let next = refused.next_if(|(place, _)| *place == answers.len());
            match next {
                Some((_, error)) => answers.push(Err(error)),
                None => match landed.next() {
                    Some((landing, place)) => answers.push(landing.answer(place)),
                    None => return Poll::Ready(answers),
                },
            }
        }
    }
}

// Nothing is pinned: what a caller waits for is elsewhere.
impl<K, V, E> Unpin for Load<K, V, E> {}
impl<K, V, E> Unpin for LoadMany<K, V, E> {}

impl<K, V, E> Drop for Caller<K, V, E> {
    fn drop(&mut self) {
        if let Stage::Waits(call) = self.stage {
            self.core.leave(call, self.ties.all());
        }
    }
}

impl<K, V, E> fmt::Debug for Load<K, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Load").finish_non_exhaustive()
    }
}

impl<K, V, E> fmt::Debug for LoadMany<K, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.caller.ties.all().len() + self.refused.len();
        f.debug_struct("LoadMany")
            .field("keys", &keys)
            .finish_non_exhaustive()
    }
}
