//! Work that borrows from its request, in a future that is neither `'static` nor `Send`; a leader that leaves passes the key on.
//!
//! Run it with `cargo run --example scoped`.

use oneflight::{Error, Outcome, Scoped};
use std::cell::Cell;
use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;
use tokio::time::sleep;

/// What a request brings along. It lies in the frame of the request and is dropped with it.
struct Request {
    user: String,
    /// Not `Sync`, so that a reference to it is not `Send`.
    rows: Cell<u32>,
}

impl Request {
    fn of(user: &str) -> Self {
        Self {
            user: user.to_owned(),
            rows: Cell::new(0),
        }
    }

    /// The report that all users share. It borrows the request for as long as it runs.
    async fn report(&self) -> Result<String, Infallible> {
        println!("  ({} reads rows)", self.user);
        for _ in 0..3 {
            sleep(Duration::from_millis(10)).await;
            self.rows.set(self.rows.get() + 1);
        }
        Ok(format!("{} rows, read by {}", self.rows.get(), self.user))
    }
}

type Reports = Scoped<String, String>;

/// Asks for the report of the day with the request's own work.
fn ask<'a>(
    reports: &'a Reports,
    request: &'a Request,
) -> impl Future<Output = Result<Outcome<String>, Error<Infallible>>> + 'a {
    reports.run("today", || request.report()).outcome()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let reports = Reports::new();
    println!("three requests at once, one run:");
    let (ann, bob, cem) = (Request::of("ann"), Request::of("bob"), Request::of("cem"));
    let (a, b, c) = tokio::join!(
        ask(&reports, &ann),
        ask(&reports, &bob),
        ask(&reports, &cem),
    );
    for (request, outcome) in [(&ann, a), (&bob, b), (&cem, c)] {
        let outcome = outcome.expect("never fails");
        let part = if outcome.led { "led" } else { "joined" };
        println!("{} {part}: {}", request.user, outcome.value);
    }

    println!("the leader leaves half-way, another begins anew:");
    let (dan, eve) = (Request::of("dan"), Request::of("eve"));
    let leader = async {
        tokio::select! {
            _ = ask(&reports, &dan) => unreachable!("it takes 30 ms"),
            () = sleep(Duration::from_millis(15)) => println!("dan leaves after {} row(s)", dan.rows.get()),
        }
    };
    let ((), outcome) = tokio::join!(leader, ask(&reports, &eve));
    let outcome = outcome.expect("never fails");
    println!("eve led: {}, {}", outcome.led, outcome.value);

    let stats = reports.stats();
    println!(
        "{} begun, {} joined, {} abandoned, {} landed, {} in flight",
        stats.started,
        stats.joined,
        stats.abandoned,
        stats.landed,
        reports.in_flight()
    );
}
