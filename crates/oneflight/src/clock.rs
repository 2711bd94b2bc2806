//! Time and tasks, handed in: the crate has no runtime of its own.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A future that somebody else runs.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tells the time and wakes sleepers. Monotonic: no jump of the wall clock moves it.
///
/// Adapters for other runtimes than tokio, and a clock for tests, are in [the guide](crate::guide::runtimes).
pub trait Clock: Debug + Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Instant;

    /// A future that is ready once `deadline` has come, and not before; at once, if it has passed. It may outlive the clock.
    fn sleep_until(&self, deadline: Instant) -> Task;
}

/// A future that is ready once so much time has passed.
pub(crate) fn sleep(clock: &dyn Clock, limit: Duration) -> Task {
    match clock.now().checked_add(limit) {
        Some(deadline) => clock.sleep_until(deadline),
        // Later than time can tell: no limit.
        None => Box::pin(std::future::pending()),
    }
}

/// Runs tasks.
///
/// # Examples
/// The executor that a program has may be chosen when it runs:
/// ```
/// use oneflight::{Group, Spawn, Task};
/// use std::sync::{Arc, Mutex};
///
/// /// Runs nothing by itself; somebody else polls what is in it.
/// #[derive(Debug, Default)]
/// struct Later(Mutex<Vec<Hidden>>);
/// # struct Hidden(#[allow(dead_code, reason = "nobody polls it here")] Task);
/// # impl std::fmt::Debug for Hidden { fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) } }
///
/// impl Spawn for Later {
///     fn spawn(&self, task: Task) {
///         self.0.lock().unwrap().push(Hidden(task));
///     }
/// }
///
/// let later = Arc::new(Later::default());
/// let chosen: Arc<dyn Spawn> = later.clone();
/// let group: Group<u32, u32> = Group::builder().detached(chosen).build();
/// drop(group.run(&1, || async { Ok(7) }));
/// assert_eq!(later.0.lock().unwrap().len(), 1);
/// ```
pub trait Spawn: Debug + Send + Sync + 'static {
    /// Runs `task` until it is ready, or until the runtime ends; then it drops it. It is called by a caller of the group: best it
    /// does not poll the task there, but elsewhere, and does not block.
    fn spawn(&self, task: Task);
}

impl<T: Clock + ?Sized> Clock for Arc<T> {
    fn now(&self) -> Instant {
        (**self).now()
    }

    fn sleep_until(&self, deadline: Instant) -> Task {
        (**self).sleep_until(deadline)
    }
}

impl<T: Spawn + ?Sized> Spawn for Arc<T> {
    fn spawn(&self, task: Task) {
        (**self).spawn(task);
    }
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
