//! Many threads at once.

use futures_util::future::{Either, select};
use oneflight::batch::Loader;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A loader whose batches yield a few times, count themselves, and answer with twice the key.
fn yielding(
    max_batch: usize,
    max_in_flight: usize,
    most: &Arc<AtomicUsize>,
) -> Loader<u64, u64, Infallible> {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::clone(most));
    let builder = Loader::builder()
        .max_batch(max_batch)
        .max_in_flight(max_in_flight);
    builder.build(move |keys: Vec<u64>| {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..keys.len() % 4 {
                tokio::task::yield_now().await;
            }
            running.fetch_sub(1, Ordering::SeqCst);
            keys.into_iter()
                .map(|key| (key, key * 2))
                .collect::<Vec<_>>()
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn everybody_is_answered_on_many_threads() {
    let most = Arc::new(AtomicUsize::new(0));
    let loader = yielding(16, 3, &most);
    let tasks = (0..64_u64).map(|task| {
        let loader = loader.clone();
        tokio::spawn(async move {
            for round in 0..50 {
                let keys: Vec<_> = (0..20)
                    .map(|turn| (task * 7 + round * turn) % 500)
                    .collect();
                let answers = loader.load_many(keys.clone()).await;
                for (key, answer) in keys.into_iter().zip(answers) {
                    assert_eq!(answer.unwrap(), Some(key * 2));
                }
                assert_eq!(loader.load(round).await.unwrap(), Some(round * 2));
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert!(
        most.load(Ordering::SeqCst) <= 3,
        "more batches ran than there are slots"
    );
    let stats = loader.stats();
    assert_eq!(
        (stats.asked, stats.running, stats.queued, stats.waiting),
        (64 * 50 * 21, 0, 0, 0)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a03_callers_that_leave_at_any_moment_lose_nothing_for_the_others() {
    let most = Arc::new(AtomicUsize::new(0));
    let loader = yielding(5, 2, &most);
    let tasks = (0..64_u64).map(|task| {
        let loader = loader.clone();
        tokio::spawn(async move {
            for round in 0..50 {
                let key = (task + round) % 40;
                let load = pin!(loader.load_many([key, key + 1]));
                // Every other caller leaves after a few turns, wherever it stands then.
                let patience = pin!(async {
                    for _ in 0..(task + round) % 5 {
                        tokio::task::yield_now().await;
                    }
                    if task % 2 == 0 {
                        std::future::pending::<()>().await;
                    }
                });
                if let Either::Left((answers, _)) = select(load, patience).await {
                    let values: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
                    assert_eq!(values, [Some(key * 2), Some(key * 2 + 2)]);
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert!(
        loader.stats().running == 0 && loader.stats().queued == 0 && loader.stats().waiting == 0
    );
}
