//! What is let through: everything, if nobody says otherwise.

use std::fmt::Debug;

/// What becomes of bytes that are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Passage {
    /// All of them pass.
    All,
    /// So many of them pass, and then every link is cut.
    Cut(usize),
}

/// Decides what a [`Proxy`](super::Proxy) lets through. `()` lets everything through.
pub trait Valve: Debug + Send + Sync + 'static {
    /// True if a new connection is let in; it is closed at once otherwise.
    fn admits(&self) -> bool {
        true
    }

    /// Asked before `bytes` bytes are written, to whichever side.
    fn pass(&self, bytes: usize) -> Passage {
        let _ = bytes;
        Passage::All
    }
}

impl Valve for () {}
