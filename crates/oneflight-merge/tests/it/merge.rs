//! The whole merge, into SQLite: what comes out, and the books.

use oneflight_merge::batch::Reject;
use oneflight_merge::merge::{Events, Options, Progress, Stop, merge};
use oneflight_merge::report::{Report, TableReport};
use oneflight_merge::{Error, mapping};
use oneflight_sql::{ddl, driver};
use sqlx::sqlite::SqlitePool;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// A folder with a mapping, feeds and a database.
struct Bench {
    dir: TempDir,
    map: String,
}

impl Bench {
    fn new(map: &str, feeds: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in feeds {
            std::fs::write(dir.path().join(name), text).expect("a feed");
        }
        Self {
            dir,
            map: map.into(),
        }
    }

    fn feed(&self, name: &str, text: &str) {
        std::fs::write(self.dir.path().join(name), text).expect("a feed");
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn url(&self) -> String {
        format!("sqlite:{}", self.path().join("out.db").display())
    }

    fn options(&self) -> Options {
        Options::new(self.path(), self.url())
    }

    async fn try_run(&self, options: Options, stop: Stop) -> (Result<Report, Error>, Seen) {
        let plan =
            mapping::parse(&self.map, "map.toml").unwrap_or_else(|errors| panic!("{errors}"));
        let mut seen = Seen::default();
        let report = merge(Arc::new(plan), options, &mut seen, stop).await;
        (report, seen)
    }

    async fn run(&self) -> Report {
        self.run_with(self.options()).await.0
    }

    async fn run_with(&self, options: Options) -> (Report, Seen) {
        let (report, seen) = self.try_run(options, Stop::new()).await;
        let report = report.unwrap_or_else(|error| panic!("{error}"));
        for feed in &report.feeds {
            assert_eq!(
                feed.read,
                feed.inserted + feed.existing + feed.updated + feed.rejected,
                "N1: {feed:?}"
            );
        }
        (report, seen)
    }

    async fn rows(&self, sql: &str) -> Vec<String> {
        let pool = SqlitePool::connect(&self.url())
            .await
            .expect("the database");
        let rows = sqlx::query_scalar(sqlx::AssertSqlSafe(sql.to_owned()))
            .fetch_all(&pool)
            .await;
        pool.close().await;
        rows.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    async fn count(&self, table: &str) -> i64 {
        self.rows(&format!("SELECT CAST(COUNT(*) AS TEXT) FROM \"{table}\""))
            .await[0]
            .parse()
            .expect("a number")
    }
}

#[derive(Default)]
struct Seen {
    rejects: Vec<String>,
    /// Column and value of each.
    blamed: Vec<String>,
    rows: u64,
    ended: Vec<String>,
}

impl Events for Seen {
    fn rejected(&mut self, feed: &str, file: &str, reject: &Reject) {
        let file = Path::new(file)
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        self.rejects
            .push(format!("{feed} {file}:{} {}", reject.line, reject.reason));
        let (column, value) = (&reject.column, &reject.value);
        let shown = |text: &Option<String>| text.clone().unwrap_or_default();
        self.blamed
            .push(format!("{}: {}", shown(column), shown(value)));
    }

    fn progress(&mut self, _feed: usize, progress: Progress) {
        self.rows = progress.rows;
    }

    fn feed_ended(&mut self, _feed: usize, report: &oneflight_merge::report::FeedReport) {
        self.ended.push(report.name.clone());
    }
}

fn table<'r>(report: &'r Report, name: &str) -> &'r TableReport {
    report
        .tables
        .iter()
        .find(|table| table.name == name)
        .expect("a table of the mapping")
}

const CLUBS: &str = r#"
[table.country]
key = "name"
fold = "full"
columns = { name = "text" }

[table.club]
key = "name"
fold = "full"
columns = { name = "text", city = "text", country = "ref country" }

