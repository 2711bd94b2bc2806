//! `oneflight lab merge`: plan, run, print.
//!
//! ```text
//!   LabMergeArgs ──plan──▶ Job ──run──▶ Results ─┬─ report (tables) and chart ──▶ stdout
//!                                                └─ svg, JSON ──▶ files
//! ```

mod chart;
mod command;
mod plan;
mod report;
mod run;
mod svg;
mod time;

pub(crate) use command::command;
