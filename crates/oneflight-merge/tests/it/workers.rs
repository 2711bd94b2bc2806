//! Chunks side by side, on each database: any number of workers gives the books and the rows of one.

use oneflight_merge::mapping;
use oneflight_merge::merge::{Options, Stop, merge};
use oneflight_merge::report::Report;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use std::fmt::Write as _;
use std::sync::Arc;
use testkit::Database;

/// Facts whose keys come again in the same chunk, in the next ones and far away, under each policy.
const MAP: &str = r#"
    [table.place]
    key = "name"
    columns = { name = "text", land = { type = "text", policy = "fill" } }
    [table.visit]
    key = ["place", "day"]
    columns = { place = "ref place", day = "integer", first = { type = "integer", policy = "fill" }, last = { type = "integer", policy = "take" }, kept = { type = "integer", policy = "keep" } }
    [feed.visits]
    path = "visits.csv"
    [feed.visits.into.visit]
    place = { name = "place", land = "land" }
    day = "day"
    first = "first"
    last = "last"
    kept = "kept"
"#;

/// The names, ids and lands of a feed.
const PLACES: &str = r#"
    [table.place]
    key = "name"
    crosswalk = { same_source = "POLICY" }
    columns = { name = "text", land = { type = "text", policy = "fill" } }
    [table.visit]
    key = "day"
    columns = { day = "integer", place = "ref place" }
    [feed.visits]
    source = "lab"
    path = "visits.csv"
    [feed.visits.into.visit]
    day = "day"
    place = { external_id = "id", name = "name", land = "land" }
"#;

async fn gives_the_same_as_one_worker(url: &str) {
    let rows = "SELECT concat(p.name, '/', coalesce(p.land, '-'), ' ', v.day, ': ', coalesce(v.first, -1), ' ', \
                coalesce(v.last, -1), ' ', coalesce(v.kept, -1)) FROM visit v JOIN place p ON p.id = v.place_id ORDER BY 1";
    for seed in 1..=4 {
        let feed = feed(seed);
        let one = run(url, MAP, &feed, rows, 1).await;
        for workers in [2, 8] {
            let many = run(url, MAP, &feed, rows, workers).await;
            assert_eq!(one, many, "seed {seed}, {workers} workers");
        }
    }
}

/// Ids and names that lead to each other's rows, and rows that lack one of them.
async fn gives_the_same_ids_as_one_worker(url: &str) {
    let rows = "SELECT concat(v.day, ': ', p.name, '/', coalesce(p.land, '-')) FROM visit v JOIN place p ON p.id = v.place_id \
                UNION ALL SELECT concat(x.external_id, ' is ', p.name) FROM place_xref x JOIN place p ON p.id = x.place_id ORDER BY 1";
    for (seed, policy) in (1..).zip(["split", "link", "error", "split", "link", "error"]) {
        let map = PLACES.replace("POLICY", policy);
        let feed = ids(seed);
        let one = run(url, &map, &feed, rows, 1).await;
        for workers in [2, 8] {
            let many = run(url, &map, &feed, rows, workers).await;
            assert_eq!(one, many, "seed {seed}, {policy}, {workers} workers");
        }
    }
}

fn ids(seed: u64) -> String {
    let mut dice = SmallRng::seed_from_u64(seed);
    let mut feed = "day,id,name,land\n".to_owned();
    // Each id has a name of its own, mostly; with many of them few chunks speak of the same.
    let places = [20, 200][seed as usize % 2];
    for day in 0..400 {
        let (id, other) = (dice.random_range(0..places), dice.random_range(0..places));
        let name = if dice.random_bool(0.9) { id } else { other };
        let (has_id, has_name) = (dice.random_bool(0.9), dice.random_bool(0.9));
        let id = if has_id {
            format!("x{id}")
        } else {
            String::new()
        };
        let name = if has_name {
            format!("place {name}")
        } else {
            String::new()
        };
        let land = if dice.random_bool(0.5) {
            format!("land {}", day % 2)
        } else {
            String::new()
        };
        let _ = writeln!(feed, "{day},{id},{name},{land}");
    }
    feed
}

/// Some rows say nothing of some columns, so that what comes first and what comes last can be told.
fn feed(seed: u64) -> String {
    let mut dice = SmallRng::seed_from_u64(seed);
    let mut feed = "place,land,day,first,last,kept\n".to_owned();
    // With few days nearly every chunk meets the one before; with many, few do.
    let days = [3, 30, 300, 3_000][seed as usize % 4];
    for row in 0..600 {
        let mut cell = |row: u32| match dice.random_bool(0.7) {
            true => row.to_string(),
            false => String::new(),
        };
        let (land, first, last, kept) = (cell(row % 2), cell(row), cell(row), cell(row));
        let (place, day) = (dice.random_range(0..20), dice.random_range(0..days));
        let _ = writeln!(feed, "place {place},{land},{day},{first},{last},{kept}");
    }
    feed
}

/// What a merge tells, and what stands in the database afterwards.
async fn run(
    url: &str,
    map: &str,
    feed: &str,
    rows: &str,
    workers: usize,
) -> (Vec<String>, Vec<Option<String>>) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(dir.path().join("visits.csv"), feed).expect("a feed");
    let database = Database::create(url).await;
    let plan = mapping::parse(map, "map.toml").unwrap_or_else(|errors| panic!("{errors}"));
    let mut options = Options::new(dir.path(), database.url());
    (options.workers, options.chunk_rows, options.connections) = (workers, 17, 4);
    let report = merge(Arc::new(plan), options, &mut (), Stop::new()).await;
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    (books(&report), testkit::texts(database.url(), rows).await)
}

fn books(report: &Report) -> Vec<String> {
    let feeds = report.feeds.iter().map(|feed| format!("{feed:?}"));
    let tables = report.tables.iter().map(|table| format!("{table:?}"));
    feeds.chain(tables).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_workers_gives_the_same_as_one_on_sqlite() {
    gives_the_same_as_one_worker("sqlite:").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_workers_gives_the_same_as_one_on_postgres() {
    gives_the_same_as_one_worker(&testkit::services::postgres()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_workers_gives_the_same_as_one_on_mariadb() {
    gives_the_same_as_one_worker(&testkit::services::mariadb()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_workers_gives_the_same_ids_as_one_on_sqlite() {
    gives_the_same_ids_as_one_worker("sqlite:").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_workers_gives_the_same_ids_as_one_on_postgres() {
    gives_the_same_ids_as_one_worker(&testkit::services::postgres()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_workers_gives_the_same_ids_as_one_on_mariadb() {
    gives_the_same_ids_as_one_worker(&testkit::services::mariadb()).await;
}
