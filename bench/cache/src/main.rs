//! What a cache costs: this crate's beside its peers, in one run; and what becomes of a page whose price expires, in virtual time.
//!
//!   cargo run --release --manifest-path bench/Cargo.toml -p bench-cache [-- --write]
//!
//!   main ─┬─ run: passes × tests × subjects ──▶ child process ──▶ figures ─┬─▶ report: tables, bars, chart
//!         └─ page: an hour of visits on a clock that stands still ─────────┘
//!
//! C1. What the page comes to does not depend on the machine: its tables are committed, and `--smoke` holds them against a new run.
#![forbid(unsafe_code)]

mod child;
mod page;
mod report;
mod run;
mod subject;

use std::process::ExitCode;

const USAGE: &str = "usage: bench-cache [--write] [--passes N] [--page] | --smoke

  --write      writes the tables, the chart and the figures to BENCHMARKS.md and docs/
  --passes N   how often everything that is timed is run (5)
  --page       only the page in virtual time; seconds
  --smoke      sees that every subject gives right answers, and that the page comes to what BENCHMARKS.md says; seconds, no figures";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["child", test, subject, size] => one(test, subject, size),
        ["--smoke"] => smoke(),
        _ => parse(&arguments).and_then(|options| all(&options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench-cache: {reason}");
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
    page: bool,
    passes: usize,
}

fn parse(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options {
        write: false,
        page: false,
        passes: 5,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match *argument {
            "--write" => options.write = true,
            "--page" => options.page = true,
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
    Ok(options)
}

fn smoke() -> Result<(), String> {
    let runs = run::smoke()?;
    println!(
        "bench-cache: {runs} tests, {} subjects, all answers right",
        subject::NAMES.len()
    );
    let pages = page::run()?;
    page::compare(&pages)?;
    println!(
        "bench-cache: {} pages in virtual time, as BENCHMARKS.md has them",
        pages.len()
    );
    Ok(())
}

fn all(options: &Options) -> Result<(), String> {
    let pages = page::run()?;
    let mut written = Vec::new();
    println!("{}", page::text(&pages));
    if options.write {
        written.push(page::write(&pages)?);
    }
    if !options.page {
        let results = run::measure(options.passes)?;
        let report = report::Report::new(&results, &pages);
        println!("{}", report.text());
        if options.write {
            written.extend(report.write()?);
        }
    }
    for path in written {
        println!("bench-cache: wrote {path}");
    }
    Ok(())
}
