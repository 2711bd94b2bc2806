//! The command, step by step.

use super::plan::{Job, plan};
use super::report::{exit, json, text};
use super::run::run;
use super::svg::svg;
use crate::cli::{Format, LabMergeArgs};
use crate::exit::{Exit, Failure};
use crate::print;
use std::path::Path;

/// Columns of a terminal whose width nobody knows.
const WIDTH: usize = 100;

/// Does what the command line says.
///
/// # Errors
/// If the lab cannot run, or a file cannot be written.
pub(crate) async fn command(args: LabMergeArgs) -> Result<Exit, Failure> {
    let job = plan(args)?;
    let Job {
        format,
        svg: chart,
        json: figures,
        ..
    } = &job;
    let (format, chart, figures) = (*format, chart.clone(), figures.clone());
    let Some(results) = run(job).await? else {
        return Ok(Exit::Interrupted);
    };
    let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0.into());
    match format {
        Format::Text => print::out(&text(&results, width))?,
        Format::Json => print::out(&json(&results))?,
    }
    if let Some(path) = figures {
        write(&path, &json(&results))?;
    }
    if let Some(path) = chart {
        write(&path, &svg(&results))?;
    }
    Ok(exit(&results))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let shown = path.display();
    std::fs::write(path, text)
        .map_err(|error| Failure::say(format!("cannot write `{shown}`: {error}")))
}
