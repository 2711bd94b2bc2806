//! Which keys go together, and when.

use super::script::{Script, value, values};

#[test]
fn nothing_is_sent_before_a_caller_is_polled() {
    let s = Script::new(10, 1);
    let _a = s.load(1);
    assert!(s.batches().is_empty());
    assert_eq!(s.loader.stats().queued, 1);
}

#[test]
fn keys_that_were_queued_before_the_first_poll_go_together() {
    let s = Script::new(10, 1);
    let (mut a, b, c) = (s.load(1), s.load_many([2, 3]), s.load(1));
    a.waits();
    assert_eq!(s.batches(), [vec![1, 2, 3]]);
    s.finish(0);
    assert_eq!(value(a.ends()), Some(10));
    assert_eq!(values(b.ends()), [Some(20), Some(30)]);
    assert_eq!(value(c.ends()), Some(10));
}

#[test]
fn keys_gather_while_all_slots_are_taken() {
    let s = Script::new(3, 1);
    let mut first = s.load(0);
    first.waits();
    let mut rest: Vec<_> = [5, 4, 3, 2, 1].map(|key| s.load(key)).into();
    rest.iter_mut().for_each(|caller| caller.wait());
    assert_eq!(s.batches(), [vec![0]]);
    s.finish(0);
    assert_eq!(value(first.ends()), Some(0));
    // The slot that freed took the oldest three, as one batch.
    rest[0].waits();
    assert_eq!(s.batches(), [vec![0], vec![5, 4, 3]]);
    s.finish(1);
    rest[4].waits();
    assert_eq!(s.batches()[2], [2, 1]);
    s.finish(2);
    let all: Vec<_> = rest
        .into_iter()
        .map(|caller| value(caller.ends()))
        .collect();
    assert_eq!(all, [50, 40, 30, 20, 10].map(Some));
}

#[test]
fn as_many_batches_run_as_there_are_slots() {
    let s = Script::new(2, 2);
    let mut all = s.load_many(0..7);
    all.waits();
    assert_eq!(s.batches(), [vec![0, 1], vec![2, 3]]);
    assert_eq!((s.loader.stats().running, s.loader.stats().queued), (2, 3));
    s.finish(1);
    all.waits();
    assert_eq!(s.batches()[2..], [vec![4, 5]]);
    s.finish(0);
    all.waits();
    assert_eq!(s.batches()[3..], [vec![6]]);
    s.finish(3);
    all.waits();
    s.finish(2);
    assert_eq!(values(all.ends()), [0, 10, 20, 30, 40, 50, 60].map(Some));
}

#[test]
fn duplicates_are_sent_once_and_answered_each() {
    let s = Script::new(10, 1);
    let mut all = s.load_many([3, 1, 3, 3, 2, 1]);
    all.waits();
    assert_eq!(s.batches(), [vec![3, 1, 2]]);
    s.finish(0);
    assert_eq!(values(all.ends()), [30, 10, 30, 30, 20, 10].map(Some));
    let stats = s.loader.stats();
    assert_eq!(
        (stats.asked, stats.joined, stats.sent, stats.batches),
        (6, 3, 3, 1)
    );
}

#[test]
fn no_keys_are_no_batch() {
    let s = Script::new(10, 1);
    assert!(s.load_many([]).ends().is_empty());
    assert!(s.batches().is_empty());
}

#[test]
fn limits_of_nought_are_limits_of_one() {
    let s = Script::new(0, 0);
    let mut all = s.load_many([1, 2]);
    all.waits();
    assert_eq!(s.batches(), [vec![1]]);
    s.finish(0);
    all.waits();
    s.finish(1);
    assert_eq!(values(all.ends()), [Some(10), Some(20)]);
}

#[test]
fn a_call_is_woken_for_its_answers_once_when_it_has_them_all() {
    let s = Script::new(1, 2);
    let mut driver = s.load_many([1, 2]);
    driver.waits();
    let mut both = s.load_many([1, 2, 1]);
    both.waits();
    s.finish(0);
    both.flag.take();
    driver.waits();
    assert!(!both.is_woken(), "half of the answers are there");
    s.finish(1);
    both.flag.take();
    assert_eq!(values(driver.ends()), [Some(10), Some(20)]);
    assert_eq!(values(both.ends()), [Some(10), Some(20), Some(10)]);
}

#[test]
fn a_freed_slot_is_used_though_its_caller_is_done() {
    let s = Script::new(1, 1);
    let (mut a, mut b) = (s.load(1), s.load(2));
    a.waits();
    b.waits();
    s.finish(0);
    assert_eq!(value(a.ends()), Some(10));
    assert_eq!(
        s.batches().len(),
        2,
        "the poll that landed the first batch started the next"
    );
    s.finish(1);
    assert!(b.is_woken());
    assert_eq!(value(b.ends()), Some(20));
}

#[test]
fn a_key_that_nobody_waits_for_is_not_sent() {
    let s = Script::new(10, 1);
    let mut a = s.load(1);
    a.waits();
    let (b, c, d) = (s.load(2), s.load_many([3, 4]), s.load(4));
    drop((b, c));
    s.finish(0);
    drop(a.ends());
    let mut d = d;
    d.waits();
    assert_eq!(s.batches(), [vec![1], vec![4]]);
}
