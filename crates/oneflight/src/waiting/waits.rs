//! Who waits for whom: the calls that are pending inside the work of a flight, for all threads and groups together.
//!
//! ```text
//!   from ──▶ to      the work of `from` has polled a call for `to`, which is pending
//!   "a" ───▶ "b" ───▶ "c"
//!    ▲─ ─ ─ ─ ─ ─ ─ ─ ─┘      the call that would close a ring is not noted: it gets the names along it, and fails
//! ```
//!
//! H1. An edge stands from when its call is first pending inside a flight until the call is ready, dropped or polled elsewhere, or
//!     the flight has ended. There is no ring, ever: the lock lets one of two that would close it together be the first.
//! H2. No identity is used again while it is known here: a target is held by its call, a source tells its end (`ended`).
//! H3. Nothing of the user's is called or dropped under the lock. It nests inside all others.

use super::nest;
use crate::error::{Error, Other};
use crate::sync::{Arc, AtomicU32, Ordering, ProcessCounter, ProcessMutex};
use foldhash::fast::FixedState;
use std::collections::HashMap;

static WAITS: ProcessMutex<Graph> = ProcessMutex::new(Graph::new());

static NEXT_BATCH: ProcessCounter = ProcessCounter::new(1);

/// So much room is kept when nobody waits.
const KEPT: usize = 1_024;

/// A flight, or a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id(usize);

/// What can be waited for, and be named.
pub(crate) trait Named: Send + Sync {
    /// True if who waits for it need only be polled to know.
    fn is_over(&self) -> bool;
    /// The key, as it is told.
    fn name(&self) -> String;
}

/// A name that is known beforehand.
pub(crate) struct Text(pub(crate) String);

/// What a call waits for.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) id: Id,
    pub(crate) name: Arc<dyn Named>,
}

/// The names along a ring, each waiting for the next, and the last for the first.
pub(crate) struct Ring(Vec<Arc<dyn Named>>);

/// Lets a flight be known for the source of what another task waits for; void when the flight has ended.
#[derive(Debug)]
pub(crate) struct Pass(AtomicU32);

/// A call's place in the graph, if it has one; dropping it gives it up.
///
/// Three bytes, for which a call has room. So sixteen million calls may be pending inside of works at once; what comes beyond
/// them has no place, and its rings are not found out.
#[derive(Debug)]
pub(crate) struct Wait([u8; 3]);

/// A source whose end is told when this is dropped.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) id: Id,
    /// Somebody knows of it.
    pub(crate) noted: bool,
}

struct Graph {
    edges: Vec<Edge>,
    free: Vec<u32>,
    /// The edges that begin at a flight, and those that end there.
    from: Map<Vec<u32>>,
    into: Map<Vec<u32>>,
    passes: Map<Arc<Pass>>,
}

type Map<T> = HashMap<Id, T, FixedState>;

/// The edges of one call: several if it waits for keys in several batches.
#[derive(Default)]
struct Edge {
    /// None if the source has ended, or the place is free.
    from: Option<Id>,
    to: Vec<Target>,
}

/// No place.
const NONE: u32 = 0xFF_FFFF;

impl Wait {
    pub(crate) const fn none() -> Self {
        Self([0xFF; 3])
    }

    #[inline]
    fn place(&self) -> u32 {
        let [low, middle, high] = self.0;
        u32::from_le_bytes([low, middle, high, 0])
    }

    fn put(&mut self, place: u32) {
        let [low, middle, high, _] = place.to_le_bytes();
        self.0 = [low, middle, high];
    }

    /// The call is pending. Told the ring if the flight that it is polled in waits, by way of this call, for itself.
    #[inline]
    pub(crate) fn pending(&mut self, to: impl FnOnce() -> Target) -> Result<(), Ring> {
        if self.place() == NONE && !nest::is_inside() {
            return Ok(());
        }
        self.note(true, || vec![to()])
    }

