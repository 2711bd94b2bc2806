//! What a merge costs: this program beside the ways that people do the job today, in one run, as ratios.
//!
//!   ./test shell cargo run --release --manifest-path bench/Cargo.toml -p bench-merge [-- --write]
//!
//!   main ── run ─┬─ load    the league, by the program and by hand, into each database ─▶ audit: contents, shape
//!                ├─ memory  five times the rows over the same keys                     │
//!                ├─ tools   sqlite-utils, dlt                                          └─▶ report: bars, tables, chart
//!                └─ wire    references and rows at a round trip of 40 ms
//!
//! M1. A ratio is of two figures of one run; those of different days are not compared.
//! M2. A figure counts only if an audit has found in the database what must be there.
//! M3. `--smoke` runs everything in little, audits and all, and reports no time.
#![forbid(unsafe_code)]

mod audit;
mod child;
mod league;
mod load;
mod memory;
mod options;
mod place;
mod program;
mod reading;
mod report;
mod run;
mod server;
mod tools;
mod wire;

use options::Options;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match &arguments[..] {
        ["reading", rest @ ..] => reading::main(rest).map_err(|reason| reason.to_string()),
        _ => Options::parse(&arguments).and_then(|options| all(&options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench-merge: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn all(options: &Options) -> Result<(), String> {
    let results = run::measure(options)?;
    let report = report::Report::new(&results);
    if options.smoke {
        for missing in &results.missing {
            println!("bench-merge: {missing}");
        }
        println!("bench-merge: all that were run have put into their databases what must be there");
        return Ok(());
    }
    println!("{}", report.text());
    if options.write {
        for path in report.write()? {
            println!("bench-merge: wrote {path}");
        }
    }
    Ok(())
}
