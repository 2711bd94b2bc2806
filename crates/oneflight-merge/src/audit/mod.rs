//! The audit: does a database keep what the merge promises? One row per key, no reference to nothing, no external id astray.
//!
//! ```text
//!   for every table   check   counts, done by the database: keys twice, dangling references, the crosswalk
//!                     keys    rows streamed: stored keys against the fold of their text ─▶ alike   hints: pairs that look alike
//! ```
//!
//! A1. It only reads, and trusts nothing: neither unique indexes nor foreign keys need be there, and folds are computed anew.
//! A2. Memory is bounded whatever the size of the tables; where a bound is reached, the report says so.
//! A3. What is found is reported with its number and a few examples; [`Hint`]s are questions, not findings.

mod alike;
mod check;
mod keys;
mod query;
mod report;
mod run;

pub use report::{Alike, AuditReport, Finding, FindingKind, Hint, TableAudit, Why};
pub use run::audit;
