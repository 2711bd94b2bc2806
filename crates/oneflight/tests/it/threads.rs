//! Real threads that join, leave, land and forget at once. Bounded in count; a hang fails the test.
//!
//! `ONEFLIGHT_ROUNDS` is how many rounds each thread makes (2,000).

use crate::model::Random;
use crate::observe::Books;
use oneflight::{Error, Group, Spawn, Task};
// Not std's: that comes built, and ThreadSanitizer would not see its locks.
use parking_lot::Mutex;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

const THREADS: u64 = 6;
const KEYS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(60);

type Flights = Group<usize, u64, String>;

/// Wakes a thread that is parked.
struct Unpark {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Polls with a new waker each time, until it is ready.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let start = Instant::now();
    loop {
        let unpark = Arc::new(Unpark {
            thread: thread::current(),
            woken: AtomicBool::new(false),
        });
        if let Poll::Ready(output) = future
            .as_mut()
            .poll(&mut Context::from_waker(&Waker::from(unpark.clone())))
        {
            return output;
        }
        while !unpark.woken.load(Ordering::Acquire) {
            assert!(start.elapsed() < PATIENCE, "a caller hangs");
            thread::park_timeout(PATIENCE);
        }
    }
}

/// Polls once, and goes away.
pub(crate) fn glance(future: impl Future) {
    let unpark = Arc::new(Unpark {
        thread: thread::current(),
        woken: AtomicBool::new(false),
    });
    let _ = pin!(future).poll(&mut Context::from_waker(&Waker::from(unpark)));
}

/// Pending once, and woken from another thread.
pub(crate) async fn away(bell: Sender<Waker>) {
    let mut gone = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut gone, true) {
            return Poll::Ready(());
        }
        bell.send(context.waker().clone())
            .expect("the ringer lives");
        Poll::Pending
    })
    .await;
}

/// Counts one run of the work for a key while it lives.
pub(crate) struct Running(Arc<AtomicUsize>);

impl Running {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A thread that runs what is spawned, and drops every third task instead.
#[derive(Debug)]
struct Worker(Mutex<(Sender<Task>, usize)>);

impl Spawn for Worker {
    fn spawn(&self, task: Task) {
        let mut sender = self.0.lock();
        sender.1 += 1;
        if !sender.1.is_multiple_of(3) {
            sender.0.send(task).expect("the worker lives");
        }
    }
}

/// What the threads share.
struct Scene {
    group: Flights,
    running: Vec<Arc<AtomicUsize>>,
    bell: Sender<Waker>,
    values: Arc<AtomicU64>,
    /// True if flights of one key may overlap: somebody forgets, or marks.
    forgets: bool,
}

impl Scene {
    fn work(
        &self,
        key: usize,
        turns: usize,
    ) -> impl Future<Output = Result<u64, String>> + Send + 'static + use<> {
        let (running, bell, values) = (
            self.running[key].clone(),
            self.bell.clone(),
            self.values.clone(),
        );
        let alone = !self.forgets;
        async move {
            let count = Running::new(&running);
            // A work that is abandoned while it is polled is dropped after that poll; until then a new one may have begun. So what
            // is counted are those between two polls at least.
            for _ in 0..turns {
                away(bell.clone()).await;
            }
            assert!(
                !alone || running.load(Ordering::SeqCst) <= 2,
                "more than one flight of a key, and not just one that ends"
            );
            drop(count);
            match turns {
                4 => Err("fails".to_owned()),
                _ => Ok(values.fetch_add(1, Ordering::SeqCst)),
            }
        }
    }

    fn round(&self, random: &mut Random) {
        let (key, turns) = (random.below(KEYS), random.below(5));
        let call = self.group.run(&key, || self.work(key, turns));
        match random.below(10) {
            0..5 => check(block_on(call)),
            5..7 => drop(call),
            7 => glance(call),
            8 if self.forgets => {
                self.group.forget(&key);
                let mark = self.group.mark();
                let before = self.values.load(Ordering::SeqCst);
                let fresh = block_on(self.group.run_since(mark, &key, || self.work(key, turns)));
                assert!(
                    fresh.as_ref().map_or(true, |&value| value >= before),
                    "older than the mark"
                );
                check(fresh);
                check(block_on(call));
            }
            _ => {
                let other = self.group.join(&key);
                drop(call);
                other.into_iter().for_each(|other| check(block_on(other)));
            }
        }
    }
}

