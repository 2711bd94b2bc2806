//! Where pairs are kept.
//!
//! `contract` says what a store promises, `memory` keeps a pair as long as the process, `file` for longer and for several processes,
//! in the form that `format` writes; `lease` is the right of one of them to refresh; `blocking` takes what blocks off the caller.

mod blocking;
mod contract;
mod file;
mod format;
mod lease;
mod memory;

pub use blocking::Blocking;
pub use contract::{Keeping, Store, StoreError};
pub use file::FileStore;
pub use lease::FileLease;
pub use memory::MemoryStore;
