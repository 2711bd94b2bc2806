//! How much a test does, and the small things that all tests need.

use std::future::Future;
use std::time::Instant;

/// How much a test does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Enough to be measured.
    Full,
    /// Enough to see that the answers are right.
    Smoke,
    /// So many operations in one go, and no clock: for the counting of instructions.
    Exactly(usize),
}

impl Size {
    /// As it is said on the command line.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "full" => Some(Self::Full),
            "smoke" => Some(Self::Smoke),
            number => number.parse().ok().map(Self::Exactly),
        }
    }

    /// One of two numbers, or the one that was asked for.
    #[must_use]
    pub fn pick(self, full: usize, smoke: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Smoke => smoke,
            Self::Exactly(count) => count,
        }
    }
}

/// Runs a future to its end on this thread, as one task that tokio's budget does not interrupt: the same for all.
///
/// # Errors
/// If there is no runtime to be had.
pub fn alone<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    Ok(runtime.block_on(tokio::task::unconstrained(future)))
}

/// Lets the tasks of this runtime run, if there are any: some subjects use them.
///
/// # Cancel safety
/// Nothing is lost.
pub async fn let_tasks_run() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

/// Keys that live as long as the process: key `n` is `n`.
#[must_use]
pub fn keys(count: usize) -> &'static [u64] {
    Vec::leak((0..count as u64).collect())
}

/// Nanoseconds since `began`.
#[must_use]
pub fn ns(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e9
}

/// Ends the test if an answer is not what it must be (T2).
///
/// # Errors
/// What is, and what should be.
pub fn check(what: &str, is: u64, must: u64) -> Result<(), String> {
    if is == must {
        return Ok(());
    }
    Err(format!("{what}: {is}, and not {must}"))
}
