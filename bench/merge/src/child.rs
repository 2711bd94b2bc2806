//! A program that is run and measured: its time, its processor, its memory.
//!
//! H1. What a child costs is what the kernel says of that child when it ends: nothing is sampled.
//! H2. The kernel counts a child's peak from before it becomes another program, that is with this one's memory: this one keeps small,
//!     and says so if it does not.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use wait4::Wait4;

/// What a run took.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    /// Of its own, in user's and kernel's mode.
    pub(crate) cpu_seconds: f64,
    /// The most memory that was resident.
    pub(crate) peak_bytes: u64,
}

/// A run that went well.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) cost: Cost,
    pub(crate) said: String,
}

/// Runs a program to its end, `input` (if any) on its standard input.
///
/// # Errors
/// If it cannot be started, or does not end well; with what it said on stderr.
pub(crate) fn run(command: &mut Command, input: Option<&Path>) -> Result<Ran, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let why = |error: std::io::Error| format!("{name}: {error}");
    let input = match input {
        Some(path) => Stdio::from(File::open(path).map_err(why)?),
        None => Stdio::null(),
    };
    command
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn().map_err(why)?;
    let mut out = child.stdout.take();
    let mut err = child.stderr.take();
    let (said, complaint) = std::thread::scope(|scope| {
        let complaint = scope.spawn(|| read(err.as_mut()));
        let said = read(out.as_mut());
        (said, complaint.join().unwrap_or_default())
    });
    let end = child.wait4().map_err(why)?;
    let seconds = began.elapsed().as_secs_f64();
    if !end.status.success() {
        return Err(format!("{name}: {}: {}", end.status, complaint.trim()));
    }
    let cost = Cost {
        seconds,
        cpu_seconds: (end.rusage.utime + end.rusage.stime).as_secs_f64(),
        peak_bytes: end.rusage.maxrss,
    };
    Ok(Ran { cost, said })
}

/// The most memory that this process has had (H2).
pub(crate) fn own_peak() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

fn read(pipe: Option<&mut impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // A pipe that breaks ends what can be read; how the child ends says the rest.
        let _ended = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_measured_and_a_failure_says_why() {
        let ran = run(Command::new("sh").args(["-c", "echo out"]), None).unwrap();
        assert_eq!(ran.said, "out\n");
        assert!(ran.cost.peak_bytes > 100_000, "{:?}", ran.cost);
        let failed = run(Command::new("sh").args(["-c", "echo no >&2; exit 3"]), None);
        assert!(failed.is_err_and(|why| why.contains("no") && why.contains('3')));
    }

    #[test]
    fn this_process_knows_its_own_peak() {
        assert!(own_peak().is_some_and(|bytes| bytes > 100_000));
    }
}
