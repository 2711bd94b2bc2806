//! Calls that are polled inside of a work and then are not waited for by it any more, and other doubtful cases.

use super::{ALL, Tasks, World, ring, ring_of};
use futures_util::{FutureExt, poll};
use oneflight::{Group, Scoped, Tokio, Trail};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

/// "b" waits for "a", whose work is this.
fn b_waits_for<F>(world: &World, work: F) -> Tasks
where
    F: Future<Output = Result<u32, String>> + Send + 'static,
{
    world.gates.shut("b");
    let mut tasks = Tasks::default();
    tasks.spawn(world.call("b"));
    tasks.settle();
    let group = world.group.clone();
    tasks.spawn(async move { group.run_with_key("a", || work).await });
    tasks.settle();
    tasks
}

#[test]
fn a21_call_that_the_work_dropped_is_not_waited_for() {
    let world = World::new(&[("b", &["a"])]);
    let inner = world.clone();
    world.gates.shut("a");
    let mut tasks = b_waits_for(&world, async move {
        let mut call = inner.call("b");
        assert!(poll!(&mut call).is_pending());
        drop(call);
        inner.gates.pass("a").await;
        Ok(1)
    });
    world.gates.open("b");
    tasks.settle();
    world.gates.open("a");
    world.assert_over(&mut tasks);
    assert_eq!((world.told().len(), tasks.value(0)), (0, 2));
}

#[test]
fn a21_call_that_the_work_gave_away_is_not_waited_for() {
    for is_polled_outside in [true, false] {
        let world = World::new(&[("b", &["a"])]);
        let (inner, given) = (world.clone(), Arc::new(Mutex::new(None)));
        let place = given.clone();
        world.gates.shut("a");
        let mut tasks = b_waits_for(&world, async move {
            let mut call = inner.call("b");
            assert!(poll!(&mut call).is_pending());
            *place.lock().unwrap() = Some(call);
            inner.gates.pass("a").await;
            Ok(1)
        });
        let mut call = given.lock().unwrap().take().expect("given away");
        if is_polled_outside {
            assert!((&mut call).now_or_never().is_none());
        } else {
            // The flight that polled it ends; the next one, of the same key, likely lies in the same place.
            world.gates.open("a");
            tasks.settle();
            assert_eq!(tasks.value(1), 1);
            world.gates.shut("a");
            tasks.spawn(world.call("a"));
            tasks.settle();
        }
        world.gates.open("b");
        tasks.settle();
        world.gates.open("a");
        tasks.spawn(call);
        world.assert_over(&mut tasks);
        assert_eq!((world.told().len(), tasks.value(0)), (0, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a21_call_with_a_limit_of_its_own_closes_a_ring_all_the_same() {
    let group: Group<&str, u32, String> = Group::builder().clock(Tokio).build();
    let start = tokio::time::Instant::now();
    let limit = Duration::from_secs(1);
    let works_for = |other: &'static str| {
        let group = group.clone();
        async move {
            // Both are up before either calls for the other.
            tokio::task::yield_now().await;
            let call = group.run_with_key(other, || async { Ok(0) });
            Ok(match call.within(limit).await {
                Err(error) if error.is_reentrant() => 10,
                other => 1 + other.map_err(|error| error.to_string())?,
            })
        }
    };
    let (a, b) = (works_for("b"), works_for("a"));
    let (a, b) = tokio::join!(group.run_with_key("a", || a), group.run_with_key("b", || b));
    let mut values = [a.unwrap(), b.unwrap()];
    values.sort_unstable();
    assert_eq!((values, start.elapsed()), ([10, 11], Duration::ZERO));
}

#[test]
fn a21_polling_again_changes_nothing() {
    let world = ring_of(2);
    let mut tasks = world.stopped(&ALL[..2]);
    world.gates.open("a");
    (0..100).for_each(|_| (0..2).for_each(|at| tasks.poll(at)));
    assert!(world.told().is_empty());
    world.gates.open("b");
    (0..100).for_each(|_| (0..2).for_each(|at| tasks.poll(at)));
    world.assert_over(&mut tasks);
    assert_eq!(world.told(), [ring(&ALL[..2], 0)]);
}

#[test]
fn a21_call_made_outside_and_awaited_inside_is_told_that_it_waits_for_itself() {
    static GROUP: LazyLock<Group<&str, u32, String>> = LazyLock::new(Group::new);
    let group: &'static Group<&str, u32, String> = &GROUP;
    let place = Arc::new(Mutex::new(None));
    let own = place.clone();
    let call = group.run_with_key("a", || async move {
        let call = own.lock().unwrap().take();
        let before: oneflight::Join<'static, _, _, _, _> = call.expect("made before");
        let error = before.await.unwrap_err();
        Ok(u32::from(error.is_reentrant()))
    });
    *place.lock().unwrap() = group.join("a");
    assert_eq!(call.now_or_never().expect("ready").unwrap(), 1);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn a21_innocent_waiter_that_an_executor_inside_the_work_polls_stands_for_itself_on_a_trail_of_its_own()
 {
    static GROUP: LazyLock<Group<&str, u32, String>> = LazyLock::new(Group::new);
    let group: &'static Group<&str, u32, String> = &GROUP;
    let outside = Trail::current();
    let call = group.run_with_key("a", move || async move {
        assert!(
            group.join("a").is_none(),
            "polled here, it would wait for itself"
        );
        let waiter = outside.follow(async { group.join("a").expect("up").await });
        let mut waiter = Box::pin(waiter);
        assert!(poll!(&mut waiter).is_pending());
        assert!(group.join("a").is_none());
        Ok(7)
    });
    assert_eq!(call.now_or_never().expect("ready").unwrap(), 7);
}

#[test]
fn a21_scoped_call_and_a_flight_that_wait_for_each_other_are_told() {
    for scoped_first in [true, false] {
        let world = World::default();
        let scoped: Arc<Scoped<u32, u32, String>> = Arc::default();
        world.gates.shut("g");
        world.gates.shut("s");
        let mut tasks = Tasks::default();
        let (all, inner) = (world.clone(), scoped.clone());
        tasks.spawn(async move {
            let work = async || {
                all.gates.pass("s").await;
                Ok(1 + all.note(all.call("g").await))
            };
            inner.run(&1, work).await
        });
        let (all, inner) = (world.clone(), scoped.clone());
        tasks.spawn(async move {
            let group = all.group.clone();
            let work = || async move {
                all.gates.pass("g").await;
                Ok(1 + all.note(inner.run(&1, async || Ok(1)).await))
            };
            group.run_with_key("g", work).await
        });
        tasks.settle();
        for key in if scoped_first { ["s", "g"] } else { ["g", "s"] } {
            world.gates.open(key);
            tasks.settle();
        }
        world.assert_over(&mut tasks);
        assert_eq!(scoped.in_flight(), 0);
        let told = world.told();
        let expected = if scoped_first {
            "1 waits for \"g\" waits for 1"
        } else {
            "\"g\" waits for 1 waits for \"g\""
        };
        assert!(told.len() == 1 && told[0].ends_with(expected), "{told:?}");
    }
}
