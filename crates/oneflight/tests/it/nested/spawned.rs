//! Tasks that a work spawns, with a trail and without.

use super::Trail;
use oneflight::{Error, Group, Tokio};
use std::time::Duration;
use tokio::time::Instant;

type Works = Group<&'static str, u32, String>;

/// The longest that a flight may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Spawns a future, on the trail of the work or not.
async fn spawned<F>(trail: Option<Trail>, future: F) -> F::Output
where
    F: Future<Output: Send> + Send + 'static,
{
    let task = match trail {
        Some(trail) => tokio::spawn(trail.follow(future)),
        None => tokio::spawn(future),
    };
    task.await.expect("the task does not panic")
}

/// "a" spawns a task that calls for "b", which calls for "a". The error of "a", or what its task got, and how long it took.
async fn ring(with_trail: bool) -> (Result<String, Error<String>>, Duration) {
    let start = Instant::now();
    let group: Works = Group::builder().clock(Tokio).max_flight(LIMIT).build();
    let texts: Group<&str, String, String> =
        Group::builder().clock(Tokio).max_flight(LIMIT).build();
    let (outer, inner) = (texts.clone(), texts.clone());
    let answer = outer.run_with_key("a", move || async move {
        let trail = with_trail.then(Trail::current);
        let b = async move {
            let work = async move {
                let error = inner
                    .run_with_key("a", || async { Ok(String::new()) })
                    .await;
                error.map_or_else(|error| Err(error.to_string()), |_| Ok(1))
            };
            group.run_with_key("b", || work).await
        };
        let error = spawned(trail, b).await.unwrap_err();
        Ok(error.to_string())
    });
    (answer.await, start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a21_ring_by_way_of_a_spawned_task_is_told_if_the_task_follows_the_trail() {
    let (answer, took) = ring(true).await;
    let expected = "the work for a key waits for itself: \"a\" waits for \"b\" waits for \"a\"";
    assert_eq!((answer.unwrap().as_str(), took), (expected, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a21_ring_by_way_of_a_spawned_task_without_a_trail_ends_when_the_flight_is_overdue() {
    let (answer, took) = ring(false).await;
    assert!(answer.unwrap_err().is_overdue());
    assert!(took >= LIMIT && took < 2 * LIMIT, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a21_own_key_in_a_spawned_task_is_told_if_the_task_follows_the_trail() {
    for with_trail in [true, false] {
        let group: Works = Group::builder().clock(Tokio).max_flight(LIMIT).build();
        let inner = group.clone();
        let call = group.run_with_key("a", move || async move {
            let trail = with_trail.then(Trail::current);
            let call = async move { inner.run_with_key("a", || async { Ok(1) }).await };
            Ok(u32::from(
                spawned(trail, call).await.unwrap_err().is_reentrant(),
            ))
        });
        let answer = call.await;
        assert_eq!(answer.is_ok_and(|told| told == 1), with_trail);
    }
}

#[tokio::test(start_paused = true)]
async fn a21_trail_of_a_flight_that_has_ended_leads_nowhere() {
    let group: Works = Group::new();
    let (inner, (give, given)) = (group.clone(), tokio::sync::oneshot::channel());
    let call = group.run_with_key("a", || async move {
        drop(give.send(Trail::current()));
        Ok(1)
    });
    assert_eq!(call.await.unwrap(), 1);
    let trail = given.await.unwrap();
    // Another flight of the key, likely in the same place.
    let next = group.run_with_key("a", || async {
        tokio::task::yield_now().await;
        Ok(2)
    });
    let waits = trail.follow(async move { inner.run_with_key("a", || async { Ok(3) }).await });
    let (next, waits) = tokio::join!(next, waits);
    assert_eq!((next.unwrap(), waits.unwrap()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a21_trail_goes_on_in_a_task_of_a_task() {
    let group: Works = Group::new();
    let inner = group.clone();
    let call = group.run_with_key("a", || async move {
        let call = async move { inner.run_with_key("a", || async { Ok(1) }).await };
        let nested = async move { spawned(Some(Trail::current()), call).await };
        Ok(u32::from(
            spawned(Some(Trail::current()), nested)
                .await
                .unwrap_err()
                .is_reentrant(),
        ))
    });
    assert_eq!(call.await.unwrap(), 1);
}
