//! What a group promises, one interleaving a test. The names bear the ids of the behaviours.

use crate::script::{Flights, HandClock, HandSpawn, Oops, Script};
use futures_util::FutureExt;
use oneflight::{Clock, Error, Group, Join, Spawn, Task, Trail};
use std::convert::Infallible;
use std::future::{pending, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

/// The value of a call that is ready at the first poll; none if it failed.
fn got<T, E>(call: impl Future<Output = Result<T, E>>) -> Option<T> {
    now(call).ok()
}

const SECOND: Duration = Duration::from_secs(1);

fn now<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().expect("ready at the first poll")
}

#[test]
fn the_work_goes_on_when_its_leader_is_dropped() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (a, b, c) = (s.call("k"), s.call("k"), s.call("k"));
    s.poll(a);
    s.drop_call(a);
    s.settle();
    s.finish_work("k", 7);
    assert_eq!((s.answer(b), s.answer(c)), (Some(7), Some(7)));
    assert_eq!((s.starts("k"), s.led(a), s.led(b)), (1, true, false));
}

#[test]
fn a1_panic_of_the_work_reaches_a_hundred_waiters_at_once_and_frees_the_key() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..100).map(|_| s.call("k")).collect();
    s.settle();
    s.panic_work("k", "no fuel");
    for &call in &calls {
        assert!(s.error(call).is_panic());
    }
    let next = s.call("k");
    s.finish_work("k", 7);
    assert_eq!((s.answer(next), s.starts("k")), (Some(7), 2));
    assert_eq!((group.stats().panicked, group.stats().landed), (1, 1));
}

#[test]
fn a1_panic_of_the_function_that_makes_the_work_is_an_error_too() {
    let group: Group<u32, u32, ()> = Group::new();
    let make = || -> std::future::Ready<Result<u32, ()>> { panic!("no plan") };
    let call = group.run(&1, make);
    assert!(call.led());
    assert_eq!(now(call).unwrap_err().panic_message(), Some("no plan"));
    assert_eq!((group.in_flight(), group.stats().panicked), (0, 1));
}

#[test]
fn a2_panic_tells_its_message_and_location_to_every_waiter() {
    crate::script::hush();
    oneflight::record_panic_locations();
    oneflight::record_panic_locations();
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (a, b) = (s.call("k"), s.call("k"));
    s.settle();
    s.panic_work("k", "no fuel");
    for call in [a, b] {
        let error = s.error(call);
        assert_eq!(error.panic_message(), Some("no fuel"));
        assert!(
            error
                .panic_location()
                .is_some_and(|at| at.contains("script.rs:")),
            "{error:?}"
        );
        assert!(
            error.to_string().starts_with("the work panicked at "),
            "{error}"
        );
    }
}

#[test]
fn a3_leader_task_aborted_ten_thousand_times_in_a_row_harms_nobody() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let mut last = s.call("k");
    for _ in 0..10_000 {
        s.poll(last);
        let next = s.call("k");
        s.drop_call(last);
        last = next;
    }
    s.settle();
    s.finish_work("k", 7);
    assert_eq!((s.answer(last), s.starts("k")), (Some(7), 1));
}

#[test]
fn a4_leader_lost_and_one_waiter_takes_over_without_a_restart() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..10).map(|_| s.call("k")).collect();
    s.settle();
    let before = s.polls("k", 0);
    s.drop_call(calls[0]);
    s.finish_work("k", 7);
    let woken = calls.iter().filter(|&&call| s.is_woken(call)).count();
    assert_eq!(woken, 2, "the new driver and one backup");
    assert!(calls[1..].iter().all(|&call| s.answer(call) == Some(7)));
    assert_eq!((s.starts("k"), s.polls("k", 0)), (1, before + 1));
}

#[test]
fn a5_takeover_goes_on_to_the_next_when_the_woken_ones_leave_too() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..10).map(|_| s.call("k")).collect();
    s.settle();
    s.finish_work("k", 7);
    for _ in 0..9 {
        let woken = calls
            .iter()
            .copied()
            .find(|&call| s.is_woken(call))
            .expect("somebody is woken");
        s.drop_call(woken);
    }
    let last = calls
        .into_iter()
        .find(|&call| s.is_waiting(call))
        .expect("one is left");
    assert_eq!(s.answer(last), Some(7));
}

#[test]
fn a6_unpolled_leader_does_not_hold_up_the_others() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (a, b) = (s.call("k"), s.call("k"));
    s.poll(a);
    s.keep(a);
    s.poll(b);
    s.finish_work("k", 7);
    assert_eq!((s.answer(b), s.has_answer(a)), (Some(7), false));
    s.poll(a);
    assert_eq!(s.answer(a), Some(7));
}

#[test]
fn a6_unpolled_callers_by_the_dozen_do_not_hold_up_a_new_one_nor_any_with_an_autopilot() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    for _ in 0..12 {
        let kept = s.call("k");
        s.poll(kept);
        s.keep(kept);
    }
    s.finish_work("k", 7);
    let new = s.call("k");
    assert_eq!((s.answer(new), s.starts("k")), (Some(7), 1));

    let tasks = HandSpawn::default();
    let group: Flights = Group::builder().autopilot(tasks.clone()).build();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..12).map(|_| s.call("k")).collect();
    calls.iter().for_each(|&call| _ = s.poll(call));
    tasks.settle();
    calls[..11].iter().for_each(|&call| s.keep(call));
    s.finish_work("k", 7);
    tasks.settle();
    assert_eq!((s.answer(calls[11]), tasks.spawned()), (Some(7), 1));
}

