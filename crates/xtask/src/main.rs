//! The chores of the workspace: `cargo xtask` lists them.
//!
//! ```text
//!   tidy ──▶ tree (every text file) ──▶ lexer (Rust: code, comments, tests) ──▶ rules, behaviours ──▶ findings
//!   examples ──▶ cargo metadata ──▶ each one run
//!   api ──▶ rustdoc's JSON ──▶ compared with crates/*/api.txt
//!   loom, sanitize, miri ──▶ the tests of the core, built for a checker ──▶ counted, compared with what is expected
//! ```
//!
//! X1. A chore says what it looked at, in numbers, and fails when that was nothing.
#![forbid(unsafe_code)]

mod api;
mod behaviours;
mod examples;
mod lexer;
mod loom;
mod rules;
mod sanitize;
mod tidy;
mod tools;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask CHORE
  tidy       hold the house rules that no compiler and no lint knows
  examples   run every example of every crate
  api [--bless]
             compare the public interfaces with crates/*/api.txt, or write those
  loom       run every model of the core, and count the interleavings
  sanitize [address] [thread] [valgrind]
             run the tests of the core under these, or under all of them
  miri       run the tests of the core in Miri";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let chore = arguments.next();
    let rest: Vec<_> = arguments.collect();
    let done = match chore.as_deref() {
        Some("tidy") => tidy::run(&root()),
        Some("examples") => examples::run(&root()),
        Some("api") => api::run(&root(), &rest),
        Some("loom") => loom::run(&root()),
        Some("sanitize") => sanitize::run(&root(), &rest),
        Some("miri") => sanitize::miri(&root()),
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
