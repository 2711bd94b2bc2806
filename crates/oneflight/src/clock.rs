//! Time and tasks, handed in: the crate has no runtime of its own.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

/// A future that somebody else runs.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tells the time and wakes sleepers. Monotonic: no jump of the wall clock moves it.
pub trait Clock: Debug + Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Instant;

    /// A future that is ready once `deadline` has come.
    fn sleep_until(&self, deadline: Instant) -> Task;
}

/// Runs tasks.
pub trait Spawn: Debug + Send + Sync + 'static {
    /// Runs `task` until it is ready, or until the runtime ends.
    fn spawn(&self, task: Task);
}

/// The clock and the tasks of the tokio runtime that the caller is in.
///
/// # Panics
/// Its methods panic outside a tokio runtime.
///
/// # Examples
/// ```
/// use oneflight::{Group, Tokio};
/// use std::time::Duration;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let group: Group<u32, u32, ()> = Group::builder().clock(Tokio).max_flight(Duration::from_millis(5)).build();
/// let error = group.run(&1, || std::future::pending()).await.unwrap_err();
/// assert!(error.is_overdue());
/// # });
/// ```
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokio;

#[cfg(feature = "tokio")]
impl Clock for Tokio {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, deadline: Instant) -> Task {
        Box::pin(tokio::time::sleep_until(deadline.into()))
    }
}

#[cfg(feature = "tokio")]
impl Spawn for Tokio {
    fn spawn(&self, task: Task) {
        tokio::spawn(task);
    }
}
