//! A script: calls, works, time and tasks, all driven by hand, so that a test writes down one interleaving.
//!
//! ```text
//!   call ─▶ Join (or what another mode of flying gives), polled by `poll` or `settle` with a new waker each time
//!   work ─▶ a future that is pending until `finish`, `fail` or `panic` says otherwise
//! ```
//!
//! X1. A call counts as woken only by the waker of its last poll: a flight that wakes an old one has lost the wake.

use futures_util::FutureExt;
use oneflight::{Clock, Error, Group, Join, Mark, Spawn, Task};
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// The groups of the scripts.
pub(crate) type Flights = Group<String, u64, Oops>;
/// What a call gets.
pub(crate) type Answer = Result<u64, Error<Oops>>;

/// An error with a cause.
#[derive(Debug)]
pub(crate) struct Oops(pub(crate) &'static str, pub(crate) fmt::Error);

impl fmt::Display for Oops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Oops {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.1)
    }
}

/// Anything that flies works for keys, so that a script can put calls to it.
pub(crate) trait Flies: 'static {
    /// A call that waits.
    type Call<'g>: Future<Output = Answer> + Unpin
    where
        Self: 'g;

    /// The value for a key, by this work if none is up.
    fn fly<'g>(&'g self, key: &str, work: impl FnOnce() -> Work + Send + 'static)
    -> Self::Call<'g>;

    /// True if the call started the flight, where that is told.
    fn led(call: &Self::Call<'_>) -> Option<bool>;

    /// Runs tasks until none is woken; a test that does so by hand leaves it out.
    fn run_tasks(&self) {}
}

impl Flies for Flights {
    type Call<'g> = Join<'g, String, u64, Oops, oneflight::RandomState>;

    fn fly<'g>(
        &'g self,
        key: &str,
        work: impl FnOnce() -> Work + Send + 'static,
    ) -> Self::Call<'g> {
        self.run(key, work)
    }

    fn led(call: &Self::Call<'_>) -> Option<bool> {
        Some(call.led())
    }
}

/// A call of the script, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call(pub(crate) usize);

/// The script.
pub(crate) struct Script<'g, G: Flies + ?Sized = Flights> {
    pub(crate) group: &'g G,
    calls: Vec<Seat<G::Call<'g>>>,
    works: Arc<Mutex<Works>>,
}

struct Seat<C> {
    call: Option<C>,
    led: Option<bool>,
    kept: bool,
    bell: Arc<Bell>,
    wakes: Arc<AtomicUsize>,
    answer: Option<Answer>,
}

/// A waker that notes that it was woken.
#[derive(Debug)]
pub(crate) struct Bell {
    rung: AtomicBool,
    wakes: Arc<AtomicUsize>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        self.rung.store(true, Ordering::SeqCst);
    }
}

impl Bell {
    /// A bell that has rung already, as that of a task that was not polled yet.
    pub(crate) fn rung(wakes: &Arc<AtomicUsize>) -> Arc<Self> {
        Arc::new(Self {
            rung: AtomicBool::new(true),
            wakes: wakes.clone(),
        })
    }

    pub(crate) fn fresh(wakes: &Arc<AtomicUsize>) -> Arc<Self> {
        Arc::new(Self {
            rung: AtomicBool::new(false),
            wakes: wakes.clone(),
        })
    }

    pub(crate) fn has_rung(&self) -> bool {
        self.rung.load(Ordering::SeqCst)
    }
}

thread_local! {
    /// True while this thread raises a panic that its script has asked for.
    static ASKED: Cell<bool> = const { Cell::new(false) };
    /// True while this thread runs what may panic, and tells of it by itself.
    static MUTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs what may panic, quietly.
///
/// # Errors
/// The message of the panic.
pub(crate) fn muted(function: impl FnOnce()) -> Result<(), String> {
    hush();
    let before = MUTED.replace(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(function));
    MUTED.set(before);
    result.map_err(|payload| match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(other) => (other.downcast_ref::<&str>()).map_or_else(
            || "a panic without a message".to_owned(),
            |&message| message.to_owned(),
        ),
    })
}

