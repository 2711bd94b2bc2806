//! What an observer is told: the order of events, their numbers and times, and that nothing comes of it for anybody else.

use crate::script::{Flights, HandClock, HandSpawn, Script, hush, muted};
use crate::threads::block_on;
use futures_util::FutureExt;
use oneflight::{Clock, Event, Group, Observer, Scoped, Stats, Task};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::{pending, ready};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// Writes down what it is told, in words.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl<K: Debug> Observer<K> for Log {
    fn observe(&self, key: &K, event: &Event<'_>) {
        let line = format!("{key:?} {}", words(event));
        self.0.lock().unwrap().push(line.replace('"', ""));
    }
}

impl Log {
    /// What was told since it was last asked.
    pub(crate) fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn words(event: &Event<'_>) -> String {
    let time = |time: Option<Duration>| time.map_or(String::new(), |time| format!(", {time:?}"));
    match *event {
        Event::Landed { took, callers, .. }
        | Event::Failed { took, callers, .. }
        | Event::Overdue { took, callers, .. }
        | Event::Abandoned { took, callers, .. }
        | Event::Cancelled { took, callers, .. } => {
            format!("{} for {callers}{}", name(event), time(took))
        }
        Event::Panicked {
            message,
            took,
            callers,
            ..
        } => format!("panicked for {callers}{}: {message}", time(took)),
        Event::TimedOut { waited, .. } => format!("timed out{}", time(waited)),
        Event::Waited {
            time: waited,
            led,
            shared,
            ..
        } => {
            let part = if led { "led" } else { "joined" };
            format!("{part} {shared}{}", time(waited))
        }
        _ => name(event).to_owned(),
    }
}

fn name(event: &Event<'_>) -> &'static str {
    match event {
        Event::Started => "started",
        Event::Joined => "joined",
        Event::Landed { .. } => "landed",
        Event::Failed { .. } => "failed",
        Event::Panicked { .. } => "panicked",
        Event::Overdue { .. } => "overdue",
        Event::Abandoned { .. } => "abandoned",
        Event::Cancelled { .. } => "cancelled",
        Event::Forgotten => "forgotten",
        Event::TimedOut { .. } => "timed out",
        Event::Waited { .. } => "waited",
        other => panic!("an event that the tests do not know: {other:?}"),
    }
}

/// Counts what it is told, and holds it against the order that is promised.
#[derive(Clone, Default)]
pub(crate) struct Books(Arc<Mutex<Pages>>);

#[derive(Default)]
struct Pages {
    counts: BTreeMap<&'static str, u64>,
    /// For each key: flights that are up, and answers that are due.
    keys: BTreeMap<String, (u64, u64)>,
    wrong: Option<String>,
}

impl<K: Debug> Observer<K> for Books {
    fn observe(&self, key: &K, event: &Event<'_>) {
        let mut pages = self.0.lock().unwrap();
        let key = format!("{key:?}");
        *pages.counts.entry(name(event)).or_default() += 1;
        let (up, due) = pages.keys.entry(key.clone()).or_default();
        let right = match *event {
            Event::Started => {
                *up += 1;
                true
            }
            Event::Landed { callers, .. }
            | Event::Failed { callers, .. }
            | Event::Panicked { callers, .. }
            | Event::Overdue { callers, .. }
            | Event::Cancelled { callers, .. } => {
                *due += u64::from(callers);
                take(up)
            }
            Event::Abandoned { .. } => take(up),
            Event::Waited { .. } => take(due),
            _ => *up > 0,
        };
        if !right && pages.wrong.is_none() {
            pages.wrong = Some(format!("{key} {} out of order", words(event)));
        }
    }
}

/// One less; false if there is none.
fn take(count: &mut u64) -> bool {
    let there = *count > 0;
    *count = count.saturating_sub(1);
    there
}

impl Books {
    /// Holds the books against the numbers of a group.
    pub(crate) fn check_counts(&self, stats: Stats) {
        let pages = self.0.lock().unwrap();
        let told = |name: &str| pages.counts.get(name).copied().unwrap_or(0);
        let numbers = [
            ("started", stats.started),
            ("joined", stats.joined),
            ("landed", stats.landed),
            ("failed", stats.failed),
            ("panicked", stats.panicked),
            ("overdue", stats.overdue),
            ("abandoned", stats.abandoned),
            ("cancelled", stats.cancelled),
            ("forgotten", stats.forgotten),
        ];
        assert_eq!(numbers.map(|(name, _)| (name, told(name))), numbers, "L1");
    }

    /// As `check_counts`, and the order of what one thread told, and how many callers have got their answers.
    pub(crate) fn check(&self, stats: Stats, answered: usize) {
        self.check_counts(stats);
        let pages = self.0.lock().unwrap();
        assert_eq!(pages.wrong, None);
        let waited = pages.counts.get("waited").copied().unwrap_or(0);
        assert_eq!(waited, answered as u64);
    }
}

/// A group that is observed, and what it is told.
fn observed() -> (Flights, Log) {
    let log = Log::default();
    (Group::builder().observer(log.clone()).build(), log)
}

#[test]
fn the_events_of_a_flight_come_in_order() {
    let (group, log) = observed();
    let mut s = Script::new(&group);
    let calls = [s.call("a"), s.call("a"), s.call("a")];
    s.settle();
    assert_eq!(log.lines(), ["a started", "a joined", "a joined"]);
    s.drop_call(calls[1]);
    s.finish_work("a", 7);
    assert_eq!(log.lines(), [""; 0], "nobody is told before it is so");
    s.settle();
    assert_eq!(log.lines(), ["a landed for 3", "a led 3", "a joined 3"]);
}

#[test]
fn every_end_is_told_once_and_before_any_answer() {
    let (group, log) = observed();
    let mut s = Script::new(&group);
    let a = [s.call("a"), s.call("a")];
    s.fail_work("a", "no");
    s.settle();
    let b = s.call("b");
    s.panic_work("b", "oh");
    s.settle();
    let c = s.call("c");
    group.cancel_all();
    s.settle();
    let d = s.call("d");
    s.drop_call(d);
    assert!(s.error(a[0]).is_work() && s.error(b).is_panic() && s.error(c).is_closed());
    let expected = [
        "a started",
        "a joined",
        "a failed for 2",
        "a led 2",
        "a joined 2",
        "b started",
        "b panicked for 1: oh",
        "b led 1",
        "c started",
        "c cancelled for 1",
        "c led 1",
        "d started",
        "d abandoned for 1",
    ];
    assert_eq!(log.lines(), expected);
}

#[test]
fn a_flight_that_is_forgotten_tells_its_end_later() {
    let (group, log) = observed();
    let mut s = Script::new(&group);
    s.call("a");
    group.forget("a");
    group.forget("a");
    s.call("a");
    let mark = group.mark();
    s.call_since(Some(mark), "a");
    group.forget_unshared("a");
    assert_eq!(
        log.lines(),
        [
            "a started",
            "a forgotten",
            "a started",
            "a forgotten",
            "a started",
            "a forgotten"
        ],
        "the old one's place is free before the new one starts"
    );
    (0..3).for_each(|run| s.finish_run("a", run, 7));
    s.settle();
    assert_eq!(log.lines(), ["a landed for 1", "a led 1"].repeat(3));
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn a_work_that_cannot_be_made_is_told_with_the_call() {
    let (group, log) = observed();
    muted(|| drop(group.run("a", || -> std::future::Ready<_> { panic!("no plan") }))).unwrap();
    let expected = ["a started", "a panicked for 1: no plan", "a led 1"];
    assert_eq!(log.lines(), expected);
    group.close();
    let refused = group.run("a", || ready(Ok(7)));
    assert!(refused.now_or_never().unwrap().unwrap_err().is_closed());
    assert_eq!(log.lines(), [""; 0]);
}

#[test]
fn times_are_those_of_the_clock_from_the_call_on() {
    let (clock, log) = (HandClock::new(), Log::default());
    let group: Flights = Group::builder()
        .clock(clock.clone())
        .observer(log.clone())
        .build();
    let mut s = Script::new(&group);
    s.call("a");
    s.settle();
    clock.advance(2 * MS);
    let late = s.call("a");
    clock.advance(3 * MS);
    s.finish_work("a", 7);
    s.settle();
    assert_eq!(s.value(late), Some(7));
    assert_eq!(
        log.lines(),
        [
            "a started",
            "a joined",
            "a landed for 2, 5ms",
            "a led 2, 5ms",
            "a joined 2, 3ms"
        ]
    );
    let left = s.call("b");
    clock.advance(4 * MS);
    s.drop_call(left);
    assert_eq!(log.lines(), ["b started", "b abandoned for 1, 4ms"]);
}

#[test]
fn a_caller_that_gives_up_tells_so_before_the_flight_it_leaves() {
    let (clock, log) = (HandClock::new(), Log::default());
    let group: Flights = Group::builder()
        .observer(log.clone())
        .clock(clock.clone())
        .build();
    let mut leader = group.run("a", pending);
    assert!((&mut leader).now_or_never().is_none());
    clock.advance(MS);
    let mut hurried = group.run("a", pending).within(2 * MS);
    assert!((&mut hurried).now_or_never().is_none());
    clock.advance(2 * MS);
    assert!(hurried.now_or_never().unwrap().unwrap_err().is_timeout());
    assert_eq!(log.lines(), ["a started", "a joined", "a timed out, 2ms"]);
    let mut last = group.run("a", pending).within(MS);
    drop(leader);
    clock.advance(MS);
    assert!(
        (&mut last)
            .now_or_never()
            .unwrap()
            .unwrap_err()
            .is_timeout()
    );
    assert_eq!(
        log.lines(),
        ["a joined", "a timed out, 1ms", "a abandoned for 3, 4ms"]
    );
    drop(last);
    assert_eq!(log.lines(), [""; 0]);
}

#[test]
fn a_flight_that_is_overdue_tells_so_whoever_finds_it() {
    let (clock, log) = (HandClock::new(), Log::default());
    let group: Flights = Group::builder()
        .clock(clock.clone())
        .max_flight(5 * MS)
        .observer(log.clone())
        .build();
    let mut s = Script::new(&group);
    let (a, b) = (s.call("a"), s.call("b"));
    s.settle();
    log.lines();
    clock.advance(5 * MS);
    let next = s.call("a");
    s.keep(next);
    s.settle();
    assert!(s.error(a).is_overdue() && s.error(b).is_overdue());
    assert_eq!(
        log.lines(),
        [
            "a overdue for 1, 5ms",
            "a started",
            "a led 1, 5ms",
            "b overdue for 1, 5ms",
            "b led 1, 5ms"
        ]
    );
}

#[test]
fn a_detached_flight_tells_of_its_callers_and_not_of_its_task() {
    let (tasks, log) = (HandSpawn::default(), Log::default());
    let group: Flights = Group::builder()
        .detached(tasks.clone())
        .observer(log.clone())
        .build();
    drop(group.run("a", || ready(Ok(7))));
    tasks.settle();
    assert_eq!(log.lines(), ["a started", "a landed for 1"]);
    assert_eq!(log.lines(), [""; 0]);
}

#[test]
fn an_observer_that_panics_harms_nobody() {
    hush();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let group: Flights = Group::builder()
        .observer(move |_: &String, _: &Event<'_>| {
            counter.fetch_add(1, Ordering::Relaxed);
            panic!("an observer's own");
        })
        .build();
    let told = muted(|| {
        let mut s = Script::new(&group);
        let (a, b) = (s.call("a"), s.call("a"));
        s.settle();
        s.finish_work("a", 7);
        assert_eq!((s.answer(a), s.answer(b)), (Some(7), Some(7)));
        let c = s.call("c");
        group.forget("c");
        s.drop_call(c);
        s.call("d");
        group.cancel_all();
    });
    told.unwrap();
    assert_eq!(group.in_flight(), 0);
    let Stats {
        started, joined, ..
    } = group.stats();
    assert_eq!((started, joined), (3, 1));
    // Five for `a`; three for `c`, two for `d`.
    assert_eq!(calls.load(Ordering::Relaxed), 5 + 3 + 2);
}

/// Tells the time so many times, then panics.
#[derive(Debug)]
struct BrokenClock(AtomicUsize);

impl Clock for BrokenClock {
    fn now(&self) -> Instant {
        let left = self.0.load(Ordering::Relaxed);
        assert_ne!(left, 0, "a clock's own");
        self.0.store(left - 1, Ordering::Relaxed);
        Instant::now()
    }

    // SLEEP: part of a clock; nobody sleeps here.
    fn sleep_until(&self, _: Instant) -> Task {
        Box::pin(pending())
    }
}

#[test]
fn a_clock_that_panics_when_an_end_is_told_harms_nobody() {
    hush();
    let told = |log: &Log| {
        log.lines()
            .iter()
            .filter(|line| line.contains("for 2"))
            .count()
    };
    let log = Log::default();
    let group: Flights = Group::builder()
        .clock(BrokenClock(AtomicUsize::new(4)))
        .observer(log.clone())
        .build();
    let (a, b) = (group.run("a", || ready(Ok(7))), group.join("a").unwrap());
    let (c, d) = (group.run("c", pending), group.join("c").unwrap());
    let both = muted(|| {
        let landed = (a.now_or_never(), b.now_or_never());
        assert!(matches!(landed, (Some(Ok(7)), Some(Ok(7)))));
        group.cancel_all();
    });
    both.unwrap();
    let ended = (c.now_or_never(), d.now_or_never());
    assert!(matches!(ended, (Some(Err(_)), Some(Err(_)))));
    assert_eq!((told(&log), group.in_flight()), (2, 0));

    let scoped: Scoped<&str, u32> = Scoped::new()
        .with_clock(BrokenClock(AtomicUsize::new(2)))
        .with_observer(log.clone());
    let a = scoped.run(&"a", || ready(Ok(7)));
    let b = scoped.run(&"a", || ready(Ok(8)));
    let both = muted(|| {
        let landed = (a.now_or_never(), b.now_or_never());
        assert!(matches!(landed, (Some(Ok(7)), Some(Ok(7)))));
    });
    both.unwrap();
    assert_eq!((told(&log), scoped.in_flight()), (1, 0));
}

#[test]
fn an_end_is_counted_before_anybody_hears_of_it() {
    let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
    let this: Arc<OnceLock<Flights>> = Arc::default();
    let (numbers, inner) = (seen.clone(), this.clone());
    let clock = HandClock::new();
    let group: Flights = Group::builder()
        .clock(clock.clone())
        .max_flight(MS)
        .observer(move |_: &String, event: &Event<'_>| {
            let stats = inner.get().unwrap().stats();
            match event {
                Event::Cancelled { .. } => numbers.lock().unwrap().push(stats.cancelled),
                Event::Overdue { .. } => numbers.lock().unwrap().push(stats.overdue),
                _ => {}
            }
        })
        .build();
    this.set(group.clone()).unwrap();
    let cancelled = group.run("a", pending);
    group.cancel_all();
    let late = group.run("b", pending);
    clock.advance(MS);
    let next = group.run("b", || ready(Ok(7)));
    assert_eq!(*seen.lock().unwrap(), [1, 1]);
    assert!(cancelled.now_or_never().unwrap().unwrap_err().is_closed());
    assert!(late.now_or_never().unwrap().unwrap_err().is_overdue());
    assert_eq!(next.now_or_never().unwrap().unwrap(), 7);
}

#[test]
fn both_of_a_pair_are_told_though_the_first_one_panics() {
    let log = Log::default();
    let panics = |_: &String, _: &Event<'_>| panic!("the first one");
    let group: Flights = Group::builder()
        .observer((panics, Arc::new(log.clone())))
        .build();
    muted(|| drop(group.run("a", pending))).unwrap();
    assert_eq!(log.lines(), ["a started", "a abandoned for 1"]);
}

#[test]
fn an_observer_may_use_the_group_it_observes() {
    // It would hang if a lock were held while it is told.
    let (itself, log) = (Arc::new(OnceLock::<Flights>::new()), Log::default());
    let group = itself.clone();
    let user = move |key: &String, _: &Event<'_>| {
        let group = group.get().expect("it is there");
        if key == "a" {
            assert!(group.stats().started > 0 && group.in_flight() < 3);
            assert_eq!(block_on(group.run("b", || ready(Ok(8)))).unwrap(), 8);
            drop(group.run("c", pending));
            assert!(!group.forget("d"));
        }
    };
    let group: Flights = Group::builder().observer((log.clone(), user)).build();
    assert!(itself.set(group.clone()).is_ok());
    let (a, other) = (group.run("a", || ready(Ok(7))), group.join("a"));
    group.forget("a");
    assert_eq!(block_on(a).unwrap(), 7);
    drop(other);
    drop(group.run("a", pending));
    let told = [
        "b started",
        "b landed for 1",
        "b led 1",
        "c started",
        "c abandoned for 1",
    ];
    let expected = [
        "a started",
        "a joined",
        "a forgotten",
        "a landed for 2",
        "a led 2",
        "a started",
        "a abandoned for 1",
    ];
    let expected = expected
        .iter()
        .flat_map(|line| [&[*line][..], &told].concat());
    assert_eq!(log.lines(), expected.collect::<Vec<_>>());
}

