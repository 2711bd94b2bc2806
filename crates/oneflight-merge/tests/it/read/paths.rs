//! Paths: patterns, placeholders, and what a file is called.

use super::{ONE_BY_ONE, all, comma, source};
use oneflight_merge::plan::Format;
use oneflight_merge::read::{self, Input};
use std::path::Path;

fn folder(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in files {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, "a\n1\n").expect("a file");
    }
    folder
}

fn open(pattern: &str, folder: &Path) -> Vec<Input> {
    read::open(&source(pattern, Format::Csv(comma())), folder).expect("files")
}

fn found(pattern: &str, folder: &Path) -> Vec<String> {
    open(pattern, folder)
        .iter()
        .map(|input| input.file.name.clone())
        .collect()
}

#[test]
fn patterns_find_files_sorted_bytewise() {
    let files = [
        "b.csv",
        "a.csv",
        "Z.csv",
        "é.csv",
        ".hidden.csv",
        "sub/a.csv",
        "sub/deep/x.csv",
        "other.txt",
        "[1].csv",
        "sub/.h/y.csv",
    ];
    let folder = folder(&files);
    std::fs::create_dir(folder.path().join("folder.csv")).expect("a folder");
    let table: [(&str, &[&str]); 10] = [
        ("a.csv", &["a.csv"]),
        ("*.csv", &["Z.csv", "[1].csv", "a.csv", "b.csv", "é.csv"]),
        ("?.csv", &["Z.csv", "a.csv", "b.csv", "é.csv"]),
        ("[ab].csv", &["a.csv", "b.csv"]),
        ("[a-c]*", &["a.csv", "b.csv"]),
        ("[!a-z[].csv", &["Z.csv", "é.csv"]),
        ("[1].csv", &["[1].csv"]),
        (
            "**/*.csv",
            &[
                "Z.csv",
                "[1].csv",
                "a.csv",
                "b.csv",
                "sub/a.csv",
                "sub/deep/x.csv",
                "é.csv",
            ],
        ),
        ("sub/**/**/x.*", &["sub/deep/x.csv"]),
        ("./s*/.h/*", &["sub/.h/y.csv"]),
    ];
    for (pattern, names) in table {
        assert_eq!(found(pattern, folder.path()), names, "{pattern}");
    }
    let absolute = format!("{}/a.*", folder.path().display());
    assert_eq!(
        found(&absolute, Path::new("elsewhere")),
        [folder.path().join("a.csv").display().to_string()]
    );
    let seen = all(open("[ab].csv", folder.path()), ONE_BY_ONE).expect("fine");
    assert_eq!(seen.rows.len(), 2);
}

#[test]
fn placeholders_take_as_little_as_they_can() {
    let folder = folder(&[
        "2010-11.en.1.json.gz",
        "x/2010/x-2010.csv",
        "x/2011/x-2010.csv",
        ".1.json.gz",
    ]);
    let input = open("{season}.{league}.json.gz", folder.path()).remove(0);
    let pairs = |input: &Input| {
        input
            .file
            .captures
            .iter()
            .map(|(name, text)| format!("{name}={text}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(pairs(&input), ["season=2010-11", "league=en.1"]);
    assert_eq!(
        (input.file.name.as_str(), input.file.stem.as_str()),
        ("2010-11.en.1.json.gz", "2010-11.en.1")
    );
    let same = open("x/{year}/{name}-{year}.csv", folder.path());
    assert_eq!(same.len(), 1);
    assert_eq!(pairs(&same[0]), ["year=2010", "name=x"]);
}

#[test]
fn what_is_not_there_is_told_with_pattern_and_folder() {
    let folder = folder(&["sub/a.csv"]);
    let refused = |pattern: &str, folder: &Path| {
        read::open(&source(pattern, Format::Csv(comma())), folder)
            .expect_err("nothing")
            .to_string()
            .replace(&folder.display().to_string(), "DIR")
    };
    let at = folder.path();
    assert_eq!(
        refused("x.csv", at),
        "x.csv: there is no such file in the folder `DIR` (map.toml:1)"
    );
    assert_eq!(
        refused("*.csv", at),
        "*.csv: no file in the folder `DIR` matches this pattern (map.toml:1)"
    );
    assert_eq!(
        refused("sub", at),
        "sub: a file was expected, and `DIR/sub` is a folder (map.toml:1)"
    );
    assert_eq!(
        refused("x.csv", &at.join("no")),
        "x.csv: the folder `DIR` does not exist (map.toml:1)"
    );
    assert!(
        refused("{a,b}.csv", at)
            .contains("a placeholder such as {season} was expected in `{a,b}.csv`")
    );
    assert!(refused("[a.csv", at).contains("`[` without `]` in `[a.csv`"));
    let error = read::open(&source("x", Format::Ndjson), at).expect_err("nothing");
    assert!(error.is_missing());
}
