//! What an observer is told: every event as it happens, then the sums and the times.
//!
//! Run it with `cargo run --features tokio --example observe`.

use futures_util::future::join_all;
use oneflight::{Event, Group, Observer, Tokio};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;

/// Sums, as a metrics library would keep them.
#[derive(Debug, Default)]
struct Sums(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    events: BTreeMap<&'static str, u32>,
    worked: Duration,
    waited: Duration,
}

impl Observer<String> for Sums {
    fn observe(&self, key: &String, event: &Event<'_>) {
        let Ok(mut kept) = self.0.lock() else { return };
        let name = match *event {
            Event::Started => "started",
            Event::Joined => "joined",
            Event::Landed { took, .. } | Event::Failed { took, .. } => {
                kept.worked += took.unwrap_or_default();
                "ended"
            }
            Event::Panicked { message, .. } => {
                println!("{key}: panicked: {message}");
                "panicked"
            }
            Event::Overdue { .. } => "overdue",
            Event::Abandoned { .. } => "abandoned",
            Event::TimedOut { .. } => "timed out",
            Event::Waited { time, .. } => {
                kept.waited += time.unwrap_or_default();
                "answered"
            }
            // There may be more of them one day.
            _ => "other",
        };
        if name != "answered" {
            println!("{key}: {event:?}");
        }
        *kept.events.entry(name).or_default() += 1;
    }
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let sums = Arc::new(Sums::default());
    let prices: Group<String, u32> = Group::builder()
        .clock(Tokio)
        .max_flight(Duration::from_secs(1))
        .observer(sums.clone())
        .build();

    // Ten callers ask for two prices, one after the other.
    let ask = |at: u64| {
        let key = if at.is_multiple_of(2) {
            "tea"
        } else {
            "coffee"
        };
        let prices = &prices;
        async move {
            sleep(Duration::from_millis(at)).await;
            prices.run(key, || price(20)).await
        }
    };
    join_all((0..10).map(ask)).await;

    // One gives up, and nobody else waits: the flight is abandoned.
    let hurried = prices.run("cocoa", || price(500));
    let _ = hurried.within(Duration::from_millis(100)).await;

    // One hangs, and is ended by the group's limit.
    let _ = prices.run("mate", std::future::pending).await;

    let kept = sums.0.lock().expect("nobody panics while it is held");
    println!("{:#?}", kept.events);
    println!(
        "time worked: {:?}, time waited: {:?}",
        kept.worked, kept.waited
    );
    let stats = prices.stats();
    println!(
        "stats() says: {} started, {} joined",
        stats.started, stats.joined
    );
}

async fn price(millis: u64) -> Result<u32, std::convert::Infallible> {
    sleep(Duration::from_millis(millis)).await;
    Ok(350)
}
