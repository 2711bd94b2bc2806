//! Running the binary.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    /// The summary, where it was asked for and printed.
    pub(crate) summary: Value,
    pub(crate) errors: String,
}

/// `oneflight merge MAP --data DATA --into URL --format json`, to be given more.
pub(crate) fn merge(map: &Path, data: &Path, url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oneflight"));
    command
        .arg("merge")
        .arg(map)
        .arg("--data")
        .arg(data)
        .args(["--into", url, "--format", "json"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A map of the project.
pub(crate) fn map(name: &str) -> PathBuf {
    // Set by cargo for every test that it runs.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("tests are run by cargo");
    Path::new(&package).join("../../examples/maps").join(name)
}

/// Runs a command to its end, without holding up the test's runtime: there may be a proxy in it.
pub(crate) async fn run(mut command: Command) -> Ran {
    ended(command.spawn().unwrap()).await
}

/// Waits for a run that has begun.
pub(crate) async fn ended(child: Child) -> Ran {
    let output = tokio::task::spawn_blocking(move || child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    Ran {
        code: output.status.code(),
        summary: serde_json::from_slice(&output.stdout).unwrap_or(Value::Null),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Ran {
    /// The number that the summary has under `name` for a feed or a table (`list`) called `of`.
    pub(crate) fn number(&self, list: &str, of: &str, name: &str) -> u64 {
        let entry = self.list(list).iter().find(|entry| entry["name"] == of);
        let entry = entry.unwrap_or_else(|| panic!("no {of} in {list} of {}", self.summary));
        entry[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no {name} in {entry}"))
    }

    /// The sum of a number over all feeds or tables.
    pub(crate) fn sum(&self, list: &str, name: &str) -> u64 {
        self.list(list)
            .iter()
            .map(|entry| entry[name].as_u64().unwrap())
            .sum()
    }

    fn list(&self, name: &str) -> &[Value] {
        self.summary[name]
            .as_array()
            .unwrap_or_else(|| panic!("no summary: {}", self.errors))
    }
}
