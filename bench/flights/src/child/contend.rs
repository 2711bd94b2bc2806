//! Two threads, 64 tasks, 64 keys of which a few are asked for far more often than most; the work yields once.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trial::{Figures, Size, Subject, Until, Work, check, keys};

const THREADS: usize = 2;
const TASKS: usize = 64;
const KEYS: usize = 64;
/// Calls after which a task turns to other keys, where it does.
const CALLS: usize = 8;
/// Where the keys begin again; a cache has put them out long before.
const ALL: usize = 1 << 20;

/// Which keys are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keys {
    /// The same all the time.
    Few,
    /// Others all the time, so that caches miss too.
    Fresh,
}

/// As many calls as fit into the time.
pub(super) fn run<S: Subject>(size: Size, which: Keys) -> Result<Figures, String> {
    let time = Duration::from_millis(size.pick(1_000, 20) as u64);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_time()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    let keys = keys(ALL);
    runtime.block_on(async move {
        let subject = S::leaked();
        let over = Arc::new(AtomicBool::new(false));
        let began = Instant::now();
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| tokio::spawn(ask(subject, keys, task, which, over.clone())))
            .collect();
        // Blocks this thread, which runs no task: calls that are always ready would keep tokio's timer waiting.
        std::thread::sleep(time);
        // ORDERING: it says when to stop, and nothing else.
        over.store(true, Ordering::Relaxed);
        let mut calls = 0;
        for task in tasks {
            calls += task.await.map_err(|error| error.to_string())??;
        }
        let seconds = began.elapsed().as_secs_f64();
        Ok(Figures::from([(
            "calls a second".to_owned(),
            calls as f64 / seconds,
        )]))
    })
}

async fn ask<S: Subject>(
    subject: &'static S,
    keys: &'static [u64],
    task: usize,
    which: Keys,
    over: Arc<AtomicBool>,
) -> Result<u64, String> {
    let picks = picks(task as u64);
    let mut calls = 0;
    // ORDERING: as in `run`.
    while !over.load(Ordering::Relaxed) {
        let pick = picks[calls % picks.len()];
        let at = match which {
            Keys::Few => pick,
            Keys::Fresh => (pick + KEYS * (calls / CALLS)) % ALL,
        };
        let key = &keys[at];
        let answer = subject.call(key, Work::new(*key, Until::Yielded)).await;
        check("the answer of a contended call", S::value(answer), *key)?;
        calls += 1;
    }
    Ok(calls as u64)
}

/// Which key a task asks for, by Zipf's law: the second half as often as the first, the third a third.
fn picks(seed: u64) -> Vec<usize> {
    let weights: Vec<f64> = (1..=KEYS).map(|rank| 1.0 / rank as f64).collect();
    let sum: f64 = weights.iter().sum();
    let mut random = SmallRng::seed_from_u64(seed);
    let mut pick = || {
        let mut left = random.random::<f64>() * sum;
        weights
            .iter()
            .position(|weight| {
                left -= weight;
                left < 0.0
            })
            .unwrap_or(0)
    };
    (0..4096).map(|_| pick()).collect()
}
