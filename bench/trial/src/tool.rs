//! Programs that print figures: this one again, as a child, and valgrind.

use crate::samples::Figures;
use reporting::version;
use std::process::Command;

/// Runs a program that prints figures as JSON.
///
/// # Errors
/// If it fails, or prints something else.
pub fn figures(command: &mut Command) -> Result<Figures, String> {
    let said = command.output().map_err(|error| error.to_string())?;
    if !said.status.success() {
        return Err(format!(
            "{}: {}",
            said.status,
            String::from_utf8_lossy(&said.stderr).trim()
        ));
    }
    serde_json::from_slice(&said.stdout).map_err(|error| format!("no figures: {error}"))
}

/// Runs one test in a process of its own (T1): this program, called with `child TEST SUBJECT SIZE`.
///
/// # Errors
/// What the process says.
pub fn child(test: &str, subject: &str, size: &str) -> Result<Figures, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["child", test, subject, size]);
    figures(&mut command).map_err(|why| format!("{test} of {subject}: {why}"))
}

/// valgrind's counter of instructions.
#[derive(Debug)]
pub struct Callgrind(());

impl Callgrind {
    /// If it is installed.
    #[must_use]
    pub fn find() -> Option<Self> {
        version("valgrind", "--version").map(|_| Self(()))
    }

    /// Instructions of one operation: those of a run of `long` operations less those of one of `short`.
    ///
    /// # Errors
    /// What valgrind, or the test, says.
    pub fn each(
        &self,
        test: &str,
        subject: &str,
        short: usize,
        long: usize,
    ) -> Result<f64, String> {
        let less = Self::whole(test, subject, short)?;
        let more = Self::whole(test, subject, long)?;
        Ok((more - less) / (long - short) as f64)
    }

    /// Instructions of a whole run of a test.
    fn whole(test: &str, subject: &str, size: usize) -> Result<f64, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let said = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args(["child", test, subject, &size.to_string()])
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&said.stderr);
        text.lines()
            .find_map(|line| line.split_once("Collected :"))
            .and_then(|(_, count)| count.trim().parse().ok())
            .filter(|_| said.status.success())
            .ok_or_else(|| format!("{test} of {subject} under callgrind: {text}"))
    }
}
