//! One test of one subject, in a process of its own: what another test has left in the allocator and the caches helps nobody.
//!
//!   bench-flights child TEST SUBJECT SIZE  ──▶  {"ns": 61.2, "allocations": 1.0}
//!
//! C1. Every answer is looked at; a wrong one ends the process, and with it the run.

mod contend;
mod join;
mod keep;
mod leave;
mod lone;
mod wake;

use crate::floor;
use crate::subject::with_subject;
use std::collections::BTreeMap;
use std::future::Future;
use std::time::Instant;

/// What a test found, by name.
pub(crate) type Figures = BTreeMap<String, f64>;

/// How much a test does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Enough to be measured.
    Full,
    /// Enough to see that the answers are right.
    Smoke,
    /// So many operations in one go, and no clock: for the counting of instructions.
    Exactly(usize),
}

impl Size {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "full" => Some(Self::Full),
            "smoke" => Some(Self::Smoke),
            number => number.parse().ok().map(Self::Exactly),
        }
    }

    fn pick(self, full: usize, smoke: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Smoke => smoke,
            Self::Exactly(count) => count,
        }
    }
}

/// Runs a test.
///
/// # Errors
/// If there is no such test or no such subject, or if an answer is wrong (C1).
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

/// Runs a future to its end on this thread, as one task that tokio's budget does not interrupt: the same for all.
fn alone<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    Ok(runtime.block_on(tokio::task::unconstrained(future)))
}

/// Lets the tasks of this runtime run, if there are any: some subjects use them.
async fn let_tasks_run() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

/// Keys that live as long as the process: key `n` is `n`.
fn keys(count: usize) -> &'static [u64] {
    Vec::leak((0..count as u64).collect())
}

/// Nanoseconds since `began`.
fn ns(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e9
}

/// Ends the test if an answer is not what it must be (C1).
fn check(what: &str, is: u64, must: u64) -> Result<(), String> {
    if is == must {
        return Ok(());
    }
    Err(format!("{what}: {is}, and not {must}"))
}
