//! The behaviours that were promised, and the tests that bear their names.
//!
//! H1. A behaviour `A13` is covered by a test whose name has the part `a13`, or by a line of ARCHITECTURE.md that names `A13`
//!     and says `not applicable: ` and a reason.

use crate::lexer::Line;
use crate::tree::File;

/// Adds the names of the tests in a file to `tests`.
pub(crate) fn names(file: &File, lines: &[Line], tests: &mut Vec<String>) {
    for line in lines.iter().filter(|line| line.test || file.is_test()) {
        let Some(at) = line.code.find("fn ") else {
            continue;
        };
        let name: String = line.code[at + 3..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        tests.push(name);
    }
}

/// Finds behaviours that are not covered (H1); returns how many are due.
pub(crate) fn check(files: &[File], tests: &[String], findings: &mut Vec<String>) -> usize {
    let list = text(files, "crates/xtask/behaviours.txt");
    let architecture = text(files, "ARCHITECTURE.md");
    let (mut due, mut uncovered) = (0, false);
    for line in list
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
    {
        let (id, what) = line.split_once(' ').unwrap_or((line, ""));
        due += 1;
        let part = id.to_lowercase();
        let tested = tests
            .iter()
            .any(|name| name.split('_').any(|word| word == part));
        if !tested && !excused(architecture, id) {
            findings.push(format!("no test is named `{part}_…`: {}", what.trim()));
            uncovered = true;
        }
    }
    if uncovered {
        findings.push("(or say in ARCHITECTURE.md `A13: not applicable: ` and why)".to_owned());
    }
    due
}

fn text<'f>(files: &'f [File], path: &str) -> &'f str {
    files
        .iter()
        .find(|file| file.path == path)
        .map_or("", |file| &file.text)
}

fn excused(architecture: &str, id: &str) -> bool {
    architecture.lines().any(|line| {
        let named = line
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| word == id);
        named
            && line
                .split_once("not applicable: ")
                .is_some_and(|(_, reason)| !reason.trim().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(tests: &[&str], architecture: &str) -> usize {
        let file = |path: &str, text: &str| File {
            path: path.into(),
            text: text.into(),
        };
        let list = "# ids\nA1 leader panics\nA13 forget\n";
        let files = [
            file("crates/xtask/behaviours.txt", list),
            file("ARCHITECTURE.md", architecture),
        ];
        let tests: Vec<_> = tests.iter().map(|name| (*name).to_owned()).collect();
        let mut findings = Vec::new();
        assert_eq!(check(&files, &tests, &mut findings), 2);
        findings.len().saturating_sub(1)
    }

    #[test]
    fn a_behaviour_is_covered_by_a_test_that_bears_its_id() {
        assert_eq!(missing(&[], ""), 2);
        assert_eq!(missing(&["a1_all_get_an_error", "group_a13_forget"], ""), 0);
        assert_eq!(missing(&["a13_forget"], ""), 1);
    }

    #[test]
    fn a_behaviour_is_excused_by_a_line_with_a_reason() {
        assert_eq!(
            missing(&["a1_x"], "- **A13** not applicable: there is no forget"),
            0
        );
        assert_eq!(missing(&["a1_x"], "- **A13** not applicable: "), 1);
        assert_eq!(
            missing(&["a13_x"], "- **A13** not applicable: there is no forget"),
            1
        );
    }
}
