//! The callers leave while an autopilot polls: the work is finished or given up, once, and the task ends.

use crate::harness::{Bound, block_on, end_of, explore, glance, spawn};
use crate::parts::{Flights, Hashes, Watched, number, ready};
use loom::thread::JoinHandle;
use oneflight::{Group, Spawn, Task};
use std::fmt;
use std::sync::{Arc, Mutex};

/// Gives each task a thread.
#[derive(Clone, Default)]
struct Threads(Arc<Mutex<Vec<JoinHandle<()>>>>);

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Threads")
    }
}

impl Spawn for Threads {
    fn spawn(&self, task: Task) {
        let thread = spawn(move || block_on(task));
        self.0.lock().expect("nobody panics with it").push(thread);
    }
}

impl Threads {
    fn end(&self) -> usize {
        let threads = std::mem::take(&mut *self.0.lock().expect("nobody panics with it"));
        let count = threads.len();
        threads.into_iter().for_each(end_of);
        count
    }
}

/// Leaves its task unpolled, to be dropped by a thread: a runtime that ends.
#[derive(Clone, Default)]
struct Ends(Arc<Mutex<Vec<JoinHandle<()>>>>);

impl fmt::Debug for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ends")
    }
}

impl Spawn for Ends {
    fn spawn(&self, mut task: Task) {
        let thread = spawn(move || {
            let _ = glance(&mut task);
            drop(task);
        });
        self.0.lock().expect("nobody panics with it").push(thread);
    }
}

fn piloted() {
    let threads = Threads::default();
    let group: Flights = Group::builder()
        .shards(1)
        .hasher(Hashes::default())
        .autopilot(threads.clone())
        .build();
    let one = group.run(&Watched::new(1), || ready(7));
    let two = group.join(&Watched::new(1));
    drop(one);
    drop(two);
    assert_eq!(threads.end(), 1);
    let stats = group.stats();
    assert_eq!((stats.landed + stats.abandoned, group.in_flight()), (1, 0));
}

/// The pilot waits for work that never ends, until all callers have left.
fn piloted_in_vain() {
    let threads = Threads::default();
    let group: Flights = Group::builder()
        .shards(1)
        .hasher(Hashes::default())
        .autopilot(threads.clone())
        .build();
    let one = group.run(&Watched::new(1), std::future::pending);
    let two = group.join(&Watched::new(1));
    drop(one);
    drop(two);
    assert_eq!(threads.end(), 1);
    let stats = group.stats();
    assert_eq!((stats.abandoned, group.in_flight()), (1, 0));
}

/// One caller waits, polled by nobody but the pilot's wakes.
fn piloted_and_awaited() {
    let threads = Threads::default();
    let group: Flights = Group::builder()
        .shards(1)
        .hasher(Hashes::default())
        .autopilot(threads.clone())
        .build();
    let one = group.run(&Watched::new(1), || ready(7));
    let two = group.join(&Watched::new(1)).expect("it is up");
    let three = spawn({
        let group = group.clone();
        move || {
            let call = group.join(&Watched::new(1));
            call.map(|call| number(block_on(call)).ok())
        }
    });
    drop(one);
    assert_eq!(number(block_on(two)).ok(), Some(7));
    assert!(end_of(three).is_none_or(|answer| answer == Some(7)));
    assert_eq!(threads.end(), 1);
    let stats = group.stats();
    assert_eq!(
        (stats.landed, stats.abandoned, group.in_flight()),
        (1, 0, 0)
    );
}

fn detached() {
    let threads = Threads::default();
    let group: Flights = Group::builder()
        .shards(1)
        .hasher(Hashes::default())
        .detached(threads.clone())
        .build();
    let mut call = group.run(&Watched::new(1), || ready(7));
    let _ = glance(&mut call);
    drop(call);
    assert_eq!(threads.end(), 1);
    let stats = group.stats();
    assert_eq!(
        (stats.landed, stats.abandoned, group.in_flight()),
        (1, 0, 0)
    );
}

/// The runtime ends while the callers leave.
fn detached_to_an_end() {
    let ends = Ends::default();
    let group: Flights = Group::builder()
        .shards(1)
        .hasher(Hashes::default())
        .detached(ends.clone())
        .build();
    let call = group.run(&Watched::new(1), || ready(7));
    drop(call);
    let threads = std::mem::take(&mut *ends.0.lock().expect("nobody panics with it"));
    threads.into_iter().for_each(end_of);
    let stats = group.stats();
    assert_eq!((stats.landed + stats.abandoned, group.in_flight()), (1, 0));
}

#[test]
fn abandon_against_autopilot() {
    explore("abandon_against_autopilot", Bound::None, piloted);
}

#[test]
fn abandon_against_waiting_autopilot() {
    explore(
        "abandon_against_waiting_autopilot",
        Bound::Preemptions(3),
        piloted_in_vain,
    );
}

#[test]
fn leave_against_autopilot() {
    explore(
        "leave_against_autopilot",
        Bound::Preemptions(2),
        piloted_and_awaited,
    );
}

#[test]
fn leave_against_detached_pilot() {
    explore("leave_against_detached_pilot", Bound::None, detached);
}

#[test]
fn abandon_against_end_of_runtime() {
    explore(
        "abandon_against_end_of_runtime",
        Bound::None,
        detached_to_an_end,
    );
}
