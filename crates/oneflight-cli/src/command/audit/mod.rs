//! `oneflight audit`: plan, run, print.

mod report;
mod run;

pub(crate) use report::text;
pub(crate) use run::{command, exit, run};