#[test]
fn a8_first_callers_limit_is_its_own() {
    let clock = HandClock::new();
    let group: Flights = Group::builder().clock(clock.clone()).build();
    let mut s = Script::new(&group);
    let work = s.work("k");
    let first = group.run("k", work);
    assert!(first.led());
    let mut first = Box::pin(first.within(SECOND));
    assert!(first.as_mut().now_or_never().is_none());
    let others = [s.call("k"), s.call("k")];
    s.settle();
    clock.advance(SECOND);
    let error = now(first.as_mut()).unwrap_err();
    assert!(error.is_timeout() && !error.is_overdue());
    drop(first);
    s.finish_work("k", 7);
    assert_eq!(others.map(|call| s.answer(call)), [Some(7), Some(7)]);
    assert_eq!(s.starts("k"), 1);
}

#[test]
fn a9_waiter_with_a_limit_gets_its_timeout_while_the_flight_lives() {
    let clock = HandClock::new();
    let group: Flights = Group::builder().clock(clock.clone()).build();
    let mut s = Script::new(&group);
    let a = s.call("k");
    s.settle();
    let mut waiter = Box::pin(
        group
            .join("k")
            .expect("a flight is up")
            .within(10 * SECOND / 1000),
    );
    clock.advance(9 * SECOND / 1000);
    assert!(waiter.as_mut().now_or_never().is_none());
    clock.advance(SECOND / 1000);
    assert!(now(waiter.as_mut()).unwrap_err().is_timeout());
    assert_eq!((group.in_flight(), s.is_dropped("k", 0)), (1, false));
    s.finish_work("k", 7);
    assert_eq!(s.answer(a), Some(7));
    let endless = group.run("k", || ready(Ok(1))).within(Duration::MAX);
    assert_eq!(now(endless).ok(), Some(1));
}

#[test]
fn a9_waiters_that_are_more_hurried_than_the_work_still_get_it_done_in_one_run() {
    // Twenty callers, 20 ms apart, of whom none waits longer than 50; the work takes 400.
    let clock = HandClock::new();
    let group: Flights = Group::builder().clock(clock.clone()).build();
    let starts = Arc::new(AtomicUsize::new(0));
    let mut waiting = Vec::new();
    let (mut late, mut served) = (0, 0);
    for _ in 0..20 {
        let (count, hands) = (starts.clone(), clock.clone());
        let work = move || {
            count.fetch_add(1, Ordering::Relaxed);
            // SLEEP: by the clock that the test moves.
            hands
                .sleep_until(hands.now() + 390 * SECOND / 1000)
                .map(|()| Ok(7))
        };
        waiting.push(Box::pin(group.run("k", work).within(50 * SECOND / 1000)));
        waiting.retain_mut(|call| match call.now_or_never() {
            None => true,
            Some(Ok(_)) => {
                served += 1;
                false
            }
            Some(Err(error)) => {
                late += u32::from(error.is_timeout());
                false
            }
        });
        clock.advance(20 * SECOND / 1000);
    }
    for call in waiting {
        served += u32::from(got(call) == Some(7));
    }
    assert_eq!(
        (starts.load(Ordering::Relaxed), late, served),
        (1, 17, 3),
        "one run, and everybody who still waits is served"
    );
}

#[test]
fn a10_last_waiter_leaves_and_the_work_is_dropped_exactly_then() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (a, b) = (s.call("k"), s.call("k"));
    s.settle();
    s.drop_call(a);
    assert!(!s.is_dropped("k", 0));
    s.drop_call(b);
    assert!(s.is_dropped("k", 0));
    assert_eq!((group.in_flight(), group.stats().abandoned), (0, 1));
}

#[test]
fn a10_last_waiter_of_a_detached_flight_leaves_and_the_work_goes_on() {
    let tasks = HandSpawn::default();
    let group: Flights = Group::builder().detached(tasks.clone()).build();
    let mut s = Script::new(&group);
    let a = s.call("k");
    s.drop_call(a);
    tasks.settle();
    assert_eq!((group.in_flight(), s.is_dropped("k", 0)), (1, false));
    let b = s.call("k");
    s.finish_work("k", 7);
    tasks.settle();
    assert_eq!(
        (s.answer(b), s.starts("k"), tasks.is_running(0)),
        (Some(7), 1, false)
    );
}

/// Calls the group for a key when it is dropped.
struct CallsBack {
    group: &'static OnceLock<Flights>,
    seen: Arc<Mutex<Vec<bool>>>,
}

impl Drop for CallsBack {
    fn drop(&mut self) {
        let group = self.group.get().expect("made");
        let call = group.run("k", || ready(Ok(8)));
        let led = call.led();
        self.seen
            .lock()
            .unwrap()
            .push(led && now(call).ok() == Some(8));
        group.forget("k");
        group.cancel_all();
    }
}

