//! The chore that holds the public interface of the published crates to a listing that people have read.
//!
//! ```text
//!   cargo rustdoc (JSON) ──▶ one item a line ──────────┬──▶ same: ok
//!   crates/CRATE/api.txt ──────────────────────────────┴──▶ differs: - and + lines, and how to accept them
//! ```
//!
//! P1. A listing is made by one toolchain only: the format of the JSON, and how items are written, change with it.
//! P2. What every type has (blanket and auto traits) is left out: it says nothing about this crate.

use crate::tools;
use public_api::Builder;
use serde_json::Value;
use std::cmp::Ordering;
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates that are published, the program excepted: it has no interface in Rust.
const CRATES: [&str; 5] = [
    "oneflight",
    "oneflight-reqwest",
    "oneflight-sql",
    "oneflight-merge",
    "oneflight-lab",
];

/// The toolchain of P1, and the format that it writes and our reader knows.
const TOOLCHAIN: &str = "1.95.0";
const FORMAT: u64 = 57;

/// Compares the interfaces with their listings, or (`bless`) writes the listings.
///
/// # Errors
/// An interface differs from its listing, or cannot be listed.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<String, String> {
    let bless = match arguments {
        [] => false,
        [flag] if flag == "--bless" => true,
        _ => return Err("api: the only argument is --bless".to_owned()),
    };
    let root = root
        .canonicalize()
        .map_err(|error| format!("api: {}: {error}", root.display()))?;
    let (mut items, mut findings) = (0, Vec::new());
    for package in CRATES {
        let now = listing(&root, package)?;
        items += now.lines().count();
        let path = format!("crates/{package}/api.txt");
        if bless {
            fs::write(root.join(&path), now)
                .map_err(|error| format!("api: cannot write {path}: {error}"))?;
            continue;
        }
        let kept = fs::read_to_string(root.join(&path)).unwrap_or_default();
        if kept != now {
            findings.push(format!("{path} is not what {package} has now:"));
            findings.extend(differences(&kept, &now));
        }
    }
    let n = CRATES.len();
    if !findings.is_empty() {
        findings.push(
            "api: FAILED. If that is meant, accept it: cargo xtask api --bless; a line that goes or changes \
             breaks callers, and is told in the changelog"
                .to_owned(),
        );
        return Err(findings.join("\n"));
    }
    let done = if bless { "written" } else { "as listed, ok" };
    Ok(format!("api: {n} crates, {items} public items, {done}"))
}

/// The public interface of a crate, an item a line.
fn listing(root: &Path, package: &str) -> Result<String, String> {
    let target = tools::target(root, "doc")?;
    let mut rustdoc = cargo(root)?;
    rustdoc
        .args(["rustdoc", "--package", package, "--all-features", "--lib"])
        .args(["--", "-Zunstable-options", "--output-format", "json"])
        .args(["--cap-lints", "allow"])
        // The JSON is unstable, and P1 makes that no matter.
        .env("RUSTDOC", root.join("crates/xtask/rustdoc"));
    let output = tools::output(&mut rustdoc)?;
    if !output.status.success() {
        return Err(format!(
            "{}\napi: cannot document {package}",
            tools::said(&output)
        ));
    }
    let json = target.join(format!("{}.json", package.replace('-', "_")));
    knows(&json)?;
    let interface = Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .map_err(|error| format!("api: cannot list {package}: {error}"))?;
    let mut lines: Vec<_> = interface.items().map(|item| format!("{item}\n")).collect();
    // Every derived equality has it, and nobody can name it.
    lines.retain(|line| !line.contains("core::marker::StructuralPartialEq"));
    // An implementation stands at its trait and at its type.
    lines.dedup();
    if lines.is_empty() {
        return Err(format!("api: {package} has no public item: that cannot be"));
    }
    Ok(lines.concat())
}

/// The cargo of the one toolchain (P1): the one in use, or one beside it.
fn cargo(root: &Path) -> Result<Command, String> {
    let mut rustc = Command::new("rustc");
    let version = tools::said(&tools::output(rustc.arg("--version").current_dir(root))?);
    if is_ours(&version) {
        return Ok(tools::cargo(root, &[]));
    }
    let other = || tools::of_toolchain(root, TOOLCHAIN, "cargo");
    if tools::succeeds(other().arg("--version")) {
        return Ok(other());
    }
    Err(format!(
        "api: the listings are made by Rust {TOOLCHAIN}, and this is {}; run: rustup toolchain install {TOOLCHAIN} --profile minimal",
        version.trim()
    ))
}

/// True if `rustc --version` said that it is the toolchain of P1.
fn is_ours(version: &str) -> bool {
    version.split_whitespace().nth(1) == Some(TOOLCHAIN)
}

/// Checks that the JSON has the format that our reader knows.
fn knows(json: &PathBuf) -> Result<(), String> {
    let text = fs::read(json).map_err(|error| format!("api: {}: {error}", json.display()))?;
    let value: Value = serde_json::from_slice(&text)
        .map_err(|error| format!("api: {}: {error}", json.display()))?;
    match value["format_version"].as_u64() {
        Some(FORMAT) => Ok(()),
        other => Err(format!(
            "api: rustdoc wrote format {other:?}, and format {FORMAT} is read here, which Rust {TOOLCHAIN} writes"
        )),
    }
}

/// The lines that went (`-`) and came (`+`), sorted, so that a changed item's two lines stand together.
fn differences(kept: &str, now: &str) -> Vec<String> {
    let (mut kept, mut now) = (sorted(kept), sorted(now));
    let mut lines = Vec::new();
    loop {
        // Both are sorted: the smaller one is missing on the other side.
        let side = match (kept.peek(), now.peek()) {
            (None, None) => return lines,
            (Some(a), Some(b)) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
        };
        let gone = kept.next_if(|_| side.is_le());
        let come = now.next_if(|_| side.is_ge());
        match (gone, come) {
            (Some(gone), None) => lines.push(format!("  - {gone}")),
            (None, Some(come)) => lines.push(format!("  + {come}")),
            _ => {}
        }
    }
}

fn sorted(listing: &str) -> Peekable<std::vec::IntoIter<&str>> {
    let mut lines: Vec<_> = listing.lines().collect();
    lines.sort_unstable();
    lines.into_iter().peekable()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_and_what_came_stand_side_by_side() {
        let kept = "pub fn a()\npub fn b(u8)\npub fn z()\n";
        let now = "pub fn a()\npub fn b(u16)\npub fn c()\n";
        assert_eq!(
            differences(kept, now),
            [
                "  + pub fn b(u16)",
                "  - pub fn b(u8)",
                "  + pub fn c()",
                "  - pub fn z()"
            ]
        );
        assert!(differences(now, now).is_empty());
        assert_eq!(differences("", "pub fn a()").len(), 1);
        assert_eq!(differences("pub fn a()", "").len(), 1);
    }

    #[test]
    fn one_toolchain_makes_the_listings() {
        assert!(is_ours("rustc 1.95.0 (59807616e 2026-04-14)\n"));
        assert!(!is_ours("rustc 1.96.0 (aaaaaaaaa 2026-05-28)"));
        assert!(!is_ours("rustc 1.95.0-nightly (aaaaaaaaa 2026-02-01)"));
        assert!(!is_ours(""));
    }
}
