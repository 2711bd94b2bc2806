//! The program as a person or a script sees it: exit codes, what stands on standard output and on standard error, files.
//! SQLite only: what the databases have to say to it is tested elsewhere.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A map with one table and one feed.
const MAP: &str = r#"
[table.club]
key = "name"
fold = "full"
columns = { name = "text", founded = "integer" }

[feed.clubs]
path = "clubs.csv"

[feed.clubs.into.club]
name = "name"
founded = "founded"
"#;

/// A folder with a map and a feed, in which the program runs.
struct Place {
    dir: tempfile::TempDir,
}

/// How a run ended.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Place {
    fn new(feed: &str) -> Self {
        let place = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        place.write("league.toml", MAP);
        place.write("clubs.csv", feed);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oneflight"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        for name in ["ONEFLIGHT_URL", "PGPASSWORD", "MYSQL_PWD"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// Runs SQL on a SQLite file with another client than ours.
    fn sql(&self, database: &str, sql: &'static str) {
        use sqlx::Connection as _;
        let url = format!("sqlite:{}", self.path(database).display());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        });
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

impl Ran {
    #[track_caller]
    fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "stdout:\n{}\nstderr:\n{}",
            self.out, self.err
        );
        self
    }

    #[track_caller]
    fn says(self, part: &str) -> Self {
        assert!(self.err.contains(part), "`{part}` is not in:\n{}", self.err);
        self
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

#[test]
fn a_merge_that_is_done_ends_with_0_and_prints_its_summary() {
    let place = Place::new("name,founded\nAshford,1887\n ASHFORD ,\nBlåvik,1911\n");
    let ran = place.run(&["merge", "league.toml"]).expect(0);
    assert!(
        ran.out.starts_with(
            "feed   read  inserted  unchanged  updated  rejected\nclubs     3         2          1"
        ),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("merged into sqlite:league.db: 3 rows in"),
        "{}",
        ran.out
    );
    assert!(
        place.path("league.db").exists(),
        "the default is a file named like the map"
    );
    let ran = place.run(&["merge", "league.toml"]).expect(0);
    assert!(
        ran.out.contains("clubs     3         0          3"),
        "the same feed twice changes nothing: {}",
        ran.out
    );
}

#[test]
fn json_is_all_that_stands_on_standard_output() {
    let place = Place::new("name,founded\nAshford,1887\nBlåvik,soon\n");
    let ran = place
        .run(&[
            "merge",
            "league.toml",
            "--format",
            "json",
            "--into",
            "sqlite:a.db",
        ])
        .expect(3);
    let json = ran.json();
    assert_eq!(json["status"], "rejects");
    assert_eq!(json["exit_code"], 3);
    assert_eq!(json["into"], "sqlite:a.db");
    assert_eq!(
        (&json["read"], &json["rejected"]),
        (&Value::from(2), &Value::from(1))
    );
    let feed = &json["feeds"][0];
    let sum: u64 = ["inserted", "existing", "updated", "rejected"]
        .iter()
        .map(|name| feed[name].as_u64().unwrap())
        .sum();
    assert_eq!(feed["read"], sum, "{feed}");
    assert_eq!(json["tables"][0]["name"], "club");
    assert_eq!(json["tables"][0]["created"], 1);
    assert!(json["round_trips"].as_u64().unwrap() > 0 && json["seconds"].is_number());
}

#[test]
fn rejected_rows_are_shown_and_written_and_end_with_3() {
    let mut feed = String::from("name,founded\nAshford,1887\n");
    for n in 0..9 {
        feed.push_str(&format!("Club {n},in {n}\n"));
    }
    let place = Place::new(&feed);
    let ran = place
        .run(&["merge", "league.toml", "--rejects", "bad.ndjson"])
        .expect(3);
    let ran = ran.says("clubs.csv:3: column `founded`: value \"in 0\": expected ");
    let ran = ran.says("… and 4 more rejected (all are in bad.ndjson)");
    assert_eq!(ran.err.matches("clubs.csv:").count(), 5, "{}", ran.err);
    assert!(
        ran.out.contains("9 rows rejected, see bad.ndjson"),
        "{}",
        ran.out
    );
    let lines: Vec<Value> = place
        .read("bad.ndjson")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 9);
    let members: Vec<&String> = lines[0].as_object().unwrap().keys().collect();
    assert_eq!(members.len(), 6, "{members:?}");
    assert_eq!(
        (&lines[0]["file"], &lines[0]["feed"]),
        (&"clubs.csv".into(), &"clubs".into())
    );
    assert_eq!(
        (&lines[0]["line"], &lines[0]["column"], &lines[0]["value"]),
        (&3.into(), &"founded".into(), &"in 0".into())
    );
    assert!(lines[0]["reason"].as_str().unwrap().contains("expected"));
}