#[test]
fn a11_caller_that_comes_while_the_last_is_leaving_gets_a_flight_of_its_own() {
    static GROUP: OnceLock<Flights> = OnceLock::new();
    let group = GROUP.get_or_init(Flights::new);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let hold = || CallsBack {
        group: &GROUP,
        seen: seen.clone(),
    };
    // The last one leaves; the work ends by itself; it is cancelled. Each time its drop calls the group for the same key.
    let held = hold();
    drop(group.run("k", move || async move {
        let _held = held;
        pending().await
    }));
    let held = hold();
    let ended = now(group.run("k", move || {
        std::future::poll_fn(move |_| {
            let _ = &held;
            std::task::Poll::Ready(Ok(7))
        })
    }));
    assert_eq!(ended.ok(), Some(7));
    let held = hold();
    let cancelled = group.run("k", move || async move {
        let _held = held;
        pending().await
    });
    group.cancel_all();
    assert!(now(cancelled).unwrap_err().is_closed());
    assert_eq!(*seen.lock().unwrap(), [true, true, true]);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn a13_forget_keeps_newer_flight() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let old = s.call("k");
    s.settle();
    assert!(group.forget("k"));
    let new = s.call("k");
    s.settle();
    s.finish_run("k", 0, 1);
    assert_eq!(s.answer(old), Some(1));
    let third = s.call("k");
    s.finish_run("k", 1, 2);
    assert_eq!(
        (s.answer(new), s.answer(third), s.starts("k")),
        (Some(2), Some(2), 2)
    );
    assert!(!group.forget("k"));
    assert_eq!((group.stats().forgotten, group.stats().landed), (1, 2));
}

#[test]
fn a16_forget_unshared_means_that_nobody_else_joins() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let a = s.call("k");
    assert!(group.forget_unshared("k"));
    let b = s.call("k");
    assert!(s.led(b), "nobody joins what was forgotten");
    let c = s.call("k");
    s.drop_call(c);
    assert!(!group.forget_unshared("k"), "somebody has shared it");
    assert!(!group.forget_unshared("none"));
    s.finish_run("k", 0, 1);
    s.finish_run("k", 1, 2);
    assert_eq!((s.answer(a), s.answer(b)), (Some(1), Some(2)));
}

#[test]
fn a17_write_then_call_joins_no_flight_from_before_the_write() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let before = s.call("k");
    let mark = group.mark();
    let after = s.call_since(Some(mark), "k");
    let also = s.call_since(Some(mark), "k");
    let any = s.call("k");
    assert_eq!(
        [after, also, any].map(|call| s.led(call)),
        [true, false, false]
    );
    s.settle();
    s.finish_run("k", 0, 1);
    s.finish_run("k", 1, 2);
    assert_eq!(
        [before, after, also, any].map(|call| s.answer(call)),
        [Some(1), Some(2), Some(2), Some(2)]
    );
    assert_eq!(group.stats().forgotten, 1);
}

#[test]
fn a18_call_right_after_the_landing_starts_afresh_although_others_have_not_seen_it() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    for fails in [true, false] {
        let (a, b) = (s.call("k"), s.call("k"));
        s.settle();
        s.keep(b);
        if fails {
            s.fail_work("k", "no")
        } else {
            s.finish_work("k", 7)
        }
        assert!(s.poll(a) && s.is_waiting(b));
        assert!(s.join("k").is_none());
        let c = s.call("k");
        assert!(s.led(c));
        s.finish_work("k", 8);
        assert_eq!(s.answer(c), Some(8));
        s.poll(b);
        assert_eq!(s.answer(b), if fails { None } else { Some(7) });
    }
}

#[test]
fn a20_same_key_in_two_groups_is_two_flights() {
    let (numbers, words): (Group<u32, u32>, Group<u32, String>) = (Group::new(), Group::new());
    let inner = words.clone();
    let number = numbers.run(&1, move || async move {
        let word = inner.run(&1, || ready(Ok("seven".to_owned()))).await;
        Ok(word.map_or(0, |word| u32::try_from(word.len()).unwrap_or(0)))
    });
    assert_eq!(now(number).ok(), Some(5));
}

#[test]
fn a21_nested_call_for_its_own_key_is_an_error_however_fresh_it_wants_it_and_however_late_it_is() {
    let group: Group<String, u32> = Group::new();
    let inner = group.clone();
    let call = group.run("a", move || async move {
        let mark = inner.mark();
        let again = inner.run_since(mark, "a", || ready(Ok(1)));
        assert_reentrant(&again.await.unwrap_err(), "\"a\"");
        Ok(2)
    });
    assert_eq!((got(call), group.stats().started), (Some(2), 1));

    let limited = Group::<String, u32>::builder().clock(HandClock::new());
    let group = limited.max_flight(Duration::ZERO).build();
    let inner = group.clone();
    let call = group.run("a", move || async move {
        assert_reentrant(&inner.run("a", || ready(Ok(1))).await.unwrap_err(), "\"a\"");
        Ok(2)
    });
    assert_eq!((got(call), group.stats().started), (Some(2), 1));
}

