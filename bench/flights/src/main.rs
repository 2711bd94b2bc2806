//! What a flight costs: this crate beside its peers, beside the floor, and beside Go and Node, in one run.
//!
//!   cargo run --release --manifest-path bench/Cargo.toml -p bench-flights [-- --write]
//!
//!   main ── run: passes × tests × subjects ──▶ child process ──▶ figures ──▶ report: tables, bars, chart
//!
//! M1. One process for a test of a subject; passes are interleaved, so that an hour of noise falls on all alike.
//! M2. `--smoke` runs every test of every subject in little, checks their answers, and reports no time.
#![forbid(unsafe_code)]

mod child;
mod floor;
mod report;
mod run;
mod subject;
mod tool;

use std::process::ExitCode;

const USAGE: &str = "usage: bench-flights [--write | --smoke] [--passes N]

  --write      writes the tables, the chart and the figures to BENCHMARKS.md and docs/
  --smoke      only sees that every subject gives right answers; seconds, no figures
  --passes N   how often everything that is timed is run (5)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["child", test, subject, size] => one(test, subject, size),
        _ => parse(&arguments).and_then(|options| all(&options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench-flights: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// One test of one subject; its figures as JSON.
fn one(test: &str, subject: &str, size: &str) -> Result<(), String> {
    let size = trial::Size::parse(size).ok_or_else(|| format!("{size} is no size"))?;
    let figures = child::run(test, subject, size)?;
    println!("{}", serde_json::json!(figures));
    Ok(())
}

struct Options {
    write: bool,
    smoke: bool,
    passes: usize,
}

fn parse(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options {
        write: false,
        smoke: false,
        passes: 5,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match *argument {
            "--write" => options.write = true,
            "--smoke" => options.smoke = true,
            "--passes" => {
                options.passes = rest
                    .next()
                    .and_then(|number| number.parse().ok())
                    .filter(|passes| *passes > 0)
                    .ok_or("--passes wants a number")?;
            }
            _ => return Err(USAGE.to_owned()),
        }
    }
    if options.write && options.smoke {
        return Err(USAGE.to_owned());
    }
    Ok(options)
}

fn all(options: &Options) -> Result<(), String> {
    if options.smoke {
        let runs = run::smoke()?;
        println!(
            "bench-flights: {runs} tests, {} subjects, all answers right",
            subject::NAMES.len()
        );
        return Ok(());
    }
    let results = run::measure(options.passes)?;
    let report = report::Report::new(&results);
    println!("{}", report.text());
    if options.write {
        for path in report.write()? {
            println!("bench-flights: wrote {path}");
        }
    }
    Ok(())
}
