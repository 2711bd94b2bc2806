//! By hand: all references into a staging table, by the database's own bulk load, then one statement for each step.
//!
//! ```text
//!   references ──COPY, .import, LOAD DATA──▶ stage ──INSERT … SELECT DISTINCT──▶ things, external ids ──▶ ids
//! ```
//!
//! What a good data engineer writes, a statement at a time, as `psql` and its like run a script.

mod copy;
mod import;
mod load_data;
mod shell;
mod start;

pub(super) use start::run;
