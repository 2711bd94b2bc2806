//! The ways, one a file. Each connects and prepares, starts the clock, resolves the references, and stops the clock.

mod batches;
mod bulk;
mod cached;
mod callers;
mod flights;
mod mutex;
mod naive;
mod queue;
mod sequential;

mod pick;

pub(super) use pick::{Task, run, trips};
