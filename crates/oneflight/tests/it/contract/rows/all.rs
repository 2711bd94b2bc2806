//! What every mode does, each in its own way where its promise says so.

use super::super::modes::{Ask, Make, Mode, boxed};
use super::super::promise::{OnAllGone, OnLostLeader};
use super::hurried::{Leaving, twenty};
use crate::script::{Call, Oops, Script};
use oneflight::Error;
use std::future::ready;
use std::sync::{Arc, Mutex};

type Scene<'g> = Script<'g, dyn Mode>;

/// So many callers of one key, all polled.
fn callers(s: &mut Scene<'_>, count: usize) -> Vec<Call> {
    let calls = (0..count).map(|_| s.call("k")).collect();
    s.settle();
    calls
}

/// Who has the value, of these.
fn served(s: &Scene<'_>, calls: &[Call], value: u64) -> usize {
    let has = |call: &&Call| s.value(**call) == Some(value);
    calls.iter().filter(has).count()
}

/// How many runs of the work there have been when its leader was lost once.
fn starts_after_a_loss(mode: &dyn Mode) -> usize {
    match mode.promise().on_lost_leader {
        OnLostLeader::GoesOn => 1,
        OnLostLeader::Restarts => 2,
    }
}

/// The next call for the key runs as if nothing had been.
fn next_is_fine(s: &mut Scene<'_>) {
    let (before, next) = (s.starts("k"), s.call("k"));
    s.settle();
    s.finish_work("k", 70);
    assert_eq!((s.answer(next), s.starts("k")), (Some(70), before + 1));
    assert_eq!(s.group.in_flight(), 0);
}

pub(crate) fn a1_a2_panic_reaches_a_hundred_callers_with_its_message_and_frees_the_key(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let calls = callers(&mut s, 100);
    s.panic_work("k", "no fuel");
    for call in calls {
        let error = s.error(call);
        assert!(error.is_panic() && !error.is_work(), "{error:?}");
        assert_eq!(error.panic_message(), Some("no fuel"));
    }
    assert_eq!((s.starts("k"), mode.in_flight()), (1, 0));
    next_is_fine(&mut s);
}

pub(crate) fn a1_panic_of_the_function_that_makes_the_work_is_an_error_too(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let work = Box::new(|| panic!("no plan"));
    let call = s.seat(mode.call(Ask::default(), "k", work));
    s.settle();
    assert_eq!(s.error(call).panic_message(), Some("no plan"));
    next_is_fine(&mut s);
}

pub(crate) fn a3_leader_dropped_with_three_followers_and_all_are_served(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let calls = callers(&mut s, 4);
    s.drop_call(calls[0]);
    let restarts = mode.promise().on_lost_leader == OnLostLeader::Restarts;
    assert_eq!(s.is_dropped("k", 0), restarts);
    s.settle();
    s.finish_work("k", 7);
    s.settle();
    assert_eq!(served(&s, &calls, 7), 3);
    assert_eq!(s.starts("k"), starts_after_a_loss(&*mode));
    assert_eq!(mode.in_flight(), 0);
}

pub(crate) fn a3_leaders_dropped_ten_thousand_times_in_a_row_harm_nobody(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let mut last = s.call("k");
    for _ in 0..10_000 {
        s.poll(last);
        let next = s.call("k");
        s.poll(next);
        s.drop_call(last);
        last = next;
    }
    s.settle();
    s.finish_work("k", 7);
    assert_eq!(s.answer(last), Some(7));
    let starts = match mode.promise().on_lost_leader {
        OnLostLeader::GoesOn => 1,
        OnLostLeader::Restarts => 10_001,
    };
    assert_eq!((s.starts("k"), mode.in_flight()), (starts, 0));
}

pub(crate) fn a4_leader_lost_and_exactly_one_takes_over(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let calls = callers(&mut s, 10);
    s.drop_call(calls[0]);
    s.settle();
    let starts = starts_after_a_loss(&*mode);
    let alive = |s: &Scene<'_>| (0..starts).filter(|&run| !s.is_dropped("k", run)).count();
    assert_eq!((s.starts("k"), alive(&s)), (starts, 1));
    let polls = s.polls("k", starts - 1);
    s.finish_work("k", 7);
    s.settle();
    assert_eq!((served(&s, &calls, 7), s.starts("k")), (9, starts));
    assert_eq!(s.polls("k", starts - 1), polls + 1, "by one of them");
}