[table.match]
key = ["day", "home", "away"]
columns = { day = "date", home = "ref club", away = "ref club", goals = "integer" }

[feed.matches]
path = "matches.csv"
[feed.matches.into.match]
day = "day"
home = { name = "home", country = { name = "country" } }
away = { name = "away", country = { name = "country" } }
goals = "goals"
"#;

const MATCHES: &str = "day,home,away,country,goals\n\
    2024-01-01,Arsenal,Chelsea,England,3\n\
    2024-01-02, ARSENAL ,Spurs,england,0\n\
    2024-01-03,Spurs,arsenal,England,1\n\
    2024-01-03,Spurs,Arsenal,England,1\n";

#[tokio::test]
async fn one_row_for_each_entity_however_it_is_spelled() {
    let bench = Bench::new(CLUBS, &[("matches.csv", MATCHES)]);
    let report = bench.run().await;
    assert_eq!(
        bench.rows("SELECT name FROM club ORDER BY name").await,
        ["Arsenal", "Chelsea", "Spurs"]
    );
    assert_eq!(bench.rows("SELECT name FROM country").await, ["England"]);
    assert_eq!(bench.count("match").await, 3);
    let feed = &report.feeds[0];
    assert_eq!((feed.read, feed.inserted, feed.existing), (4, 3, 1));
    assert_eq!(table(&report, "club").created, 3);
}

#[tokio::test]
async fn the_same_feed_twice_changes_nothing() {
    let bench = Bench::new(CLUBS, &[("matches.csv", MATCHES)]);
    bench.run().await;
    let all = "SELECT id||name||coalesce(country_id,'') FROM club UNION ALL SELECT day||home_id||away_id||goals FROM match";
    let before = bench.rows(all).await;
    let report = bench.run().await;
    assert_eq!(bench.rows(all).await, before);
    let feed = &report.feeds[0];
    assert_eq!((feed.inserted, feed.existing, feed.updated), (0, 4, 0));
    assert!(
        report
            .tables
            .iter()
            .all(|table| table.created + table.updated + table.completed == 0),
        "{report:?}"
    );
}

#[tokio::test]
async fn a_start_reads_the_catalog_of_each_table_once() {
    let bench = Bench::new(CLUBS, &[("matches.csv", MATCHES)]);
    bench.run().await;
    bench.feed("matches.csv", "day,home,away,country,goals\n");
    let report = bench.run().await;
    let plan = mapping::parse(CLUBS, "map.toml").unwrap_or_else(|errors| panic!("{errors}"));
    let tables: Vec<_> = plan.tables.iter().map(|table| table.sql.clone()).collect();
    let driver = driver::connect(&bench.url(), driver::Options::default())
        .await
        .expect("the database");
    ddl::prepare_and_open(&driver, &tables)
        .await
        .expect("they are there, and fit");
    assert_eq!(report.read(), 0);
    assert_eq!(report.round_trips, driver.round_trips());
}

#[tokio::test]
async fn any_number_of_workers_gives_the_same_rows() {
    let mut feed = "day,home,away,country,goals\n".to_owned();
    for row in 0..500 {
        // Every spelling of a club is another one: the first in the feed's order is to be kept.
        let (home, away) = (row * 7 % 40, row * 11 % 40);
        feed += &format!(
            "2024-01-{:02},{}club {home},Club  {away},land {},{row}\n",
            row % 28 + 1,
            " ".repeat(row % 3),
            row % 5
        );
    }
    let all = "SELECT name FROM club UNION ALL SELECT m.day||h.name||a.name||m.goals FROM match m \
               JOIN club h ON h.id = home_id JOIN club a ON a.id = away_id ORDER BY 1";
    let mut rows = Vec::new();
    for workers in [1, 8] {
        let bench = Bench::new(CLUBS, &[("matches.csv", &feed)]);
        let mut options = bench.options();
        (options.workers, options.chunk_rows) = (workers, 13);
        let (report, seen) = bench.run_with(options).await;
        assert_eq!(seen.rows, 500);
        assert_eq!(table(&report, "club").created, 40, "N2");
        rows.push(bench.rows(all).await);
    }
    assert_eq!(rows[0], rows[1]);
}

