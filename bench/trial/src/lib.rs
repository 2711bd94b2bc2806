//! What the benches of flights and of caches share: everybody is given the same work, called the same way, and timed the same way.
//!
//!   Samples ◀── child process ◀── test × Subject: lone, join, and those of each bench
//!                                        ├─ Slots: the futures of many callers
//!                                        └─ Work, and the gate that it waits at
//!
//! T1. One process for a test of a subject: what another test has left in the allocator and the caches helps nobody.
//! T2. Every answer is looked at; a wrong one ends the process, and with it the run.
#![forbid(unsafe_code)]

mod caches;
pub mod join;
pub mod lone;
mod samples;
mod size;
mod slots;
mod subject;
pub mod tool;
mod work;

pub use caches::{Cachet, Foyer, Moka, QuickCache, ROOM};
pub use samples::{Figures, Samples};
pub use size::{Size, alone, check, keys, let_tasks_run, ns};
pub use slots::Slots;
pub use subject::{Kind, Plain, Subject};
pub use work::{Fallible, GATE, Gate, Until, Work};
