//! The chore that runs every example of every crate, and every program below `examples/`, as cargo knows them: none can be
//! forgotten.
//!
//! E1. A program below `examples/` takes the word `short`, and then ends in seconds.

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
    let mut build = vec![
        "build",
        "--quiet",
        "--workspace",
        "--examples",
        "--all-features",
    ];
    for example in &examples {
        if example.kind == Kind::Program {
            build.extend(["--bin", &example.name]);
        }
    }
    succeed(cargo(root, &build), Duration::MAX)
        .map_err(|reason| format!("examples: the build {reason}"))?;
    for Example {
        package,
        name,
        kind,
    } in &examples
    {
        println!("examples: {package} {name}");
        let mut run = vec!["run", "--quiet", "--all-features", "--package", package];
        match kind {
            Kind::Example => run.extend(["--example", name]),
            Kind::Program => run.extend(["--bin", name, "--", "short"]),
        }
        let mut command = cargo(root, &run);
        command.stdin(Stdio::null());
        succeed(command, PATIENCE)
            .map_err(|reason| format!("examples: {package} {name} {reason}"))?;
    }
    Ok(format!("examples: {} run, ok", examples.len()))
}

/// Something to be run.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    package: String,
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One of a crate's.
    Example,
    /// A package of its own, below `examples/` (E1).
    Program,
}

/// All of them, in the order of cargo.
fn examples(metadata: &Value) -> Vec<Example> {
    let root = format!("{}/examples/", text(&metadata["workspace_root"]));
    let mut examples = Vec::new();
    for package in list(&metadata["packages"]) {
        let stands_alone = text(&package["manifest_path"]).starts_with(&root);
        for target in list(&package["targets"]) {
            let is = |kind: &str| list(&target["kind"]).iter().any(|it| it == kind);
            let kind = match () {
                () if is("example") => Kind::Example,
                () if stands_alone && is("bin") => Kind::Program,
                () => continue,
            };
            examples.push(Example {
                package: text(&package["name"]),
                name: text(&target["name"]),
                kind,
            });
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
        let metadata = serde_json::json!({"workspace_root": "/w", "packages": [
            {"name": "a", "manifest_path": "/w/crates/a/Cargo.toml", "targets": [
                {"name": "a", "kind": ["lib"]}, {"name": "x", "kind": ["example"]}, {"name": "a", "kind": ["bin"]}]},
            {"name": "b", "manifest_path": "/w/examples/b/Cargo.toml", "targets": [{"name": "y", "kind": ["bin"]}]},
        ]});
        let example = |package: &str, name: &str, kind| Example {
            package: package.to_owned(),
            name: name.to_owned(),
            kind,
        };
        assert_eq!(
            examples(&metadata),
            [
                example("a", "x", Kind::Example),
                example("b", "y", Kind::Program)
            ]
        );
    }
}
