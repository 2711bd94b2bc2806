//! The house rules, each a function over one file.
//!
//! R1. A rule sees code as the lexer gives it: no string and no comment trips a rule that is about code.
//! R2. A finding is `path:line: what is wrong; what would be right`.

use crate::lexer::Line;
use crate::tree::File;

/// Code lines that a file may have, its tests not counted.
const FILE_LIMIT: usize = 400;

/// The only file that may say where the real data lie beside the workspace.
const DATA: &str = "crates/testkit/src/data.rs";

/// The only crates that may contain unsafe code, and deny it outside of one module: the core, and the allocator of the benches.
const UNSAFE_ROOMS: [&str; 2] = ["crates/oneflight/src/lib.rs", "bench/counting/src/lib.rs"];

/// What may use nothing that a runtime, or wasm32, lacks.
const CORE: &str = "crates/oneflight/src/";

/// The rooms of the core that are handed in themselves, and so do what the rest leaves to others: a store in a file, the wall clock.
const HANDED_IN: [&str; 2] = [
    "crates/oneflight/src/token/store/",
    "crates/oneflight/src/token/wall.rs",
];

/// Holds the rules for every text file.
pub(crate) fn text(file: &File, files: &[File], findings: &mut Vec<String>) {
    for (number, line) in (1..).zip(file.text.lines()) {
        let mut find = |message: &str| findings.push(format!("{}:{number}: {message}", file.path));
        if let Some(name) = places().iter().find(|place| line.contains(**place))
            && file.path != DATA
        {
            find(&format!(
                "`{name}` is a place or a tool of one desk; say it without"
            ));
        }
        for name in documents(line) {
            if !files
                .iter()
                .any(|other| other.path.rsplit('/').next() == Some(name))
            {
                find(&format!("{name} is not in the tree; name one that is"));
            }
        }
        if is_script(&file.path) && comment_of_script(line).is_some_and(is_open) {
            find("an open end without an issue; write TODO(#123)");
        }
    }
}

/// Holds the rules for Rust.
pub(crate) fn rust(file: &File, lines: &[Line], findings: &mut Vec<String>) {
    let code = lines
        .iter()
        .filter(|line| line.counts && !line.test)
        .count();
    if !file.is_test() && code > FILE_LIMIT {
        findings.push(format!(
            "{}: {code} lines of code; split it, {FILE_LIMIT} is the limit",
            file.path
        ));
    }
    let root = file.path.ends_with("/src/lib.rs") || file.path.ends_with("/src/main.rs");
    if root
        && !UNSAFE_ROOMS.contains(&file.path.as_str())
        && !lines
            .iter()
            .any(|line| line.code.contains("#![forbid(unsafe_code)]"))
    {
        findings.push(format!(
            "{}: no #![forbid(unsafe_code)] here; only the core has unsafe code, and the counter of the benches",
            file.path
        ));
    }
    for at in 0..lines.len() {
        if let Some(message) = unfinished(&lines[at])
            .or_else(|| sleeping(file, lines, at))
            .or_else(|| not_a_list(file, &lines[at]))
            .or_else(|| uncancelled(file, lines, at))
            .or_else(|| unordered(file, lines, at))
            .or_else(|| grounded(file, &lines[at]))
        {
            findings.push(format!("{}:{}: {message}", file.path, at + 1));
        }
    }
}

/// Work that is not done, or not run.
fn unfinished(line: &Line) -> Option<&'static str> {
    let code = &line.code;
    if ["todo!(", "unimplemented!(", "dbg!("]
        .iter()
        .any(|name| code.contains(name))
    {
        Some("a macro for drafts; finish it")
    } else if code.contains("#[ignore") {
        Some("a test that does not run; make it run, or take it away")
    } else if is_open(&line.comment) {
        Some("an open end without an issue; write TODO(#123)")
    } else if line.comment.contains("```") && line.comment.contains("ignore") {
        Some("an example that does not run; make it run, or write ```text")
    } else {
        None
    }
}

/// A test that sleeps, and does not say why it has to.
fn sleeping(file: &File, lines: &[Line], at: usize) -> Option<&'static str> {
    let line = &lines[at];
    let tests = line.test || file.path.contains("/tests/");
    let sleeps = tests
        && ["sleep(", "sleep_until("]
            .iter()
            .any(|name| line.code.contains(name));
    (sleeps && !said_above(lines, at, 3, "SLEEP: "))
        .then_some("a test that sleeps; script it, or say `// SLEEP: ` and why no script can do it")
}

