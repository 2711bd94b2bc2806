//! What runs a model, and what its threads are made of.
//!
//! ```text
//!   test ──▶ a process of its own, whose stderr goes nowhere (loom tells there of every lock) ──▶ loom: NAME: N interleavings
//! ```
//!
//! H1. A panic that the model did not ask for fails it, also if the core catches it: a violation that loom finds inside of a
//!     work must not pass for an answer.
//! H2. A waiter is polled again only if the waker of its last poll was called: a lost wake is a deadlock, which loom finds.

use loom::model::Builder;
use loom::sync::mpsc::{Receiver, Sender, channel};
use loom::thread::{self, JoinHandle};
use std::future::Future;
use std::panic;
use std::pin::{Pin, pin};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// Names the model that a process is to run.
const MODEL: &str = "ONEFLIGHT_LOOM_MODEL";

/// Larger than loom's own, for the messages of panics.
const STACK: usize = 1 << 16;

static FAULTS: AtomicU64 = AtomicU64::new(0);
static ASKED: AtomicBool = AtomicBool::new(false);

/// How often a thread may be interrupted in one interleaving.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    /// As often as it can be: all interleavings are run.
    None,
    /// At most so often, by which nearly all mistakes are found.
    Preemptions(usize),
}

/// Runs a model, and tells how many interleavings there were.
pub(crate) fn explore(name: &str, bound: Bound, model: fn()) {
    if std::env::var(MODEL).is_ok_and(|asked| asked == name) {
        return run(name, bound, model);
    }
    let program = std::env::current_exe().expect("this program has a path");
    let test = thread_name();
    let output = Command::new(program)
        .args([test.as_str(), "--exact", "--nocapture", "--test-threads=1"])
        .env(MODEL, name)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .expect("this program can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "the model {name} fails, {}:\n{said}",
        output.status
    );
    let line = said.lines().find_map(|line| line.split_once("loom: "));
    let (_, count) = line.unwrap_or_else(|| panic!("the model {name} did not run:\n{said}"));
    println!("loom: {count}");
}

/// The test that runs on this thread: libtest names the thread after it, or it is the main one in a process for one test.
fn thread_name() -> String {
    std::thread::current()
        .name()
        .filter(|&name| name != "main")
        .expect("run with threads: libtest names them after their tests")
        .to_owned()
}

fn run(name: &str, bound: Bound, model: fn()) {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    panic::set_hook(Box::new(|info| {
        if !ASKED.swap(false, Ordering::SeqCst) {
            FAULTS.fetch_add(1, Ordering::SeqCst);
            println!("{info}");
        }
    }));
    let mut builder = Builder::new();
    builder.preemption_bound = match bound {
        Bound::None => None,
        Bound::Preemptions(most) => Some(most),
    };
    builder.check(move || {
        RUNS.fetch_add(1, Ordering::SeqCst);
        model();
        super::parts::nothing_is_left();
        let faults = FAULTS.load(Ordering::SeqCst);
        assert_eq!(faults, 0, "H1: somebody panicked, and it was caught");
    });
    println!(
        "loom: {name}: {} interleavings",
        RUNS.load(Ordering::SeqCst)
    );
}

/// Panics, which the model has foreseen.
pub(crate) fn panic_as_asked() -> ! {
    ASKED.store(true, Ordering::SeqCst);
    panic!("as asked")
}

/// A thread of the model.
pub(crate) fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let builder = thread::Builder::new().stack_size(STACK);
    builder.spawn(run).expect("loom's threads always start")
}

/// The end of a thread of the model.
pub(crate) fn end_of<T>(thread: JoinHandle<T>) -> T {
    thread.join().expect("a panic ends the model")
}

/// A waker that one thread can wait for.
pub(crate) struct Bell {
    ring: Sender<()>,
    rung: Mutex<Receiver<()>>,
}

impl Bell {
    pub(crate) fn new() -> Arc<Self> {
        let (ring, rung) = channel();
        let rung = Mutex::new(rung);
        Arc::new(Self { ring, rung })
    }

    /// Waits until somebody has called this waker.
    fn wait(&self) {
        let rung = self.rung.lock().expect("nobody panics with it");
        rung.recv().expect("the bell itself can ring");
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring.send(()).expect("the bell itself can hear");
    }
}

/// Polls with a new waker each time, until it is ready (H2).
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        let bell = Bell::new();
        if let Poll::Ready(output) = poll(future.as_mut(), &bell) {
            return output;
        }
        bell.wait();
    }
}

/// Polls with the same waker each time, until it is ready.
pub(crate) fn block_on_steadily<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let bell = Bell::new();
    loop {
        if let Poll::Ready(output) = poll(future.as_mut(), &bell) {
            return output;
        }
        bell.wait();
    }
}

/// Polls once, with a waker that nobody listens to.
pub(crate) fn glance<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn poll<F: Future>(future: Pin<&mut F>, bell: &Arc<Bell>) -> Poll<F::Output> {
    let waker = Waker::from(bell.clone());
    future.poll(&mut Context::from_waker(&waker))
}