pub(crate) fn a5_takeover_goes_on_to_the_next_when_the_candidates_leave_too(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let calls = callers(&mut s, 10);
    s.finish_work("k", 7);
    for _ in 0..9 {
        let woken = calls.iter().find(|&&call| s.is_woken(call));
        let waiting = || calls.iter().find(|&&call| s.is_waiting(call));
        let candidate = *woken.or_else(waiting).expect("more than one is left");
        s.drop_call(candidate);
    }
    let last = *calls
        .iter()
        .find(|&&call| s.is_waiting(call))
        .expect("one is left");
    s.settle();
    s.finish_work("k", 7);
    assert_eq!(s.answer(last), Some(7));
    assert_eq!(s.starts("k"), starts_after_a_loss(&*mode));
}

pub(crate) fn a6_unpolled_callers_hold_up_no_more_than_is_promised(make: Make) {
    const ALL: usize = 12;
    let bears = make().promise().bears_unpolled;
    // Whoever they are, so many may go unpolled.
    for first in 0..ALL {
        let mode = make();
        let mut s = Script::new(&*mode);
        let calls = callers(&mut s, ALL);
        let kept: Vec<_> = (0..bears.min(ALL - 1))
            .map(|at| calls[(first + at) % ALL])
            .collect();
        kept.iter().for_each(|&call| s.keep(call));
        s.finish_work("k", 7);
        s.settle();
        assert_eq!(served(&s, &calls, 7), ALL - kept.len(), "from {first}");
        kept.iter().for_each(|&call| _ = s.poll(call));
        assert_eq!((served(&s, &calls, 7), s.starts("k")), (ALL, 1));
    }
    // One more, and the others wait until one of those is polled: it is said, so it is so.
    if bears < ALL {
        let mode = make();
        let mut s = Script::new(&*mode);
        let calls = callers(&mut s, ALL);
        s.finish_work("k", 7);
        let woken: Vec<_> = (calls.iter().copied())
            .filter(|&call| s.is_woken(call))
            .collect();
        assert_eq!(woken.len(), bears + 1);
        woken.iter().for_each(|&call| s.keep(call));
        s.settle();
        assert_eq!(served(&s, &calls, 7), 0);
        s.poll(woken[0]);
        s.settle();
        woken.iter().for_each(|&call| _ = s.poll(call));
        assert_eq!((served(&s, &calls, 7), s.starts("k")), (ALL, 1));
    }
}

pub(crate) fn a6_newcomer_is_served_although_nobody_else_is_polled(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let calls = callers(&mut s, 12);
    calls.iter().for_each(|&call| s.keep(call));
    s.finish_work("k", 7);
    let newcomer = s.call("k");
    s.settle();
    if mode.promise().bears_unpolled == 0 {
        assert!(s.is_waiting(newcomer), "the work is the leader's");
        calls.iter().for_each(|&call| s.drop_call(call));
        s.settle();
        s.finish_work("k", 7);
    }
    assert_eq!(s.answer(newcomer), Some(7));
    assert_eq!(mode.in_flight(), 0);
}

pub(crate) fn a7_a12_waiter_cancelled_and_nobody_notices(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let calls = callers(&mut s, 3);
    s.drop_call(calls[1]);
    s.settle();
    assert_eq!((mode.in_flight(), s.is_dropped("k", 0)), (1, false));
    let newcomer = s.call("k");
    s.settle();
    s.finish_work("k", 7);
    s.settle();
    assert_eq!((served(&s, &calls, 7), s.answer(newcomer)), (2, Some(7)));
    assert_eq!(s.starts("k"), 1);
}

pub(crate) fn a8_a9_twenty_hurried_callers_of_slower_work(make: Make) {
    let (once, again) = (make(), make());
    let (hurried, kept) = (once.promise().hurried, once.promise().hurried_and_kept);
    hurried.holds(twenty(&*once, Leaving::Dropped, false));
    kept.holds(twenty(&*again, Leaving::Dropped, true));
}

