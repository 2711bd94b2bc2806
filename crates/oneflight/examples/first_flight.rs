//! Five tasks ask for the same price at the same moment: one query.
//!
//! Run it with `cargo run --example first_flight`.

use oneflight::Group;
use std::io;
use std::time::Duration;
use tokio::time::sleep;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let prices: Group<String, u32, io::Error> = Group::new();
    let tasks: Vec<_> = (1..=5)
        .map(|task| {
            let prices = prices.clone();
            tokio::spawn(async move {
                let price = prices
                    .run("tea", query)
                    .outcome()
                    .await
                    .expect("the shop is open");
                let part = if price.led { "led" } else { "joined" };
                println!(
                    "task {task} {part} a flight of {}: {}",
                    price.shared, price.value
                );
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no task panics");
    }
    let stats = prices.stats();
    println!("{} query, {} calls joined it", stats.started, stats.joined);
}

/// Stands for a slow query.
async fn query() -> io::Result<u32> {
    println!("asking the shop …");
    sleep(Duration::from_millis(50)).await;
    Ok(350)
}
