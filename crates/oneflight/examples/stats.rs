//! What a group tells its operator: the numbers, and what became of each call.
//!
//! Run it with `cargo run --example stats`.

use futures_util::future::join_all;
use oneflight::Group;
use std::fmt;
use std::time::Duration;
use tokio::time::sleep;

/// Why there is no profile.
#[derive(Debug)]
struct NoProfile(u32);

impl fmt::Display for NoProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no profile {}", self.0)
    }
}

impl std::error::Error for NoProfile {}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let profiles: Group<u32, String, NoProfile> = Group::new();
    for round in 1..=3 {
        // A hundred requests for four profiles, one of which does not exist.
        let calls =
            (0..100).map(|request| profiles.run_with_key(request % 4, move || load(request % 4)));
        let answers = join_all(calls).await;
        let failed = answers
            .iter()
            .filter_map(|answer| answer.as_ref().err())
            .next();
        println!(
            "round {round}: {} answers, one error shared by all who asked for it: {}",
            answers.len(),
            describe(failed)
        );
    }
    let stats = profiles.stats();
    println!("{stats:#?}");
    println!("in flight: {}", profiles.in_flight());
    println!(
        "calls saved: {} of {}",
        stats.joined,
        stats.started + stats.joined
    );
}

fn describe(error: Option<&oneflight::Error<NoProfile>>) -> String {
    error.map_or_else(|| "none".to_owned(), ToString::to_string)
}

async fn load(id: u32) -> Result<String, NoProfile> {
    sleep(Duration::from_millis(10)).await;
    if id == 3 {
        Err(NoProfile(id))
    } else {
        Ok(format!("profile {id}"))
    }
}
