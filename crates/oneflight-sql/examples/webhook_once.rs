//! A webhook that is delivered many times, and handled once: whoever creates the row of the event handles it.
//!
//!   cargo run -p oneflight-sql --example webhook_once

use oneflight_sql::{Draft, Effect, Error, Kind, Options, Resolver, Table, ddl, driver};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What arrives at `POST /webhook`.
#[derive(Clone, Copy)]
struct Delivery {
    event: &'static str,
    payload: &'static str,
}

const DELIVERIES: [Delivery; 3] = [
    Delivery {
        event: "evt_001",
        payload: "invoice 17 is paid",
    },
    Delivery {
        event: "evt_002",
        payload: "invoice 18 is paid",
    },
    Delivery {
        event: "evt_003",
        payload: "invoice 17 is refunded",
    },
];

async fn receive(events: &Resolver, handled: &AtomicU32, delivery: Delivery) -> Result<(), Error> {
    let row = events
        .resolve(
            Draft::new()
                .key(delivery.event)
                .set("payload", delivery.payload),
        )
        .await?;
    if row.effect == Effect::Created {
        // Exactly one of those who wait comes here, in this process and in all others. If it dies here, the event is known and
        // not handled: where that matters, keep a column `done`, and look for rows without it at the start.
        println!("{}: {}", delivery.event, delivery.payload);
        handled.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = driver::connect("sqlite::memory:", driver::Options::default()).await?;
    let events = Table::builder("webhook_event")
        .key("event_id", Kind::Text) // exact: an id is not a spelling
        .max_chars(100)
        .attribute("payload", Kind::Text)
        .build()?;
    ddl::prepare(&db, &[events.table().clone()]).await?;
    let events = Resolver::new(db, events, Options::new()).await?;

    let handled = Arc::new(AtomicU32::new(0));
    let deliveries = (0..300).map(|n| {
        let (events, handled) = (events.clone(), Arc::clone(&handled));
        tokio::spawn(async move { receive(&events, &handled, DELIVERIES[n % 3]).await })
    });
    for delivery in deliveries.collect::<Vec<_>>() {
        delivery.await??;
    }
    println!(
        "300 deliveries of 3 events: {} handled",
        handled.load(Ordering::Relaxed)
    );
    Ok(())
}
