//! Batches that load from the loader that runs them.

use super::script::{Broken, Caller};
use oneflight::batch::Loader;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, OnceLock};

/// A loader whose batches load from it: `n` loads each of `next(n)`, and adds one.
fn nested(next: fn(u32) -> Vec<u32>, max_in_flight: usize) -> Loader<u32, u32, Broken> {
    let own = Arc::new(OnceLock::<Loader<u32, u32, Broken>>::new());
    let inner = Arc::clone(&own);
    let builder = Loader::builder().max_batch(1).max_in_flight(max_in_flight);
    let loader = builder.build(move |keys: Vec<u32>| {
        let loader = inner.get().expect("set").clone();
        async move {
            let mut answers = Vec::new();
            for key in keys {
                let below = loader.load_many(next(key)).await;
                let sum = below.into_iter().try_fold(1, |sum, answer| match answer {
                    Ok(value) => Ok(sum + value.unwrap_or(0)),
                    Err(error) if error.is_reentrant() => Err(Broken("reentrant")),
                    Err(error) => Err(Broken(error.work().map_or("other", |broken| broken.0))),
                });
                answers.push((key, sum));
            }
            answers
        }
    });
    let _ = own.set(loader.clone());
    loader
}

#[test]
fn a_batch_that_loads_other_keys_needs_no_slot_for_them() {
    let loader = nested(|key| (0..key).collect(), 1);
    assert_eq!(Caller::new(loader.load(5)).ends().unwrap(), Some(32));
    assert_eq!(loader.stats().running, 0);
}

#[test]
fn a21_a_batch_that_loads_its_own_key_is_told_so() {
    let loader = nested(|key| vec![key], 1);
    let error = Caller::new(loader.load(1)).ends().unwrap_err();
    assert_eq!(**error.work().unwrap(), Broken("reentrant"));
}

#[test]
fn a21_batches_that_wait_for_each_other_are_told_so() {
    // 1 waits for 2, 2 for 3, 3 for 1.
    let loader = nested(|key| vec![key % 3 + 1], 1);
    let error = Caller::new(loader.load(1)).ends().unwrap_err();
    assert_eq!(**error.work().unwrap(), Broken("reentrant"));
    assert_eq!((loader.stats().running, loader.stats().waiting), (0, 0));
}

#[test]
fn what_a_batch_waits_for_is_dropped_with_it() {
    let polled = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::new(OnceLock::<Loader<u32, u32, Infallible>>::new());
    let (inner, log) = (Arc::clone(&own), Arc::clone(&polled));
    let loader = Loader::builder().build(move |keys: Vec<u32>| {
        let loader = inner.get().expect("set").clone();
        log.lock().unwrap().push(keys[0]);
        async move {
            match keys[0] {
                1 => drop(loader.load(2).await),
                _ => std::future::pending().await,
            }
            Vec::<(u32, u32)>::new()
        }
    });
    let _ = own.set(loader.clone());
    let mut a = Caller::new(loader.load(1));
    a.waits();
    assert_eq!((loader.stats().running, loader.stats().waiting), (2, 2));
    drop(a);
    assert_eq!((loader.stats().running, loader.stats().waiting), (0, 0));
    assert_eq!(*polled.lock().unwrap(), [1, 2]);
}

#[test]
fn a_batch_may_load_one_key_after_the_other() {
    let own = Arc::new(OnceLock::<Loader<u32, u32, Infallible>>::new());
    let inner = Arc::clone(&own);
    let loader = Loader::builder().build(move |keys: Vec<u32>| {
        let loader = inner.get().expect("set").clone();
        async move {
            let mut sum = 1;
            for below in 0..keys[0] {
                sum += loader.load(below).await.unwrap().unwrap_or(0);
            }
            vec![(keys[0], sum)]
        }
    });
    let _ = own.set(loader.clone());
    assert_eq!(Caller::new(loader.load(6)).ends().unwrap(), Some(64));
}

#[test]
fn a_key_that_waits_for_a_slot_needs_none_once_a_batch_waits_for_it() {
    let own = Arc::new(OnceLock::<Loader<u32, u32, Infallible>>::new());
    let inner = Arc::clone(&own);
    let loader = Loader::builder().max_batch(1).build(move |keys: Vec<u32>| {
        let loader = inner.get().expect("set").clone();
        async move {
            match keys[0] {
                0 => vec![(0, 5)],
                key => vec![(key, loader.load(0).await.unwrap().unwrap_or(0) + 1)],
            }
        }
    });
    let _ = own.set(loader.clone());
    // The one slot is for 1, which waits for 0, which stands in the queue behind 2.
    let mut all = Caller::new(loader.load_many([1, 2, 0]));
    let answers: Vec<_> = loop {
        if let std::task::Poll::Ready(answers) = all.poll() {
            break answers.into_iter().map(Result::unwrap).collect();
        }
        assert!(all.is_woken(), "it waits for itself");
    };
    assert_eq!(answers, [Some(6), Some(6), Some(5)]);
}
