//! Rings that go through the batches of a loader.

use super::{Tasks, World};
use oneflight::batch::Loader;
use oneflight::{Error, Group};
use std::sync::Arc;

type Batches = Loader<u32, u32, String>;

/// A loader whose batches stand at the gate "batch", and then wait for "a" if 7 is among their keys; "a" loads 7.
fn ring() -> (World, Batches) {
    let world = World::default();
    let inner = world.clone();
    let loader = Loader::builder().build(move |keys: Vec<u32>| {
        let world = inner.clone();
        async move {
            if !keys.contains(&7) {
                world.gates.pass("other").await;
                return keys.into_iter().map(|key| (key, key)).collect();
            }
            world.gates.pass("batch").await;
            let a = world.note(world.group.run_with_key("a", || async { Ok(1) }).await);
            keys.into_iter().map(|key| (key, a)).collect::<Vec<_>>()
        }
    });
    (world, loader)
}

fn a(
    world: &World,
    loader: &Batches,
) -> impl Future<Output = Result<u32, Error<String>>> + Send + use<> {
    let (world, loader) = (world.clone(), loader.clone());
    async move {
        let group = world.group.clone();
        let work = || async move {
            world.gates.pass("a").await;
            let answer = loader.load(7).await.map(Option::unwrap_or_default);
            Ok(1 + world.note(answer))
        };
        group.run_with_key("a", work).await
    }
}

fn load(
    loader: &Batches,
    key: u32,
) -> impl Future<Output = Result<u32, Error<String>>> + Send + use<> {
    let loader = loader.clone();
    async move { loader.load(key).await.map(Option::unwrap_or_default) }
}

fn assert_told(world: &World, loader: &Batches, tasks: &mut Tasks, ring: &str) {
    world.assert_over(tasks);
    let told = world.told();
    assert!(told.len() == 1 && told[0].ends_with(ring), "{told:?}");
    let stats = loader.stats();
    assert_eq!((stats.running, stats.waiting, stats.queued), (0, 0, 0));
}

#[test]
fn a21_flight_that_loads_a_key_whose_batch_waits_for_it_is_told_with_the_key() {
    let (world, loader) = ring();
    let mut tasks = Tasks::default();
    tasks.spawn(a(&world, &loader));
    tasks.settle();
    assert_told(
        &world,
        &loader,
        &mut tasks,
        ": \"a\" waits for 7 waits for \"a\"",
    );
}

#[test]
fn a21_ring_of_a_flight_and_a_batch_over_tasks_is_told_to_the_one_who_closes_it() {
    for (opened, ring) in [
        (["a", "batch"], ": \"a\" waits for 7 waits for \"a\""),
        (["batch", "a"], ": 7 waits for \"a\" waits for 7"),
    ] {
        let (world, loader) = ring_stopped();
        let mut tasks = Tasks::default();
        tasks.spawn(a(&world, &loader));
        tasks.spawn(load(&loader, 7));
        tasks.settle();
        for gate in opened {
            world.gates.open(gate);
            tasks.settle();
        }
        assert_told(&world, &loader, &mut tasks, ring);
    }
}

fn ring_stopped() -> (World, Batches) {
    let (world, loader) = ring();
    world.gates.shut("a");
    world.gates.shut("batch");
    (world, loader)
}

#[test]
fn a21_ring_by_way_of_a_key_that_had_to_wait_for_its_batch_is_told() {
    let (world, loader) = ring();
    world.gates.shut("other");
    world.gates.shut("batch");
    let mut tasks = Tasks::default();
    // The one slot is taken; 7 waits in the queue, for the flight and for another.
    tasks.spawn(load(&loader, 1));
    tasks.settle();
    tasks.spawn(a(&world, &loader));
    tasks.spawn(load(&loader, 7));
    tasks.settle();
    assert_eq!(loader.stats().queued, 1);
    world.gates.open("other");
    // Whoever starts the batch, the flight hears of it.
    tasks.poll(2);
    tasks.settle();
    world.gates.open("batch");
    tasks.settle();
    assert_told(
        &world,
        &loader,
        &mut tasks,
        ": \"a\" waits for 7 waits for \"a\"",
    );
}

#[test]
fn a21_batch_that_is_moved_on_by_a_work_that_does_not_wait_for_it_is_not_inside_of_it() {
    let group: Group<&str, u32, String> = Group::new();
    let back = group.clone();
    let loader: Loader<u32, u32, String> =
        Loader::builder()
            .max_batch(1)
            .max_in_flight(2)
            .build(move |keys: Vec<u32>| {
                let group = back.clone();
                async move {
                    match keys[0] {
                        // It waits for the flight that polls it, which does not wait for it.
                        1 => vec![(
                            1,
                            group
                                .run_with_key("a", || async { Ok(0) })
                                .await
                                .expect("no ring"),
                        )],
                        key => vec![(key, 5)],
                    }
                }
            });
    let mut tasks = Tasks::default();
    let first = Arc::new(loader.clone());
    let one = loader.load(1);
    tasks.spawn(async move {
        let work = || async move { Ok(first.load(2).await.unwrap().unwrap_or_default()) };
        group.run_with_key("a", work).await
    });
    tasks.settle();
    tasks.spawn(async move { one.await.map(Option::unwrap_or_default) });
    tasks.settle();
    assert_eq!((tasks.value(0), tasks.value(1)), (5, 5));
}