#[test]
fn a21_nested_call_for_its_own_key_is_an_error_that_names_it() {
    let group: Group<String, u32> = Group::new();
    let (inner, again) = (group.clone(), group.clone());
    let call = group.run("a", move || async move {
        assert!(inner.join("a").is_none());
        assert_reentrant(&inner.run("a", || ready(Ok(1))).await.unwrap_err(), "\"a\"");
        Ok(1)
    });
    assert_eq!(got(call), Some(1));
    let call = group.run("a", move || async move {
        let middle = again.clone();
        let error = again.run("b", move || async move {
            let error = middle.run("a", || ready(Ok(1))).await.unwrap_err();
            assert_reentrant(&error, "\"a\" waits for \"b\" waits for \"a\"");
            Ok(2)
        });
        Ok(error.await.unwrap() + 1)
    });
    assert_eq!(
        got(call),
        Some(3),
        "only the call that would wait for itself fails"
    );
}

fn assert_reentrant(error: &Error<Infallible>, keys: &str) {
    assert!(
        error.is_reentrant() && error.to_string().ends_with(keys),
        "{error:?}"
    );
}

#[test]
fn a21_nested_call_from_the_function_that_makes_the_work_is_an_error_too() {
    let group: Group<u32, u32, ()> = Group::new();
    let mut inner = None;
    let call = group.run(&1, || {
        inner = Some(now(group.run(&1, || ready(Ok(1)))));
        ready(Ok(2))
    });
    assert_eq!(got(call), Some(2));
    assert!(inner.expect("called").unwrap_err().is_reentrant());
}

#[test]
fn a23_unrelated_keys_do_not_wait_for_each_other_even_in_one_shard() {
    let group: Flights = Group::builder().shards(1).build();
    let mut s = Script::new(&group);
    let hung: Vec<_> = (0..100).map(|n| s.call(&format!("hung {n}"))).collect();
    s.settle();
    let free = s.call("free");
    s.finish_work("free", 7);
    assert_eq!(s.answer(free), Some(7));
    assert!(hung.iter().all(|&call| s.is_waiting(call)));
}

#[test]
fn a24_caller_that_changes_its_result_changes_nobody_elses() {
    let group: Group<u32, Vec<u32>, ()> = Group::new();
    let (a, b) = (
        group.run(&1, || ready(Ok(vec![1, 2]))),
        group.join(&1).expect("up"),
    );
    let mut first = now(a).unwrap();
    first.push(3);
    assert_eq!(now(b).unwrap(), [1, 2]);
}

#[test]
fn a25_shared_counts_all_who_joined_for_everybody_alike() {
    let group: Group<u32, u32, ()> = Group::new();
    let leader = group.run(&1, || ready(Ok(7)));
    drop(group.join(&1));
    let waiter = group.join(&1).expect("up");
    let (leader, waiter) = (
        now(leader.outcome()).unwrap(),
        now(waiter.outcome()).unwrap(),
    );
    assert_eq!(
        (leader.led, leader.shared, waiter.led, waiter.shared),
        (true, 3, false, 3)
    );
    // One that is alone at the end, but was not always.
    let leader = group.run(&1, || ready(Ok(7)));
    drop(group.join(&1));
    assert_eq!(now(leader.outcome()).unwrap().shared, 2);
}

#[test]
fn a25_on_many_threads_one_caller_of_a_flight_led_and_all_know_how_many_shared_it() {
    const CALLS: usize = 4_000;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(4).build().expect("a runtime");
    let group: Group<u32, u64, ()> = Group::new();
    let runs = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let call = |_| {
        let (group, runs) = (group.clone(), runs.clone());
        runtime.spawn(async move {
            let work = || async move {
                tokio::task::yield_now().await;
                Ok(runs.fetch_add(1, Ordering::SeqCst))
            };
            group.run(&1, work).outcome().await.expect("a value")
        })
    };
    let calls: Vec<_> = (0..CALLS).map(call).collect();
    let mut flights = std::collections::HashMap::<u64, Vec<_>>::new();
    for outcome in runtime.block_on(futures_util::future::join_all(calls)) {
        let outcome = outcome.expect("no panic");
        flights.entry(outcome.value).or_default().push(outcome);
    }
    for outcomes in flights.values() {
        // Nobody left, so all who shared it are here.
        let shared = u32::try_from(outcomes.len()).expect("few");
        assert!(outcomes.iter().all(|outcome| outcome.shared == shared));
        assert_eq!(outcomes.iter().filter(|outcome| outcome.led).count(), 1);
    }
    let stats = group.stats();
    assert_eq!(stats.started, flights.len() as u64);
    assert_eq!(stats.started + stats.joined, CALLS as u64);
    assert!(stats.joined > 0, "while one yields, others join");
}

#[test]
fn a26_error_shared_by_many_keeps_its_source_and_its_type() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (a, b) = (s.call("k"), s.call("k"));
    s.settle();
    s.fail_work("k", "no such team");
    let (a, b) = (s.error(a), s.error(b));
    for error in [&a, &b] {
        assert_eq!(error.to_string(), "no such team");
        let source = std::error::Error::source(error).expect("a source");
        assert!(source.downcast_ref::<std::fmt::Error>().is_some());
    }
    assert!(
        Arc::ptr_eq(a.work().unwrap(), b.work().unwrap()),
        "one error, not copies"
    );
    let Oops(why, _) = **a.work().unwrap();
    assert_eq!(why, "no such team");
}

#[test]
fn a27_error_is_not_kept_for_the_next_caller() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let a = s.call("k");
    s.fail_work("k", "down");
    assert!(s.error(a).is_work());
    let b = s.call("k");
    s.finish_work("k", 7);
    assert_eq!((s.answer(b), group.stats().failed), (Some(7), 1));
}