/// Keeps the panics that scripts ask for out of the output.
///
/// Hooks that are to see them must be put in front of this one, later.
pub(crate) fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !ASKED.replace(false) && !MUTED.get() {
                before(info);
            }
        }));
    });
}

/// What the works of a script are told, and tell.
#[derive(Debug, Default)]
pub(crate) struct Works {
    by_key: HashMap<String, Vec<Fate>>,
}

/// One run of the work for a key.
#[derive(Debug, Default)]
pub(crate) struct Fate {
    end: Option<End>,
    waker: Option<Waker>,
    pub(crate) polls: usize,
    pub(crate) dropped: bool,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Value(u64),
    Fails(&'static str),
    Panics(&'static str),
}

/// The work of a script: pending until the script ends it.
pub(crate) struct Work {
    works: Arc<Mutex<Works>>,
    key: String,
    run: usize,
}

impl Future for Work {
    type Output = Result<u64, Oops>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (end, _old) = {
            let mut works = self.works.lock().unwrap();
            let fate = works.fate(&self.key, self.run);
            assert!(!fate.dropped, "polled after it was dropped");
            fate.polls += 1;
            (fate.end, fate.waker.replace(context.waker().clone()))
        };
        match end {
            None => Poll::Pending,
            Some(End::Value(value)) => Poll::Ready(Ok(value)),
            Some(End::Fails(why)) => Poll::Ready(Err(Oops(why, fmt::Error))),
            Some(End::Panics(why)) => {
                ASKED.set(true);
                panic!("{why}")
            }
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _waker = {
            // A script that has failed is to tell of it, and not to fail again here.
            let works = self.works.lock();
            let mut works = works.unwrap_or_else(PoisonError::into_inner);
            let fate = works.fate(&self.key, self.run);
            assert!(!fate.dropped || std::thread::panicking(), "dropped twice");
            fate.dropped = true;
            fate.waker.take()
        };
    }
}

impl Works {
    fn fate(&mut self, key: &str, run: usize) -> &mut Fate {
        &mut self.by_key.get_mut(key).expect("work for the key")[run]
    }
}

impl<'g> Script<'g> {
    /// A call that joins nothing from before the mark.
    pub(crate) fn call_since(&mut self, mark: Option<Mark>, key: &str) -> Call {
        match mark {
            None => self.call(key),
            Some(mark) => {
                let work = self.work(key);
                self.seat(self.group.run_since(mark, key, work))
            }
        }
    }

    /// A call that starts nothing.
    pub(crate) fn join(&mut self, key: &str) -> Option<Call> {
        let join = self.group.join(key)?;
        Some(self.seat(join))
    }
}

impl<'g, G: Flies + ?Sized> Script<'g, G> {
    pub(crate) fn new(group: &'g G) -> Self {
        hush();
        Self {
            group,
            calls: Vec::new(),
            works: Arc::default(),
        }
    }

    /// A call, not polled yet.
    pub(crate) fn call(&mut self, key: &str) -> Call {
        let work = self.work(key);
        self.seat(self.group.fly(key, work))
    }

    /// What makes a work that the script ends.
    pub(crate) fn work(&self, key: &str) -> impl FnOnce() -> Work + Send + use<G> {
        let (works, key) = (self.works(), key.to_owned());
        move || works(key)
    }

    /// What makes such works for any keys.
    pub(crate) fn works(&self) -> impl Fn(String) -> Work + Send + Sync + use<G> {
        let works = self.works.clone();
        move |key| {
            let run = {
                let mut all = works.lock().unwrap();
                let runs = all.by_key.entry(key.clone()).or_default();
                runs.push(Fate::default());
                runs.len() - 1
            };
            let works = works.clone();
            Work { works, key, run }
        }
    }

    /// Gives a call a place in the script.
    pub(crate) fn seat(&mut self, call: G::Call<'g>) -> Call {
        let wakes = Arc::default();
        let bell = Bell::rung(&wakes);
        self.calls.push(Seat {
            led: G::led(&call),
            call: Some(call),
            kept: false,
            bell,
            wakes,
            answer: None,
        });
        Call(self.calls.len() - 1)
    }

    /// Polls a call once; true if it has its answer now.
    pub(crate) fn poll(&mut self, call: Call) -> bool {
        let seat = &mut self.calls[call.0];
        let Some(call) = &mut seat.call else {
            return true;
        };
        seat.bell = Bell::fresh(&seat.wakes);
        let waker = Waker::from(seat.bell.clone());
        if let Poll::Ready(answer) = call.poll_unpin(&mut Context::from_waker(&waker)) {
            seat.answer = Some(answer);
            seat.call = None;
        }
        seat.call.is_none()
    }

    /// The call stays, but is never polled again by `settle`.
    pub(crate) fn keep(&mut self, call: Call) {
        self.calls[call.0].kept = true;
    }

    pub(crate) fn drop_call(&mut self, call: Call) {
        self.calls[call.0].call = None;
    }

    /// As an executor: polls whoever is woken until nobody is.
    pub(crate) fn settle(&mut self) {
        loop {
            self.group.run_tasks();
            if !self.poll_woken() {
                return;
            }
        }
    }

    /// True if somebody was woken.
    fn poll_woken(&mut self) -> bool {
        let mut any = false;
        while let Some(at) = (0..self.calls.len()).find(|&at| self.is_ready_to_run(Call(at))) {
            self.poll(Call(at));
            any = true;
        }
        any
    }

    fn is_ready_to_run(&self, call: Call) -> bool {
        let seat = &self.calls[call.0];
        seat.call.is_some() && !seat.kept && seat.bell.has_rung()
    }

    /// True if the call waits, and a poll of it is due.
    pub(crate) fn is_woken(&self, call: Call) -> bool {
        let seat = &self.calls[call.0];
        seat.call.is_some() && seat.bell.has_rung()
    }

    pub(crate) fn is_waiting(&self, call: Call) -> bool {
        self.calls[call.0].call.is_some()
    }

    pub(crate) fn led(&self, call: Call) -> bool {
        self.calls[call.0].led.expect("told by a group")
    }

    /// How often the call was woken, ever.
    pub(crate) fn wakes(&self, call: Call) -> usize {
        self.calls[call.0].wakes.load(Ordering::SeqCst)
    }

    /// The value that the call got; none if it waits, or got an error.
    pub(crate) fn answer(&mut self, call: Call) -> Option<u64> {
        self.settle();
        self.value(call)
    }

    /// As `answer`, but polls nobody.
    pub(crate) fn value(&self, call: Call) -> Option<u64> {
        self.calls[call.0]
            .answer
            .as_ref()
            .and_then(|answer| answer.as_ref().ok().copied())
    }

    /// The error that the call got.
    pub(crate) fn error(&mut self, call: Call) -> Error<Oops> {
        if self.is_waiting(call) {
            self.settle();
        }
        match &self.calls[call.0].answer {
            Some(Err(error)) => error.clone(),
            other => panic!("no error but {other:?}"),
        }
    }

    pub(crate) fn has_answer(&self, call: Call) -> bool {
        self.calls[call.0].answer.is_some()
    }

    pub(crate) fn finish_work(&mut self, key: &str, value: u64) {
        self.end_work(key, End::Value(value));
    }

    pub(crate) fn fail_work(&mut self, key: &str, why: &'static str) {
        self.end_work(key, End::Fails(why));
    }

    pub(crate) fn panic_work(&mut self, key: &str, why: &'static str) {
        self.end_work(key, End::Panics(why));
    }

    fn end_work(&mut self, key: &str, end: End) {
        self.end_run(key, self.starts(key) - 1, end);
    }

    /// As `finish_work`, for an older run of the work.
    pub(crate) fn finish_run(&mut self, key: &str, run: usize, value: u64) {
        self.end_run(key, run, End::Value(value));
    }

    pub(crate) fn fail_run(&mut self, key: &str, run: usize, why: &'static str) {
        self.end_run(key, run, End::Fails(why));
    }

    pub(crate) fn panic_run(&mut self, key: &str, run: usize, why: &'static str) {
        self.end_run(key, run, End::Panics(why));
    }

    fn end_run(&mut self, key: &str, run: usize, end: End) {
        self.works.lock().unwrap().fate(key, run).end = Some(end);
        self.wake_work(key, run);
    }

    /// Wakes the work, which may have nothing to say.
    pub(crate) fn wake_work(&mut self, key: &str, run: usize) {
        let waker = self.works.lock().unwrap().fate(key, run).waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// How often the work for the key was started.
    pub(crate) fn starts(&self, key: &str) -> usize {
        self.works
            .lock()
            .unwrap()
            .by_key
            .get(key)
            .map_or(0, Vec::len)
    }

    pub(crate) fn polls(&self, key: &str, run: usize) -> usize {
        self.works.lock().unwrap().fate(key, run).polls
    }

    pub(crate) fn is_dropped(&self, key: &str, run: usize) -> bool {
        self.works.lock().unwrap().fate(key, run).dropped
    }
}

/// Time that moves when a test says so.
#[derive(Clone, Debug)]
pub(crate) struct HandClock(Arc<Mutex<Hands>>);

#[derive(Debug)]
struct Hands {
    now: Instant,
    sleepers: Vec<Waker>,
}

impl HandClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Hands {
            now: Instant::now(),
            sleepers: Vec::new(),
        })))
    }

    pub(crate) fn advance(&self, by: Duration) {
        let sleepers = {
            let mut hands = self.0.lock().unwrap();
            hands.now += by;
            std::mem::take(&mut hands.sleepers)
        };
        sleepers.into_iter().for_each(Waker::wake);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Instant {
        self.0.lock().unwrap().now
    }

    // SLEEP: part of a clock that a script moves by hand; nobody sleeps here.
    fn sleep_until(&self, deadline: Instant) -> Task {
        let hands = self.0.clone();
        Box::pin(std::future::poll_fn(move |context| {
            let mut hands = hands.lock().unwrap();
            if deadline <= hands.now {
                return Poll::Ready(());
            }
            hands.sleepers.push(context.waker().clone());
            Poll::Pending
        }))
    }
}

