//! 20,000 references to 2,000 new keys, PostgreSQL at a round trip of 40 ms: one by one, one by one with a memory, and by the
//! resolver. In one run, as ratios.
//!
//!   ./test shell cargo run --release --manifest-path bench/Cargo.toml -p bench-merge      needs PostgreSQL; `./test` starts one
//!
//! The ways that take minutes are run for a part of the references and scaled to all of them; the table says so.
#![forbid(unsafe_code)]

use oneflight_sql::driver::{self, Driver, Statement};
use oneflight_sql::{Draft, Entity, Fold, Kind, Options, Resolver, Table, Value, ddl};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::{Database, Proxy, services};

const REFERENCES: usize = 20_000;
const KEYS: usize = 2_000;
/// References that the slow ways are run for.
const PART: usize = 400;
const ROUND_TRIP: Duration = Duration::from_millis(40);

type Failure = Box<dyn Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let references = references();
    let database = Database::create(&services::postgres()).await;
    let proxy = Proxy::start(database.url()).await;
    proxy.delay(ROUND_TRIP);
    let near = driver::connect(database.url(), driver::Options::default()).await?;
    let far = driver::connect(proxy.url(), driver::Options::default().connections(1)).await?;
    far.query(Statement::new("SELECT 1")).await?;

    println!(
        "{REFERENCES} references to {KEYS} new keys, PostgreSQL, round trip {ROUND_TRIP:?}, one connection\n"
    );
    println!(
        "{:<44} {:>10} {:>12} {:>8}",
        "way", "seconds", "round trips", "ratio"
    );

    let table = prepare(&near, "one_by_one").await?;
    let began = Instant::now();
    for key in &references[..PART] {
        look_up_or_insert(&*far, &table, key).await?;
    }
    // A look-up for each reference, and an insert for each key: counted, not guessed, so that the part can be scaled.
    let trip = began.elapsed().as_secs_f64() / (PART + distinct(&references[..PART])) as f64;
    let sequential = trip * (REFERENCES + KEYS) as f64;
    row(
        "look up, then insert, one by one (scaled)",
        sequential,
        REFERENCES + KEYS,
        sequential,
    );
    row(
        "the same with a memory (scaled)",
        trip * (2 * KEYS) as f64,
        2 * KEYS,
        sequential,
    );

    let table = prepare(&near, "resolved").await?;
    let resolver = Resolver::new(far.clone(), table, Options::new()).await?;
    for way in [
        "resolver: flights and batches",
        "the same again, nothing remembered",
    ] {
        resolver.forget_all();
        let (began, trips) = (Instant::now(), far.round_trips());
        let outcomes = resolver
            .resolve_many(references.iter().map(|key| Draft::new().key(key.as_str())))
            .await;
        let seconds = began.elapsed().as_secs_f64();
        check(&references, outcomes)?;
        row(
            way,
            seconds,
            (far.round_trips() - trips) as usize,
            sequential,
        );
    }
    Ok(())
}

fn row(way: &str, seconds: f64, trips: usize, sequential: f64) {
    println!(
        "{way:<44} {seconds:>10.3} {trips:>12} {:>7.0}×",
        sequential / seconds
    );
}

/// References in the order of a shuffled feed, a few keys far more often than most; every key comes.
fn references() -> Vec<String> {
    let mut random = SmallRng::seed_from_u64(1);
    let mut references: Vec<usize> = (0..KEYS).collect();
    references.extend(
        (KEYS..REFERENCES).map(|_| (KEYS as f64).powf(random.random::<f64>()) as usize - 1),
    );
    for at in (1..references.len()).rev() {
        references.swap(at, random.random_range(0..=at));
    }
    references
        .into_iter()
        .map(|key| format!("key-{key:06}"))
        .collect()
}

fn distinct(references: &[String]) -> usize {
    references
        .iter()
        .collect::<std::collections::HashSet<_>>()
        .len()
}

async fn prepare(near: &Arc<dyn Driver>, name: &str) -> Result<Entity, Failure> {
    let entity = Table::builder(name)
        .id("id")
        .key_text("slug", Fold::EXACT)
        .build()?;
    ddl::prepare(near, &[entity.table().clone()]).await?;
    Ok(entity)
}

async fn look_up_or_insert(far: &dyn Driver, entity: &Entity, key: &str) -> Result<(), Failure> {
    let table = &entity.table().name;
    let find = Statement::new(format!("SELECT id FROM {table} WHERE slug = $1"))
        .text(key)
        .returns([Kind::Int]);
    if far.query(find).await?.is_empty() {
        let insert = format!("INSERT INTO {table} (slug) VALUES ($1) RETURNING id");
        far.query(Statement::new(insert).text(key).returns([Kind::Int]))
            .await?;
    }
    Ok(())
}

/// One id for each key, or the figure is worth nothing.
fn check(
    references: &[String],
    outcomes: Vec<Result<oneflight_sql::Outcome, oneflight_sql::Error>>,
) -> Result<(), Failure> {
    let mut ids: HashMap<&str, Value> = HashMap::new();
    for (key, outcome) in references.iter().zip(outcomes) {
        let id = outcome?.id;
        let known = ids.entry(key).or_insert_with(|| id.clone());
        assert_eq!(*known, id, "two ids for {key}");
    }
    assert_eq!(ids.len(), KEYS);
    Ok(())
}