#[test]
fn the_rejects_file_is_there_even_if_no_row_is_rejected() {
    let place = Place::new("name,founded\nAshford,1887\n");
    place.write("bad.ndjson", "of an earlier run\n");
    place
        .run(&["merge", "league.toml", "--rejects", "bad.ndjson"])
        .expect(0);
    assert_eq!(place.read("bad.ndjson"), "");
}

#[test]
fn the_rejects_file_is_none_of_the_files_that_are_read() {
    let feed = "name,founded\nAshford,1887\n";
    let place = Place::new(feed);
    fs::hard_link(place.path("clubs.csv"), place.path("linked.csv")).unwrap();
    for (name, what) in [
        ("clubs.csv", "one of the files that are read"),
        ("linked.csv", "one of the files that are read"),
        ("./league.toml", "the map"),
        ("-", "standard output is for the summary"),
        ("no/such/folder.ndjson", "cannot write the rejects file"),
    ] {
        place
            .run(&["merge", "league.toml", "--rejects", name])
            .expect(2)
            .says(what);
    }
    assert_eq!(
        (
            place.read("clubs.csv").as_str(),
            place.read("league.toml").as_str()
        ),
        (feed, MAP)
    );
    let map = MAP.replace("clubs.csv", "*.csv");
    place.write("all.toml", &map);
    fs::remove_file(place.path("linked.csv")).unwrap();
    place
        .run(&["merge", "all.toml", "--rejects", "new.csv"])
        .expect(2)
        .says("one of the files that are read");
    assert!(
        !place.path("new.csv").exists(),
        "what was made for nothing is removed"
    );
}

#[test]
fn a_merge_stops_beyond_the_reject_limit_with_4() {
    let place = Place::new("name,founded\na1,x\na2,x\na3,x\n");
    place
        .run(&["merge", "league.toml", "--max-rejects", "3"])
        .expect(3);
    let ran = place
        .run(&["merge", "league.toml", "--max-rejects", "2"])
        .expect(4);
    assert!(
        ran.out.contains("stopped at the reject limit"),
        "{}",
        ran.out
    );
    let ran = place
        .run(&[
            "merge",
            "league.toml",
            "--max-rejects",
            "0",
            "--format",
            "json",
        ])
        .expect(4);
    assert_eq!(ran.json()["status"], "reject_limit");
}

#[test]
fn a_dry_run_writes_nothing_and_prints_the_same_summary() {
    let place = Place::new("name,founded\nAshford,1887\nBlåvik,1911\n");
    let ran = place
        .run(&["merge", "league.toml", "--dry-run", "--format", "json"])
        .expect(0);
    let dry = ran.json();
    assert_eq!(dry["dry_run"], true);
    let ran = place
        .run(&["merge", "league.toml", "--format", "json"])
        .expect(0);
    let wet = ran.json();
    assert_eq!(
        (&dry["feeds"], &dry["tables"]),
        (&wet["feeds"], &wet["tables"])
    );
    assert_eq!(
        wet["tables"][0]["created"], 2,
        "the dry run left nothing behind"
    );
}

#[test]
fn quiet_prints_nothing_but_errors() {
    let place = Place::new("name,founded\nAshford,1887\nBlåvik,soon\n");
    let ran = place.run(&["merge", "league.toml", "--quiet"]).expect(3);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let ran = place
        .run(&["merge", "league.toml", "--quiet", "--format", "json"])
        .expect(3);
    assert_eq!(
        (ran.json()["rejected"].as_u64(), ran.err.as_str()),
        (Some(1), "")
    );
    place
        .run(&["merge", "nothing.toml", "--quiet"])
        .expect(2)
        .says("error: cannot read the map `nothing.toml`");
}

