//! The chores that run the tests of the core under checkers of memory and of threads.
//!
//! ```text
//!   a program with the fault (sanitize/*.rs) ──▶ the checker must find it ──┐
//!   the tests of the core, built for the checker ──▶ no report, N tests ────┴──▶ one line each
//! ```
//!
//! S1. A checker that is missing is `NOT RUN`: never passed, and no failure either.
//! S2. Before the tests, the checker finds a fault that is there: one that sees nothing cannot pass.
//! S3. Fewer tests than expected is a failure.

use crate::tools;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a checker ends a program with when it has found something.
const FOUND: i32 = 99;

/// The checkers, and how many tests each runs at least (S3).
const CHECKERS: [Checker; 3] = [
    Checker {
        name: "address",
        tests: 440,
        fault: "freed.rs",
    },
    Checker {
        name: "thread",
        tests: 440,
        fault: "race.rs",
    },
    Checker {
        name: "valgrind",
        tests: 420,
        fault: "freed.rs",
    },
];

/// Under Miri a test takes a thousand times as long: these are left out.
/// Those of `wiped` look for a secret in all of a block that is given back, also in bytes that nobody wrote.
const TOO_LONG: [&str; 5] = ["threads::", "sizes::", "model::", "many_threads", "wiped::"];

/// Valgrind runs one thread at a time: what needs many, or is about bytes, says nothing there. It would report what `wiped` reads.
const MANY_THREADS: [&str; 5] = ["threads::", "sizes::", "many_threads", "storm::", "wiped::"];

/// Tests that Miri runs at least.
const MIRI_TESTS: usize = 80;

#[derive(Debug)]
struct Checker {
    name: &'static str,
    tests: usize,
    fault: &'static str,
}

/// Runs the named checkers, or all of them.
///
/// # Errors
/// A checker found something, or ran too few tests.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<String, String> {
    let root = root
        .canonicalize()
        .map_err(|error| format!("sanitize: {}: {error}", root.display()))?;
    let known = |name: &&String| !CHECKERS.iter().any(|checker| checker.name == **name);
    if let Some(name) = names.iter().find(known) {
        return Err(format!(
            "sanitize: no checker is called `{name}`; there are address, thread and valgrind"
        ));
    }
    let mut lines = Vec::new();
    for checker in &CHECKERS {
        if names.is_empty() || names.iter().any(|name| name == checker.name) {
            lines.push(checker.run(&root)?);
        }
    }
    Ok(lines.join("\n"))
}

/// Runs the tests in Miri.
///
/// # Errors
/// Miri found something, or ran too few tests.
pub(crate) fn miri(root: &Path) -> Result<String, String> {
    if !tools::succeeds(tools::nightly(root, "cargo").args(["miri", "--version"])) {
        return Ok(
            "miri: NOT RUN: no Miri here (rustup toolchain install nightly --component miri)"
                .to_owned(),
        );
    }
    let mut tests = tools::nightly(root, "cargo");
    tests
        .args([
            "miri",
            "test",
            "--package",
            "oneflight",
            "--lib",
            "--tests",
            "--",
        ])
        .args(skips(&TOO_LONG))
        .env("CARGO_TARGET_DIR", tools::target(root, "miri")?)
        .env("MIRIFLAGS", "-Zmiri-disable-isolation");
    verdict("miri", &tools::output(&mut tests)?, MIRI_TESTS)
}

impl Checker {
    fn run(&self, root: &Path) -> Result<String, String> {
        let name = format!("sanitize: {}", self.name);
        if let Some(missing) = self.missing(root) {
            return Ok(format!("{name}: NOT RUN: {missing}"));
        }
        let target = tools::target(root, "sanitize")?.join(self.name);
        std::fs::create_dir_all(&target)
            .map_err(|error| format!("{}: {error}", target.display()))?;
        self.finds_a_fault(root, &target)?;
        let (mut tests, expected) = (self.tests(root, &target)?, self.tests);
        let output = tools::output(&mut tests)?;
        if leaks_are_unseen(&output) {
            tests.env("ASAN_OPTIONS", "detect_leaks=0");
            let line = verdict(&name, &tools::output(&mut tests)?, expected)?;
            return Ok(format!(
                "{line} (leaks NOT looked for: ptrace is not allowed here)"
            ));
        }
        verdict(&name, &output, expected)
    }