#[test]
fn a28_error_with_a_thousand_waiters_is_one_run() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..1000).map(|_| s.call("k")).collect();
    s.settle();
    s.fail_work("k", "down");
    assert!(calls.iter().all(|&call| s.error(call).is_work()));
    assert_eq!((s.starts("k"), group.stats().failed), (1, 1));
    assert!(
        calls.iter().map(|&call| s.wakes(call)).max() <= Some(2),
        "no storm of wakes"
    );
}

#[test]
fn a29_hung_flight_is_overdue_for_its_waiters_and_out_of_the_way_for_the_next() {
    let clock = HandClock::new();
    let group: Flights = Group::builder()
        .clock(clock.clone())
        .max_flight(SECOND)
        .build();
    let mut s = Script::new(&group);
    // Its waiter is polled: the limit ends it.
    let a = s.call("k");
    s.settle();
    clock.advance(SECOND);
    assert!(s.error(a).is_overdue() && s.is_dropped("k", 0));
    // Its waiter is not: the next caller ends it.
    let b = s.call("k");
    s.poll(b);
    s.keep(b);
    clock.advance(SECOND);
    assert!(s.join("k").is_none(), "nobody joins what is overdue");
    let c = s.call("k");
    assert!(s.led(c) && s.is_dropped("k", 1));
    s.finish_work("k", 7);
    assert_eq!(s.answer(c), Some(7));
    s.poll(b);
    assert!(s.error(b).is_overdue());
    assert_eq!((group.stats().overdue, group.in_flight()), (2, 0));
    let endless: Flights = Group::builder()
        .clock(clock)
        .max_flight(Duration::MAX)
        .build();
    assert_eq!(now(endless.run("k", || ready(Ok(1)))).ok(), Some(1));
}

#[test]
fn a30_late_answer_of_a_flight_that_timed_out_never_beats_the_newer_one() {
    let clock = HandClock::new();
    let group: Group<u32, u32, ()> = Group::builder()
        .clock(clock.clone())
        .max_flight(SECOND)
        .build();
    // The late one answers while it is being ended: while its work is polled, somebody who is no part of it brings the next
    // flight up; then it says 1.
    let (inner, hands) = (group.clone(), clock.clone());
    let newer = Arc::new(Mutex::new(None));
    let put = newer.clone();
    let late = group.run(&1, move || async move {
        hands.advance(SECOND);
        let burst = async move {
            let burst = (0..10).map(|_| inner.run(&1, || ready(Ok(2))));
            futures_util::future::join_all(burst).await
        };
        let answers = Trail::default().follow(burst).await;
        *put.lock().unwrap() = Some(answers);
        Ok(1)
    });
    assert!(now(late).unwrap_err().is_overdue());
    let newer = newer
        .lock()
        .unwrap()
        .take()
        .expect("the burst was answered");
    assert!(newer.iter().all(|answer| matches!(answer, Ok(2))));
    assert_eq!(
        (
            group.stats().overdue,
            group.stats().landed,
            group.in_flight()
        ),
        (1, 1, 0)
    );
}

#[test]
fn a37_shutdown_starts_nothing_new_and_ends_what_is_up() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let (a, hung) = (s.call("a"), s.call("hung"));
    s.settle();
    group.close();
    let (joined, refused) = (s.call("a"), s.call("b"));
    assert!(s.error(refused).is_closed() && s.starts("b") == 0);
    let mark = group.mark();
    let fresh = s.call_since(Some(mark), "a");
    assert!(s.error(fresh).is_closed());
    s.finish_work("a", 7);
    assert_eq!((s.answer(a), s.answer(joined)), (Some(7), Some(7)));
    group.cancel_all();
    assert!(s.is_dropped("hung", 0) && s.error(hung).is_closed());
    assert_eq!((group.stats().cancelled, group.in_flight()), (1, 0));
}

#[test]
fn a37_nothing_begins_once_close_has_returned_though_threads_call_all_the_time() {
    for _ in 0..50 {
        let group: Group<u64, u64, ()> = Group::new();
        let started = std::thread::scope(|scope| {
            for thread in 0..3_u64 {
                let group = &group;
                scope.spawn(move || {
                    let mut keys = (0..).map(|key| key * 3 + thread);
                    keys.find(|key| now(group.run(key, || ready(Ok(1)))).is_err())
                });
            }
            while group.stats().started < 100 {
                std::thread::yield_now();
            }
            group.close();
            group.stats().started
        });
        // The threads have ended: each was refused, and nothing was started meanwhile.
        assert_eq!((group.stats().started, group.in_flight()), (started, 0));
    }
}

#[test]
fn a37_shutdown_from_inside_the_work_ends_it() {
    let group: Group<u32, u32, ()> = Group::new();
    let inner = group.clone();
    let polled = group.run(&1, move || async move {
        inner.cancel_all();
        Ok(1)
    });
    assert!(now(polled).unwrap_err().is_closed());
    let made = group.run(&1, || {
        group.cancel_all();
        ready(Ok(1))
    });
    assert!(now(made).unwrap_err().is_closed());
    assert_eq!(
        (
            group.stats().cancelled,
            group.stats().landed,
            group.in_flight()
        ),
        (2, 0, 0)
    );
}