pub(crate) fn a10_a11_all_dropped_and_the_next_begins_anew(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let calls = callers(&mut s, 4);
    for &call in &calls[..3] {
        s.drop_call(call);
        assert_eq!(mode.in_flight(), 1, "somebody waits");
    }
    let before = s.starts("k");
    s.drop_call(calls[3]);
    match mode.promise().on_all_gone {
        OnAllGone::Cancelled => {
            assert!(s.is_dropped("k", before - 1), "exactly now");
            assert_eq!(mode.in_flight(), 0);
            next_is_fine(&mut s);
        }
        OnAllGone::GoesOn => {
            assert_eq!((mode.in_flight(), s.is_dropped("k", 0)), (1, false));
            let newcomer = s.call("k");
            s.settle();
            s.drop_call(newcomer);
            s.finish_work("k", 7);
            s.settle();
            assert_eq!((mode.in_flight(), s.is_dropped("k", 0)), (0, true));
            assert_eq!(s.starts("k"), 1);
            next_is_fine(&mut s);
        }
    }
}

pub(crate) fn a13_forget_in_flight_and_the_old_one_answers_its_own(make: Make) {
    for newer_first in [false, true] {
        let mode = make();
        let mut s = Script::new(&*mode);
        let old = s.call("k");
        s.settle();
        mode.forget("k");
        let new = s.call("k");
        s.settle();
        assert_eq!(s.starts("k"), 2);
        if newer_first {
            s.finish_run("k", 1, 2);
            assert_eq!((s.answer(new), s.value(old)), (Some(2), None));
            s.finish_run("k", 0, 1);
            assert_eq!(s.answer(old), Some(1));
        } else {
            s.finish_run("k", 0, 1);
            assert_eq!((s.answer(old), s.value(new)), (Some(1), None));
            let third = s.call("k");
            s.settle();
            assert_eq!(s.starts("k"), 2, "the old one's end leaves the newer one");
            s.finish_run("k", 1, 2);
            assert_eq!((s.answer(new), s.answer(third)), (Some(2), Some(2)));
        }
        assert_eq!(mode.in_flight(), 0);
        next_is_fine(&mut s);
    }
}

pub(crate) fn a18_a27_call_right_after_the_end_starts_afresh(make: Make) {
    for fails in [false, true] {
        let mode = make();
        let mut s = Script::new(&*mode);
        let calls = callers(&mut s, 3);
        // One of them does not know yet.
        s.keep(calls[2]);
        if fails {
            s.fail_work("k", "down");
        } else {
            s.finish_work("k", 7);
        }
        s.settle();
        assert!(s.has_answer(calls[0]) && s.is_waiting(calls[2]));
        let next = s.call("k");
        s.settle();
        assert_eq!(s.starts("k"), 2);
        s.finish_work("k", 8);
        assert_eq!(s.answer(next), Some(8));
        s.poll(calls[2]);
        if fails {
            assert!(s.error(calls[2]).is_work());
        } else {
            assert_eq!(s.value(calls[2]), Some(7));
        }
    }
}

pub(crate) fn a20_same_key_elsewhere_is_another_flight(make: Make) {
    let (here, there) = (make(), make());
    let (mut s, mut t) = (Script::new(&*here), Script::new(&*there));
    let (a, b) = (s.call("k"), t.call("k"));
    s.settle();
    t.settle();
    here.forget("k");
    t.finish_work("k", 2);
    assert_eq!((t.answer(b), s.answer(a)), (Some(2), None));
    s.finish_work("k", 1);
    assert_eq!((s.answer(a), s.starts("k"), t.starts("k")), (Some(1), 1, 1));
}

