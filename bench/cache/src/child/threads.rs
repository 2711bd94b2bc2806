//! Two threads that hit the same keys, each in the call that would load them.

use super::hit::{By, asked, count, filled, hits};
use crate::subject::Cached;
use std::thread;
use std::time::Instant;
use trial::{Figures, Size, alone, keys};

const THREADS: usize = 2;

/// As many hits of each thread; how many a second they were together.
pub(super) fn run<S: Cached>(size: Size) -> Result<Figures, String> {
    let each = size.pick(2_000_000, 2_000);
    let keys = keys(count(size));
    let subject: &'static S = alone(filled::<S>(keys, false))??;
    let orders: Vec<_> = (0..THREADS as u64)
        .map(|seed| asked(keys, each, seed))
        .collect();
    let began = Instant::now();
    let done: Result<Vec<()>, String> = thread::scope(|scope| {
        let threads: Vec<_> = orders
            .iter()
            .map(|asked| scope.spawn(|| alone(hits(subject, asked, By::Load))?))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<(), String>>| {
            thread
                .join()
                .unwrap_or_else(|_| Err("a thread panicked".to_owned()))
        };
        threads.into_iter().map(join).collect()
    });
    done?;
    let rate = (THREADS * each) as f64 / began.elapsed().as_secs_f64();
    Ok(Figures::from([("calls a second".to_owned(), rate)]))
}