#[derive(Debug)]
struct Counted(AtomicUsize);

impl Clock for Counted {
    fn now(&self) -> Instant {
        self.0.fetch_add(1, Ordering::Relaxed);
        Instant::now()
    }

    // SLEEP: nobody asks for it here.
    fn sleep_until(&self, _: Instant) -> Task {
        Box::pin(pending())
    }
}

/// A clock that counts how often it is asked, shared.
#[derive(Clone, Debug)]
struct Asked(Arc<Counted>);

impl Clock for Asked {
    fn now(&self) -> Instant {
        self.0.now()
    }

    // SLEEP: as above.
    fn sleep_until(&self, deadline: Instant) -> Task {
        self.0.sleep_until(deadline)
    }
}

#[test]
fn without_an_observer_the_clock_is_not_asked() {
    let clock = Asked(Arc::new(Counted(AtomicUsize::new(0))));
    let group: Flights = Group::builder().clock(clock.clone()).build();
    for _ in 0..3 {
        let (a, b) = (group.run("a", || ready(Ok(7))), group.join("a"));
        drop((block_on(a), b.map(block_on)));
        drop(group.run("a", pending));
    }
    assert_eq!(clock.0.0.load(Ordering::Relaxed), 0, "L4");
    let group: Flights = Group::builder()
        .clock(clock.clone())
        .observer(|_: &String, _: &Event<'_>| {})
        .build();
    drop(block_on(group.run("a", || ready(Ok(7)))));
    let asked = clock.0.0.load(Ordering::Relaxed);
    assert_eq!(asked, 3, "at the start, at the end, at the answer");
}

#[test]
fn no_caller_on_any_thread_has_its_answer_before_the_end_is_told() {
    const ROUNDS: usize = 300;
    let answered = Arc::new(AtomicBool::new(false));
    let (seen, early) = (answered.clone(), Arc::new(AtomicUsize::new(0)));
    let (told, ends) = (early.clone(), Arc::new(AtomicUsize::new(0)));
    let counter = ends.clone();
    let group: Group<u32, u32> = Group::builder()
        .observer(move |_: &u32, event: &Event<'_>| {
            if matches!(event, Event::Landed { .. }) {
                thread::yield_now();
                told.fetch_add(usize::from(seen.load(Ordering::SeqCst)), Ordering::SeqCst);
                counter.fetch_add(1, Ordering::SeqCst);
            }
        })
        .build();
    for _ in 0..ROUNDS {
        answered.store(false, Ordering::SeqCst);
        let calls: Vec<_> = (0..3).map(|_| group.run(&1, || twice(7))).collect();
        thread::scope(|scope| {
            for call in calls {
                let answered = &answered;
                scope.spawn(move || {
                    assert_eq!(block_on(call).unwrap(), 7);
                    answered.store(true, Ordering::SeqCst);
                });
            }
        });
    }
    let ends = ends.load(Ordering::SeqCst);
    assert_eq!((ends, early.load(Ordering::SeqCst)), (ROUNDS, 0), "L3");
}

