//! The chore that runs every model of the core under loom, and holds them to the list of what there should be.
//!
//! ```text
//!   tests/loom/*.rs ──▶ `loom: MODEL: N interleavings` ──┐
//!   tests/loom/expected.txt: `MODEL MINIMUM` ────────────┴──▶ missing? unknown? fewer? ──▶ one line
//! ```
//!
//! M1. A model that did not run, that nobody expects, or that explored too little fails the chore.

use crate::tools;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const EXPECTED: &str = "crates/oneflight/tests/loom/expected.txt";

/// Builds and runs the models.
///
/// # Errors
/// A model fails, or M1.
pub(crate) fn run(root: &Path) -> Result<String, String> {
    let list = fs::read_to_string(root.join(EXPECTED))
        .map_err(|error| format!("loom: cannot read {EXPECTED}: {error}"))?;
    let expected = expected(&list)?;
    // The flag is for every crate of the build: a folder of its own keeps the ordinary build.
    let target = tools::target(root, "loom")?;
    let mut test = tools::cargo(
        root,
        &[
            "test",
            "--package",
            "oneflight",
            "--features",
            "cache",
            "--test",
            "loom",
            "--release",
            "--",
            "--nocapture",
            "--test-threads=1",
        ],
    );
    test.env("RUSTFLAGS", "--cfg oneflight_loom")
        // The core's own checks are for the models, too.
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
        .env("CARGO_TARGET_DIR", target);
    let output = tools::output(&mut test)?;
    let said = tools::said(&output);
    if !output.status.success() {
        return Err(format!("{said}\nloom: a model fails: {}", output.status));
    }
    compare(&runs(&said)?, &expected)
}

/// The models that must run, and how many interleavings each must explore at least.
fn expected(list: &str) -> Result<BTreeMap<String, u64>, String> {
    let mut models = BTreeMap::new();
    for (number, line) in (1..).zip(list.lines()) {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<_> = line.split_whitespace().collect();
        let model = match words[..] {
            [] => continue,
            [model, minimum] => minimum.parse().ok().map(|minimum| (model, minimum)),
            _ => None,
        };
        let (model, minimum) = model
            .filter(|&(_, minimum)| minimum > 0)
            .ok_or_else(|| format!("{EXPECTED}:{number}: want `MODEL MINIMUM`, got `{line}`"))?;
        if models.insert(model.to_owned(), minimum).is_some() {
            return Err(format!("{EXPECTED}:{number}: {model} is there twice"));
        }
    }
    Ok(models)
}

/// What the models say that they explored. Cargo's own `test NAME ... ` may stand before it on the line.
fn runs(said: &str) -> Result<BTreeMap<String, u64>, String> {
    let mut models = BTreeMap::new();
    for line in said.lines() {
        let Some((model, count)) = run_of(line) else {
            continue;
        };
        if models.insert(model.to_owned(), count).is_some() {
            return Err(format!("loom: two models are called {model}"));
        }
    }
    Ok(models)
}

fn run_of(line: &str) -> Option<(&str, u64)> {
    let (_, rest) = line.split_once("loom: ")?;
    let (model, rest) = rest.split_once(": ")?;
    let count = rest.strip_suffix(" interleavings")?;
    Some((model, count.parse().ok()?))
}

/// Holds what ran to what should have (M1).
fn compare(
    runs: &BTreeMap<String, u64>,
    expected: &BTreeMap<String, u64>,
) -> Result<String, String> {
    let mut findings = Vec::new();
    for (model, minimum) in expected {
        match runs.get(model) {
            None => findings.push(format!("loom: {model} did not run")),
            Some(count) if count < minimum => findings.push(format!(
                "loom: {model} explored {} interleavings, at least {} expected",
                grouped(*count),
                grouped(*minimum)
            )),
            Some(_) => {}
        }
    }
    for model in runs.keys().filter(|model| !expected.contains_key(*model)) {
        findings.push(format!("loom: {model} is not in {EXPECTED}"));
    }
    if expected.is_empty() {
        findings.push(format!("loom: {EXPECTED} expects no model"));
    }
    let total = grouped(runs.values().sum());
    let line = format!(
        "loom: {} models run, {} expected, {total} interleavings",
        runs.len(),
        expected.len()
    );
    if findings.is_empty() {
        return Ok(format!("{line}, ok"));
    }
    findings.push(format!("{line}, FAILED"));
    Err(findings.join("\n"))
}

/// A number with a comma after every three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| String::from_utf8_lossy(group))
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(said: &str, list: &str) -> Result<String, String> {
        compare(&runs(said)?, &expected(list)?)
    }

    #[test]
    fn models_that_ran_are_counted_wherever_they_stand_on_the_line() {
        let said = "running 2 tests\ntest a ... loom: a: 1200 interleavings\nok\nloom: b_c: 34 interleavings\n";
        assert_eq!(
            held(said, "# models\na 1000 # at 2 threads\n\nb_c 34\n").unwrap(),
            "loom: 2 models run, 2 expected, 1,234 interleavings, ok"
        );
    }

    #[test]
    fn a_model_that_did_not_run_fails() {
        let error = held("loom: a: 5 interleavings", "a 5\nb 1").unwrap_err();
        assert!(error.starts_with("loom: b did not run\n"), "{error}");
        assert!(error.ends_with("1 models run, 2 expected, 5 interleavings, FAILED"));
    }

    #[test]
    fn a_model_that_explored_too_little_fails() {
        let error = held("loom: a: 4 interleavings", "a 5000").unwrap_err();
        assert!(error.contains("a explored 4 interleavings, at least 5,000 expected"));
    }

    #[test]
    fn a_model_that_nobody_expects_fails() {
        let error = held("loom: a: 5 interleavings\nloom: z: 9 interleavings", "a 5");
        assert!(error.unwrap_err().starts_with("loom: z is not in"));
    }

    #[test]
    fn a_name_is_one_model_and_a_list_has_some() {
        assert!(held("loom: a: 5 interleavings\nloom: a: 5 interleavings", "a 5").is_err());
        assert!(held("", "# none\n").is_err());
    }

    #[test]
    fn a_line_of_the_list_is_a_model_and_a_number() {
        for line in ["a", "a b", "a 1 2", "a 0", "a 1\na 2"] {
            assert!(expected(line).is_err(), "{line}");
        }
    }

    #[test]
    fn numbers_are_easy_to_read() {
        let read = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(read, ["0", "999", "1,000", "1,234,567"]);
    }
}