#[tokio::test]
async fn a_bad_row_leaves_no_trace() {
    let bad = "2024-02-30,Nowhere,Chelsea,Atlantis,3\n2024-01-09,Leeds,Hull,England,many\n";
    let bench = Bench::new(CLUBS, &[("matches.csv", &(MATCHES.to_owned() + bad))]);
    let (report, seen) = bench.run_with(bench.options()).await;
    assert_eq!((report.read(), report.rejected()), (6, 2));
    assert_eq!(seen.rejects.len(), 2, "{:?}", seen.rejects);
    assert!(
        seen.rejects[0].starts_with("matches matches.csv:6 "),
        "{:?}",
        seen.rejects
    );
    assert_eq!(bench.count("club").await, 3);
    assert_eq!(bench.count("country").await, 1);
}

#[tokio::test]
async fn the_reject_limit_stops_the_run() {
    let bench = Bench::new(
        CLUBS,
        &[(
            "matches.csv",
            &(MATCHES.to_owned() + &"x,A,B,C,1\n".repeat(100)),
        )],
    );
    let mut options = bench.options();
    (options.max_rejects, options.chunk_rows, options.workers) = (Some(10), 4, 1);
    let (report, _) = bench.run_with(options).await;
    assert!(report.reject_limit && !report.interrupted);
    assert!((11..104).contains(&report.rejected()), "{report:?}");
    assert_eq!(
        bench.count("match").await,
        3,
        "what was read before the limit is merged"
    );
}

#[tokio::test]
async fn a_run_that_is_stopped_says_so() {
    let bench = Bench::new(CLUBS, &[("matches.csv", MATCHES)]);
    let stop = Stop::new();
    stop.stop();
    let (report, _) = bench.try_run(bench.options(), stop).await;
    assert!(report.expect("a report").interrupted);
}

#[tokio::test]
async fn a_dry_run_counts_all_and_commits_nothing() {
    let bench = Bench::new(CLUBS, &[("matches.csv", MATCHES)]);
    let mut options = bench.options();
    options.dry_run = true;
    let (dry, _) = bench.run_with(options).await;
    assert!(!bench.path().join("out.db").exists());
    let (real, _) = bench.run_with(bench.options()).await;
    assert_eq!((&dry.feeds, &dry.tables), (&real.feeds, &real.tables));
    assert!(dry.dry_run);
    assert_eq!(bench.count("match").await, 3);
}

const FEES: &str = r#"
        [defaults]
        policy = "error"
        [table.town]
        key = ["land", "name"]
        columns = { land = "text", name = "text" }
        [table.club]
        key = "name"
        columns = { name = "text", fee = "decimal", since = "date", town = "ref town" }
        [feed.clubs]
        path = "clubs.csv"
        [feed.clubs.into.club]
        name = "club"
        fee = "cost"
        since = "since"
        town = { land = "land", name = "town" }
    "#;

const FEES_FEED: &str = "club,cost,since,land,town\n\
        a,1.5,2010-08-14,it,Rome\n\
        a,2.50,,,\n\
        a,,2011-01-01,,\n\
        a,,,it,Pisa\n\
        a,1.50,,,\n";

