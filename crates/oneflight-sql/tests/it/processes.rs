//! Real processes that race for the same new keys, some of them killed in the middle.
//!
//! A process is this test binary, started again to run its one test `a_process_of_the_race`.

use crate::place::{Backend, Place, external, known_team, named, store_contract};
use oneflight_sql::{SameSource, Store};
use std::process::{Child, Command, Stdio};

store_contract!(processes_that_are_killed_leave_neither_duplicates_nor_orphans);

const PROCESSES: usize = 6;
const KILLED: usize = 3;
const KEYS: usize = 400;
const BATCH: usize = 16;
/// Says `backend url` to a process of the race.
const VARIABLE: &str = "ONEFLIGHT_RACE_PROCESS";

const BACKENDS: [Backend; 6] = [
    Backend::Sqlite,
    Backend::PostgresTokio,
    Backend::PostgresSqlx,
    Backend::PgBouncer,
    Backend::PgBouncerSqlx,
    Backend::MariaDb,
];

/// Started by the race it does a process's work, started as a test it has none.
#[tokio::test]
async fn a_process_of_the_race() {
    let Ok(said) = std::env::var(VARIABLE) else {
        return;
    };
    let (backend, url) = said.split_once(' ').unwrap();
    let backend = BACKENDS
        .into_iter()
        .find(|known| format!("{known:?}") == backend)
        .unwrap();
    let driver = backend.connect(url, 1).await;
    let store = Store::open(driver, known_team(SameSource::Split))
        .await
        .unwrap();
    work(&store).await;
}

/// Asks for all keys, each twice, in small batches.
async fn work(store: &Store) {
    for first in (0..KEYS).step_by(BATCH) {
        let one = |at: usize| {
            let key = format!("team-{at}");
            external("feed", &key, named(&key, &key))
        };
        let records = (first..first + BATCH).chain(first..first + BATCH).map(one);
        for outcome in store.merge(records.collect()).await {
            outcome.unwrap();
        }
    }
}

fn start(place: &Place) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::a_process_of_the_race"])
        .env(
            VARIABLE,
            format!("{:?} {}", place.backend, place.database.url()),
        )
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

async fn processes_that_are_killed_leave_neither_duplicates_nor_orphans(place: Place) {
    let store = place.store(known_team(SameSource::Split)).await;
    let mut children: Vec<Child> = (0..PROCESSES).map(|_| start(&place)).collect();
    // They are killed when some of the work is done and some is not, whatever the machine's pace.
    while place.count("SELECT count(*) FROM team").await < (KEYS / 4) as i64
        && children[0].try_wait().unwrap().is_none()
    {}
    for child in &mut children[..KILLED] {
        child.kill().unwrap();
    }
    for (at, child) in children.iter_mut().enumerate() {
        let status = child.wait().unwrap();
        assert!(at < KILLED || status.success(), "process {at}: {status}");
    }
    work(&store).await;
    let keys = KEYS as i64;
    assert_eq!(place.count("SELECT count(*) FROM team").await, keys);
    let linked = "SELECT count(*) FROM team e JOIN team_xref x ON x.entity_id = e.id AND x.external_id = e.slug";
    assert_eq!(place.count(linked).await, keys);
    assert_eq!(place.count("SELECT count(*) FROM team_xref").await, keys);
}