    /// What is not here that the checker needs (S1).
    fn missing(&self, root: &Path) -> Option<&'static str> {
        let there = if self.is_valgrind() {
            tools::succeeds(Command::new("valgrind").arg("--version"))
        } else {
            tools::succeeds(tools::nightly(root, "rustc").arg("--version"))
        };
        let missing = match self.name {
            "valgrind" => "no valgrind here (apt-get install valgrind)",
            _ => "no nightly compiler here (rustup toolchain install nightly)",
        };
        (!there).then_some(missing)
    }

    fn is_valgrind(&self) -> bool {
        self.name == "valgrind"
    }

    /// S2.
    fn finds_a_fault(&self, root: &Path, target: &Path) -> Result<(), String> {
        let program = target.join(self.fault).with_extension("");
        let mut build = if self.is_valgrind() {
            let mut rustc = Command::new("rustc");
            rustc.arg("-g");
            rustc
        } else {
            let mut rustc = tools::nightly(root, "rustc");
            rustc.args(self.flags(root, target)?);
            rustc
        };
        build
            .args(["--edition", "2024", "-o"])
            .arg(&program)
            .arg(root.join("crates/xtask/sanitize").join(self.fault));
        let built = tools::output(&mut build)?;
        if !built.status.success() {
            return Err(format!(
                "{}\nsanitize: cannot build {}",
                tools::said(&built),
                self.fault
            ));
        }
        let mut run = Command::new(if self.is_valgrind() {
            "valgrind".as_ref()
        } else {
            program.as_os_str()
        });
        if self.is_valgrind() {
            run.args(["-q", &format!("--error-exitcode={FOUND}")])
                .arg(&program);
        }
        self.options(root, &mut run);
        let run = tools::output(&mut run)?;
        if run.status.code() == Some(FOUND) {
            return Ok(());
        }
        let (said, name, fault) = (tools::said(&run), self.name, self.fault);
        Err(format!(
            "{said}\nsanitize: {name} does not find the fault of {fault}: it sees nothing here"
        ))
    }

    /// The tests of the core, built for the checker and run under it.
    fn tests(&self, root: &Path, target: &Path) -> Result<Command, String> {
        let host = host(root)?;
        let mut tests = if self.is_valgrind() {
            let mut cargo = tools::cargo(root, &[]);
            let runner = format!(
                "CARGO_TARGET_{}_RUNNER",
                host.to_uppercase().replace('-', "_")
            );
            cargo.env(runner, format!("valgrind -q --error-exitcode={FOUND}"));
            cargo
        } else {
            let mut cargo = tools::nightly(root, "cargo");
            cargo.env("RUSTFLAGS", self.flags(root, target)?.join(" "));
            cargo
        };
        tests
            .args([
                "test",
                "--package",
                "oneflight",
                "--lib",
                "--test",
                "it",
                "--all-features",
            ])
            .args(["--target", &host])
            // The locks of tokio are std's otherwise, which comes built: the sanitizer would not see them.
            .args(["--features", "tokio/parking_lot"])
            .arg("--")
            .env("CARGO_TARGET_DIR", target)
            .env("CARGO_INCREMENTAL", "0");
        if self.is_valgrind() {
            tests.arg("--test-threads=1").args(skips(&MANY_THREADS));
        }
        self.options(root, &mut tests);
        Ok(tests)
    }

    /// What a program must be built with.
    fn flags(&self, root: &Path, target: &Path) -> Result<Vec<String>, String> {
        let mut flags = vec![format!("-Zsanitizer={}", self.name)];
        if self.name == "thread" {
            let object = arc(root, target)?;
            // The std that is linked was not built for it: arc.c and tsan.supp make up for that.
            flags.push("-Cunsafe-allow-abi-mismatch=sanitizer".to_owned());
            flags.push(format!("-Clink-arg={}", object.display()));
            flags.push("-Clink-arg=-Wl,--wrap=__tsan_atomic64_fetch_sub".to_owned());
        }
        Ok(flags)
    }

    /// What a program must be run with.
    fn options(&self, root: &Path, command: &mut Command) {
        let file = |name| {
            root.join("crates/oneflight")
                .join(name)
                .display()
                .to_string()
        };
        match self.name {
            "thread" => {
                let supp = file("tsan.supp");
                command.env(
                    "TSAN_OPTIONS",
                    format!("suppressions={supp} history_size=4 exitcode={FOUND}"),
                );
            }
            "address" => {
                let supp = file("lsan.supp");
                command
                    .env("ASAN_OPTIONS", format!("detect_leaks=1:exitcode={FOUND}"))
                    .env(
                        "LSAN_OPTIONS",
                        format!("suppressions={supp}:print_suppressions=0:exitcode={FOUND}"),
                    );
            }
            _ => {}
        }
    }
}

