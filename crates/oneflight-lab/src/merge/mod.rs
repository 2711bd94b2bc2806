//! The ways of merging, beside each other: one database, one feed, every way in one run.
//!
//! ```text
//!   Settings ──▶ run ──▶ Scratch (a database of its own) ──▶ Site: near, and far by way of the proxy
//!                            for each round trip, order, way:
//!                               fresh tables ─▶ connect, prepare ─▶ [clock] way [clock] ─▶ audit ─▶ Figure
//! ```
//!
//! L1. Nothing outside of the scratch database is touched, and it goes however the run ends.
//! L2. The clock runs while references become ids (or rows are merged), not while anybody connects or prepares.
//! L3. All ways have the same tables, with the same constraints; only the naive one has none on the names, as it is in real life.
//! L4. A way that is not ours uses none of our code but the flight that it is about: its statements go through the database's
//!     usual client.
//! L5. Round trips are counted by the proxy. In SQLite there is no network: there, statements are counted.

mod audit;
mod database;
mod lab;
mod link;
mod rows;
mod settings;
mod tables;
mod way;

pub use crate::result::{Case, Way};
pub use lab::run;
pub use settings::{Events, Settings, Step};
