//! A price that lives for a second, a source that takes 200 ms and fails for a while. Ten callers ask every 100 ms; none waits but
//! the first ones, and none sees the source fail.
//!
//! `cargo run -p oneflight --features cache,tokio --example cache`

use oneflight::Tokio;
use oneflight::cache::Cache;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How often the source was asked.
type Asked = Arc<AtomicU32>;

fn main() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(run())
}

async fn run() -> io::Result<()> {
    let prices: Cache<String, u32, io::Error> = Cache::builder(1_000)
        .clock(Tokio)
        .spawner(Tokio)
        .ttl(Duration::from_secs(1))
        .refresh_ahead(0.5)
        .stale_if_error(Duration::from_secs(60))
        .error_backoff(Duration::from_millis(300), Duration::from_secs(5))
        .count_hits()
        .build();
    let asked = Asked::default();
    let mut sources = BTreeMap::new();
    for _ in 0..40 {
        for _ in 0..10 {
            let asked = asked.clone();
            let price = prices.get_or_load("tea", move || source(asked));
            let outcome = price.outcome().await.map_err(io::Error::other)?;
            let label = match outcome.source.error() {
                Some(_) => "stale on error".to_owned(),
                None => format!("{:?}", outcome.source).to_lowercase(),
            };
            *sources.entry(label).or_insert(0) += 1;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    prices.close();
    prices.idle().await;
    let mut out = io::stdout();
    for (label, calls) in sources {
        writeln!(out, "{calls:>4} calls got a price that was {label}")?;
    }
    let stats = prices.stats();
    writeln!(
        out,
        "the source was asked {} times, {} of them behind; {} failed",
        stats.loads, stats.refreshes, stats.failed
    )
}

/// Asks the source, which is down from its third call to its fifth.
async fn source(asked: Asked) -> io::Result<u32> {
    let turn = asked.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(200)).await;
    match turn {
        2..=4 => Err(io::Error::other("the source is down")),
        _ => Ok(350 + turn),
    }
}
