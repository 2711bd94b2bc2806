//! What callers share, and what a caller's leaving, failing or forgetting does to the others.

use super::script::{Broken, Script, value, values};
use std::sync::Arc;

#[test]
fn a33_keys_partly_in_flight_elsewhere_are_joined_not_sent_again() {
    let s = Script::new(10, 2);
    let mut a = s.load_many([1, 2]);
    a.waits();
    let mut b = s.load_many([2, 3, 1, 4]);
    b.waits();
    assert_eq!(s.batches(), [vec![1, 2], vec![3, 4]]);
    s.finish(1);
    b.waits();
    s.finish(0);
    assert_eq!(values(b.ends()), [20, 30, 10, 40].map(Some));
    assert_eq!(values(a.ends()), [10, 20].map(Some));
}

#[test]
fn a33_a_key_that_waits_for_a_slot_is_joined() {
    let s = Script::new(10, 1);
    let mut a = s.load(1);
    a.waits();
    let (mut b, mut c) = (s.load_many([2, 3]), s.load_many([3, 2, 1]));
    b.waits();
    c.waits();
    s.finish(0);
    drop(a.ends());
    s.finish(1);
    assert_eq!(values(c.ends()), [30, 20, 10].map(Some));
    assert_eq!(values(b.ends()), [20, 30].map(Some));
    assert_eq!(s.batches(), [vec![1], vec![2, 3]]);
}

#[test]
fn a34_a_key_that_is_left_out_has_no_value_and_one_that_was_not_asked_for_is_ignored() {
    let s = Script::new(10, 1);
    let mut all = s.load_many([1, 2, 3]);
    all.waits();
    s.say(0, || {
        Ok(vec![
            (9, Ok(90)),
            (3, Ok(33)),
            (3, Ok(34)),
            (1, Ok(11)),
            (1, Err(Broken("late"))),
        ])
    });
    assert_eq!(values(all.ends()), [Some(11), None, Some(33)]);
}

#[test]
fn a34_an_answer_for_a_foreign_key_is_not_kept_for_those_who_ask_later() {
    let s = Script::new(10, 1);
    let mut a = s.load(1);
    a.waits();
    s.say(0, || Ok(vec![(1, Ok(10)), (2, Ok(99))]));
    drop(a.ends());
    let mut b = s.load(2);
    b.waits();
    assert_eq!(s.batches()[1], [2]);
}

#[test]
fn a35_one_bad_key_fails_alone() {
    let s = Script::new(10, 1);
    let mut all = s.load_many([1, 2, 3]);
    let mut bad = s.load(2);
    all.waits();
    bad.waits();
    s.say(0, || {
        Ok(vec![(1, Ok(10)), (2, Err(Broken("bad"))), (3, Ok(30))])
    });
    let answers = all.ends();
    assert_eq!(answers[0].as_ref().unwrap(), &Some(10));
    assert_eq!(answers[2].as_ref().unwrap(), &Some(30));
    let (first, second) = (answers[1].as_ref().unwrap_err(), bad.ends().unwrap_err());
    assert!(
        Arc::ptr_eq(first.work().unwrap(), second.work().unwrap()),
        "A26: the same error for all"
    );
    assert_eq!(**first.work().unwrap(), Broken("bad"));
}

#[test]
fn a26_a_batch_that_fails_gives_everybody_the_same_error() {
    let s = Script::new(10, 1);
    let (mut a, mut b) = (s.load_many([1, 2]), s.load(2));
    a.waits();
    b.waits();
    s.say(0, || Err(Broken("all")));
    let (a, b) = (a.ends(), b.ends());
    let shared = b.as_ref().unwrap_err().work().unwrap();
    assert!(
        a.iter()
            .all(|answer| Arc::ptr_eq(answer.as_ref().unwrap_err().work().unwrap(), shared))
    );
}

#[test]
fn a27_an_error_is_not_kept_for_the_next_caller() {
    let s = Script::new(10, 1);
    let (mut a, mut b) = (s.load(1), s.load(1));
    a.waits();
    b.waits();
    s.say(0, || Err(Broken("once")));
    assert!(b.ends().unwrap_err().is_work());
    // Landed, though one of those who waited has yet to look: nobody joins a batch that has landed (A18).
    let mut c = s.load(1);
    c.waits();
    assert_eq!(s.batches().len(), 2);
    s.finish(1);
    assert_eq!(value(c.ends()), Some(10));
    assert!(a.ends().unwrap_err().is_work());
}

