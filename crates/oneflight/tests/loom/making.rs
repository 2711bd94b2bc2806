//! The leader makes its work, and is never polled: who waits meanwhile is woken when the work is made (WANTED).

use crate::harness::{Bound, block_on, end_of, explore, spawn};
use crate::parts::{Watched, group, number, ready, yielding};

fn one_waits() {
    let group = group();
    let there = group.clone();
    let other = spawn(move || {
        let call = there.run(&Watched::new(1), || ready(7));
        assert_eq!(number(block_on(call)).ok(), Some(7));
    });
    let call = group.run(&Watched::new(1), || ready(7));
    end_of(other);
    drop(call);
    assert_eq!(group.in_flight(), 0);
}

fn two_wait() {
    let group = group();
    let waits = || {
        let there = group.clone();
        spawn(move || {
            let call = there.run(&Watched::new(1), || yielding(7));
            assert_eq!(number(block_on(call)).ok(), Some(7));
        })
    };
    let others = [waits(), waits()];
    let call = group.run(&Watched::new(1), || yielding(7));
    others.into_iter().for_each(end_of);
    drop(call);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn waiting_for_the_work_to_be_made() {
    explore("waiting_for_the_work_to_be_made", Bound::None, one_waits);
}

#[test]
fn two_wait_for_the_work_to_be_made() {
    explore(
        "two_wait_for_the_work_to_be_made",
        Bound::Preemptions(2),
        two_wait,
    );
}