/// Ready at the second poll.
async fn twice(value: u32) -> Result<u32, std::convert::Infallible> {
    let mut polled = false;
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut polled, true) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    Ok(value)
}

#[test]
fn scoped_calls_tell_of_every_run_and_of_every_caller() {
    let (clock, log) = (HandClock::new(), Log::default());
    // In either order: the observer has the clock.
    let scoped: Scoped<&str, u32> = Scoped::new()
        .with_observer(log.clone())
        .with_clock(clock.clone());
    let mut leader = Box::pin(scoped.run(&"a", pending));
    assert!((&mut leader).now_or_never().is_none());
    clock.advance(MS);
    let heir = scoped.run(&"a", || ready(Ok(7)));
    let mut hurried = Box::pin(scoped.run(&"a", pending).within(MS));
    assert!((&mut hurried).now_or_never().is_none());
    clock.advance(2 * MS);
    assert!(hurried.now_or_never().unwrap().unwrap_err().is_timeout());
    drop(leader);
    assert_eq!(
        log.lines(),
        ["a started", "a joined", "a joined", "a timed out, 2ms"]
    );
    assert_eq!(heir.now_or_never().unwrap().unwrap(), 7);
    assert_eq!(
        log.lines(),
        [
            "a abandoned for 3, 3ms",
            "a started",
            "a landed for 3, 3ms",
            "a led 3, 2ms"
        ]
    );
    drop(scoped.run(&"b", pending));
    let mut led = Box::pin(scoped.run(&"c", pending));
    assert!((&mut led).now_or_never().is_none());
    drop(led);
    assert_eq!(
        log.lines(),
        [
            "b started",
            "b abandoned for 1, 0ns",
            "c started",
            "c abandoned for 1, 0ns"
        ]
    );
    let forgotten = scoped.run(&"d", || async { panic!("oh") });
    assert!(scoped.forget("d"));
    muted(|| drop(forgotten.now_or_never())).unwrap();
    assert_eq!(
        log.lines(),
        [
            "d started",
            "d forgotten",
            "d panicked for 1, 0ns: oh",
            "d led 1, 0ns"
        ]
    );
}
