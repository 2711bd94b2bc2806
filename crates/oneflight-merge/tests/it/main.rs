//! The integration tests of the merge, as one program.

mod audit;
mod map;
mod merge;
mod read;
mod trips;
mod workers;