/// Compiles what ThreadSanitizer must know about Arc.
fn arc(root: &Path, target: &Path) -> Result<PathBuf, String> {
    let object = target.join("arc.o");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-c", "-o"])
        .arg(&object)
        .arg(root.join("crates/xtask/sanitize/arc.c"));
    let output = tools::output(&mut cc)?;
    if !output.status.success() {
        return Err(format!(
            "{}\nsanitize: cannot compile arc.c",
            tools::said(&output)
        ));
    }
    Ok(object)
}

/// The machine's own target. A build that names it gives its flags to no build script.
fn host(root: &Path) -> Result<String, String> {
    let mut rustc = Command::new("rustc");
    let said = tools::said(&tools::output(rustc.arg("-vV").current_dir(root))?);
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "sanitize: rustc names no host".to_owned())
}

fn skips(names: &[&str]) -> Vec<String> {
    let pairs = names
        .iter()
        .map(|name| ["--skip".to_owned(), (*name).to_owned()]);
    pairs.flatten().collect()
}

/// True if the leaks could not be looked for, which some containers forbid.
fn leaks_are_unseen(output: &Output) -> bool {
    !output.status.success()
        && tools::said(output).contains("LeakSanitizer has encountered a fatal error")
}

/// One line if no checker reported anything and enough tests ran (S3), everything that was said otherwise.
fn verdict(name: &str, output: &Output, expected: usize) -> Result<String, String> {
    let said = tools::said(output);
    let (tests, reports) = (passed(&said), reports(&said));
    let line =
        format!("{name}: {tests} tests run, at least {expected} expected, {reports} reports");
    if output.status.success() && reports == 0 && tests >= expected {
        return Ok(format!("{line}, ok"));
    }
    Err(format!("{said}\n{line}, FAILED ({})", output.status))
}

/// The tests that passed, over all binaries.
fn passed(said: &str) -> usize {
    let counts = said.lines().filter_map(|line| {
        let (_, rest) = line.split_once("test result: ")?;
        let (_, rest) = rest.split_once(". ")?;
        rest.split_once(" passed")?.0.parse::<usize>().ok()
    });
    counts.sum()
}

/// The reports of the sanitizers.
fn reports(said: &str) -> usize {
    let starts = [
        "WARNING: ThreadSanitizer",
        "ERROR: AddressSanitizer",
        "ERROR: LeakSanitizer",
    ];
    said.lines()
        .filter(|line| starts.iter().any(|start| line.contains(start)))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn output(code: i32, stdout: &str, stderr: &str) -> Output {
        Output {
            status: ExitStatus::from_raw(code << 8),
            stdout: stdout.into(),
            stderr: stderr.into(),
        }
    }

    const TESTS: &str = "test result: ok. 4 passed; 0 failed; 0 ignored\n\
        test result: ok. 114 passed; 0 failed; 0 ignored\n";

    #[test]
    fn tests_of_all_binaries_count() {
        assert_eq!(
            verdict("a", &output(0, TESTS, ""), 118).unwrap(),
            "a: 118 tests run, at least 118 expected, 0 reports, ok"
        );
    }

    #[test]
    fn too_few_tests_fail() {
        let error = verdict("a", &output(0, TESTS, ""), 119).unwrap_err();
        assert!(
            error.ends_with(
                "118 tests run, at least 119 expected, 0 reports, FAILED (exit status: 0)"
            )
        );
        assert!(verdict("a", &output(0, "", ""), 1).is_err());
    }

    #[test]
    fn a_report_fails_even_if_every_test_passes() {
        let report = "==1==WARNING: ThreadSanitizer: data race (pid=1)\n";
        for code in [0, FOUND] {
            let error = verdict("a", &output(code, TESTS, report), 1).unwrap_err();
            assert!(error.contains("1 reports, FAILED"), "{error}");
        }
        assert!(verdict("a", &output(FOUND, TESTS, ""), 1).is_err());
    }

    #[test]
    fn a_checker_that_nobody_knows_is_an_error() {
        let error = run(Path::new("."), &["memory".to_owned()]).unwrap_err();
        assert!(error.contains("`memory`"));
    }
}