    /// As `pending`, for a call that waits for many, and not always for the same.
    #[inline]
    pub(crate) fn pending_all(&mut self, to: impl FnOnce() -> Vec<Target>) -> Result<(), Ring> {
        if self.place() == NONE && !nest::is_inside() {
            return Ok(());
        }
        self.note(false, to)
    }

    /// The call waits no longer.
    #[inline]
    pub(crate) fn end(&mut self) {
        if self.place() != NONE {
            self.give_up();
        }
    }

    #[cold]
    fn note(&mut self, is_same: bool, to: impl FnOnce() -> Vec<Target>) -> Result<(), Ring> {
        let Some((from, pass)) = nest::innermost() else {
            self.give_up();
            return Ok(());
        };
        // LOCK: closed at the end of this statement.
        if is_same
            && self.place() != NONE
            && WAITS.lock().edges[self.place() as usize].from == Some(from)
        {
            return Ok(());
        }
        let to = to();
        for target in &to {
            if nest::is_polled(target.id) {
                self.end();
                return Err(nest::ring(target.id, target.name.clone()));
            }
        }
        self.end();
        let mut graph = WAITS.lock();
        if pass.is_some_and(|pass| pass.is_over()) {
            return Ok(());
        }
        let ring = to.iter().find_map(|target| graph.way(target, from));
        match ring {
            None => self.put(graph.add(from, to)),
            Some(ring) => {
                drop(graph);
                return Err(ring);
            }
        }
        Ok(())
    }

    fn give_up(&mut self) {
        let at = self.place();
        if at != NONE {
            self.put(NONE);
            // LOCK: closed at the end of this statement; what it takes out is dropped after it (H3).
            let edge = WAITS.lock().remove(at);
            drop(edge);
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.end();
    }
}

/// A flight that was a source has ended, or will not be polled again: it waits for nobody.
#[cold]
pub(crate) fn ended(id: Id) {
    // LOCK: closed at the end of this statement; what it takes out is dropped after it (H3).
    let targets = WAITS.lock().close(id);
    drop(targets);
}

/// The pass of a flight that is being polled.
pub(crate) fn admit(id: Id) -> Arc<Pass> {
    let fresh = || Arc::new(Pass(AtomicU32::new(0)));
    WAITS.lock().passes.entry(id).or_insert_with(fresh).clone()
}

impl Id {
    /// A flight, by its address, which is even.
    pub(crate) fn of(flight: *const ()) -> Self {
        Self(flight.addr())
    }

    /// A new batch, by an odd number. Where a word has 32 bits they come round after two thousand million batches.
    pub(crate) fn of_new_batch() -> Self {
        // ORDERING: Relaxed: only that no two get the same number.
        Self(NEXT_BATCH.fetch_add(2, Ordering::Relaxed))
    }
}

impl Named for Text {
    fn is_over(&self) -> bool {
        false
    }

    fn name(&self) -> String {
        self.0.clone()
    }
}

impl Ring {
    pub(crate) fn new(names: impl IntoIterator<Item = Arc<dyn Named>>) -> Self {
        Self(names.into_iter().collect())
    }

    /// The error of the call that would close it.
    pub(crate) fn error<E>(self) -> Error<E> {
        let mut names: Vec<_> = self.0.iter().map(|name| name.name()).collect();
        if names.len() > 1 {
            names.extend(names.first().cloned());
        }
        let keys = names.join(" waits for ");
        Error::from_other(Other::Reentrant { keys })
    }
}

impl Pass {
    pub(crate) fn is_over(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `close`, which comes before the flight's place is anybody else's.
        self.0.load(Ordering::Acquire) != 0
    }
}

impl Source {
    pub(crate) fn new(id: Id) -> Self {
        Self { id, noted: false }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if self.noted {
            ended(self.id);
        }
    }
}

impl Graph {
    const fn new() -> Self {
        Self {
            edges: Vec::new(),
            free: Vec::new(),
            from: Map::with_hasher(FixedState::with_seed(0)),
            into: Map::with_hasher(FixedState::with_seed(0)),
            passes: Map::with_hasher(FixedState::with_seed(0)),
        }
    }

