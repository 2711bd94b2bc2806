//! Running an audit, and the code that it ends with.

use super::report::{json, text};
use crate::cli::{AuditArgs, Format};
use crate::command::map;
use crate::exit::{Exit, Failure};
use crate::print;
use crate::target::Target;
use oneflight_merge::audit::AuditReport;
use std::path::Path;

/// Does what the command line says.
///
/// # Errors
/// If the audit could not be run.
pub(crate) async fn command(args: AuditArgs) -> Result<Exit, Failure> {
    let target = args.into.target(&args.map);
    let report = run(&args.map, &target).await?;
    print::out(&match args.format {
        Format::Text => text(&report),
        Format::Json => json(&report, &target),
    })?;
    Ok(exit(&report))
}

/// Audits.
///
/// # Errors
/// If the map is wrong, a table is not there, or the database fails.
pub(crate) async fn run(map: &Path, target: &Target) -> Result<AuditReport, Failure> {
    let plan = map::read(map)?;
    oneflight_merge::audit::audit(&plan, target.url())
        .await
        .map_err(|error| {
            let (usage, database) = (error.is_usage(), error.is_database());
            let failure = Failure::from(error);
            match () {
                () if usage => failure.hint(format!(
                    "merge first: oneflight merge {} --into {}",
                    print::shell(&map.display().to_string()),
                    print::shell(target.shown())
                )),
                () if database => failure.hint(format!("the database is {}", target.shown())),
                () => failure,
            }
        })
}

/// The code that an audit ends with.
pub(crate) fn exit(report: &AuditReport) -> Exit {
    if report.is_clean() {
        Exit::Done
    } else {
        Exit::Found
    }
}