#[test]
fn usage_errors_end_with_2_and_say_what_would_be_right() {
    let place = Place::new("name,founded\n");
    for (args, part) in [
        (&["merge"][..], "<MAP>"),
        (&["merge", "league"], "hint: is it `league.toml`?"),
        (&["merge", "league.toml", "--workers", "0"], "1..=64"),
        (
            &["merge", "league.toml", "--format", "xml"],
            "possible values: text, json",
        ),
        (
            &["merge", "league.toml", "--into", "league.db"],
            "did you mean `sqlite:league.db`?",
        ),
        (
            &["merge", "league.toml", "--data", "nowhere"],
            "the data folder `nowhere` does not exist",
        ),
        (
            &["merge", "league.toml", "--data", "clubs.csv"],
            "the data folder `clubs.csv` is no folder",
        ),
        (&["merg", "league.toml"], "'merge'"),
        (
            &["audit", "league.toml", "--into", "sqlite:nothing.db"],
            "hint: merge first: oneflight merge league.toml --into sqlite:nothing.db",
        ),
    ] {
        let ran = place.run(args).expect(2).says(part);
        assert_eq!(ran.out, "", "{args:?}");
    }
    assert!(
        !place.path("nothing.db").exists(),
        "an audit makes no database"
    );
}

#[test]
fn a_faulty_map_ends_with_2_and_names_the_line() {
    let place = Place::new("name,founded\n");
    place.write(
        "wrong.toml",
        &MAP.replace("fold = \"full\"", "fold = \"ful\"")
            .replace("founded = \"founded\"", "fonded = \"founded\""),
    );
    let ran = place
        .run(&["merge", "wrong.toml"])
        .expect(2)
        .says("wrong.toml:4:")
        .says("wrong.toml:12:");
    assert!(ran.err.contains("founded"), "{}", ran.err);
    fs::write(place.path("latin.toml"), b"# caf\xe9\n").unwrap();
    place
        .run(&["merge", "latin.toml"])
        .expect(2)
        .says("latin.toml:1: the map is not UTF-8");
}

#[test]
fn a_feed_that_cannot_be_read_ends_with_2_and_is_named() {
    let place = Place::new("name;founded\nAshford;1887\n");
    place
        .run(&["merge", "league.toml"])
        .expect(2)
        .says("clubs.csv");
    fs::remove_file(place.path("clubs.csv")).unwrap();
    place
        .run(&["merge", "league.toml"])
        .expect(2)
        .says("clubs.csv")
        .says("no such file");
    assert!(!place.path("league.db").exists() || place.run(&["audit", "league.toml"]).code != 0);
}

#[test]
fn a_database_that_cannot_be_reached_ends_with_6_and_no_password_is_printed() {
    let place = Place::new("name,founded\nAshford,1887\n");
    for scheme in ["postgres", "mysql"] {
        // Nothing listens on the port of discarded messages.
        let url = format!("{scheme}://ann:sesame7@127.0.0.1:9/league");
        for command in ["merge", "audit"] {
            let ran = place
                .run(&[command, "league.toml", "--into", &url])
                .expect(6);
            let ran = ran.says(&format!("{scheme}://ann:***@127.0.0.1:9/league"));
            assert!(
                !ran.err.contains("sesame7") && !ran.out.contains("sesame7"),
                "{}",
                ran.err
            );
        }
        let bare = format!("{scheme}://ann@127.0.0.1:9/league");
        let mut command = place.command(&["merge", "league.toml", "--into", &bare]);
        let ran = Ran::from(
            command
                .env("PGPASSWORD", "sesame7")
                .env("MYSQL_PWD", "sesame7")
                .output()
                .unwrap(),
        )
        .expect(6);
        assert!(!ran.err.contains("sesame7"), "{}", ran.err);
    }
}

