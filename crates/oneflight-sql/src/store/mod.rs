//! The store: find or create the rows of one table, in batches, exactly once.
//!
//! ```text
//!   Store::merge ─▶ Flow ─▶ Batch (who asks what) ─▶ dialect (statements) ─▶ driver
//!                    ▲                                                        │
//!                    └── settle (policies, outcomes) ◀── hits (what is there) ┘
//! ```
//!
//! A1. A row that exists costs no value of a sequence. A row that two processes want is made by one of them, the other finds it;
//!     nobody makes a row that its external id does not lead to.
//! A2. Each batch is a short transaction of its own, never part of the caller's.
//! A3. Locks are taken in one order: the table's, its stripes, rows by their id.

mod batch;
mod claims;
mod flow;
mod guarded;
mod handle;
mod known;
mod load;
mod open;
mod policy;
mod settle;

pub use handle::Store;
pub(crate) use open::{Place, absent, lock_name, names};
