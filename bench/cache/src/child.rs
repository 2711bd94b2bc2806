//! One test of one subject, in a process of its own.
//!
//!   bench-cache child TEST SUBJECT SIZE  ──▶  {"ns": 61.2, "allocations": 1.0}
//!
//! `lone`, a miss that nobody joins, and `join`, a stampede, are in `trial`.

mod full;
mod hit;
mod threads;

use crate::subject::{Plain, with_cache};
use trial::{Figures, Size, Subject, join, lone};

/// Runs a test.
///
/// # Errors
/// If there is no such test or no such subject, or if an answer is wrong.
pub(crate) fn run(test: &str, subject: &str, size: Size) -> Result<Figures, String> {
    let ready = lone::Work::Ready;
    let figures = match test {
        "lone" if subject == Plain::NAME => Some(lone::run::<Plain>(size, ready)),
        "join" if subject == Plain::NAME => Some(join::run::<Plain>(size)),
        "lone" => with_cache!(subject, S => lone::run::<S>(size, ready)),
        "join" => with_cache!(subject, S => join::run::<S>(size)),
        "get" => with_cache!(subject, S => hit::run::<S>(size, hit::By::Get, false)),
        "get-ttl" => with_cache!(subject, S => hit::run::<S>(size, hit::By::Get, true)),
        "hit" => with_cache!(subject, S => hit::run::<S>(size, hit::By::Load, false)),
        "hit-ttl" => with_cache!(subject, S => hit::run::<S>(size, hit::By::Load, true)),
        "threads" => with_cache!(subject, S => threads::run::<S>(size)),
        "full" => with_cache!(subject, S => full::run::<S>(size)),
        _ => return Err(format!("there is no test {test}")),
    };
    figures.unwrap_or_else(|| Err(format!("there is no subject {subject}")))
}
