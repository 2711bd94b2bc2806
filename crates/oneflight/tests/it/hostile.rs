//! Code that is not ours at its worst: it panics where the core is half-way, or wakes flights in a ring.
//!
//! Whatever it does, no flight is left in the table that nobody ends, and no wake of the work goes to nobody.

use crate::script::{Bell, Flights, Script};
use futures_util::FutureExt;
use oneflight::{Clock, Event, Group, Join, Observer, Spawn, Task};
use std::collections::HashMap;
use std::future::{pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// A runtime that is not there, as tokio's outside of it.
#[derive(Debug)]
struct Absent;

impl Spawn for Absent {
    fn spawn(&self, _: Task) {
        panic!("there is no runtime");
    }
}

fn panics<T>(call: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

#[test]
fn a_call_that_finds_no_runtime_for_its_pilot_is_no_caller() {
    let group: Flights = Group::builder().detached(Absent).build();
    let mut s = Script::new(&group);
    assert!(panics(|| s.call("k")));
    assert_eq!((group.in_flight(), group.stats().abandoned), (0, 1));
    assert!(s.is_dropped("k", 0));

    let group: Flights = Group::builder().autopilot(Absent).build();
    let mut s = Script::new(&group);
    let a = s.call("k");
    assert!(panics(|| group.join("k")));
    assert!(panics(|| s.call("k")));
    s.drop_call(a);
    assert_eq!((group.in_flight(), group.stats().abandoned), (0, 1));
    assert!(s.is_dropped("k", 0));
}

type Numbers = Group<u32, u32, ()>;

/// The wakers of works, caught when they are polled.
#[derive(Clone, Default)]
struct Caught(Arc<Mutex<HashMap<u32, Waker>>>);

impl Caught {
    /// Catches the waker of the work for `key`.
    fn catch(&self, key: u32, context: &Context<'_>) {
        self.0.lock().unwrap().insert(key, context.waker().clone());
    }

    fn waker(&self, key: u32) -> Waker {
        self.0.lock().unwrap()[&key].clone()
    }
}

/// Wakes the work of a flight when it is woken itself: what waits here is another flight.
struct Forward(Waker);

impl Wake for Forward {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

fn is_ready<K, V: Clone, E, S>(join: &mut Join<'_, K, V, E, S>, waker: &Waker) -> bool {
    join.poll_unpin(&mut Context::from_waker(waker)).is_ready()
}

/// How many wakes of callers two wakes of a work cost, if each of `ring` flights is waited for by the next.
fn wakes_in_a_ring_of(ring: u32) -> usize {
    let (group, caught, wakes) = (Numbers::new(), Caught::default(), Arc::default());
    let bell = Waker::from(Bell::fresh(&wakes));
    let mut callers = Vec::new();
    for key in 0..ring {
        let caught = caught.clone();
        let work = poll_fn(move |context| {
            caught.catch(key, context);
            Poll::Pending
        });
        let mut caller = group.run(&key, || work);
        assert!(!is_ready(&mut caller, &bell));
        callers.push(caller);
    }
    for key in 0..ring {
        let mut next = group.join(&key).expect("up");
        let forward = Forward(caught.waker((key + 1) % ring));
        assert!(!is_ready(&mut next, &Waker::from(Arc::new(forward))));
        callers.push(next);
    }
    let before = wakes.load(Ordering::SeqCst);
    caught.waker(0).wake();
    caught.waker(0).wake();
    let after = wakes.load(Ordering::SeqCst);
    group.cancel_all();
    assert!(callers.iter_mut().all(|caller| is_ready(caller, &bell)));
    after - before
}

#[test]
fn a_wake_in_a_ring_of_flights_comes_to_an_end() {
    for ring in [1, 2, 3, 10] {
        assert_eq!(
            wakes_in_a_ring_of(ring),
            ring as usize,
            "one caller a flight"
        );
    }
}

#[test]
fn a_wake_in_a_lattice_of_flights_goes_along_each_edge_once() {
    const LEVELS: u32 = 16;
    let (group, caught, wakes) = (Numbers::new(), Caught::default(), Arc::default());
    let bell = Waker::from(Bell::fresh(&wakes));
    // Two flights a level, each of which is waited for by both of the next.
    let mut callers = Vec::new();
    for key in 0..2 * LEVELS {
        let caught_by_work = caught.clone();
        let work = poll_fn(move |context| {
            caught_by_work.catch(key, context);
            Poll::Pending
        });
        let mut caller = group.run(&key, || work);
        assert!(!is_ready(&mut caller, &bell));
        callers.push(caller);
        for below in (0..2).filter_map(|side| (key / 2 * 2 + side).checked_sub(2)) {
            let mut waits = group.join(&below).expect("up");
            let forward = Arc::new(Forward(caught.waker(key)));
            assert!(!is_ready(&mut waits, &Waker::from(forward)));
            callers.push(waits);
        }
    }
    let before = wakes.load(Ordering::SeqCst);
    for _ in 0..4 {
        caught.waker(0).wake();
    }
    let wakes = wakes.load(Ordering::SeqCst) - before;
    assert!(wakes <= 2 * LEVELS as usize, "{wakes} wakes of callers");
    group.cancel_all();
}

/// Panics when it is dropped, if it is told to.
#[derive(Clone, Debug)]
struct Rude(Arc<AtomicBool>);

impl PartialEq for Rude {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Rude {}

impl std::hash::Hash for Rude {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl Drop for Rude {
    fn drop(&mut self) {
        assert!(!self.0.swap(false, Ordering::SeqCst), "a drop panics");
    }
}

/// A clock that is set by hand, and whose sleeps never end.
#[derive(Clone, Debug)]
struct Stopped(Arc<Mutex<Instant>>);

impl Clock for Stopped {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }

    // SLEEP: part of a clock; nobody sleeps here.
    fn sleep_until(&self, _: Instant) -> Task {
        Box::pin(pending())
    }
}

type OfRude<'g> = Join<'g, Rude, u32, ()>;

/// Drops its call when it is woken.
struct Quitter(Mutex<Option<OfRude<'static>>>);

impl Wake for Quitter {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().unwrap().take());
    }
}

#[test]
fn a_key_that_panics_when_it_is_dropped_wedges_nobody_who_took_its_place() {
    let clock = Stopped(Arc::new(Mutex::new(Instant::now())));
    let second = Duration::from_secs(1);
    // It is borrowed by a call that its waker owns.
    static GROUP: OnceLock<Group<Rude, u32, ()>> = OnceLock::new();
    let limited = Group::builder().clock(clock.clone()).max_flight(second);
    let group = GROUP.get_or_init(|| limited.build());
    let armed = Arc::default();
    let key = Rude(Arc::clone(&armed));
    let quitter = Arc::new(Quitter(Mutex::new(None)));
    let mut old = group.run(&key, pending);
    assert!(!is_ready(&mut old, &Waker::from(quitter.clone())));
    *quitter.0.lock().unwrap() = Some(old);
    *clock.0.lock().unwrap() += 2 * second;
    armed.store(true, Ordering::SeqCst);
    assert!(panics(|| group.run(&key, || ready(Ok(1)))));
    assert_eq!(group.in_flight(), 0);
}

/// A clock that panics once the flag is up.
#[derive(Debug)]
struct Dying(Arc<AtomicBool>);

impl Clock for Dying {
    fn now(&self) -> Instant {
        assert!(!self.0.load(Ordering::SeqCst), "there is no time");
        Instant::now()
    }

    // SLEEP: part of a clock; nobody sleeps here.
    fn sleep_until(&self, _: Instant) -> Task {
        Box::pin(pending())
    }
}

/// Looks on.
struct Idler;

impl<K> Observer<K> for Idler {
    fn observe(&self, _: &K, _: &Event<'_>) {}
}

#[test]
fn a_clock_that_panics_while_an_observed_flight_lands_holds_up_nobody() {
    let dead = Arc::<AtomicBool>::default();
    let group: Group<u32, u32, ()> = Group::builder()
        .clock(Dying(dead.clone()))
        .observer(Idler)
        .build();
    let work = || async move {
        dead.store(true, Ordering::SeqCst);
        Ok(7)
    };
    let (a, b) = (group.run(&1, work), group.join(&1).expect("up"));
    for call in [a, b] {
        assert_eq!(call.now_or_never().expect("ready").ok(), Some(7));
    }
    assert_eq!(group.in_flight(), 0);
}
