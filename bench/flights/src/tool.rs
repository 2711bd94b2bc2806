//! Programs that are run beside our own: Go and Node, where they are installed.

use reporting::version;
use std::path::{Path, PathBuf};
use std::process::Command;
use trial::Figures;
use trial::tool::figures;

/// The folder of the programs in other languages.
const OTHER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/other");
/// The tests that they have.
const TESTS: [&str; 4] = ["lone", "join", "contend", "keep"];

/// Go's single flight.
pub(crate) const GO: &str = "Go singleflight";
/// A map of promises in Node.
pub(crate) const NODE: &str = "Node promise map";

/// A program in another language.
#[derive(Debug)]
pub(crate) struct Other {
    name: &'static str,
    command: Vec<PathBuf>,
}

impl Other {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Runs a test, if it has it.
    pub(crate) fn run(&self, test: &str, size: &str) -> Result<Option<Figures>, String> {
        if !TESTS.contains(&test) {
            return Ok(None);
        }
        let [program, arguments @ ..] = &self.command[..] else {
            return Ok(None);
        };
        let mut command = Command::new(program);
        command.args(arguments).args([test, size]);
        figures(&mut command)
            .map(Some)
            .map_err(|why| format!("{test} of {}: {why}", self.name))
    }
}

/// The programs in other languages that can be run here; what cannot be is told.
pub(crate) fn others(missing: &mut Vec<String>) -> Vec<Other> {
    let mut others = Vec::new();
    match go() {
        Ok(program) => others.push(Other {
            name: GO,
            command: vec![program],
        }),
        Err(why) => missing.push(format!("{GO} was not run: {why}")),
    }
    if version("node", "--version").is_some() {
        let script = Path::new(OTHER).join("node/promise_map.js");
        others.push(Other {
            name: NODE,
            command: vec!["node".into(), "--expose-gc".into(), script],
        });
    } else {
        missing.push(format!("{NODE} was not run: node is not installed"));
    }
    others
}

/// Builds the Go program beside this one. Its one dependency is where Debian's packages put it.
fn go() -> Result<PathBuf, String> {
    if version("go", "version").is_none() {
        return Err("go is not installed (Debian: golang-go, golang-golang-x-sync-dev)".to_owned());
    }
    let program = std::env::current_exe()
        .map_err(|error| error.to_string())?
        .with_file_name("bench-flights-go");
    let built = Command::new("go")
        .env("GO111MODULE", "off")
        .env("GOPATH", "/usr/share/gocode")
        .arg("build")
        .arg("-o")
        .arg(&program)
        .arg(Path::new(OTHER).join("go/main.go"))
        .output()
        .map_err(|error| error.to_string())?;
    if built.status.success() {
        return Ok(program);
    }
    let said = String::from_utf8_lossy(&built.stderr);
    let first = said.lines().find(|line| !line.starts_with('#'));
    Err(format!(
        "it cannot be built (Debian: golang-golang-x-sync-dev): {}",
        first.unwrap_or("no reason given")
    ))
}
