//! One test of one subject, in a process of its own.
//!
//!   bench-flights child TEST SUBJECT SIZE  ──▶  {"ns": 61.2, "allocations": 1.0}
//!
//! Those that caches have too, `lone` and `join`, are in `trial`.

mod contend;
mod keep;
mod leave;
mod wake;

use crate::floor;
use crate::subject::with_subject;
use trial::{Figures, Size, join, lone};

/// Runs a test.
///
/// # Errors
/// If there is no such test or no such subject, or if an answer is wrong (T2).
pub(crate) fn run(test: &str, subject: &str, size: Size) -> Result<Figures, String> {
    if let Some(figures) = floor::run(test, subject, size) {
        return Ok(figures);
    }
    let figures = match test {
        "lone" => with_subject!(subject, S => lone::run::<S>(size, lone::Work::Ready)),
        "yield" => with_subject!(subject, S => lone::run::<S>(size, lone::Work::Yields)),
        "join" => with_subject!(subject, S => join::run::<S>(size)),
        "wake" => with_subject!(subject, S => wake::run::<S>(size)),
        "leave" => with_subject!(subject, S => leave::run::<S>(size)),
        "keep" => with_subject!(subject, S => keep::run::<S>(size)),
        "contend" => with_subject!(subject, S => contend::run::<S>(size, contend::Keys::Few)),
        "contend-fresh" => {
            with_subject!(subject, S => contend::run::<S>(size, contend::Keys::Fresh))
        }
        _ => return Err(format!("there is no test {test}")),
    };
    figures.unwrap_or_else(|| Err(format!("there is no subject {subject}")))
}
