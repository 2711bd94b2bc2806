//! Flights: one run of the work for one key, shared by all who ask while it runs.
//!
//!   Group ── table (shards) ──▶ node: key, state, answer and the work           unsafe code: node, and nowhere else
//!     │                           ▲
//!     └── run ──▶ Join ── drive ──┘        state: the transitions · queue: the waiters · pilot: a task that waits too
//!
//!   nest: what this thread polls · waits: which works wait for whom · trail: both, carried to another task
//!
//! A transition of `state` is one atomic step. A lock is held only for a look into `table`, into the queue of the waiters or into
//! the graph of `waits`. What a transition asks for (poll the work, drop it, wake somebody) is done after it, by `drive`.

mod ask;
mod builder;
mod drive;
mod group;
mod join;
pub(crate) mod nest;
#[expect(
    unsafe_code,
    reason = "pins the work in the flight's one allocation, and makes that allocation the work's waker"
)]
mod node;
pub(crate) mod panics;
mod pilot;
pub(crate) mod queue;
mod state;
mod stats;
mod table;
mod trail;
pub(crate) mod waits;

pub use builder::Builder;
pub use group::{Group, Mark};
pub use join::{Join, Outcome, WithOutcome, Within};
pub use panics::record_panic_locations;
pub use stats::Stats;
pub use trail::{Following, Trail};
