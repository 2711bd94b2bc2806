//! Round trips on PostgreSQL, where their number does not hang on time; and who waits for whom.

use oneflight_merge::mapping;
use oneflight_merge::merge::{Options, Stop, merge};
use oneflight_merge::report::Report;
use oneflight_sql::driver::{self, Statement};
use std::path::Path;
use std::sync::Arc;
use testkit::Database;

const MAP: &str = r#"
    [table.player]
    key = "name"
    crosswalk = true
    columns = { name = "text", land = "text" }
    [table.team]
    key = "name"
    crosswalk = true
    columns = { name = "text" }
    [table.appearance]
    key = "number"
    columns = { number = "integer", player = "ref player", team = "ref team" }
    [feed.appearances]
    source = "lab"
    path = "appearances.csv"
    [feed.appearances.into.appearance]
    number = "number"
    player = { external_id = "player_id", name = "player", land = "land" }
    team = { external_id = "team_id", name = "team" }
"#;

struct Bench {
    dir: tempfile::TempDir,
    database: Database,
}

impl Bench {
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let database = Database::create(&testkit::services::postgres()).await;
        let bench = Self { dir, database };
        bench.feed(&[]);
        bench
    }

    fn feed(&self, rows: &[&str]) {
        let feed = format!(
            "number,player_id,player,land,team_id,team\n{}\n",
            rows.join("\n")
        );
        let feed = feed.replace("\n\n", "\n");
        std::fs::write(self.path().join("appearances.csv"), feed).expect("a feed");
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    async fn run(&self, chunk_rows: usize) -> Report {
        let plan = mapping::parse(MAP, "map.toml").unwrap_or_else(|errors| panic!("{errors}"));
        let mut options = Options::new(self.path(), self.database.url());
        options.chunk_rows = chunk_rows;
        let report = merge(Arc::new(plan), options, &mut (), Stop::new()).await;
        report.unwrap_or_else(|error| panic!("{error}"))
    }

    async fn count(&self, sql: &str) -> i64 {
        testkit::count(self.database.url(), sql).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chunk_is_a_trip_for_each_table_and_none_asks_what_a_new_table_holds() {
    let bench = Bench::new().await;
    bench.feed(&["1,p1,Ada,UK,t1,Reds", "2,p2,Bob,US,t1,Reds"]);
    // A look at the catalog and the making; players, teams, appearances.
    assert_eq!(bench.run(100).await.round_trips, 2 + 3);
    // A look; players, teams, appearances.
    assert_eq!(bench.run(100).await.round_trips, 1 + 3);
    bench.feed(&["3,p2,Bob,US,t1,Reds"]);
    // A look; players, teams; what is there of the appearances, and what is not.
    assert_eq!(bench.run(100).await.round_trips, 1 + 2 + 2);
    assert_eq!(bench.count("SELECT count(*) FROM appearance").await, 3);
}

/// Runs a merge while nobody may write to a table, until so many batches wait for it.
async fn held_up(bench: &Bench, table: &str, waiting: i64) -> Report {
    let driver = driver::connect(bench.database.url(), driver::Options::default());
    let driver = driver.await.expect("the database");
    let gate = driver.rehearse().await.expect("a transaction");
    let shut = Statement::new(format!("LOCK TABLE {table} IN EXCLUSIVE MODE"));
    gate.query(shut).await.expect("a lock");
    let run = async {
        let sql = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype IN ('relation', 'advisory') \
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        while bench.count(sql).await < waiting {
            tokio::task::yield_now().await;
        }
        drop(gate);
    };
    tokio::join!(bench.run(1), run).0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn references_of_a_chunk_do_not_wait_for_those_of_the_chunk_before() {
    let bench = Bench::new().await;
    bench.run(1).await;
    bench.feed(&["1,p1,Ada,UK,t1,Reds", "2,p2,Bob,US,t2,Blues"]);
    let report = held_up(&bench, "team", 2).await;
    assert_eq!(report.feeds[0].inserted, 2);
    assert_eq!(bench.count("SELECT count(*) FROM team").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_twice_of_one_key_is_put_to_it_in_the_order_of_the_feed() {
    let bench = Bench::new().await;
    bench.run(1).await;
    bench.feed(&[
        "1,p1,Ada,UK,t1,Reds",
        "2,p1,Ada,US,t1,Reds",
        "3,p2,Bob,US,t1,Reds",
    ]);
    let report = held_up(&bench, "player", 1).await;
    assert_eq!(report.feeds[0].inserted, 3);
    let first = "SELECT count(*) FROM player WHERE name = 'Ada' AND land = 'UK'";
    assert_eq!(bench.count(first).await, 1);
    assert_eq!(bench.count("SELECT count(*) FROM player").await, 2);
}
