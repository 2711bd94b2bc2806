//! Reading alone: parse, map and fold, with no database, beside the `csv` crate's own loop over byte records.
//!
//!   cargo run --release --manifest-path bench/Cargo.toml -p bench-merge -- reading [FILE MAP]
//!
//!   league rows ──write──▶ csv, folded csv, NDJSON, Parquet ──passes × ways──▶ rows/s, and instructions a row by callgrind
//!
//! A1. All ways read the same file in one process and take turns, pass by pass; the best pass of each counts.
//! A2. Each way counts its rows, and all must come to the same number.
//! A3. Where `valgrind` is found, two sizes are counted, so that what a start costs falls out of the difference.

mod league;
mod ways;

use league::Form;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use ways::{Job, Way};

/// What the issue asks of one thread, as a share of the `csv` crate's rows a second.
const BAR: f64 = 0.5;
const PASSES: usize = 5;
/// Rows that are generated, and the two sizes that are counted by callgrind.
const ROWS: u32 = 1_000_000;
const SMALL: u32 = 20_000;
const LARGE: u32 = 60_000;

const USAGE: &str = "usage: bench-merge reading [FILE MAP] | reading --once csv|one|two FILE MAP";

type Failure = Box<dyn Error>;

/// The figures of one file.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Reading {
    /// What was read.
    pub(crate) name: String,
    /// Rows a second of the `csv` crate's loop; none if the file is no CSV.
    pub(crate) csv: Option<f64>,
    /// Rows a second on one thread, and on two.
    pub(crate) ours: [f64; 2],
    /// Instructions a row: the `csv` crate's loop, and ours. None without `valgrind`.
    pub(crate) instructions: Option<(f64, f64)>,
}

/// Measures as the arguments say, and prints the figures.
pub(crate) fn main(arguments: &[&str]) -> Result<(), Failure> {
    match *arguments {
        ["--once", way, file, map] => {
            let way = Way::parse(way).ok_or(USAGE)?;
            let job = Job::new(Path::new(file), &std::fs::read_to_string(map)?)?;
            println!("{}", job.run(way)?);
            Ok(())
        }
        [] => {
            let readings = all(ROWS)?;
            print(&readings);
            Ok(())
        }
        [file, map] => {
            let name = file.rsplit('/').next().unwrap_or(file);
            let map = std::fs::read_to_string(map)?;
            print(&[measure(name, Path::new(file), &map)?]);
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}

/// Generates the feeds, so many rows each, and measures them.
pub(crate) fn all(rows: u32) -> Result<Vec<Reading>, Failure> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let mut readings = Vec::new();
    for form in Form::ALL {
        let file = league::write(folder, form, rows)?;
        let mut reading = measure(form.name(), &file, &form.mapping())?;
        // Counting takes as long as many rows do: what is read in little is not counted.
        if form.is_csv() && rows >= LARGE {
            reading.instructions = instructions(folder, form)?;
        }
        std::fs::remove_file(file)?;
        readings.push(reading);
    }
    Ok(readings)
}

/// Lets the ways take turns at one file (A1).
fn measure(name: &str, file: &Path, map: &str) -> Result<Reading, Failure> {
    let job = Job::new(file, map)?;
    let ways: &[Way] = if job.is_csv() {
        &[Way::Csv, Way::One, Way::Two]
    } else {
        &[Way::One, Way::Two]
    };
    let mut best = [0f64; 3];
    let mut rows = None;
    for _ in 0..PASSES {
        for &way in ways {
            let began = Instant::now();
            let count = job.run(way)?;
            let rate = count as f64 / began.elapsed().as_secs_f64();
            if *rows.get_or_insert(count) != count {
                return Err(format!("A2: {way:?} read {count} rows, not {rows:?}").into());
            }
            best[way as usize] = best[way as usize].max(rate);
        }
    }
    let [csv, one, two] = best;
    Ok(Reading {
        name: name.to_owned(),
        csv: job.is_csv().then_some(csv),
        ours: [one, two],
        instructions: None,
    })
}

/// Counts the instructions of one pass over a small and a larger file, each in a process of its own (A3).
fn instructions(folder: &Path, form: Form) -> Result<Option<(f64, f64)>, Failure> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Ok(None);
    }
    let map = folder.join("reading.toml");
    std::fs::write(&map, form.mapping())?;
    let mut counts = [[0f64; 2]; 2];
    for (nth, rows) in [SMALL, LARGE].into_iter().enumerate() {
        let file = league::write(folder, form, rows)?;
        for (way, count) in ["csv", "one"].into_iter().zip(&mut counts) {
            count[nth] = count_once(way, &file, &map)?;
        }
    }
    let a_row = |[small, large]: [f64; 2]| (large - small) / f64::from(LARGE - SMALL);
    Ok(Some((a_row(counts[0]), a_row(counts[1]))))
}

fn count_once(way: &str, file: &Path, map: &Path) -> Result<f64, Failure> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["reading", "--once", way])
        .args([file, map])
        .output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    let collected = told
        .split_once("Collected : ")
        .and_then(|(_, rest)| rest.split_whitespace().next());
    match collected.map(str::parse) {
        Some(Ok(count)) => Ok(count),
        _ => Err(format!("valgrind did not count: {told}").into()),
    }
}

fn print(readings: &[Reading]) {
    println!(
        "{:<28} {:>12} {:>12} {:>7} {:>12} {:>7} {:>16}",
        "read, mapped, folded", "csv crate/s", "ours/s", "ratio", "two/s", "ratio", "instructions"
    );
    for Reading {
        name,
        csv,
        ours: [one, two],
        instructions,
    } in readings
    {
        let ratio = |rate: f64| match csv {
            Some(csv) => format!("{:.2}", rate / csv),
            None => String::new(),
        };
        let csv = csv.map_or(String::new(), |csv| format!("{csv:.0}"));
        let counted = match instructions {
            Some((csv, ours)) => format!("{csv:.0} : {ours:.0}"),
            None => String::new(),
        };
        println!(
            "{name:<28} {csv:>12} {one:>12.0} {:>7} {two:>12.0} {:>7} {counted:>16}",
            ratio(*one),
            ratio(*two)
        );
    }
    println!("\nbar: {BAR} of the csv crate's rows a second on one thread, more on two");
}