#[test]
fn a_password_is_not_printed_where_the_command_line_is_wrong() {
    let place = Place::new("name,founded\n");
    let url = "postgres://ann:sesame7@localhost/league";
    for args in [
        &["merge", "league.toml", url][..],
        &[
            "merge",
            "league.toml",
            "--into",
            "oracle://ann:sesame7@localhost/x",
        ],
        &[url],
    ] {
        let ran = place.run(args).expect(2).says("ann:***@localhost");
        assert!(!ran.err.contains("sesame7"), "{}", ran.err);
    }
    for args in [
        &["merge", "--help"][..],
        &["--help"],
        &["merge", "league.toml", "--nonsense"],
    ] {
        let ran = Ran::from(
            place
                .command(args)
                .env("ONEFLIGHT_URL", url)
                .output()
                .unwrap(),
        );
        assert!(!(ran.out + &ran.err).contains("sesame7"));
    }
}

#[test]
fn the_database_may_be_named_by_the_environment() {
    let place = Place::new("name,founded\nAshford,1887\n");
    let mut command = place.command(&["merge", "league.toml"]);
    Ran::from(
        command
            .env("ONEFLIGHT_URL", "sqlite:other.db")
            .output()
            .unwrap(),
    )
    .expect(0);
    assert!(place.path("other.db").exists() && !place.path("league.db").exists());
}

#[test]
fn the_help_lists_the_exit_codes() {
    let place = Place::new("");
    for args in [
        &["--help"][..],
        &["merge", "--help"],
        &["audit", "--help"],
        &["demo", "--help"],
    ] {
        let ran = place.run(args).expect(0);
        for code in [
            "  2  usage",
            "  3  done, but",
            "  4  stopped",
            "  6  the database",
            "130  interrupted",
        ] {
            assert!(ran.out.contains(code), "{args:?}: {}", ran.out);
        }
    }
    assert!(
        place
            .run(&["--version"])
            .expect(0)
            .out
            .starts_with("oneflight ")
    );
}

#[test]
fn an_audit_finds_what_was_broken_by_hand() {
    let place = Place::new("name,founded\nAshford,1887\nBlåvik,1911\nEstádio,\nEstadio,\n");
    place.run(&["merge", "league.toml"]).expect(0);
    let ran = place.run(&["audit", "league.toml"]).expect(0);
    assert!(ran.out.contains("clean: no key twice"), "{}", ran.out);
    assert!(
        ran.out
            .contains("\"Estadio\" and \"Estádio\" (but for accents"),
        "a hint, and no finding: {}",
        ran.out
    );
    place.sql(
        "league.db",
        "UPDATE club SET name = 'ASHFORD ' WHERE founded = 1911",
    );
    let ran = place.run(&["audit", "league.toml"]).expect(3);
    assert!(
        ran.out
            .contains("club: name: 1 rows whose stored key is not what their text folds to"),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("club: name: 1 keys that several rows have once they are folded"),
        "{}",
        ran.out
    );
    let json = place
        .run(&["audit", "league.toml", "--format", "json"])
        .expect(3)
        .json();
    assert_eq!(
        (&json["status"], &json["exit_code"]),
        (&"findings".into(), &3.into())
    );
    assert_eq!(json["tables"][0]["findings"][0]["kind"], "stale_key");
    place.sql("league.db", "DROP TABLE club");
    place
        .run(&["audit", "league.toml"])
        .expect(2)
        .says("`club`")
        .says("hint: merge first");
}

#[test]
fn the_demo_ends_with_0_and_a_clean_database_and_may_be_repeated() {
    let place = Place::new("");
    let ran = place.run(&["demo"]).expect(0);
    for part in [
        "165 spellings became 20 clubs",
        "clean: no key twice",
        "0 created, 0 updated",
        "7 rows rejected",
    ] {
        assert!(ran.out.contains(part), "`{part}` is not in:\n{}", ran.out);
    }
    assert!(place.path("oneflight-demo/league.db").exists());
    place
        .run(&[
            "audit",
            "oneflight-demo/league.toml",
            "--into",
            "sqlite:oneflight-demo/league.db",
        ])
        .expect(0);
    place.run(&["demo"]).expect(0);
    place.write("oneflight-demo/league.toml", "# edited\n");
    place
        .run(&["demo"])
        .expect(2)
        .says("nothing is overwritten")
        .says("hint: give the demo another folder");
    assert_eq!(place.read("oneflight-demo/league.toml"), "# edited\n");
    place.run(&["demo", "an other"]).expect(0);
    assert!(Path::new(&place.path("an other/league.db")).exists());
}

