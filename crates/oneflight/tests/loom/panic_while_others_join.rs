//! The work panics while others join: all who are in the flight hear of it, and nobody else.

use crate::harness::{Bound, block_on, end_of, explore, panic_as_asked, spawn};
use crate::parts::{Watched, group, number, ready};
use std::future::Future;

/// Work that panics when it is polled.
fn panics() -> impl Future<Output = Result<Watched, ()>> + Send + 'static {
    let work = Watched::new(7);
    async move {
        drop(work);
        panic_as_asked()
    }
}

fn when_polled() {
    let group = group();
    let there = group.clone();
    let other = spawn(move || {
        let call = there.run(&Watched::new(1), || ready(8));
        (call.led(), number(block_on(call)))
    });
    let call = group.run(&Watched::new(1), panics);
    let led = call.led();
    let mine = number(block_on(call));
    let (other_led, theirs) = end_of(other);
    assert_eq!(mine.is_err_and(|error| error.is_panic()), led);
    assert_eq!(theirs.is_err_and(|error| error.is_panic()), !other_led);
    let stats = group.stats();
    assert_eq!(stats.panicked, u64::from(led));
    assert_eq!(stats.started, stats.landed + stats.panicked);
    assert_eq!(group.in_flight(), 0);
}

fn when_made() {
    let group = group();
    let there = group.clone();
    let other = spawn(move || {
        let call = there.run(&Watched::new(1), || ready(8));
        (call.led(), number(block_on(call)))
    });
    let call = group.run(
        &Watched::new(1),
        || -> std::future::Ready<Result<Watched, ()>> { panic_as_asked() },
    );
    let mine = number(block_on(call));
    let (other_led, theirs) = end_of(other);
    let led = mine.is_err_and(|error| error.is_panic());
    assert_eq!(theirs.is_err_and(|error| error.is_panic()), !other_led);
    assert!(led || other_led);
    let stats = group.stats();
    assert_eq!(stats.panicked, u64::from(led));
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn panic_while_others_join() {
    explore(
        "panic_while_others_join",
        Bound::Preemptions(4),
        when_polled,
    );
}

#[test]
fn panic_in_making_while_others_join() {
    explore(
        "panic_in_making_while_others_join",
        Bound::Preemptions(4),
        when_made,
    );
}
