//! The chore that holds the house rules: every rule over every file, all findings at once.

use crate::{behaviours, lexer, rules, tree};
use std::path::Path;

/// Checks the tree below `root`.
///
/// # Errors
/// The findings, a line each.
pub(crate) fn run(root: &Path) -> Result<String, String> {
    let files =
        tree::read(root).map_err(|error| format!("cannot read {}: {error}", root.display()))?;
    let mut findings = Vec::new();
    let (mut rust, mut code) = (0, 0);
    let mut tests = Vec::new();
    for file in &files {
        rules::text(file, &files, &mut findings);
        if file.path.ends_with(".rs") {
            let lines = lexer::lines(&file.text);
            rules::rust(file, &lines, &mut findings);
            behaviours::names(file, &lines, &mut tests);
            rust += 1;
            code += lines.iter().filter(|line| line.counts).count();
        }
    }
    let due = behaviours::check(&files, &tests, &mut findings);
    if rust == 0 || due == 0 || tests.is_empty() {
        findings.push(format!(
            "tidy saw {rust} Rust files, {} tests and {due} behaviours: that cannot be all",
            tests.len()
        ));
    }
    if findings.is_empty() {
        let files = files.len();
        return Ok(format!(
            "tidy: {files} files, {rust} of them Rust with {code} lines of code, {} tests, {due} behaviours: ok",
            tests.len()
        ));
    }
    let n = findings.len();
    findings.push(format!("tidy: {n} findings"));
    Err(findings.join("\n"))
}
