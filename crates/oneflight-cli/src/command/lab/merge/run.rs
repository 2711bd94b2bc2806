//! Runs the lab and tells how far it is. Ctrl-C ends it, and the scratch database goes.

use super::plan::Job;
use super::report::whole;
use super::time::time;
use crate::command::stop;
use crate::exit::{Exit, Failure};
use crate::print::{err, err_part, seconds};
use oneflight_lab::merge::{self, Case, Events, Step};
use oneflight_lab::result::{Figure, Results};

/// Measures; nothing comes back if it was interrupted.
///
/// # Errors
/// If it could not be measured to the end.
pub(super) async fn run(job: Job) -> Result<Option<Results>, Failure> {
    let waiting = job.waiting();
    if waiting > 5.0 {
        err(&format!(
            "this takes about {}; Ctrl-C ends it, and drops the scratch database",
            seconds(waiting * 1.1)
        ));
    }
    let mut told = Told::default();
    let measured = tokio::select! {
        measured = merge::run(job.url(), job.settings.clone(), &mut told) => Some(measured),
        () = stop::asked() => None,
    };
    told.end_line();
    let Some(measured) = measured else {
        err("interrupted; the scratch database is dropped");
        return Ok(None);
    };
    measured.map(Some).map_err(|error| explain(error, &job))
}

/// Adds what may help.
fn explain(error: oneflight_lab::Error, job: &Job) -> Failure {
    let failure = Failure::from(error);
    match &job.target {
        Some(target) if failure.exit == Exit::Database => {
            failure.hint(format!("the server is {}", target.shown()))
        }
        _ => failure,
    }
}

/// A line for each step, on standard error: what begins, then how long it took.
#[derive(Default)]
struct Told {
    is_open: bool,
}

impl Told {
    fn end_line(&mut self) {
        if std::mem::take(&mut self.is_open) {
            err("");
        }
    }
}

impl Events for Told {
    fn began(&mut self, step: Step) {
        self.end_line();
        let Step {
            way,
            order,
            round_trip_ms,
            number,
            of,
            ..
        } = step;
        let what = match step.case {
            Case::Rows => format!("a whole merge, {}", whole(way)),
            _ => format!("references {order}, {}", way.describe()),
        };
        err_part(&format!("{number}/{of}  {what}, {round_trip_ms} ms: "));
        self.is_open = true;
    }

    fn measured(&mut self, figure: &Figure) {
        err_part(&time(figure.seconds));
        if figure.scaled_from.is_some() {
            err_part(" (scaled)");
        }
        self.end_line();
    }
}
