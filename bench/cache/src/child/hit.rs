//! A key that is kept: asked for alone, and in the call that would load it.

use crate::subject::Cached;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use reporting::median;
use std::time::Instant;
use trial::{Figures, Size, Until, Work, alone, check, keys, let_tasks_run, ns};

/// Keys that are kept; there is room for twice as many, so that none has to go.
const KEYS: usize = 10_000;
/// Instructions of a hit are the same with fewer, and sooner counted.
const FEWER: usize = 1_000;

/// How it is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    /// What is kept, and nothing else.
    Get,
    /// What is kept, or else loaded.
    Load,
}

/// Hits, one after the other, of keys at random.
pub(super) fn run<S: Cached>(size: Size, by: By, timed: bool) -> Result<Figures, String> {
    let (rounds, each) = match size {
        Size::Full => (40, 20_000),
        Size::Smoke => (2, 500),
        Size::Exactly(count) => (1, count),
    };
    let keys = keys(count(size));
    let asked = asked(keys, each, 1);
    alone(async move {
        let subject = filled::<S>(keys, timed).await?;
        let mut times = Vec::new();
        for _ in 0..rounds {
            let began = Instant::now();
            hits(subject, &asked, by).await?;
            times.push(ns(began) / each as f64);
        }
        let mut made = 0;
        if !matches!(size, Size::Exactly(_)) {
            counting::start();
            let before = counting::read();
            hits(subject, &asked, by).await?;
            made = counting::read().made - before.made;
        }
        Ok(Figures::from([
            ("ns".to_owned(), median(&times)),
            ("allocations".to_owned(), made as f64 / each as f64),
        ]))
    })?
}

/// How many keys are kept.
pub(super) fn count(size: Size) -> usize {
    match size {
        Size::Full | Size::Smoke => KEYS,
        Size::Exactly(_) => FEWER,
    }
}

/// A cache that keeps all keys, each as its own value.
pub(super) async fn filled<S: Cached>(
    keys: &'static [u64],
    timed: bool,
) -> Result<&'static S, String> {
    let subject: &'static S = Box::leak(Box::new(S::sized(2 * keys.len(), timed)));
    for key in keys {
        let value = S::value(subject.call(key, Work::new(*key, Until::Now)).await);
        check("what was loaded", value, *key)?;
    }
    let_tasks_run().await;
    Ok(subject)
}

/// So many of the keys at random, as they will be asked for.
pub(super) fn asked(keys: &'static [u64], count: usize, seed: u64) -> Vec<&'static u64> {
    let mut random = SmallRng::seed_from_u64(seed);
    (0..count)
        .map(|_| &keys[random.random_range(0..keys.len())])
        .collect()
}

/// Asks for all of them; what is loaded anew would be a wrong answer.
pub(super) async fn hits<S: Cached>(
    subject: &'static S,
    asked: &[&'static u64],
    by: By,
) -> Result<(), String> {
    for &key in asked {
        let value = match by {
            By::Get => subject.get(key).await.unwrap_or(u64::MAX),
            By::Load => {
                let work = Work::new(u64::MAX, Until::Now);
                S::value(subject.call(key, work).await)
            }
        };
        check("a hit", value, *key)?;
    }
    Ok(())
}
