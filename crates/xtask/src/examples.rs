//! The chore that runs every example of every crate, as cargo knows them: none can be forgotten.

use crate::tools::cargo;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long one example may take, its build not counted.
const PATIENCE: Duration = Duration::from_secs(120);

/// Builds and runs the examples.
///
/// # Errors
/// The first example that fails, or takes too long.
pub(crate) fn run(root: &Path) -> Result<String, String> {
    let metadata = cargo(root, &["metadata", "--format-version", "1", "--no-deps"])
        .stderr(Stdio::inherit())
        .output();
    let metadata = metadata.map_err(|error| format!("cargo metadata: {error}"))?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let examples = examples(&metadata);
    if examples.is_empty() {
        return Err("examples: there are none".to_owned());
    }
    succeed(
        cargo(
            root,
            &[
                "build",
                "--quiet",
                "--workspace",
                "--examples",
                "--all-features",
            ],
        ),
        Duration::MAX,
    )
    .map_err(|reason| format!("examples: the build {reason}"))?;
    for (package, example) in &examples {
        println!("examples: {package} {example}");
        let mut command = cargo(
            root,
            &[
                "run",
                "--quiet",
                "--all-features",
                "--package",
                package,
                "--example",
                example,
            ],
        );
        command.stdin(Stdio::null());
        succeed(command, PATIENCE)
            .map_err(|reason| format!("examples: {package} {example} {reason}"))?;
    }
    Ok(format!("examples: {} run, ok", examples.len()))
}

/// The package and the name of every example, in the order of cargo.
fn examples(metadata: &Value) -> Vec<(String, String)> {
    let mut examples = Vec::new();
    for package in list(&metadata["packages"]) {
        for target in list(&package["targets"]) {
            if list(&target["kind"]).iter().any(|kind| kind == "example") {
                examples.push((text(&package["name"]), text(&target["name"])));
            }
        }
    }
    examples
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Runs a command to its end, or for as long as we have patience.
fn succeed(mut command: Command, patience: Duration) -> Result<(), String> {
    let mut child = command
        .spawn()
        .map_err(|error| format!("did not start: {error}"))?;
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("failed: {status}")),
            Ok(None) if start.elapsed() > patience => {
                end(&mut child);
                return Err(format!("took more than {} s", patience.as_secs()));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(format!("cannot be waited for: {error}")),
        }
    }
}

/// Ends a child that took too long. If it is gone already there is nothing to end.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_what_cargo_says_they_are() {
        let metadata = serde_json::json!({"packages": [
            {"name": "a", "targets": [{"name": "a", "kind": ["lib"]}, {"name": "x", "kind": ["example"]}]},
            {"name": "b", "targets": [{"name": "y", "kind": ["example"]}]},
        ]});
        assert_eq!(
            examples(&metadata),
            [("a".into(), "x".into()), ("b".into(), "y".into())]
        );
    }
}
