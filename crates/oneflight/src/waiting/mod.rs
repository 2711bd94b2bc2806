//! What waiting is made of, whatever is waited for: a flight, a scoped flight, a batch.
//!
//!   queue: the wakers of those who wait for one thing                 panics: what is not ours is called through here
//!   nest: what this thread polls, one inside the other · waits: which works wait for whom · trail: both, carried to another task
//!
//! Nothing here knows a flight.

pub(crate) mod nest;
pub(crate) mod panics;
pub(crate) mod queue;
mod trail;
pub(crate) mod waits;

pub use panics::record_panic_locations;
pub use trail::{Following, Trail};
