//! `oneflight merge`: plan, run, print.
//!
//!   MergeArgs ──plan──▶ Job ──run──▶ Done { report, … } ──report──▶ stdout, exit code

mod plan;
mod report;
mod run;

pub(crate) use plan::{Job, plan};
pub(crate) use report::{exit, json, text};
pub(crate) use run::run;

use crate::cli::{Format, MergeArgs};
use crate::exit::{Exit, Failure};
use crate::print;

/// Does what the command line says.
///
/// # Errors
/// If the merge could not be done, or not to its end.
pub(crate) async fn command(args: MergeArgs) -> Result<Exit, Failure> {
    let (format, quiet) = (args.format, args.quiet);
    let job = plan(args)?;
    let done = run(job).await?;
    match format {
        Format::Json => print::out(&json(&done))?,
        Format::Text if !quiet => print::out(&text(&done))?,
        Format::Text => {}
    }
    Ok(exit(&done.report))
}