/// A `mod.rs` holds docs, `mod` and `pub use` only.
fn not_a_list(file: &File, line: &Line) -> Option<&'static str> {
    let starts = [
        "fn ",
        "pub fn ",
        "pub(crate) fn ",
        "async fn ",
        "pub async fn ",
        "impl ",
        "impl<",
        "struct ",
        "pub struct ",
    ];
    let lists = file.path.ends_with("/mod.rs") && !file.is_test() && !line.test;
    (lists && starts.iter().any(|start| line.code.starts_with(start)))
        .then_some("a mod.rs is docs, `mod` and `pub use` only; move this to a file of its own")
}

/// A public `async fn` without a word on what happens when it is dropped.
fn uncancelled(file: &File, lines: &[Line], at: usize) -> Option<&'static str> {
    let line = &lines[at];
    let public =
        !file.is_test() && !line.test && line.code.trim_start().starts_with("pub async fn ");
    if !public {
        return None;
    }
    let docs = lines[..at]
        .iter()
        .rev()
        .take_while(|line| !line.comment.is_empty() || line.code.trim_start().starts_with("#["));
    let said = docs
        .into_iter()
        .any(|line| line.comment.contains("# Cancel safety"));
    (!said).then_some("a public async fn without a section `# Cancel safety`")
}

/// An atomic access without a word on its ordering.
fn unordered(file: &File, lines: &[Line], at: usize) -> Option<&'static str> {
    let line = &lines[at];
    let orders = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
    let atomic = orders
        .iter()
        .any(|order| line.code.contains(&format!("Ordering::{order}")));
    let shown = line.test || file.path.contains("/tests/") || file.path.contains("/examples/");
    (atomic && !shown && !said_above(lines, at, 12, "ORDERING: "))
        .then_some("an atomic access without `// ORDERING: ` and why that one is enough")
}

/// The core with time, threads or a system of its own: those are handed in, so that it runs on any runtime, and on wasm32.
fn grounded(file: &File, line: &Line) -> Option<&'static str> {
    let own = [
        "Instant::now(",
        "SystemTime::now(",
        "thread::spawn(",
        "thread::sleep(",
        "thread::park",
        "thread::Builder",
        "std::env",
        "std::fs",
        "std::net",
        "process::Command",
    ];
    // An adapter names its runtime in full.
    let code = line.code.replace("tokio::time::Instant::now(", "");
    let handed_in = HANDED_IN.iter().any(|room| file.path.starts_with(room));
    let core = file.path.starts_with(CORE) && !handed_in && !line.test;
    (core && own.iter().any(|name| code.contains(name)))
        .then_some("time, threads and the system are handed in here; take a `Clock` or a `Spawn`")
}

/// True if a comment on the line, or on one of the `reach` lines above it, has `word`.
fn said_above(lines: &[Line], at: usize, reach: usize, word: &str) -> bool {
    lines[at.saturating_sub(reach)..=at]
        .iter()
        .any(|line| line.comment.contains(word))
}

/// True if a comment leaves something open and names no issue for it.
fn is_open(comment: &str) -> bool {
    let words: Vec<_> = comment
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '(' | ')' | '#' | '_')))
        .collect();
    words.iter().any(|word| {
        let named = word
            .strip_prefix("TODO(#")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        !named
            && (word.starts_with(concat!("TO", "DO"))
                || matches!(*word, concat!("FIX", "ME") | concat!("XX", "X")))
    })
}

fn is_script(path: &str) -> bool {
    path.ends_with(".toml")
        || path.ends_with(".sh")
        || path.ends_with(".yml")
        || path == "test"
        || path.starts_with(".ci/")
}

fn comment_of_script(line: &str) -> Option<&str> {
    line.split_once('#').map(|(_, comment)| comment)
}

/// The documents that a line names: words in capitals with the ending of Markdown.
fn documents(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')))
        .filter_map(|word| {
            let word = word.trim_end_matches('.');
            let stem = word.strip_suffix(".md")?;
            (stem.len() > 1
                && stem
                    .bytes()
                    .all(|b| b.is_ascii_uppercase() || b == b'_' || b == b'-'))
            .then_some(word)
        })
}