/// The error of a call that is made by the innermost of these works, each of which calls for the next; and what the first gets.
fn nested(mode: &Arc<dyn Mode>, keys: &[&'static str]) -> (Option<u64>, Error<Oops>) {
    let seen = Arc::default();
    let mut s = Script::new(&**mode);
    let call = s.seat(mode.call(Ask::default(), keys[0], calling(mode, &keys[1..], &seen)));
    s.settle();
    let error = seen.lock().unwrap().take();
    (s.value(call), error.expect("an error inside"))
}

fn calling(
    mode: &Arc<dyn Mode>,
    keys: &[&'static str],
    seen: &Arc<Mutex<Option<Error<Oops>>>>,
) -> super::super::modes::Making {
    let Some((&key, rest)) = keys.split_first() else {
        return boxed(|| ready(Ok(1)));
    };
    let next = calling(mode, rest, seen);
    let (mode, seen) = (mode.clone(), seen.clone());
    boxed(move || async move {
        match mode.call(Ask::default(), key, next).await {
            Ok(value) => Ok(value + 1),
            Err(error) => {
                *seen.lock().unwrap() = Some(error);
                Ok(10)
            }
        }
    })
}

pub(crate) fn a21_recursive_call_is_an_error_and_the_work_goes_on(make: Make) {
    let mode = make();
    let (value, error) = nested(&mode, &["k", "k"]);
    assert!(error.is_reentrant(), "{error:?}");
    let named = error.to_string().contains("\"k\"");
    assert_eq!((value, named), (Some(10), true));
    assert_eq!(mode.in_flight(), 0);
    next_is_fine(&mut Script::new(&*mode));
}

pub(crate) fn a21_call_that_waits_for_itself_by_way_of_another_key_is_an_error_too(make: Make) {
    let mode = make();
    let (value, error) = nested(&mode, &["a", "b", "c", "a"]);
    assert!(error.is_reentrant(), "{error:?}");
    let named = error.to_string().contains("\"a\"");
    assert_eq!((value, named), (Some(12), true));
    assert_eq!(mode.in_flight(), 0);
}

pub(crate) fn a23_unrelated_keys_do_not_wait_for_each_other(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let hung: Vec<_> = (0..100).map(|n| s.call(&format!("hung {n}"))).collect();
    s.settle();
    let free = s.call("free");
    s.settle();
    s.finish_work("free", 7);
    assert_eq!((s.answer(free), mode.in_flight()), (Some(7), 100));
    assert!(hung.iter().all(|&call| s.is_waiting(call)));
}

pub(crate) fn a26_a28_error_with_ten_callers_is_one_run_and_one_error(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let calls = callers(&mut s, 10);
    s.fail_work("k", "down");
    let errors: Vec<_> = calls.into_iter().map(|call| s.error(call)).collect();
    for error in &errors {
        assert_eq!(error.to_string(), "down");
        let source = std::error::Error::source(error).expect("a source");
        assert!(source.downcast_ref::<std::fmt::Error>().is_some());
        let (first, this) = (errors[0].work().unwrap(), error.work().unwrap());
        assert!(Arc::ptr_eq(first, this), "one error, not copies");
    }
    assert_eq!((s.starts("k"), mode.in_flight()), (1, 0));
    next_is_fine(&mut s);
}

pub(crate) fn a32_dedupe_alone_coalesces_and_remembers_nothing(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    for round in 1..=3 {
        let calls = callers(&mut s, 5);
        s.finish_work("k", round);
        s.settle();
        assert_eq!(served(&s, &calls, round), 5);
        assert_eq!((s.starts("k") as u64, mode.in_flight()), (round, 0));
    }
}

pub(crate) fn a38_keys_that_end_at_any_stage_leave_nothing_in_the_table(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    for stage in 0..70 {
        let key = format!("key {stage}");
        let (a, b) = (s.call(&key), s.call(&key));
        s.poll(if stage < 35 { a } else { b });
        let begun = s.starts(&key) > 0;
        match stage % 7 {
            0 => s.drop_call(a),
            1 => s.drop_call(b),
            2 if begun => s.panic_work(&key, "no fuel"),
            3 if begun => s.fail_work(&key, "down"),
            4 if begun => s.finish_work(&key, 7),
            5 => mode.forget(&key),
            _ => s.settle(),
        }
        s.drop_call(a);
        s.drop_call(b);
        // A detached flight is at its end only when its work is.
        if s.starts(&key) > 0 {
            s.finish_work(&key, 7);
        }
        s.settle();
        assert_eq!(mode.in_flight(), 0, "stage {stage}");
    }
}