#[test]
fn a39_age_of_a_flight_is_by_the_clock_of_its_group_alone() {
    // The group's clock stands, so nothing ages, however much time passes outside: more than a nanosecond surely does.
    let clock = HandClock::new();
    let builder = Group::builder().clock(clock.clone());
    let group: Flights = builder.max_flight(Duration::from_nanos(1)).build();
    let mut s = Script::new(&group);
    let outside = Instant::now();
    let a = s.call("k");
    s.settle();
    while outside.elapsed() < Duration::from_micros(10) {}
    let b = s.call("k");
    assert!(!s.led(b));
    s.finish_work("k", 7);
    assert_eq!((s.answer(a), s.answer(b)), (Some(7), Some(7)));
    // It moves, and so does the age.
    let c = s.call("k");
    s.settle();
    clock.advance(Duration::from_nanos(1));
    assert!(s.error(c).is_overdue());
}

#[test]
fn a39_wall_clock_is_never_asked_nor_any_other_behind_the_callers_back() {
    let mut folders = vec![std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // The guide lies there too; it may show what it likes.
            if path.extension().is_none_or(|end| end != "rs") {
                continue;
            }
            // A wall clock for tokens, which nobody has who does not take it.
            if path.ends_with("token/wall.rs") {
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(&path).expect("text");
            let (text, _tests) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            for line in code.filter(|line| !line.contains("tokio::time::Instant::now")) {
                let asks = ["SystemTime::now", "Instant::now", ".elapsed("];
                let asked = asks.iter().find(|ask| line.contains(**ask));
                assert_eq!(asked, None, "{}: {line}", path.display());
            }
        }
    }
    assert!(files > 20, "only {files} files were read");
}

#[test]
fn a41_key_is_all_that_its_type_compares() {
    let group: Group<(String, u32), u32, ()> = Group::new();
    let (a, b) = (
        group.run_with_key(("k".into(), 1), || ready(Ok(1))),
        group.run_with_key(("k".into(), 2), || ready(Ok(2))),
    );
    assert_eq!((got(a), got(b)), (Some(1), Some(2)));
    // Keys whose hashes are all the same are still told apart.
    #[derive(Clone, Default)]
    struct Same;
    impl std::hash::BuildHasher for Same {
        type Hasher = SameHasher;
        fn build_hasher(&self) -> SameHasher {
            SameHasher
        }
    }
    struct SameHasher;
    impl std::hash::Hasher for SameHasher {
        fn finish(&self) -> u64 {
            42
        }
        fn write(&mut self, _: &[u8]) {}
    }
    let group: Group<u32, u32, (), Same> = Group::<u32, u32, ()>::builder().hasher(Same).build();
    let calls: Vec<_> = (0..20)
        .map(|key| group.run_with_key(key, move || ready(Ok(key))))
        .collect();
    for (key, call) in (0..).zip(calls) {
        assert_eq!(got(call), Some(key));
    }
}

#[test]
fn a42_work_of_a_joiner_is_never_called_so_privilege_belongs_in_the_key() {
    let group: Group<(&str, u32), &str, ()> = Group::new();
    let admin = group.run_with_key(("admin", 1), || ready(Ok("all")));
    let guest = group.run_with_key(("guest", 1), || ready(Ok("some")));
    let joiner = group.run_with_key(("guest", 1), || -> std::future::Ready<Result<&str, ()>> {
        unreachable!("it joins")
    });
    assert_eq!(
        (got(admin), got(guest), got(joiner)),
        (Some("all"), Some("some"), Some("some"))
    );
}

#[test]
fn a43_work_owns_what_it_uses_after_its_leader_has_left() {
    let group: Group<u32, usize, ()> = Group::new();
    let waiter = {
        let lent = String::from("of the leader");
        let leader = group.run(&1, || {
            let owned = lent.clone();
            async move { Ok(owned.len()) }
        });
        let waiter = group.join(&1);
        drop(leader);
        waiter
    };
    assert_eq!(got(waiter.expect("up")), Some(13));
}

#[test]
fn a_wake_that_comes_while_the_work_is_polled_is_answered() {
    let group: Group<u32, u32, ()> = Group::new();
    let work = || async {
        for _ in 0..3 {
            let mut once = false;
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut once, true) {
                    std::task::Poll::Ready(())
                } else {
                    std::task::Poll::Pending
                }
            })
            .await;
        }
        Ok(7)
    };
    let rings = Arc::default();
    let mut call = group.run(&1, work);
    for polls in 1.. {
        let bell = crate::script::Bell::fresh(&rings);
        let waker = Waker::from(bell.clone());
        if let std::task::Poll::Ready(answer) = call.poll_unpin(&mut Context::from_waker(&waker)) {
            assert_eq!((answer.ok(), polls), (Some(7), 4));
            return;
        }
        assert!(bell.has_rung(), "the wake of poll {polls} is lost");
    }
}

#[test]
fn a_wake_costs_two_wakes_however_many_wait_and_twice_as_many_when_it_goes_unanswered() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let calls: Vec<_> = (0..64).map(|_| s.call("k")).collect();
    s.settle();
    let count = |s: &Script<'_>| calls.iter().map(|&call| s.wakes(call)).sum::<usize>();
    let before = count(&s);
    s.wake_work("k", 0);
    assert_eq!(count(&s) - before, 2);
    s.wake_work("k", 0);
    assert_eq!(count(&s) - before, 2 + 1);
    s.wake_work("k", 0);
    assert_eq!(count(&s) - before, 2 + 1 + 2);
    s.settle();
    s.wake_work("k", 0);
    assert_eq!(count(&s) - before, 2 + 1 + 2 + 2, "an answer sets it back");
}

