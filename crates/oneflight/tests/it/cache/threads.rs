//! Real threads that load, write and invalidate at once: nobody reads what is older than a write that was over before it asked.
//!
//! `ONEFLIGHT_ROUNDS` is how many rounds each thread makes (2,000).

use crate::model::Random;
use crate::threads::block_on;
use oneflight::cache::Cache;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const THREADS: u64 = 4;
const KEYS: usize = 2;

type Rows = Cache<usize, u64, String>;

/// The source: a version for each key, which only grows.
type Source = Arc<[AtomicU64; KEYS]>;

fn read(rows: &Rows, source: &Source, key: usize) -> u64 {
    let source = source.clone();
    let call = rows.get_or_load(&key, move || {
        let seen = source[key].load(Ordering::SeqCst);
        let mut yields = 1;
        std::future::poll_fn(move |context| {
            if yields > 0 {
                yields -= 1;
                context.waker().wake_by_ref();
                return std::task::Poll::Pending;
            }
            std::task::Poll::Ready(Ok(seen))
        })
    });
    block_on(call).expect("works do not fail")
}

fn play(rows: &Rows, source: &Source, seed: u64, rounds: u64) {
    let mut random = Random::new(seed);
    let mut last = [0; KEYS];
    for _ in 0..rounds {
        let key = random.below(KEYS);
        // What was written before this call is the least that it may get.
        let mut least = 0;
        match random.below(8) {
            0 => {
                least = source[key].fetch_add(1, Ordering::SeqCst) + 1;
                rows.invalidate(&key);
            }
            1 => {
                least = source[key].fetch_add(1, Ordering::SeqCst) + 1;
                rows.invalidate_all();
            }
            2 => {
                least = source[key].fetch_add(1, Ordering::SeqCst) + 1;
                let mark = rows.mark();
                let source = source.clone();
                let call = rows.get_or_load(&key, move || {
                    let seen = source[key].load(Ordering::SeqCst);
                    async move { Ok(seen) }
                });
                let got = block_on(call.fresh_since(mark)).expect("works do not fail");
                assert!(got >= least, "{got} is older than the mark, {least}");
                rows.invalidate(&key);
            }
            _ => {}
        }
        let got = read(rows, source, key);
        assert!(got >= least, "{got} was read before {least} was written");
        assert!(got >= last[key], "{got} after {}", last[key]);
        last[key] = got;
    }
}

#[test]
fn a14_many_threads_read_nothing_older_than_what_they_wrote() {
    let rounds = std::env::var("ONEFLIGHT_ROUNDS");
    let rounds = rounds.map_or(2_000, |set| set.parse().expect("a number"));
    let rows: Rows = Cache::builder(100).shards(1).build();
    let source: Source = Arc::default();
    let threads: Vec<_> = (0..THREADS)
        .map(|seed| {
            let (rows, source) = (rows.clone(), source.clone());
            thread::spawn(move || play(&rows, &source, seed, rounds))
        })
        .collect();
    for thread in threads {
        thread.join().expect("no thread fails");
    }
    let stats = rows.stats();
    assert_eq!(stats.loading, 0);
    assert_eq!(stats.loads, stats.landed);
}

#[test]
fn a19_many_threads_on_a_cold_key_load_it_once() {
    for round in 0..500 {
        let rows: Rows = Cache::builder(100).shards(1).build();
        let source: Source = Arc::default();
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let (rows, source) = (rows.clone(), source.clone());
                thread::spawn(move || read(&rows, &source, 0))
            })
            .collect();
        for thread in threads {
            thread.join().expect("no thread fails");
        }
        assert_eq!(rows.stats().loads, 1, "round {round}");
    }
}
