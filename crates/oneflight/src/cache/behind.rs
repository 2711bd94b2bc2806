//! What runs behind, for no caller: refreshes, and loads that were handed over.

use crate::clock::{Spawn, Task};
use crate::sync::{Arc, Mutex};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Where tasks that run behind are spawned, and counted.
#[derive(Debug)]
pub(super) struct Behind {
    spawn: Arc<dyn Spawn>,
    running: Arc<Mutex<Running>>,
}

#[derive(Debug, Default)]
struct Running {
    tasks: usize,
    waiting: Vec<Waker>,
}

impl Behind {
    pub(super) fn new(spawn: Arc<dyn Spawn>) -> Arc<Self> {
        let running = Arc::default();
        Arc::new(Self { spawn, running })
    }

    /// Spawns a task that is counted until it is done or dropped.
    pub(super) fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.running.lock().tasks += 1;
        let counted = Counted(Arc::clone(&self.running));
        self.spawn.spawn(Box::pin(async move {
            // In this order: what is waited for is gone when it counts no more.
            let _counted = counted;
            task.await;
        }));
    }

    pub(super) fn tasks(&self) -> usize {
        self.running.lock().tasks
    }
}

/// A spawner whose tasks are counted.
#[derive(Debug)]
pub(super) struct Counting(pub(super) Arc<Behind>);

impl Spawn for Counting {
    fn spawn(&self, task: Task) {
        self.0.run(task);
    }
}

/// One task that runs behind. It does not hold its spawner, which may hold it.
struct Counted(Arc<Mutex<Running>>);

impl Drop for Counted {
    fn drop(&mut self) {
        let waiting = {
            let mut running = self.0.lock();
            running.tasks -= 1;
            match running.tasks {
                0 => std::mem::take(&mut running.waiting),
                _ => Vec::new(),
            }
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// Waits until nothing runs behind: the future that [`Cache::idle`](super::Cache::idle) returns.
#[must_use = "a future does nothing unless it is polled"]
pub struct Idle<'c>(pub(super) Option<&'c Arc<Behind>>);

impl Future for Idle<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(behind) = self.0 else {
            return Poll::Ready(());
        };
        let waker = context.waker().clone();
        let mut running = behind.running.lock();
        if running.tasks == 0 {
            return Poll::Ready(());
        }
        if !running.waiting.iter().any(|other| other.will_wake(&waker)) {
            running.waiting.push(waker);
        }
        Poll::Pending
    }
}

impl fmt::Debug for Idle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.0.map_or(0, |behind| behind.tasks());
        f.debug_struct("Idle").field("tasks", &tasks).finish()
    }
}