/// In one chunk the mapping refuses, in two the database.
#[tokio::test]
async fn a_row_that_says_something_else_is_refused_with_both_values_as_they_are_written() {
    let told = |chunk_rows| async move {
        let bench = Bench::new(FEES, &[("clubs.csv", FEES_FEED)]);
        let mut options = bench.options();
        (options.chunk_rows, options.workers) = (chunk_rows, 2);
        let (_, seen) = bench.run_with(options).await;
        let told = seen.rejects.into_iter().zip(seen.blamed);
        told.map(|(reject, blamed)| format!("{reject} | {blamed}"))
            .collect::<Vec<_>>()
    };
    let policy = "and its policy is to refuse another value";
    assert_eq!(
        told(100).await,
        [
            format!(
                "clubs clubs.csv:3 expected 1.5: an earlier row gave that to `fee` of `club`, {policy} | cost: 2.5"
            ),
            format!(
                "clubs clubs.csv:4 expected 2010-08-14: an earlier row gave that to `since` of `club`, {policy} | since: 2011-01-01"
            ),
            format!(
                "clubs clubs.csv:5 expected it, Rome: an earlier row gave that to `town` of `club`, {policy} | town: it, Pisa"
            ),
        ]
    );
    let policy = "already and is to have";
    assert_eq!(
        told(1).await,
        [
            format!(
                "clubs clubs.csv:3 column `fee` of table `club` has 1.5 {policy} 2.5, which its policy refuses | fee: 2.5"
            ),
            format!(
                "clubs clubs.csv:4 column `since` of table `club` has 2010-08-14 {policy} 2011-01-01, which its policy refuses | since: 2011-01-01"
            ),
            format!(
                "clubs clubs.csv:5 column `town_id` of table `club` has row 1 {policy} row 2, which its policy refuses | town: it, Pisa"
            ),
        ]
    );
}

#[tokio::test]
async fn a_feed_that_is_not_there_is_told_before_anything_is_written() {
    let bench = Bench::new(CLUBS, &[]);
    let (report, _) = bench.try_run(bench.options(), Stop::new()).await;
    let error = report.expect_err("no feed");
    assert!(error.is_feed() && error.is_usage(), "{error}");
    assert!(error.to_string().contains("matches.csv"), "{error}");
    assert!(!bench.path().join("out.db").exists());
}

const STAFF: &str = r#"
[table.person]
key = "name"
columns = { name = "text", born = "integer", boss = "ref person", team = "ref team" }
[table.team]
key = "name"
columns = { name = "text", head = "ref person" }

[feed.people]
path = "people.ndjson"
[feed.people.into.person]
name = "name"
born = "born"
boss = { name = "boss" }
team = { name = "team", head = { name = "head" } }
"#;

#[tokio::test]
async fn references_may_run_in_circles_and_ahead_of_their_rows() {
    let feed = r#"{"name":"Ann","born":1990,"boss":"Bob","team":"A","head":"Ann"}
{"name":"Bob","born":1980,"boss":"Bob","team":"A","head":"Ann"}
{"name":"Cid","boss":"Ann","team":"B","head":"Dan"}
"#;
    for chunk_rows in [1, 100] {
        let bench = Bench::new(STAFF, &[("people.ndjson", feed)]);
        let mut options = bench.options();
        options.chunk_rows = chunk_rows;
        let (report, _) = bench.run_with(options).await;
        let people = "SELECT p.name||'/'||coalesce(p.born,'-')||'/'||coalesce(b.name,'-')||'/'||coalesce(t.name,'-')||'/'||\
                      coalesce(h.name,'-') FROM person p LEFT JOIN person b ON b.id = p.boss_id LEFT JOIN team t ON \
                      t.id = p.team_id LEFT JOIN person h ON h.id = t.head_id ORDER BY 1";
        let expected = [
            "Ann/1990/Bob/A/Ann",
            "Bob/1980/Bob/A/Ann",
            "Cid/-/Ann/B/Dan",
            "Dan/-/-/-/-",
        ];
        assert_eq!(bench.rows(people).await, expected, "chunks of {chunk_rows}");
        assert_eq!(table(&report, "person").created, 4);
        let again = bench.run().await;
        assert_eq!(
            (again.feeds[0].existing, again.feeds[0].updated),
            (3, 0),
            "{again:?}"
        );
    }
}

