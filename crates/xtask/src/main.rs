//! The chores of the workspace: `cargo xtask` lists them.
//!
//! ```text
//!   tidy ──▶ tree (every text file) ──▶ lexer (Rust: code, comments, tests) ──▶ rules, behaviours ──▶ findings
//!   examples ──▶ cargo metadata ──▶ each one run
//! ```
//!
//! X1. A chore says what it looked at, in numbers, and fails when that was nothing.
#![forbid(unsafe_code)]

mod behaviours;
mod examples;
mod lexer;
mod rules;
mod tidy;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask CHORE
  tidy       hold the house rules that no compiler and no lint knows
  examples   run every example of every crate";

fn main() -> ExitCode {
    let chore = std::env::args().nth(1);
    let done = match chore.as_deref() {
        Some("tidy") => tidy::run(&root()),
        Some("examples") => examples::run(&root()),
        Some("help" | "--help" | "-h") | None => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Some(other) => Err(format!("no chore is called `{other}`\n{USAGE}")),
    };
    match done {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the workspace.
fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.join("../..")
}