fn check(answer: Result<u64, Error<String>>) {
    if let Err(error) = answer {
        assert!(error.is_work(), "{error:?}");
    }
}

fn stress(group: Flights, forgets: bool) {
    let rounds = std::env::var("ONEFLIGHT_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2_000);
    let (bell, wakers) = channel::<Waker>();
    let ringer = thread::spawn(move || wakers.into_iter().for_each(Waker::wake));
    let running = (0..KEYS).map(|_| Arc::default()).collect();
    let scene = Scene {
        group: group.clone(),
        running,
        bell,
        values: Arc::default(),
        forgets,
    };
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let scene = &scene;
            scope.spawn(move || {
                let mut random = Random::new(seed + 1);
                (0..rounds).for_each(|_| scene.round(&mut random));
            });
        }
    });
    assert!(
        scene
            .running
            .iter()
            .all(|count| count.load(Ordering::SeqCst) == 0),
        "a work lives on"
    );
    drop(scene);
    ringer.join().expect("the ringer");
    let stats = group.stats();
    let ends = [
        stats.landed,
        stats.failed,
        stats.panicked,
        stats.overdue,
        stats.abandoned,
        stats.cancelled,
    ];
    assert_eq!(
        (stats.started, group.in_flight()),
        (ends.iter().sum(), 0),
        "{stats:?}"
    );
    assert!(
        stats.started + stats.joined >= THREADS * rounds && stats.landed > 0,
        "{stats:?}"
    );
}

#[test]
fn threads_that_join_leave_and_land_share_one_flight_a_key() {
    stress(Group::new(), false);
}

#[test]
fn threads_that_forget_and_mark_get_what_is_new_enough() {
    stress(Group::new(), true);
}

#[test]
fn threads_tell_their_observer_what_is_counted() {
    let books = Books::default();
    let group: Flights = Group::builder().observer(books.clone()).build();
    stress(group.clone(), true);
    books.check_counts(group.stats());
}

#[test]
fn threads_with_an_autopilot_whose_tasks_are_dropped_now_and_then_go_on() {
    let (tasks, queue) = channel::<Task>();
    let worker = thread::spawn(move || queue.into_iter().for_each(block_on));
    stress(
        Group::builder()
            .autopilot(Worker(Mutex::new((tasks, 0))))
            .build(),
        true,
    );
    worker.join().expect("the worker");
}

#[test]
fn threads_that_cancel_everything_leave_nothing_behind() {
    let group = Flights::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|at| {
                let group = &group;
                scope.spawn(move || {
                    let mut answers = 0_u32;
                    for round in 0..2_000 {
                        let key = (at + round) % KEYS;
                        let turn = async move {
                            let mut once = false;
                            std::future::poll_fn(|context| {
                                context.waker().wake_by_ref();
                                if std::mem::replace(&mut once, true) {
                                    Poll::Ready(())
                                } else {
                                    Poll::Pending
                                }
                            })
                            .await;
                            Ok(1)
                        };
                        answers += u32::from(
                            block_on(group.run(&key, || turn))
                                .map_or_else(|error| error.is_closed(), |_| true),
                        );
                    }
                    answers
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                group.cancel_all();
                thread::yield_now();
            }
        });
        let answers: Vec<_> = callers
            .into_iter()
            .map(|caller| caller.join().expect("a caller"))
            .collect();
        done.store(true, Ordering::Release);
        assert_eq!(answers, [2_000; 4]);
    });
    let stats = group.stats();
    assert_eq!(
        (stats.started, group.in_flight()),
        (stats.landed + stats.cancelled, 0),
        "{stats:?}"
    );
}
