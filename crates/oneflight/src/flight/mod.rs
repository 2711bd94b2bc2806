//! Flights: one run of the work for one key, shared by all who ask while it runs.
//!
//!   Group ── table (shards) ──▶ node: key, state, answer and the work           unsafe code: node, and nowhere else
//!     │                           ▲
//!     └── run ──▶ Join ── drive ──┘        state: the transitions · pilot: a task that waits too
//!
//! A transition of `state` is one atomic step. A lock is held only for a look into `table`, into the queue of the waiters or into
//! the graph of who waits for whom. What a transition asks for (poll the work, drop it, wake somebody) is done after it, by `drive`.

mod ask;
mod builder;
mod drive;
mod group;
mod join;
#[expect(
    unsafe_code,
    reason = "pins the work in the flight's one allocation, and makes that allocation the work's waker"
)]
mod node;
mod pilot;
mod state;
mod stats;
mod table;
mod terms;

pub use builder::Builder;
pub use group::{Group, Mark};
pub use join::{Join, Outcome, WithOutcome, Within};
pub use stats::Stats;
#[cfg(feature = "cache")]
pub(crate) use terms::Terms;
