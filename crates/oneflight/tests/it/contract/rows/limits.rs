//! Rows that need time: limits of callers, and of flights.

use super::super::modes::{Ask, LONGEST, Make};
use super::hurried::{Leaving, twenty};
use crate::script::Script;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

pub(crate) fn a8_a9_twenty_callers_with_limits_of_slower_work(make: Make) {
    let (once, again) = (make(), make());
    let (hurried, kept) = (once.promise().hurried, once.promise().hurried_and_kept);
    hurried.holds(twenty(&*once, Leaving::Limited, false));
    kept.holds(twenty(&*again, Leaving::Limited, true));
}

pub(crate) fn a9_caller_with_a_limit_times_out_and_the_flight_lives(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let patient = s.call("k");
    s.settle();
    let within = Some(10 * MS);
    let ask = Ask {
        within,
        ..Ask::default()
    };
    let hurried = s.ask(ask, "k");
    s.settle();
    mode.advance(9 * MS);
    s.settle();
    assert!(s.is_waiting(hurried), "not yet");
    // A timer may round to the next millisecond.
    mode.advance(2 * MS);
    s.settle();
    let error = s.error(hurried);
    assert!(error.is_timeout() && !error.is_overdue(), "{error:?}");
    assert_eq!((mode.in_flight(), s.is_dropped("k", 0)), (1, false));
    s.finish_work("k", 7);
    assert_eq!((s.answer(patient), s.starts("k")), (Some(7), 1));
    // No time is no limit.
    let within = Some(Duration::MAX);
    let endless = Ask {
        within,
        ..Ask::default()
    };
    let endless = s.ask(endless, "k");
    s.settle();
    s.finish_work("k", 8);
    assert_eq!(s.answer(endless), Some(8));
}

pub(crate) fn a29_a30_hung_flight_is_overdue_and_its_late_answer_goes_nowhere(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    // Those who wait for it are polled: the limit ends it for them.
    let (a, also) = (s.call("k"), s.call("k"));
    s.settle();
    mode.advance(LONGEST + MS);
    assert!(s.error(a).is_overdue() && s.error(also).is_overdue() && s.is_dropped("k", 0));
    // Its caller is not: the next one ends it.
    let b = s.call("k");
    s.poll(b);
    s.keep(b);
    mode.advance(LONGEST + MS);
    let c = s.call("k");
    s.settle();
    assert_eq!((s.starts("k"), s.is_dropped("k", 1)), (3, true));
    s.finish_run("k", 1, 1);
    s.settle();
    assert!(s.is_waiting(c), "a late answer is nobody's");
    s.finish_run("k", 2, 7);
    assert_eq!(s.answer(c), Some(7));
    s.poll(b);
    assert!(s.error(b).is_overdue());
    assert_eq!(mode.in_flight(), 0);
}
