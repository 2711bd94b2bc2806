//! Callers come and go, the flight goes on; when the last one goes, its work is dropped.
//!
//! Run it with `cargo run --example cancel --features tokio`.

use oneflight::{Group, Tokio};
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::sleep;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let reports: Group<u32, &str> = Group::builder()
        .clock(Tokio)
        .max_flight(Duration::from_secs(5))
        .build();

    // The leader gives up after 20 ms. Its flight does not.
    let hurried = reports.run(&2026, report).within(Duration::from_millis(20));
    let patient = reports.run(&2026, report);
    let (hurried, patient) = tokio::join!(hurried, patient);
    println!("hurried: {}", hurried.expect_err("the report takes longer"));
    println!("patient: {}", patient.expect("the report is written"));

    // Nobody is left: the work is dropped where it stands.
    let alone = reports.run(&2027, report).within(Duration::from_millis(20));
    println!(
        "alone: {}",
        alone.await.expect_err("the report takes longer")
    );
    let stats = reports.stats();
    println!(
        "{} begun, {} landed, {} abandoned",
        stats.started, stats.landed, stats.abandoned
    );
}

/// Tells whether it came to its end.
struct Draft(bool);

impl Drop for Draft {
    fn drop(&mut self) {
        println!(
            "{}",
            if self.0 {
                "  (report written)"
            } else {
                "  (draft thrown away)"
            }
        );
    }
}

async fn report() -> Result<&'static str, Infallible> {
    println!("  (report begun)");
    let mut draft = Draft(false);
    sleep(Duration::from_millis(100)).await;
    draft.0 = true;
    Ok("a good year")
}
