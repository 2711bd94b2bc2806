//! Single flight: when many callers want the same thing at the same moment, the work runs once and all get its answer.
#![deny(unsafe_code)]

pub mod batch;
mod clock;
mod error;
mod flight;
mod sync;

#[cfg(feature = "tokio")]
pub use clock::Tokio;
pub use clock::{Clock, Spawn, Task};
pub use error::Error;
pub use flight::{Builder, Group, Join, Mark, Outcome, Stats, WithOutcome, Within, record_panic_locations};