    /// The ring that an edge from `goal` to `start` would close.
    ///
    /// Inner calls are pending before outer ones: mostly nobody waits for `goal` yet, or `start` waits for nobody, and it is told
    /// at once.
    fn way(&self, start: &Target, goal: Id) -> Option<Ring> {
        if start.name.is_over() || !self.into.contains_key(&goal) {
            return None;
        }
        let mut came: HashMap<Id, (Id, &Target), FixedState> = HashMap::default();
        let mut todo = vec![start.id];
        while let Some(at) = todo.pop() {
            let edges = self.from.get(&at).into_iter().flatten();
            for target in edges.flat_map(|&edge| &self.edges[edge as usize].to) {
                // Who waits for what is over is about to wait no longer.
                if came.contains_key(&target.id) || target.name.is_over() {
                    continue;
                }
                came.insert(target.id, (at, target));
                todo.push(target.id);
                if target.id == goal {
                    return Some(back(start, goal, &came));
                }
            }
        }
        None
    }

    fn add(&mut self, from: Id, to: Vec<Target>) -> u32 {
        let edge = Edge {
            from: Some(from),
            to: Vec::new(),
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.edges[at as usize] = edge;
                at
            }
            None if self.edges.len() >= NONE as usize => return NONE,
            None => {
                self.edges.push(edge);
                self.edges.len() as u32 - 1
            }
        };
        self.from.entry(from).or_default().push(at);
        to.into_iter().for_each(|target| self.link(at, target));
        at
    }

    fn link(&mut self, at: u32, target: Target) {
        let edge = &mut self.edges[at as usize];
        if edge.from.is_some() {
            self.into.entry(target.id).or_default().push(at);
            edge.to.push(target);
        }
    }

    fn remove(&mut self, at: u32) -> Edge {
        let edge = std::mem::take(&mut self.edges[at as usize]);
        self.free.push(at);
        if let Some(from) = edge.from {
            unlist(&mut self.from, from, at);
        }
        for target in &edge.to {
            unlist(&mut self.into, target.id, at);
        }
        if self.free.len() == self.edges.len() && self.edges.len() > KEPT {
            let passes =
                std::mem::replace(&mut self.passes, Map::with_hasher(FixedState::default()));
            *self = Self {
                passes,
                ..Self::new()
            };
        }
        edge
    }

    /// Takes all away that begins at a flight. The calls keep their places, in which nothing stands.
    fn close(&mut self, id: Id) -> Vec<Target> {
        if let Some(pass) = self.passes.remove(&id) {
            // ORDERING: Release pairs with the Acquire in `is_over`.
            pass.0.store(1, Ordering::Release);
        }
        let mut targets = Vec::new();
        for at in self.from.remove(&id).unwrap_or_default() {
            let edge = std::mem::take(&mut self.edges[at as usize]);
            for target in &edge.to {
                unlist(&mut self.into, target.id, at);
            }
            targets.extend(edge.to);
        }
        targets
    }
}

fn unlist(map: &mut Map<Vec<u32>>, id: Id, at: u32) {
    let Some(list) = map.get_mut(&id) else { return };
    if let Some(place) = list.iter().position(|&other| other == at) {
        list.swap_remove(place);
    }
    if list.is_empty() {
        map.remove(&id);
    }
}

/// The names from `start` on the way to `goal`.
fn back(start: &Target, goal: Id, came: &HashMap<Id, (Id, &Target), FixedState>) -> Ring {
    let mut names = Vec::new();
    let mut at = goal;
    while let Some((before, target)) = came.get(&at).filter(|_| at != start.id) {
        names.push(target.name.clone());
        at = *before;
    }
    names.push(start.name.clone());
    names.reverse();
    Ring(names)
}

