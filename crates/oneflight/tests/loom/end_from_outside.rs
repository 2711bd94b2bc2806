//! A flight is ended from outside while its work is made, polled or woken: everybody hears of one end, and the work goes once.

use crate::harness::{Bound, block_on, end_of, explore, glance, spawn};
use crate::parts::{Answer, Flights, Ringer, Watched, group, number, ready};

fn is_one_end(group: &Flights, answers: &[Answer]) {
    let values = answers
        .iter()
        .filter(|answer| matches!(answer, Ok(7)))
        .count();
    let closed = |answer: &&Answer| answer.as_ref().is_err_and(oneflight::Error::is_closed);
    assert_eq!(
        values + answers.iter().filter(closed).count(),
        answers.len()
    );
    let stats = group.stats();
    assert_eq!(stats.started, stats.landed + stats.cancelled);
    assert_eq!(group.in_flight(), 0);
}

/// The leader makes its work and polls it while another ends all flights. Nobody begins another.
fn led() {
    let group = group();
    let there = group.clone();
    let other = spawn(move || {
        there.close();
        there.cancel_all();
    });
    let mine = number(block_on(group.run(&Watched::new(1), || ready(7))));
    end_of(other);
    let started = group.stats().started;
    assert!(started == 1 || mine.as_ref().is_err_and(oneflight::Error::is_closed));
    is_one_end(&group, &[mine]);
}

/// Two wait and a third wakes, while all flights are ended.
fn joined() {
    let group = group();
    let ringer = Ringer::new();
    let work = ringer.clone();
    let mut call = group.run(&Watched::new(1), || work.work(7));
    assert!(glance(&mut call).is_pending());
    let there = group.clone();
    let other = spawn(move || {
        let call = there.join(&Watched::new(1));
        call.map(|call| number(block_on(call)))
    });
    let rings = spawn(move || ringer.ring());
    group.cancel_all();
    let mut answers = vec![number(block_on(call))];
    answers.extend(end_of(other));
    end_of(rings);
    is_one_end(&group, &answers);
}

/// The leader leaves while all flights are ended.
fn left() {
    let group = group();
    let mut call = group.run(&Watched::new(1), || std::future::pending());
    let _ = glance(&mut call);
    let there = group.clone();
    let other = spawn(move || there.cancel_all());
    drop(call);
    end_of(other);
    let stats = group.stats();
    assert_eq!(
        (stats.abandoned + stats.cancelled, group.in_flight()),
        (1, 0)
    );
}

#[test]
fn end_from_outside_against_making_and_polling() {
    explore(
        "end_from_outside_against_making_and_polling",
        Bound::None,
        led,
    );
}

#[test]
fn end_from_outside_against_wake() {
    explore(
        "end_from_outside_against_wake",
        Bound::Preemptions(4),
        joined,
    );
}

#[test]
fn end_from_outside_against_last_leave() {
    explore("end_from_outside_against_last_leave", Bound::None, left);
}
