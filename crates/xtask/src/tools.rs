//! The programs that chores run.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The toolchain that has the sanitizers and Miri.
const NIGHTLY: &str = "nightly";

/// The cargo that runs this chore.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root);
    command
}

/// A program of another toolchain.
pub(crate) fn of_toolchain(root: &Path, toolchain: &str, program: &str) -> Command {
    let mut command = Command::new("rustup");
    command
        .args(["run", toolchain, program])
        .current_dir(root)
        // These name the toolchain that runs this chore.
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("RUSTC")
        .env_remove("RUSTDOC")
        .env_remove("LD_LIBRARY_PATH");
    command
}

/// A program of the nightly toolchain.
pub(crate) fn nightly(root: &Path, program: &str) -> Command {
    of_toolchain(root, NIGHTLY, program)
}

/// True if the program is there and says that all is well.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a command to its end, and keeps what it says.
///
/// # Errors
/// The program did not start.
pub(crate) fn output(command: &mut Command) -> Result<Output, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    output.map_err(|error| format!("{name} did not start: {error}"))
}

/// What a program has said, both ways.
pub(crate) fn said(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(out).into_owned() + &String::from_utf8_lossy(err)
}

/// A folder for builds of a kind of their own, so that they do not throw away the ordinary ones.
///
/// # Errors
/// Cargo does not say where it builds.
pub(crate) fn target(root: &Path, kind: &str) -> Result<PathBuf, String> {
    let metadata = output(&mut cargo(
        root,
        &["metadata", "--format-version", "1", "--no-deps"],
    ))?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let target = metadata["target_directory"].as_str();
    let target = target.ok_or("cargo metadata names no target directory")?;
    Ok(Path::new(target).join(kind))
}
