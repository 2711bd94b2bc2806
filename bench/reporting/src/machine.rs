//! Where and with what was measured: no figure without it.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// The versions that were built, as cargo locked them.
const LOCK: &str = include_str!("../../Cargo.lock");

/// The machine, the day, and the versions.
#[derive(Debug, serde::Serialize)]
pub struct Machine {
    /// The day, as in 2026-01-31.
    pub date: String,
    /// What the processor calls itself.
    pub processor: String,
    /// How many of them.
    pub cores: usize,
    /// The kernel.
    pub system: String,
    /// How busy the machine was when the run began: the load average of a minute.
    pub load: String,
    /// Name and version of compilers and tools.
    pub tools: Vec<String>,
    /// Name and version of what was measured.
    pub packages: Vec<String>,
}

impl Machine {
    /// This one, now. `tools` are programs and how they are asked for their version (those that are not there are left out),
    /// `packages` those of the benches' lock file.
    #[must_use]
    pub fn this(tools: &[(&str, &str)], packages: &[&str]) -> Self {
        let first = |path: &str| {
            let text = fs::read_to_string(path).unwrap_or_default();
            text.lines().next().unwrap_or("unknown").to_owned()
        };
        let tools = tools.iter().filter_map(|(program, ask)| {
            let said = version(program, ask)?;
            Some(if said.contains(program) {
                said
            } else {
                format!("{program} {said}")
            })
        });
        Self {
            date: today(),
            processor: processor(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            system: format!("Linux {}", first("/proc/sys/kernel/osrelease")),
            load: first("/proc/loadavg")
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned(),
            tools: tools.collect(),
            packages: locked(LOCK, packages),
        }
    }
}

/// What a program says when it is asked for its version; `None` if it is not installed.
#[must_use]
pub fn version(program: &str, ask: &str) -> Option<String> {
    let said = Command::new(program).arg(ask).output().ok()?;
    let text = String::from_utf8_lossy(&said.stdout);
    let line = text.lines().next()?.trim().to_owned();
    said.status.success().then_some(line)
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown", |(_, name)| name)
        .to_owned()
}

/// Names and versions of the packages that are asked for, in that order.
fn locked(lock: &str, packages: &[&str]) -> Vec<String> {
    let value = |line: &str, name: &str| {
        let value = line.strip_prefix(name)?.strip_prefix(" = \"")?;
        value.strip_suffix('"').map(str::to_owned)
    };
    let lines: Vec<&str> = lock.lines().collect();
    let known: Vec<_> = lines
        .windows(2)
        .filter_map(|pair| Some((value(pair[0], "name")?, value(pair[1], "version")?)))
        .collect();
    packages
        .iter()
        .flat_map(|package| known.iter().filter(move |(name, _)| name == package))
        .map(|(name, version)| format!("{name} {version}"))
        .collect()
}

fn today() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    format!("{year}-{month:02}-{day:02}")
}

/// The day of the Gregorian calendar so many days after 1970-01-01.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| {
        (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400)
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(civil(20_088), (2024, 12, 31));
        assert_eq!(civil(20_089), (2025, 1, 1));
    }

    #[test]
    fn versions_are_read_from_the_lock() {
        let lock = "[[package]]\nname = \"moka\"\nversion = \"0.12.16\"\n";
        assert_eq!(locked(lock, &["moka"]), ["moka 0.12.16"]);
    }
}