#[test]
fn autopilot_boards_with_the_second_caller_and_its_end_harms_nobody() {
    let tasks = HandSpawn::default();
    let group: Flights = Group::builder().autopilot(tasks.clone()).build();
    let mut s = Script::new(&group);
    let a = s.call("k");
    assert_eq!(tasks.spawned(), 0, "a lone caller pays nothing");
    let b = s.call("k");
    tasks.settle();
    s.settle();
    tasks.drop_all();
    s.finish_work("k", 7);
    assert_eq!(
        (s.answer(a), s.answer(b), tasks.spawned()),
        (Some(7), Some(7), 1)
    );
    // The last caller leaves: the work is dropped though the pilot is there, and the pilot ends.
    let (a, b) = (s.call("k"), s.call("k"));
    tasks.settle();
    s.drop_call(a);
    s.drop_call(b);
    assert!(s.is_dropped("k", 1));
    tasks.settle();
    assert!(!tasks.is_running(1));
}

/// A runtime that drops what it is given, and one that polls it at once.
#[derive(Debug)]
struct Careless {
    polls: bool,
}

impl Spawn for Careless {
    fn spawn(&self, mut task: Task) {
        if self.polls {
            let _ = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}

/// A runtime that is not there, as tokio's outside of it.
#[derive(Debug)]
struct Absent;

impl Spawn for Absent {
    fn spawn(&self, _: Task) {
        panic!("there is no runtime");
    }
}

#[test]
fn a_spawner_that_panics_leaves_no_call_behind() {
    let run = |group: &Flights| {
        let call = || drop(group.run("k", pending));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err()
    };
    let group: Flights = Group::builder().detached(Absent).build();
    assert!(run(&group));
    assert_eq!((group.in_flight(), group.stats().abandoned), (0, 1));

    let group: Flights = Group::builder().autopilot(Absent).build();
    let leader = group.run("k", pending);
    assert!(run(&group));
    assert_eq!(group.in_flight(), 1);
    drop(leader);
    assert_eq!((group.in_flight(), group.stats().abandoned), (0, 1));
}

#[test]
fn runtime_that_drops_its_tasks_at_once_harms_nobody() {
    for polls in [false, true] {
        for detached in [false, true] {
            let builder = Group::builder();
            let spawn = Careless { polls };
            let group: Flights = if detached {
                builder.detached(spawn)
            } else {
                builder.autopilot(spawn)
            }
            .build();
            let mut s = Script::new(&group);
            let (a, b) = (s.call("k"), s.call("k"));
            s.drop_call(a);
            s.settle();
            s.finish_work("k", 7);
            assert_eq!(s.answer(b), Some(7));
            let c = s.call("k");
            s.drop_call(c);
            assert!(s.is_dropped("k", 1) && group.in_flight() == 0);
        }
    }
}

/// A clock whose sleeps panic, as those of a runtime that has shut down.
#[derive(Debug)]
struct Broken(Instant);

impl Clock for Broken {
    fn now(&self) -> Instant {
        self.0
    }

    // SLEEP: part of a clock; nobody sleeps here, it panics.
    fn sleep_until(&self, _: Instant) -> Task {
        Box::pin(std::future::poll_fn(|_| {
            panic!("the runtime has shut down")
        }))
    }
}

#[test]
fn clock_that_panics_ends_the_flight_for_all_who_wait() {
    let clock = Broken(HandClock::new().now());
    let group: Flights = Group::builder().clock(clock).max_flight(SECOND).build();
    let mut s = Script::new(&group);
    let (a, b) = (s.call("k"), s.call("k"));
    assert!(s.error(a).is_panic() && s.error(b).is_panic());
    assert_eq!(group.in_flight(), 0);
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the payload panics too");
    }
}

#[test]
fn panic_whose_payload_panics_is_an_error_like_any_other() {
    let group: Group<u32, u32, ()> = Group::new();
    let (a, b) = (
        group.run(&1, || async { std::panic::panic_any(Bomb) }),
        group.join(&1).expect("up"),
    );
    assert_eq!(
        now(a).unwrap_err().panic_message(),
        Some("a panic without a message")
    );
    assert!(now(b).unwrap_err().is_panic());
}

#[test]
fn work_that_panics_while_it_is_dropped_harms_nobody() {
    let group: Group<u32, u32, ()> = Group::new();
    let work = || {
        let bomb = Bomb;
        std::future::poll_fn(move |_| {
            let _ = &bomb;
            std::task::Poll::Ready(Ok(7))
        })
    };
    let (a, b) = (group.run(&1, work), group.join(&1).expect("up"));
    assert_eq!((got(a), got(b)), (Some(7), Some(7)));
    drop(group.run(&1, work));
    assert_eq!(group.in_flight(), 0);
}

/// Panics when it is woken, or when it is dropped.
struct BadWaker;

impl Wake for BadWaker {
    fn wake(self: Arc<Self>) {
        panic!("a waker panics");
    }
}

#[test]
fn waker_that_panics_leaves_nobody_else_waiting() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let mut bad = group.run("k", || -> std::future::Pending<_> { pending() });
    let mut first = Script::new(&group);
    let good = first.join("k").expect("up");
    assert!(
        bad.poll_unpin(&mut Context::from_waker(&Waker::from(Arc::new(BadWaker))))
            .is_pending()
    );
    first.settle();
    group.cancel_all();
    assert!(first.error(good).is_closed());
    let a = s.call("k");
    s.finish_work("k", 1);
    assert_eq!(s.answer(a), Some(1));
}

