//! The driver leaves, while its work is woken and another waits.

use crate::harness::{Bound, block_on, end_of, explore, glance, spawn};
use crate::parts::{Ringer, Watched, group, number};

/// One drives and leaves; another waits; a third thread wakes the work.
fn driver_leaves() {
    let group = group();
    let ringer = Ringer::new();
    let work = ringer.clone();
    let mut driver = group.run(&Watched::new(1), || work.work(7));
    assert!(glance(&mut driver).is_pending());
    let there = group.clone();
    let call = there.join(&Watched::new(1)).is_some();
    assert!(call);
    let ringer2 = ringer.clone();
    let other = spawn(move || {
        let call = there.run(&Watched::new(1), || ringer2.work(7));
        assert_eq!(number(block_on(call)).ok(), Some(7));
    });
    let rings = spawn(move || ringer.ring());
    drop(driver);
    end_of(other);
    end_of(rings);
    assert_eq!(group.in_flight(), 0);
}

/// A driver and its backup were polled and leave, one after the other; a third waits; a wake comes meanwhile (S2).
fn driver_and_backup_leave() {
    let group = group();
    let ringer = Ringer::new();
    let work = ringer.clone();
    let mut driver = group.run(&Watched::new(1), || work.work(7));
    assert!(glance(&mut driver).is_pending());
    let mut backup = group.join(&Watched::new(1)).expect("it is up");
    assert!(glance(&mut backup).is_pending());
    let there = group.clone();
    let again = ringer.clone();
    let other = spawn(move || {
        let call = there.run(&Watched::new(1), || again.work(7));
        assert_eq!(number(block_on(call)).ok(), Some(7));
    });
    let rings = spawn(move || ringer.ring());
    drop(driver);
    drop(backup);
    end_of(other);
    end_of(rings);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn hand_over_of_driver() {
    explore("hand_over_of_driver", Bound::Preemptions(3), driver_leaves);
}

#[test]
fn wake_against_leaving() {
    explore(
        "wake_against_leaving",
        Bound::Preemptions(3),
        driver_and_backup_leave,
    );
}
