//! `oneflight lab merge` as a person or a script sees it, in little.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Output, Stdio};
use testkit::services;

/// Few references, few rows: a moment.
const LITTLE: [&str; 8] = [
    "--references",
    "400",
    "--keys",
    "100",
    "--rows",
    "200",
    "--connections",
    "8",
];

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oneflight"));
    command
        .args(["lab", "merge"])
        .args(args)
        .stdin(Stdio::null());
    for name in ["ONEFLIGHT_URL", "PGPASSWORD", "MYSQL_PWD"] {
        command.env_remove(name);
    }
    command
}

/// How a run ended: its code, and what it wrote.
fn ran(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn run(args: &[&str]) -> (i32, String, String) {
    ran(command(args).output().unwrap())
}

fn scratch(name: &str) -> String {
    format!("oneflight_lab_cli_{name}_{}", std::process::id())
}

#[test]
fn the_help_names_every_way_and_shows_examples() {
    let (code, out, _) = run(&["--help"]);
    assert_eq!(code, 0);
    for part in [
        "sequential, mutex, queue, cached, naive, flights, by-hand, batches",
        "oneflight lab merge --into postgres://",
        "--round-trip",
        "Exit codes:",
    ] {
        assert!(out.contains(part), "{part}:\n{out}");
    }
}

#[test]
fn what_makes_no_sense_is_said_before_anything_is_measured() {
    for (args, part) in [
        (
            &["--keys", "30000"][..],
            "20000 references cannot name 30000 keys",
        ),
        (&["--ways", "fast"], "`fast` is no way"),
        (&["--order", "sideways"], "`sideways` is no order"),
        (&["--case", "none"], "`none` is no case"),
        (&["--connections", "0"], "connections must be 1 to 1,000"),
        (&["--scratch", "a-b"], "is no name for a scratch database"),
        (
            &["--into", "oracle://ann:secret@host/db"],
            "oracle://ann:***@host/db",
        ),
        (
            &["--svg", "/no/such/folder/a.svg"],
            "cannot write `/no/such/folder/a.svg`",
        ),
    ] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn a_server_that_is_not_there_is_told_with_its_address() {
    let (code, _, err) = run(&["--into", "postgres://ann:secret@127.0.0.1:1/db"]);
    assert_eq!(code, 6, "{err}");
    assert!(
        err.contains("hint: the server is postgres://ann:***@127.0.0.1:1/db"),
        "{err}"
    );
    assert!(!err.contains("secret"), "{err}");
}

#[test]
fn a_run_on_sqlite_prints_tables_and_a_chart() {
    let (code, out, err) = run(&LITTLE);
    assert_eq!(code, 0, "{err}");
    for part in [
        "400 references to 100 keys, shuffled, SQLite",
        "400 references to 100 keys, clustered, SQLite",
        "shuffled, 0 ms, on a scale of powers of ten",
        "the whole merge: 200 rows with three references each",
        "oneflight merge, again",
        "flights and batches  ",
        "█",
    ] {
        assert!(out.contains(part), "{part}:\n{out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 170), "{out}");
    // What begins, and how long it took, a line each: 8 ways in 2 orders, and 3 whole merges.
    let told = err.lines().filter(|line| line.contains("/19  ")).count();
    assert_eq!(told, 19, "{err}");
}

#[test]
fn figures_go_into_files_and_come_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (svg, json) = (path("ways.svg"), path("ways.json"));
    let mut args = LITTLE.to_vec();
    args.extend([
        "--ways",
        "sequential,batches",
        "--case",
        "references",
        "--format",
        "json",
    ]);
    args.extend(["--svg", &svg, "--json", &json]);
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{err}");
    let printed: Value = serde_json::from_str(&out).unwrap();
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(printed, written);
    let figures = printed["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 4);
    for figure in figures {
        assert_eq!(figure["audit"]["rows"], 100, "{figure}");
        assert!(figure["seconds"].as_f64().unwrap() > 0.0, "{figure}");
    }
    assert_eq!(
        (&figures[1]["way"], &figures[1]["order"]),
        (&"batches".into(), &"shuffled".into())
    );
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    assert_eq!(svg.matches("class=\"ours\"").count(), 2, "{svg}");
    assert_eq!(svg.matches("class=\"other\"").count(), 2, "{svg}");
}

#[tokio::test]
async fn a_scratch_database_that_is_there_already_is_left_alone() {
    let (url, name) = (services::postgres(), scratch("taken"));
    testkit::execute(&url, &format!("CREATE DATABASE {name}")).await;
    let (code, _, err) = run(&["--into", &url, "--scratch", &name]);
    // This fails if it was dropped.
    testkit::execute(&url, &format!("DROP DATABASE {name}")).await;
    assert_eq!(code, 2, "{err}");
    assert!(err.contains(&format!("`{name}` exists already")), "{err}");
    assert!(
        err.contains("hint: if nobody needs it, drop it; or name another with --scratch"),
        "{err}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn an_interrupt_drops_the_scratch_database() {
    for (url, name) in [
        (services::postgres(), scratch("interrupt_p")),
        (services::mariadb(), scratch("interrupt_m")),
    ] {
        let mut child = command(&["--into", &url, "--scratch", &name, "--round-trip", "20"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        // It measures: the first of its figures is there.
        while !said.contains("1/") || !said.ends_with('\n') {
            assert!(told.read_line(&mut said).unwrap() > 0, "{said}");
        }
        let id = child.id().to_string();
        let killed = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(killed.success());
        told.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
        assert!(
            said.contains("interrupted; the scratch database is dropped"),
            "{said}"
        );
        // It can be made again, so it is gone.
        testkit::execute(&url, &format!("CREATE DATABASE {name}")).await;
        testkit::execute(&url, &format!("DROP DATABASE {name}")).await;
    }
}
