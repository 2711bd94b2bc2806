//! Callers that are never polled again, and what happens under the lock: nothing of the user's.

use super::script::{Broken, Caller, Flag, Script, value, values};
use oneflight::batch::Loader;
use std::collections::HashMap;
use std::convert::Infallible;
use std::future::{Future, ready};
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll, Wake, Waker};

#[test]
fn a06_a_caller_that_is_never_polled_again_holds_up_nobody() {
    let s = Script::new(10, 1);
    // Eight callers are woken at once; seven of them never answer.
    let mut dead: Vec<_> = (0..7).map(|key| s.load(key)).collect();
    dead.iter_mut().for_each(|caller| caller.wait());
    let mut alive = s.load(0);
    alive.waits();
    s.finish(0);
    assert!(alive.is_woken());
    assert_eq!(value(alive.ends()), Some(0));
}

#[test]
fn a06_a_caller_that_joins_drives_what_was_woken_before_it_came() {
    let s = Script::new(10, 1);
    let mut dead = s.load(1);
    dead.waits();
    s.finish(0);
    assert_eq!(
        value(s.load(1).ends()),
        Some(10),
        "it found the wake unanswered, and drove"
    );
    assert_eq!(value(dead.ends()), Some(10));
}

#[test]
fn a06_a_queue_moves_on_though_the_first_in_it_is_never_polled() {
    let s = Script::new(1, 1);
    let _never = s.load(1);
    let mut b = s.load(2);
    b.waits();
    s.finish(0);
    b.waits();
    s.finish(1);
    assert_eq!(value(b.ends()), Some(20));
}

#[test]
fn only_so_many_callers_are_woken_when_a_batch_goes_on() {
    let s = Script::new(1_000, 1);
    let mut callers: Vec<_> = (0..100).map(|key| s.load(key)).collect();
    callers.iter_mut().for_each(|caller| caller.wait());
    s.wake(0);
    let woken = callers.iter().filter(|caller| caller.is_woken()).count();
    assert_eq!(woken, 8);
    assert!(
        callers[99].is_woken(),
        "the one that was here last is the likeliest to be alive"
    );
    s.finish(0);
    assert_eq!(value(callers.remove(50).ends()), Some(500));
    assert!(
        callers.iter().all(Caller::is_woken),
        "all have their answers now"
    );
    assert_eq!(s.polls(0), 2);
}

#[test]
fn a05_callers_that_were_woken_and_leave_pass_the_wake_on() {
    let s = Script::new(1_000, 1);
    let mut callers: Vec<_> = (0..10).map(|key| s.load(key)).collect();
    callers.iter_mut().for_each(|caller| caller.wait());
    s.finish(0);
    let (woken, mut others): (Vec<_>, Vec<_>) = callers.into_iter().partition(Caller::is_woken);
    assert_eq!((woken.len(), others.len()), (8, 2));
    drop(woken);
    assert!(others.iter().all(Caller::is_woken));
    assert_eq!(value(others.remove(0).ends()), Some(70));
}

#[test]
fn the_caller_that_was_here_last_is_among_those_who_are_woken() {
    let s = Script::new(1_000, 1);
    let mut callers: Vec<_> = (0..20).map(|key| s.load(key)).collect();
    callers.iter_mut().for_each(|caller| caller.wait());
    callers[15].waits();
    s.wake(0);
    assert!(callers[15].is_woken() && !callers[19].is_woken());
}

