//! The floor: a key put into a table and taken out of it, and one allocation. Less than that no flight can cost.

use reporting::median;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use trial::{Figures, Size};

/// With the hasher of std.
pub(crate) const SIP: &str = "floor, SipHash";
/// With the hasher that oneflight uses too.
pub(crate) const FOLD: &str = "floor, foldhash";

/// Runs the test if it is one of a floor's.
pub(crate) fn run(test: &str, subject: &str, size: Size) -> Option<Figures> {
    match (test, subject) {
        ("lone", SIP) => Some(lone::<RandomState>(size)),
        ("lone", FOLD) => Some(lone::<foldhash::fast::RandomState>(size)),
        _ => None,
    }
}

fn lone<H: BuildHasher + Default>(size: Size) -> Figures {
    let (rounds, each) = match size {
        Size::Full => (40, 10_000),
        Size::Smoke => (2, 500),
        Size::Exactly(count) => (1, count),
    };
    let table: Mutex<HashMap<u64, Arc<[u8; 48]>, H>> = Mutex::default();
    let mut times = Vec::new();
    for round in 0..rounds {
        let began = Instant::now();
        calls(&table, (round * each) as u64, each as u64);
        times.push(began.elapsed().as_secs_f64() * 1e9 / each as f64);
    }
    let counts = match size {
        Size::Exactly(_) => counting::Counts::default(),
        Size::Full | Size::Smoke => counting::count(|| calls(&table, 0, each as u64)).0,
    };
    let per = |count: i64| count as f64 / each as f64;
    Figures::from([
        ("ns".to_owned(), median(&times)),
        ("allocations".to_owned(), per(counts.made)),
        ("bytes".to_owned(), per(counts.bytes)),
    ])
}

fn calls<H: BuildHasher>(table: &Mutex<HashMap<u64, Arc<[u8; 48]>, H>>, from: u64, count: u64) {
    let locked = || table.lock().unwrap_or_else(PoisonError::into_inner);
    for key in from..from + count {
        // 64 bytes with the counts of the `Arc`.
        let flight = std::hint::black_box(Arc::new([0; 48]));
        locked().insert(key, flight);
        drop(std::hint::black_box(locked().remove(&key)));
    }
}
