//! A client of an API whose access token expires again and again, while two hundred requests are in flight. The server rotates
//! refresh tokens, and ends the login of whoever sends one twice.
//!
//! ```text
//!   cargo run -p api_client            fifteen seconds
//!   cargo run -p api_client -- short   two
//!
//!   round: requests, all at once ──▶ way: by hand, or layers ──HTTP──▶ server: API and token endpoint, counted
//!                 └────────────────────── report: a table, and what must hold ───────────────────────┘
//! ```
//!
//! What it says of the layers it checks, and ends with code 1 if it does not hold.
#![forbid(unsafe_code)]

mod by_hand;
mod report;
mod round;
mod server;
mod way;

use std::process::ExitCode;

/// What may go wrong on the way.
type Fault = Box<dyn std::error::Error + Send + Sync>;

/// What is played.
#[derive(Clone, Copy, Debug)]
struct Scene {
    /// How often the token expires.
    rounds: u32,
    /// How many requests are in flight then.
    requests: u32,
    /// How many different things they ask for.
    orders: u32,
}

const LONG: Scene = Scene {
    rounds: 5,
    requests: 200,
    orders: 20,
};

const SHORT: Scene = Scene {
    rounds: 3,
    requests: 60,
    orders: 10,
};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scene = match &arguments[..] {
        [] => LONG,
        [word] if word == "short" => SHORT,
        _ => {
            eprintln!("usage: api_client [short]");
            return ExitCode::from(2);
        }
    };
    match play(&scene).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("api_client: {fault}");
            ExitCode::FAILURE
        }
    }
}

/// Plays every way, one after the other, each with a server of its own.
async fn play(scene: &Scene) -> Result<(), Fault> {
    println!("{}\n", report::heading(scene));
    let mut seen = Vec::new();
    for way in way::Way::ALL {
        seen.push((way, round::play(way, scene).await?));
    }
    println!("{}", report::table(&seen));
    let broken = report::broken(scene, &seen);
    if broken.is_empty() {
        println!("{}", report::HOLDS);
        return Ok(());
    }
    Err(broken.join("; ").into())
}