const KNOWN_ONLY: &str = r#"
[table.club]
key = "name"
columns = { name = "text" }
[table.match]
key = ["day", "home"]
columns = { day = "date", home = "ref club", city = "ref city" }
[table.city]
key = "name"
columns = { name = "text" }

[feed.clubs]
path = "clubs.csv"
[feed.clubs.into.club]
name = "name"
[feed.matches]
path = "matches.csv"
[feed.matches.into.match]
day = "day"
home = { name = "home", create = false }
city = { name = "city" }
"#;

#[tokio::test]
async fn a_reference_that_must_be_there_rejects_its_row_and_creates_nothing() {
    let feeds = [
        ("clubs.csv", "name\nArsenal\n"),
        (
            "matches.csv",
            "day,home,city\n2024-01-01,Arsenal,London\n2024-01-01,Hull,Hull\n",
        ),
    ];
    let bench = Bench::new(KNOWN_ONLY, &feeds);
    let (report, seen) = bench.run_with(bench.options()).await;
    assert_eq!(report.feeds[1].rejected, 1);
    assert!(
        seen.rejects[0].contains("create = false"),
        "{:?}",
        seen.rejects
    );
    assert_eq!(bench.rows("SELECT name FROM city").await, ["London"]);
    assert_eq!(bench.rows("SELECT name FROM club").await, ["Arsenal"]);
}

#[tokio::test]
async fn a_stub_is_completed_when_its_row_comes() {
    let map = CLUBS.to_owned()
        + "[feed.clubs]\npath = \"clubs.csv\"\n[feed.clubs.into.club]\nname = \"name\"\ncity = \"city\"\n";
    let map = map.replace(", country = { name = \"country\" }", "");
    let bench = Bench::new(
        &map,
        &[
            ("matches.csv", MATCHES),
            ("clubs.csv", "name,city\nARSENAL,London\nLeeds,Leeds\n"),
        ],
    );
    let report = bench.run().await;
    let club = table(&report, "club");
    assert_eq!((club.created, club.completed), (4, 1));
    assert_eq!((report.feeds[1].inserted, report.feeds[1].updated), (1, 1));
    assert_eq!(
        bench
            .rows("SELECT city FROM club WHERE name = 'Arsenal'")
            .await,
        ["London"]
    );
    bench.feed("clubs.csv", "name,city\nArsenal,Leeds\n");
    let report = bench.run().await;
    assert_eq!(
        table(&report, "club").conflicts,
        1,
        "a value that differs is counted"
    );
    assert_eq!(
        bench
            .rows("SELECT city FROM club WHERE name = 'Arsenal'")
            .await,
        ["London"]
    );
}

const REQUIRED: &str = r#"
[table.person]
key = "code"
columns = { name = { type = "text", required = true }, boss = "ref person" }

[feed.people]
path = "people.csv"
[feed.people.into.person]
code = "code"
name = "name"
boss = { code = "boss", create = false }
"#;

#[tokio::test]
async fn a_reference_to_a_row_that_cannot_be_made_rejects_its_row() {
    let feed = "code,name,boss\n1,Ann,\n2,Bob,1\n3,Cid,9\n4,Dan,5\n5,Eve,1\n6,Fay,3\n";
    let bench = Bench::new(REQUIRED, &[("people.csv", feed)]);
    let (report, seen) = bench.run_with(bench.options()).await;
    assert_eq!(report.rejected(), 2, "{:?}", seen.rejects);
    assert!(
        seen.rejects[0].contains("too little is said"),
        "{:?}",
        seen.rejects
    );
    let people = "SELECT p.name || coalesce('>' || b.name, '') FROM person p \
                  LEFT JOIN person b ON b.id = p.boss_id ORDER BY 1";
    assert_eq!(
        bench.rows(people).await,
        ["Ann", "Bob>Ann", "Dan>Eve", "Eve>Ann"]
    );
}
