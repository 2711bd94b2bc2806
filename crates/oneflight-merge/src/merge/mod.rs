//! The merge: rows in, one row per entity out.
//!
//!   options  what a caller decides         run    the pipeline           feeds   opening and reading, in order
//!   target   the database and its tables   write  a chunk, table by table: lookup, known, build or facts, sink, count
//!   turns    who writes next, by marks     shape  which cell goes where
//!   fates    what became of each record    books  what is told, and the report

mod books;
mod build;
mod count;
mod digest;
mod facts;
mod fates;
#[cfg(test)]
mod feed_order;
mod feeds;
mod known;
mod levels;
mod lookup;
mod marks;
mod options;
mod run;
mod shape;
mod sink;
mod target;
mod turns;
mod write;

pub use options::{Events, Options, Progress, Stop};
pub use run::merge;
