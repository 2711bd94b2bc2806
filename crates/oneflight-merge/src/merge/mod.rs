//! The merge: rows in, one row per entity out.
//!
//!   options  what a caller decides         run    the pipeline           feeds   opening and reading, in order
//!   target   the database and its tables   write  a chunk, table by table: lookup, build, sink, count
//!   turns    who writes next               fates  what became of each record    books   what is told, and the report

mod books;
mod build;
mod count;
mod digest;
mod fates;
mod feeds;
mod levels;
mod lookup;
mod options;
mod run;
mod sink;
mod target;
mod turns;
mod write;

pub use options::{Events, Options, Progress, Stop};
pub use run::merge;