/// Names that mean something at one desk only. They are put together here, so that this file does not hold them.
fn places() -> [&'static str; 6] {
    [
        concat!("sub", "agent"),
        concat!("/wo", "rk/"),
        concat!("../sh", "ared"),
        concat!("fa", "rm-"),
        concat!("issues sh", "ow"),
        concat!("/tmp/br", "ief"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let file = File {
            path: path.into(),
            text: text.into(),
        };
        let mut findings = Vec::new();
        super::text(&file, &[], &mut findings);
        if path.ends_with(".rs") {
            rust(&file, &lexer::lines(text), &mut findings);
        }
        findings
    }

    fn trips(path: &str, text: &str) -> bool {
        !findings(path, text).is_empty()
    }

    #[test]
    fn a_file_may_have_400_lines_of_code_and_any_number_of_tests() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "a();\n".repeat(500));
        assert!(!trips(
            "crates/a/src/b.rs",
            &format!("{}// c\n\n{tests}", "a();\n".repeat(400))
        ));
        assert!(trips("crates/a/src/b.rs", &"a();\n".repeat(401)));
        assert!(!trips("crates/a/tests/it/b.rs", &"a();\n".repeat(401)));
    }

    #[test]
    fn drafts_are_found_in_code_and_not_in_strings() {
        assert!(trips("crates/a/src/b.rs", "fn a() { todo!() }"));
        assert!(trips("crates/a/src/b.rs", "#[ignore]"));
        assert!(!trips("crates/a/src/b.rs", "let a = \"todo!(\";"));
        assert!(trips("crates/a/src/b.rs", "/// ```ignore"));
    }

    #[test]
    fn an_open_end_names_its_issue() {
        assert!(trips("crates/a/src/b.rs", concat!("// TO", "DO: later")));
        assert!(trips("a.toml", concat!("a = 1 # FIX", "ME")));
        assert!(!trips(
            "crates/a/src/b.rs",
            concat!("// TO", "DO(#12): later")
        ));
    }

    #[test]
    fn a_test_says_why_it_sleeps() {
        assert!(trips("crates/a/tests/it/b.rs", "sleep(x).await;"));
        assert!(!trips(
            "crates/a/tests/it/b.rs",
            "// SLEEP: the clock is paused.\nsleep(x).await;"
        ));
        assert!(!trips("crates/a/src/b.rs", "sleep(x).await;"));
    }

    #[test]
    fn a_public_async_fn_says_what_a_drop_does() {
        assert!(trips(
            "crates/a/src/b.rs",
            "/// Runs.\npub async fn run() {}"
        ));
        assert!(!trips(
            "crates/a/src/b.rs",
            "/// Runs.\n/// # Cancel safety\n/// Safe.\n#[must_use]\npub async fn run() {}"
        ));
    }

    #[test]
    fn an_atomic_access_says_why_its_ordering_is_enough() {
        assert!(trips("crates/a/src/b.rs", "a.load(Ordering::Acquire)"));
        assert!(!trips(
            "crates/a/src/b.rs",
            "// ORDERING: pairs with the store.\na.load(Ordering::Acquire)"
        ));
        assert!(!trips(
            "crates/a/src/b.rs",
            "match a.cmp(b) { Ordering::Less => c }"
        ));
    }

    #[test]
    fn the_core_has_no_time_and_no_threads_of_its_own() {
        let core = "crates/oneflight/src/a.rs";
        assert!(trips(core, "let now = Instant::now();"));
        assert!(trips(core, "std::thread::spawn(f);"));
        assert!(!trips(core, "/// let now = Instant::now();"));
        assert!(!trips(core, "tokio::time::Instant::now().into_std()"));
        assert!(!trips(
            core,
            "#[cfg(test)]\nmod tests {\n    fn a() { thread::spawn(f); }\n}"
        ));
        assert!(!trips("crates/a/src/b.rs", "let now = Instant::now();"));
    }

    #[test]
    fn only_the_core_may_be_without_the_ban_on_unsafe_code() {
        assert!(trips("crates/a/src/lib.rs", "mod b;"));
        assert!(!trips("crates/oneflight/src/lib.rs", "mod b;"));
    }

    #[test]
    fn documents_that_are_named_are_there() {
        assert!(trips("README.md", concat!("see NOWHERE", ".md.")));
        assert!(!trips("README.md", "see docs/mapping.md"));
    }

    #[test]
    fn places_of_one_desk_are_not_named() {
        assert!(trips("README.md", concat!("cd /wo", "rk/main")));
        assert!(!trips("README.md", "a network/wide search"));
    }

    #[test]
    fn a_mod_rs_is_a_list() {
        assert!(trips("crates/a/src/b/mod.rs", "pub fn c() {}"));
        assert!(!trips(
            "crates/a/src/b/mod.rs",
            "//! B.\nmod c;\npub use c::d;"
        ));
    }
}