#[test]
fn a07_a_caller_that_leaves_harms_nobody() {
    let s = Script::new(10, 1);
    let (mut a, mut b) = (s.load_many([1, 2]), s.load(1));
    a.waits();
    b.waits();
    drop(a);
    assert!(s.dropped().is_empty(), "somebody waits for it");
    s.finish(0);
    assert!(b.is_woken());
    assert_eq!(value(b.ends()), Some(10));
}

#[test]
fn a10_a_batch_that_nobody_waits_for_is_dropped_and_its_slot_is_free() {
    let s = Script::new(10, 1);
    let (mut a, mut b, mut c) = (s.load(1), s.load(1), s.load(2));
    drop(c.poll());
    assert_eq!(s.batches(), [vec![1, 2]]);
    a.waits();
    b.waits();
    let mut next = s.load(3);
    next.waits();
    drop(a);
    drop(c);
    assert!(s.dropped().is_empty());
    drop(b);
    assert_eq!(s.dropped(), [0]);
    assert!(next.is_woken(), "the slot is free, and somebody knows");
    next.waits();
    assert_eq!(s.batches()[1], [3]);
    assert_eq!(s.loader.stats().dropped, 1);
}

#[test]
fn a11_who_comes_after_the_last_has_left_gets_a_batch_of_its_own() {
    let s = Script::new(10, 1);
    let mut a = s.load(1);
    a.waits();
    drop(a);
    let mut b = s.load(1);
    b.waits();
    s.finish(1);
    assert_eq!(value(b.ends()), Some(10));
    assert_eq!(s.batches(), [vec![1], vec![1]]);
}

#[test]
fn a12_a_key_stays_in_flight_though_its_own_callers_have_left() {
    let s = Script::new(10, 2);
    let (mut a, mut b) = (s.load(1), s.load(2));
    a.waits();
    b.waits();
    drop(a);
    let mut c = s.load(1);
    c.waits();
    assert_eq!(s.batches(), [vec![1, 2]], "it is joined, not sent twice");
    drop(b);
    assert!(s.dropped().is_empty(), "c waits for it");
    s.finish(0);
    assert_eq!(value(c.ends()), Some(10));
}

#[test]
fn a13_forget_keeps_the_newer_flight() {
    let s = Script::new(10, 2);
    let mut old = s.load(1);
    old.waits();
    assert!(s.loader.forget(&1));
    let mut new = s.load(1);
    new.waits();
    assert_eq!(s.batches(), [vec![1], vec![1]]);
    s.say(0, || Ok(vec![(1, Ok(7))]));
    assert_eq!(
        value(old.ends()),
        Some(7),
        "those who wait for the old one still get it"
    );
    let mut joins = s.load(1);
    joins.waits();
    assert_eq!(
        s.batches().len(),
        2,
        "the old one's end did not remove the newer"
    );
    s.finish(1);
    assert_eq!(
        (value(new.ends()), value(joins.ends())),
        (Some(10), Some(10))
    );
}

#[test]
fn a13_forgetting_a_key_that_only_waits_changes_nothing() {
    let s = Script::new(10, 1);
    let mut a = s.load(1);
    a.waits();
    let mut b = s.load(2);
    b.waits();
    assert!(!s.loader.forget(&2));
    s.loader.forget(&3);
    let mut c = s.load(2);
    c.waits();
    s.finish(0);
    drop(a.ends());
    assert_eq!(s.batches(), [vec![1], vec![2]]);
}

#[test]
fn a37_a_closed_loader_takes_no_keys_and_ends_what_it_has() {
    let s = Script::new(1, 1);
    let (mut a, mut b) = (s.load(1), s.load(2));
    a.waits();
    s.loader.close();
    assert!(
        s.load(1).ends().unwrap_err().is_closed(),
        "not even one in flight is joined"
    );
    assert!(
        s.load_many([1, 3])
            .ends()
            .iter()
            .all(|answer| answer.as_ref().unwrap_err().is_closed())
    );
    s.finish(0);
    b.waits();
    s.finish(1);
    assert_eq!((value(a.ends()), value(b.ends())), (Some(10), Some(20)));
}
