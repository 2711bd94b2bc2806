//! A hundred tasks each want a price. The back end answers any number of keys in one round trip of 20 ms; it gets few questions.
//!
//! `cargo run -p oneflight --example batch`

use oneflight::batch::Loader;
use std::convert::Infallible;
use std::io::{self, Write};
use std::time::{Duration, Instant};

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let loader: Loader<u32, u32, Infallible> = Loader::builder()
        .max_batch(50)
        .max_in_flight(2)
        .build(prices);
    let began = Instant::now();
    let tasks: Vec<_> = (0..100_u32)
        .map(|task| {
            let loader = loader.clone();
            tokio::spawn(async move { loader.load(task % 40).await })
        })
        .collect();
    let mut known = 0;
    for task in tasks {
        let price = task
            .await
            .map_err(io::Error::other)?
            .map_err(io::Error::other)?;
        known += usize::from(price.is_some());
    }
    let stats = loader.stats();
    let mut out = io::stdout();
    writeln!(out, "{} of {} callers got a price", known, stats.asked)?;
    writeln!(
        out,
        "{} keys were sent in {} round trips, {} callers joined",
        stats.sent, stats.batches, stats.joined
    )?;
    writeln!(
        out,
        "it took about {} ms",
        began.elapsed().as_millis() / 10 * 10
    )
}

/// One round trip. There is no price for multiples of ten.
async fn prices(keys: Vec<u32>) -> Vec<(u32, u32)> {
    tokio::time::sleep(Duration::from_millis(20)).await;
    keys.into_iter()
        .filter(|key| key % 10 != 0)
        .map(|key| (key, key * 3))
        .collect()
}
