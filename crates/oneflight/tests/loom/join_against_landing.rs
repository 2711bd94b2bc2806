//! Two callers, whose works are ready at once: the second joins the first's flight, or comes too late and has one of its own.

use crate::harness::{Bound, block_on, end_of, explore, spawn};
use crate::parts::{Watched, group, number, ready};

fn model() {
    let group = group();
    let other = group.clone();
    let other = spawn(move || {
        let call = other.run(&Watched::new(1), || ready(8));
        (
            call.led(),
            number(block_on(call)).expect("works do not fail"),
        )
    });
    let call = group.run(&Watched::new(1), || ready(7));
    let mine = (
        call.led(),
        number(block_on(call)).expect("works do not fail"),
    );
    let theirs = end_of(other);
    match (mine, theirs) {
        ((true, 7), (false, 7)) | ((false, 8), (true, 8)) | ((true, 7), (true, 8)) => {}
        other => panic!("these answers do not go together: {other:?}"),
    }
    let stats = group.stats();
    assert_eq!(stats.started + stats.joined, 2);
    assert_eq!(stats.started, stats.landed);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn join_against_landing() {
    explore("join_against_landing", Bound::Preemptions(4), model);
}