/// A task, while it runs, and whether it is woken.
type Seated = (Option<Task>, Arc<Bell>);

/// A runtime whose tasks run when a test says so.
#[derive(Clone, Default)]
pub(crate) struct HandSpawn(Arc<Mutex<Vec<Seated>>>);

impl fmt::Debug for HandSpawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HandSpawn").field(&self.spawned()).finish()
    }
}

impl Spawn for HandSpawn {
    fn spawn(&self, task: Task) {
        self.0
            .lock()
            .unwrap()
            .push((Some(task), Bell::rung(&Arc::default())));
    }
}

impl HandSpawn {
    /// How many tasks were spawned, ever.
    pub(crate) fn spawned(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// True if the task runs, and a poll of it is due.
    pub(crate) fn is_woken(&self, at: usize) -> bool {
        let tasks = self.0.lock().unwrap();
        tasks[at].0.is_some() && tasks[at].1.has_rung()
    }

    pub(crate) fn is_running(&self, at: usize) -> bool {
        self.0.lock().unwrap()[at].0.is_some()
    }

    /// Polls a task once; true if it is over.
    pub(crate) fn poll(&self, at: usize) -> bool {
        let bell = Bell::fresh(&Arc::default());
        let task = {
            let mut tasks = self.0.lock().unwrap();
            tasks[at].1 = bell.clone();
            tasks[at].0.take()
        };
        let Some(mut task) = task else { return true };
        let waker = Waker::from(bell);
        let pending = task
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending();
        if pending {
            self.0.lock().unwrap()[at].0 = Some(task);
        }
        !pending
    }

    /// Polls what is woken until nothing is.
    pub(crate) fn settle(&self) {
        while let Some(at) = (0..self.spawned()).find(|&at| self.is_woken(at)) {
            self.poll(at);
        }
    }

    pub(crate) fn drop_task(&self, at: usize) {
        let task = self.0.lock().unwrap()[at].0.take();
        drop(task);
    }

    /// As a runtime that shuts down.
    pub(crate) fn drop_all(&self) {
        (0..self.spawned()).for_each(|at| self.drop_task(at));
    }
}