#[test]
fn a_batch_that_wakes_itself_gives_way_to_its_callers_task() {
    let loader: Loader<u32, u32, Infallible> =
        Loader::builder().build(|keys: Vec<u32>| async move {
            let mut turns = 3;
            std::future::poll_fn(move |cx| {
                turns -= 1;
                cx.waker().wake_by_ref();
                if turns == 0 {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
            keys.into_iter().map(|key| (key, key)).collect::<Vec<_>>()
        });
    let mut a = Caller::new(loader.load(1));
    assert!(a.waits().is_woken());
    assert!(a.waits().is_woken());
    assert_eq!(a.ends().unwrap(), Some(1));
}

#[test]
fn a_caller_gives_way_after_many_batches_that_are_ready_at_once() {
    let loader: Loader<u32, u32, Infallible> = Loader::builder()
        .max_batch(1)
        .build(|keys: Vec<u32>| ready(vec![(keys[0], keys[0])]));
    let mut all = Caller::new(loader.load_many(0..100));
    let mut polls = 1;
    let answers = loop {
        match all.poll() {
            Poll::Ready(answers) => break answers,
            Poll::Pending => assert!(all.is_woken(), "there is more to do"),
        }
        polls += 1;
    };
    assert_eq!((answers.len(), polls), (100, 4));
}

#[test]
fn a_caller_whose_waker_changes_is_woken_by_the_new_one() {
    let s = Script::new(10, 1);
    let mut future = pin!(s.loader.load(1));
    let flags = [Arc::<Flag>::default(), Arc::<Flag>::default()];
    for flag in &flags {
        let waker = Waker::from(Arc::clone(flag));
        assert!(
            future
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    s.finish(0);
    assert_eq!((flags[0].take(), flags[1].take()), (0, 1));
}

/// Asks the loader something whenever it can: that would never end under the lock.
#[derive(Clone)]
struct Nosy(Weak<OnceLock<Loader<u32, Nosy, Nosy>>>);

impl Nosy {
    fn look(&self) {
        if let Some(loader) = self.0.upgrade()
            && let Some(loader) = loader.get()
        {
            loader.forget(&u32::MAX);
            let _ = loader.stats();
        }
    }
}

impl Drop for Nosy {
    fn drop(&mut self) {
        self.look();
    }
}

impl Wake for Nosy {
    fn wake(self: Arc<Self>) {
        self.look();
    }
}

#[test]
fn b5_nothing_of_the_users_is_dropped_or_woken_under_the_lock() {
    let own = Arc::new(OnceLock::new());
    let nosy = Nosy(Arc::downgrade(&own));
    let log = Arc::new(Mutex::new(Vec::<Waker>::new()));
    let (spy, wakers) = (nosy.clone(), Arc::clone(&log));
    let loader = Loader::builder()
        .max_in_flight(2)
        .build(move |keys: Vec<u32>| {
            let (spy, wakers) = (spy.clone(), Arc::clone(&wakers));
            let mut turns = keys[0];
            std::future::poll_fn(move |cx| {
                wakers.lock().unwrap().push(cx.waker().clone());
                turns = turns.saturating_sub(1);
                let answers = keys.iter().map(|key| {
                    (
                        *key,
                        if key % 2 == 0 {
                            Ok(spy.clone())
                        } else {
                            Err(spy.clone())
                        },
                    )
                });
                if turns == 0 {
                    Poll::Ready(answers.chain([(99, Ok(spy.clone()))]).collect::<Vec<_>>())
                } else {
                    Poll::Pending
                }
            })
        });
    let _ = own.set(loader.clone());
    let waker = || Waker::from(Arc::new(nosy.clone()));
    for leaves_early in [true, false] {
        let (mut a, mut b, mut c) = (
            loader.load_many([3, 4, 5]),
            loader.load_many([2, 4]),
            loader.load(9),
        );
        for _ in 0..2 {
            let _ = pin!(&mut a).poll(&mut Context::from_waker(&waker()));
            let _ = pin!(&mut b).poll(&mut Context::from_waker(&waker()));
            let _ = pin!(&mut c).poll(&mut Context::from_waker(&waker()));
            let woken = std::mem::take(&mut *log.lock().unwrap());
            woken.iter().for_each(Waker::wake_by_ref);
        }
        if !leaves_early {
            let _ = pin!(&mut c).poll(&mut Context::from_waker(&waker()));
        }
    }
    assert_eq!(loader.stats().waiting, 0);
}

#[test]
fn a38_nothing_is_left_when_many_keys_have_come_and_gone() {
    let token = Arc::new(());
    let loader: Loader<(u32, Arc<()>), Arc<()>, Infallible> =
        Loader::builder().build(|keys: Vec<(u32, Arc<()>)>| {
            ready(
                keys.into_iter()
                    .map(|key| (key.clone(), key.1))
                    .collect::<HashMap<_, _>>(),
            )
        });
    for round in 0..10 {
        let keys = (0..10_000).map(|key| (round * 10_000 + key, Arc::clone(&token)));
        let answers = Caller::new(loader.load_many(keys)).ends();
        assert!(answers.iter().all(|answer| matches!(answer, Ok(Some(_)))));
    }
    assert_eq!(Arc::strong_count(&token), 1);
    let stats = loader.stats();
    assert_eq!(
        (stats.asked, stats.running, stats.queued, stats.waiting),
        (100_000, 0, 0, 0)
    );
}

#[test]
fn what_a_function_may_return_is_one_of_many_shapes() {
    fn one<V: Clone + Send + Sync + std::fmt::Debug + 'static>(
        loader: &Loader<u32, V, Broken>,
    ) -> Option<V> {
        Caller::new(loader.load(1)).ends().unwrap()
    }
    let plain: Loader<u32, u32, Broken> = Loader::builder().build(|_| ready(vec![(1, 2)]));
    let maybe: Loader<u32, u32, Broken> = Loader::builder().build(|_| ready(vec![(1, None)]));
    let map: Loader<u32, u32, Broken> = Loader::builder().build(|_| ready(HashMap::from([(1, 2)])));
    let failing: Loader<u32, u32, Broken> =
        Loader::builder().build(|_| ready(Ok(vec![(1, Some(2))])));
    assert_eq!(
        (one(&plain), one(&maybe), one(&map), one(&failing)),
        (Some(2), None, Some(2), Some(2))
    );
}

#[test]
fn a_value_that_is_a_result_or_an_option_comes_back_as_it_was() {
    let s = Script::new(10, 1);
    let mut all = s.load_many([1]);
    all.waits();
    s.finish(0);
    assert_eq!(values(all.ends()), [Some(10)]);
    let loader: Loader<u32, Option<u32>, Broken> =
        Loader::builder().build(|_| ready(HashMap::from([(1, None)])));
    assert_eq!(Caller::new(loader.load(1)).ends().unwrap(), Some(None));
}

#[test]
#[should_panic(expected = "polled after it was ready")]
fn a_future_that_is_polled_after_it_was_ready_panics() {
    let loader: Loader<u32, u32, Broken> = Loader::builder().build(|_| ready(vec![(1, 2)]));
    let mut caller = Caller::new(loader.load_many([1]));
    assert!(caller.poll().is_ready());
    let _ = caller.poll();
}

#[test]
fn loaders_and_their_futures_are_send_sync_and_small() {
    fn both<T: Send + Sync>(_: &T) -> usize {
        size_of::<T>()
    }
    let s = Script::new(1, 1);
    assert!(both(&s.loader) <= 8);
    assert!(both(&s.loader.load(1)) <= 64);
    assert!(both(&s.loader.load_many([1])) <= 72);
    assert_eq!(format!("{:?}", s.loader.load(1)), "Load { .. }");
    assert_eq!(
        format!("{:?}", s.loader.load_many([1])),
        "LoadMany { keys: 1, .. }"
    );
    assert!(format!("{:?}", s.loader).starts_with("Loader { limits: Limits"));
}