#[cfg(unix)]
#[test]
fn an_interrupted_merge_ends_with_130_and_its_rejects_file_is_whole() {
    use std::io::Write as _;
    let place = Place::new("");
    place.write(
        "pipe.toml",
        &MAP.replace("clubs.csv", "-")
            .replace("path =", "format = \"csv\"\npath ="),
    );
    let args = [
        "merge",
        "pipe.toml",
        "--rejects",
        "bad.ndjson",
        "--format",
        "json",
    ];
    let mut child = place
        .command(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Rows without end, so that the program is always in the middle: they stop when it no longer reads.
    let feeding = std::thread::spawn(move || {
        let mut wrote = stdin.write_all(b"name,founded\n");
        for n in 0.. {
            let founded = if n % 100 == 0 { "x" } else { "1900" };
            wrote = wrote.and_then(|()| writeln!(stdin, "Club {},{founded}", n % 20_000));
            if wrote.is_err() {
                return;
            }
        }
    });
    // The first rejected row in the file says that a chunk is done.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !place.path("bad.ndjson").exists() || place.read("bad.ndjson").is_empty() {
        assert!(std::time::Instant::now() < deadline, "nothing was merged");
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    let ran = Ran::from(output).expect(130).says("stopping");
    let json = ran.json();
    assert_eq!(
        (&json["status"], &json["interrupted"]),
        (&"interrupted".into(), &true.into())
    );
    let bad = place.read("bad.ndjson");
    assert!(
        bad.lines()
            .all(|line| serde_json::from_str::<Value>(line).is_ok())
    );
    assert_eq!(json["rejected"].as_u64(), Some(bad.lines().count() as u64));
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_a_merge_that_still_waits_for_its_first_byte() {
    use std::io::BufRead as _;
    let place = Place::new("");
    place.write(
        "pipe.toml",
        &MAP.replace("clubs.csv", "-")
            .replace("path =", "format = \"csv\"\npath ="),
    );
    let mut child = place
        .command(&["merge", "pipe.toml", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It stays open, and says nothing, until the program has ended.
    let stdin = child.stdin.take().unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let id = child.id().to_string();
    // Before it listens, the signal would end it in the system's way.
    wait_until_caught(&id);
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let mut said = String::new();
    stderr.read_line(&mut said).unwrap();
    assert!(said.starts_with("stopping"), "{said}");
    let ran = Ran::from(child.wait_with_output().unwrap()).expect(130);
    drop(stdin);
    assert_eq!(ran.json()["interrupted"], true);
    assert!(!place.path("pipe.db").exists(), "no database was made");
}

/// Waits until a process has a handler for SIGINT of its own.
#[cfg(target_os = "linux")]
fn wait_until_caught(id: &str) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // SIGINT is signal 2: bit 1.
        if caught.is_some_and(|caught| caught & 2 != 0) {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "it never listens");
        std::thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_summary_that_cannot_be_written_is_an_error_and_a_reader_that_left_is_none() {
    let place = Place::new("name,founded\nUnion,1906\n");
    let full = std::fs::File::create("/dev/full").unwrap();
    let mut command = place.command(&["merge", "league.toml", "--format", "json"]);
    let output = command.stdout(full).output().unwrap();
    Ran::from(output)
        .expect(2)
        .says("cannot write the summary to standard output");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = place.command(&["merge", "league.toml"]);
    Ran::from(command.stdout(writer).output().unwrap()).expect(0);
}

#[cfg(target_os = "linux")]
#[test]
fn the_rejects_file_is_not_the_file_that_standard_output_goes_into() {
    let place = Place::new("name,founded\nUnion,x\n");
    let out = std::fs::File::create(place.path("out.txt")).unwrap();
    let mut command = place.command(&["merge", "league.toml", "--rejects", "/dev/stdout"]);
    Ran::from(command.stdout(out).output().unwrap())
        .expect(2)
        .says("is where the summary goes");
}