#[cfg(all(test, not(oneflight_loom)))]
mod tests {
    use super::*;
    use crate::flight::{Group, Join};
    use crate::waiting::Trail;
    use std::future::{Future, pending};
    use std::pin::Pin;
    use std::sync::{LazyLock, Mutex};
    use std::task::{Context, Poll, Waker};

    type Works = Group<u32, u32, ()>;
    type Call = Join<'static, u32, u32, (), crate::RandomState>;

    fn poll<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
        future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
    }

    /// What stands in the graph: edges, sources, targets, passes.
    fn standing() -> [usize; 4] {
        let graph = WAITS.lock();
        [
            graph.edges.len() - graph.free.len(),
            graph.from.len(),
            graph.into.len(),
            graph.passes.len(),
        ]
    }

    /// A flight that waits for another, which is pending.
    fn waiting(group: &'static Works, key: u32, next: u32) -> Pin<Box<Call>> {
        let call = group.run(&key, move || async move {
            group.run(&next, pending).await.or(Ok(0))
        });
        let mut call = Box::pin(call);
        assert!(poll(&mut call).is_pending());
        call
    }

    // One test, since the graph is the whole process's, and no other test of this program comes to it.
    #[test]
    fn a21_nothing_stands_in_the_graph_when_all_who_waited_are_gone() {
        static GROUP: LazyLock<Works> = LazyLock::new(Works::new);
        static GIVEN: Mutex<Option<Pin<Box<Call>>>> = Mutex::new(None);
        static TRAIL: LazyLock<Mutex<Trail>> = LazyLock::new(Mutex::default);
        let group: &'static Works = &GROUP;
        let dropped = waiting(group, 1, 2);
        assert_eq!(standing(), [1, 1, 1, 0]);
        drop(dropped);
        assert_eq!(standing(), [0; 4]);

        let ended = waiting(group, 1, 2);
        group.cancel_all();
        drop(ended);
        assert_eq!(standing(), [0; 4]);

        // 2 is up, and waits for 1, which then calls for 2.
        let mut back = waiting(group, 2, 1);
        let mut ring = Box::pin(group.run(&1, pending));
        assert!(poll(&mut ring).is_pending());
        assert!(poll(&mut back).is_pending());
        drop((back, ring));
        assert_eq!(standing(), [0; 4]);

        // A call that outlives the work which polled it keeps its place, in which nothing stands.
        let mut call = Box::pin(group.run(&1, || async {
            let mut call = Box::pin(group.run(&2, pending));
            assert!(poll(&mut call).is_pending());
            *GIVEN.lock().unwrap() = Some(call);
            Ok(1)
        }));
        assert!(poll(&mut call).is_ready());
        assert_eq!(standing(), [1, 0, 0, 0]);
        *GIVEN.lock().unwrap() = None;
        assert_eq!(standing(), [0; 4]);

        let mut call = Box::pin(group.run(&1, || async {
            *TRAIL.lock().unwrap() = Trail::current();
            pending().await
        }));
        assert!(poll(&mut call).is_pending());
        assert_eq!(standing(), [0, 0, 0, 1]);
        drop(call);
        assert_eq!(standing(), [0; 4]);
    }

    #[test]
    fn much_room_is_given_back_when_nobody_waits() {
        let mut graph = Graph::new();
        let target = |at| Target {
            id: Id(at),
            name: Arc::new(Text(String::new())),
        };
        let places: Vec<_> = (0..2 * KEPT)
            .map(|at| graph.add(Id(at), vec![target(at + 1)]))
            .collect();
        places.into_iter().for_each(|at| drop(graph.remove(at)));
        assert_eq!(
            (graph.edges.capacity(), graph.from.len(), graph.into.len()),
            (0, 0, 0)
        );
    }
}
