//! A data race, for ThreadSanitizer to find: a checker that finds nothing here finds nothing anywhere.

use std::cell::UnsafeCell;
use std::sync::Arc;

struct Shared(UnsafeCell<u64>);

// SAFETY: none. That is what the program is for.
unsafe impl Sync for Shared {}

fn main() {
    let shared = Arc::new(Shared(UnsafeCell::new(0)));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                for _ in 0..10_000 {
                    // SAFETY: none, as above.
                    unsafe { *shared.0.get() += 1 };
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
