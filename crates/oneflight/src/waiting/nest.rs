//! The flights that this thread is polling right now, one inside the other. What is polled in there is waited for by the innermost.
//!
//! ```text
//!   undermost                innermost
//!   "a" ────── "b" ────── "c"             a call for "a" made or polled in here waits for itself:
//!    ▲                     │              the one who calls gets `"a" waits for "b" waits for "c" waits for "a"`
//!    └─────────────────────┘
//! ```
//!
//! O1. A flight stands here exactly while its work is being made or polled on this thread, or a future on its trail.
//! O2. Each but the undermost has a name: a ring begins with a flight that the caller can name. So a flight that is not polled
//!     inside another costs no name.
//! O3. A frame that is `apart` is not waited for by those below: they only lend it their poll.

use super::waits::{Id, Named, Pass, Ring};
use crate::sync::{Arc, thread_local};
use std::cell::RefCell;

thread_local! {
    static POLLED: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// One flight that is being polled.
pub(crate) struct Frame {
    pub(crate) id: Id,
    /// Something outside of this thread knows of it; its end is to be told.
    noted: bool,
    /// O3.
    apart: bool,
    /// The loader that the batch is of; zero for a flight.
    owner: usize,
    more: Option<Box<More>>,
}

/// What few frames have.
#[derive(Clone, Default)]
struct More {
    name: Option<Arc<dyn Named>>,
    /// What brought it here from another task.
    pass: Option<Arc<Pass>>,
}

/// Stands for one flight that is being polled; it ends when this is dropped.
#[must_use = "the flight stands for polled until this is dropped"]
#[derive(Debug)]
pub(crate) struct Polled(());

/// Notes that a flight is being polled. Its name is asked for if it is polled inside another (O2).
#[inline]
pub(crate) fn enter(id: Id, named: impl FnOnce() -> Arc<dyn Named>) -> Polled {
    let is_undermost = POLLED.try_with(|polled| {
        let mut polled = polled.borrow_mut();
        let is_undermost = polled.is_empty();
        if is_undermost {
            polled.push(Frame::new(id));
        }
        is_undermost
    });
    if is_undermost.is_ok_and(|is| !is) {
        let more = Some(named_only(named()));
        let frame = Frame::new(id);
        push(Frame { more, ..frame });
    }
    // A thread on its way out has no list any more: then nothing is noted, and nothing is found.
    Polled(())
}

/// Notes that a batch of a loader is being polled, inside of what waits for a key of it by this name; or by somebody who does not
/// wait for it (O3).
pub(crate) fn enter_batch(id: Id, owner: *const (), name: Option<Arc<dyn Named>>) -> Polled {
    push(Frame {
        id,
        noted: false,
        apart: name.is_none(),
        owner: owner.addr(),
        more: name.map(named_only),
    });
    Polled(())
}

fn named_only(name: Arc<dyn Named>) -> Box<More> {
    Box::new(More {
        name: Some(name),
        pass: None,
    })
}

fn push(frame: Frame) {
    let _ = POLLED.try_with(|polled| polled.borrow_mut().push(frame));
}

/// True if this thread polls a flight.
#[inline]
pub(crate) fn is_inside() -> bool {
    POLLED
        .try_with(|polled| !polled.borrow().is_empty())
        .unwrap_or(false)
}

/// True if the flight is being polled here: who waits for it in here waits for itself.
pub(crate) fn is_polled(id: Id) -> bool {
    look(|polled| waited(polled).any(|frame| frame.is(id))).unwrap_or(false)
}

/// The ring that a call for a flight closes that is being polled here.
pub(crate) fn ring(id: Id, name: Arc<dyn Named>) -> Ring {
    let others = look(|polled| {
        let others = waited(polled).take_while(|frame| !frame.is(id));
        others.filter_map(Frame::name).collect::<Vec<_>>()
    });
    let others = others.unwrap_or_default().into_iter().rev();
    Ring::new(std::iter::once(name).chain(others))
}

/// The innermost flight: it waits for what is pending in here. Its end is to be told from now on.
pub(crate) fn innermost() -> Option<(Id, Option<Arc<Pass>>)> {
    let found = POLLED.try_with(|polled| {
        let mut polled = polled.borrow_mut();
        let frame = polled.last_mut()?;
        frame.noted = true;
        Some((frame.id, frame.pass().cloned()))
    });
    found.ok().flatten()
}

/// The innermost batch of the loader at this address that waits for what is called in here.
pub(crate) fn innermost_of(owner: *const ()) -> Option<Id> {
    look(|polled| {
        let mut own =
            waited(polled).filter(|frame| frame.owner == owner.addr() && frame.is(frame.id));
        own.next().map(|frame| frame.id)
    })?
}

/// All that stand here, to stand elsewhere; `admit` makes the pass of one that has none.
pub(crate) fn copy(mut admit: impl FnMut(Id) -> Arc<Pass>) -> Vec<Frame> {
    let copied = POLLED.try_with(|polled| {
        let mut polled = polled.borrow_mut();
        let frames = polled.iter_mut().map(|frame| {
            frame.noted = true;
            let pass = frame.pass().cloned();
            let pass = pass.unwrap_or_else(|| admit(frame.id));
            let name = frame.name();
            let more = Some(Box::new(More {
                name,
                pass: Some(pass),
            }));
            Frame { more, ..*frame }
        });
        frames.collect()
    });
    copied.unwrap_or_default()
}

/// Puts these frames in the place of those that stand here, and those in the place of these.
pub(crate) fn swap(frames: &mut Vec<Frame>) {
    let _ = POLLED.try_with(|polled| std::mem::swap(&mut *polled.borrow_mut(), frames));
}

fn look<T>(with: impl FnOnce(&[Frame]) -> T) -> Option<T> {
    POLLED.try_with(|polled| with(&polled.borrow())).ok()
}

/// Those that wait for what is called in here, the innermost first: down to the first that is apart, which does itself.
fn waited(polled: &[Frame]) -> impl Iterator<Item = &Frame> {
    let from = polled.iter().rposition(|frame| frame.apart).unwrap_or(0);
    polled[from..].iter().rev()
}

impl Frame {
    #[inline]
    fn new(id: Id) -> Self {
        Self {
            id,
            noted: false,
            apart: false,
            owner: 0,
            more: None,
        }
    }

    /// True if it is this flight, and not one that has ended and left its place to this.
    fn is(&self, id: Id) -> bool {
        self.id == id && !self.pass().is_some_and(|pass| pass.is_over())
    }

    fn name(&self) -> Option<Arc<dyn Named>> {
        self.more.as_ref().and_then(|more| more.name.clone())
    }

    fn pass(&self) -> Option<&Arc<Pass>> {
        self.more.as_ref().and_then(|more| more.pass.as_ref())
    }
}

impl Clone for Frame {
    fn clone(&self) -> Self {
        Self {
            more: self.more.clone(),
            ..*self
        }
    }
}

impl Polled {
    /// Ends it. True if something outside of this thread knows of the flight: then its end is to be told ([`super::waits::ended`]).
    pub(crate) fn end(self) -> bool {
        std::mem::forget(self);
        pop().is_some_and(|frame| frame.noted)
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        pop();
    }
}

/// A name may hold the last reference to what is the user's: it is dropped by the caller, after the list is free again.
fn pop() -> Option<Frame> {
    let frame = POLLED.try_with(|polled| polled.borrow_mut().pop());
    frame.ok().flatten()
}
