//! The integration tests of the merge, as one program.

mod map;
mod read;