/// Calls the group when it is woken and when it is dropped.
struct Meddler(Flights);

impl Wake for Meddler {
    fn wake(self: Arc<Self>) {
        self.meddle();
    }
}

impl Meddler {
    fn meddle(&self) {
        let _ = (self.0.stats(), self.0.in_flight(), self.0.forget("other"));
        if let Some(call) = self.0.join("k") {
            let _ = call.now_or_never();
        }
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.meddle();
    }
}

#[test]
fn waker_may_call_the_group_when_it_is_woken_and_when_it_is_dropped() {
    let group = Flights::new();
    let mut s = Script::new(&group);
    let a = s.call("k");
    let meddle = || Waker::from(Arc::new(Meddler(group.clone())));
    let mut joins: Vec<_> = (0..4).filter_map(|_| group.join("k")).collect();
    for _ in 0..2 {
        for join in &mut joins {
            assert!(
                join.poll_unpin(&mut Context::from_waker(&meddle()))
                    .is_pending()
            );
        }
        s.wake_work("k", 0);
    }
    joins.truncate(2);
    s.settle();
    s.finish_work("k", 7);
    assert_eq!(s.answer(a), Some(7));
    drop(joins);
    let _abandoned = s.call("k");
    let mut last = group.join("k").expect("up");
    assert!(
        last.poll_unpin(&mut Context::from_waker(&meddle()))
            .is_pending()
    );
}

/// Panics when it is cloned, for all but the first so many times.
#[derive(Debug)]
struct Fragile(Arc<AtomicUsize>);

impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert!(self.0.fetch_add(1, Ordering::Relaxed) > 0, "a clone panics");
        Self(self.0.clone())
    }
}

#[test]
fn value_whose_clone_panics_hurts_only_the_caller_that_takes_it() {
    let group: Group<u32, Fragile, ()> = Group::new();
    let count = Arc::new(AtomicUsize::new(0));
    let mut a = group.run(&1, move || ready(Ok(Fragile(count))));
    let b = group.join(&1).expect("up");

    assert!(
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| a
            .poll_unpin(&mut Context::from_waker(Waker::noop()))
            .is_ready()))
        .is_err()
    );
    assert!(now(b).is_ok());
    assert_eq!((group.in_flight(), group.stats().landed), (0, 1));
}

/// A key whose comparison panics for one value.
#[derive(Clone, Debug)]
struct Touchy(u32);

impl std::hash::Hash for Touchy {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        assert_ne!(other.0, 13, "a comparison panics");
        self.0 == other.0
    }
}

impl Eq for Touchy {}

#[test]
fn key_whose_comparison_panics_leaves_the_group_in_order() {
    let group: Group<Touchy, u32, ()> = Group::new();
    let up = group.run(&Touchy(13), || ready(Ok(1)));
    let bad = std::panic::AssertUnwindSafe(|| group.run(&Touchy(13), || ready(Ok(2))).led());
    assert!(std::panic::catch_unwind(bad).is_err());
    assert_eq!(got(up), Some(1));
    assert_eq!(got(group.run(&Touchy(1), || ready(Ok(3)))), Some(3));
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn a_call_polled_on_a_thread_that_is_ending_still_gets_its_answer() {
    struct AtTheEnd(Mutex<Option<(Flights, std::sync::mpsc::Sender<Option<u64>>)>>);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            if let Some((group, sender)) = self.0.lock().unwrap().take() {
                sender
                    .send(now(group.run("k", || ready(Ok(7)))).ok())
                    .unwrap();
            }
        }
    }
    thread_local! {
        static LATE: AtTheEnd = const { AtTheEnd(Mutex::new(None)) };
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let group = Flights::new();
        LATE.with(|late| *late.0.lock().unwrap() = Some((group.clone(), sender)));
        // The list of what is polled comes into being after `LATE`, and goes before it.
        assert_eq!(now(group.run("k", || ready(Ok(1)))).ok(), Some(1));
    });
    assert_eq!(receiver.recv(), Ok(Some(7)));
}

#[test]
fn groups_joins_and_errors_go_between_threads() {
    fn crosses<T: Send + Sync>() {}
    fn moves<T: Send + Unpin>() {}
    crosses::<Flights>();
    crosses::<Error<Oops>>();
    moves::<Join<'static, String, u64, Oops, oneflight::RandomState>>();
    // The work need not be Sync.
    let group: Group<u32, u32, ()> = Group::new();
    let cell = std::cell::Cell::new(7);
    assert_eq!(
        got(group.run(&1, move || async move { Ok(cell.get()) })),
        Some(7)
    );
    let boxed: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(group.run(&1, || ready(Ok(1))));
    assert_eq!(got(boxed), Some(1));
}
