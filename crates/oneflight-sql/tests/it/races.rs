//! Many processes, one database: nothing twice, nothing orphaned, nothing burnt, everybody agrees, nobody deadlocks.
//!
//! A process is a driver with connections of its own and a store that has never heard of the others.

use crate::place::{
    Backend, Place, crosswalk, external, keyed, known_team, named, store_contract, team,
};
use oneflight_sql::{Columns, Dialect, Effect, Record, SameSource, Store, Table, Value};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use sqlx::{Connection as _, Executor as _};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Barrier;

store_contract!(
    one_key_in_many_tasks_makes_one_row,
    processes_that_race_for_new_keys_make_each_once,
    processes_that_know_one_id_by_two_names_leave_no_orphan,
    processes_that_race_without_keys_leave_no_orphan,
    processes_that_update_the_same_rows_do_not_deadlock,
    processes_that_write_parents_and_children_do_not_deadlock,
    processes_that_load_the_same_rows_make_each_once,
);

const PROCESSES: usize = 6;
const ROUNDS: usize = 12;
const KEYS: usize = 120;

async fn processes(place: &Place, table: &Table) -> Vec<Store> {
    let first = place.store(table.clone()).await;
    let mut stores = vec![first];
    for _ in 1..PROCESSES {
        stores.push(place.other(table.clone()).await);
    }
    stores
}

/// Runs `rounds` of batches in every process at once; returns what each one was told, by who was asked for.
async fn race(
    stores: Vec<Store>,
    batch: impl Fn(&mut SmallRng, usize) -> Vec<Record> + Clone + Send + 'static,
) -> Vec<HashMap<String, Value>> {
    let barrier = Arc::new(Barrier::new(stores.len()));
    let tasks = stores.into_iter().enumerate().map(|(process, store)| {
        let (barrier, batch) = (barrier.clone(), batch.clone());
        tokio::spawn(async move {
            let mut rng = SmallRng::seed_from_u64(process as u64);
            let mut told = HashMap::new();
            for round in 0..ROUNDS {
                let mut records = batch(&mut rng, round);
                records.shuffle(&mut rng);
                barrier.wait().await;
                for (record, outcome) in records.clone().iter().zip(store.merge(records).await) {
                    let id = outcome
                        .unwrap_or_else(|error| panic!("{record:?}: {error:?}"))
                        .id;
                    let who = match &record.external {
                        Some(external) => format!("{}:{}", external.source, external.id),
                        None => format!("{:?}", record.key),
                    };
                    assert_eq!(*told.entry(who).or_insert_with(|| id.clone()), id);
                }
            }
            told
        })
    });
    let mut all = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        all.push(task.await.unwrap());
    }
    all
}

fn assert_all_agree(told: &[HashMap<String, Value>]) {
    let mut first: HashMap<&str, &Value> = HashMap::new();
    for (who, id) in told.iter().flatten() {
        assert_eq!(*first.entry(who).or_insert(id), id, "two ids for {who}");
    }
}

async fn deadlocks(place: &Place) -> i64 {
    match place.driver.dialect() {
        Dialect::Postgres => {
            place.execute("SELECT pg_stat_clear_snapshot()").await;
            place.count("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").await
        }
        Dialect::Sqlite => 0,
        // Of the whole server: other tests make none either.
        _ => place.count("SELECT CAST(variable_value AS SIGNED) FROM information_schema.global_status WHERE variable_name = 'innodb_deadlocks'").await,
    }
}

async fn one_key_in_many_tasks_makes_one_row(place: Place) {
    let store = place.store(team()).await;
    let tasks = (0..64).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { store.merge(vec![keyed("k")]).await.remove(0).unwrap().id })
    });
    let mut ids = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        ids.push(task.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(
        (
            place.count("SELECT count(*) FROM team").await,
            place.last_id("team").await
        ),
        (1, 1)
    );
}

async fn processes_that_race_for_new_keys_make_each_once(place: Place) {
    let before = deadlocks(&place).await;
    let told = race(processes(&place, &team()).await, |rng, round| {
        // 80 of the 100 keys of each process are the others' too.
        (0..KEYS)
            .filter(|_| rng.random_bool(0.8))
            .map(|at| named(&format!("k{round}-{at}"), "n"))
            .collect()
    })
    .await;
    assert_all_agree(&told);
    let rows = place.count("SELECT count(*) FROM team").await;
    assert_eq!(
        rows,
        place.count("SELECT count(DISTINCT slug) FROM team").await,
        "duplicates"
    );
    assert_eq!(rows, place.last_id("team").await, "burnt values");
    assert_eq!(deadlocks(&place).await, before);
}

async fn processes_that_know_one_id_by_two_names_leave_no_orphan(place: Place) {
    let before = deadlocks(&place).await;
    let told = race(
        processes(&place, &known_team(SameSource::Split)).await,
        |rng, round| {
            let mut records = Vec::new();
            for at in (0..KEYS)
                .filter(|_| rng.random_bool(0.8))
                .collect::<Vec<_>>()
            {
                // 15 of 100 spell the key otherwise, as after a rename between two pages of a feed.
                let key = match rng.random_bool(0.15) {
                    true => format!("k{round}-{at}-renamed"),
                    false => format!("k{round}-{at}"),
                };
                records.push(external("s", &format!("x{round}-{at}"), named(&key, "n")));
            }
            records
        },
    )
    .await;
    assert_all_agree(&told);
    let rows = place.count("SELECT count(*) FROM team").await;
    assert_eq!(
        place.count("SELECT count(*) FROM team_xref").await,
        rows,
        "one id, one row"
    );
    let orphans = "SELECT count(*) FROM team WHERE id NOT IN (SELECT entity_id FROM team_xref)";
    assert_eq!(place.count(orphans).await, 0, "orphans");
    assert_eq!(rows, place.last_id("team").await, "burnt values");
    assert_eq!(deadlocks(&place).await, before);
}

async fn processes_that_race_without_keys_leave_no_orphan(place: Place) {
    let table = Table {
        key: Vec::new(),
        ..known_team(SameSource::Split)
    };
    let told = race(processes(&place, &table).await, |rng, round| {
        let some = (0..KEYS).filter(|_| rng.random_bool(0.8));
        some.map(|at| Record {
            key: None,
            ..external("s", &format!("x{round}-{at}"), named("", "n"))
        })
        .collect()
    })
    .await;
    assert_all_agree(&told);
    let rows = place.count("SELECT count(*) FROM team").await;
    assert_eq!(
        (rows, place.count("SELECT count(*) FROM team_xref").await),
        ((ROUNDS * KEYS) as i64, rows)
    );
    assert_eq!(rows, place.last_id("team").await, "burnt values");
}

async fn processes_that_update_the_same_rows_do_not_deadlock(place: Place) {
    let before = deadlocks(&place).await;
    let mut table = team();
    table.attributes[0].policy = oneflight_sql::Policy::Take;
    race(processes(&place, &table).await, |rng, _| {
        (0..KEYS)
            .map(|at| named(&format!("k{at}"), &format!("n{}", rng.random_range(0..100))))
            .collect()
    })
    .await;
    assert_eq!(place.count("SELECT count(*) FROM team").await, KEYS as i64);
    assert_eq!(
        (place.last_id("team").await, deadlocks(&place).await),
        (KEYS as i64, before)
    );
}

async fn processes_that_write_parents_and_children_do_not_deadlock(place: Place) {
    let before = deadlocks(&place).await;
    let mut parent = team();
    parent.attributes[0].policy = oneflight_sql::Policy::Take;
    let child = Table {
        name: "player".into(),
        key: vec![
            crate::place::refers("team_id", "team"),
            crate::place::column("slug", oneflight_sql::Kind::Text),
        ],
        crosswalk: Some(crosswalk("player_xref", SameSource::Link)),
        ..team()
    };
    oneflight_sql::ddl::prepare(&place.driver, &[parent.clone(), child.clone()])
        .await
        .unwrap();
    let tasks = (0..PROCESSES).map(|process| {
        (
            process,
            place.backend,
            place.database.url().to_owned(),
            parent.clone(),
            child.clone(),
        )
    });
    let tasks = tasks.map(|(process, backend, url, parent, child)| {
        tokio::spawn(async move {
            let driver = backend.connect(&url, 2).await;
            let parents = Store::open(driver.clone(), parent).await.unwrap();
            let children = Store::open(driver, child).await.unwrap();
            write_teams_and_players(process, &parents, &children).await;
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let rows = place.count("SELECT count(*) FROM player").await;
    assert_eq!(
        (rows, place.last_id("player").await),
        (20 * ROUNDS as i64, rows)
    );
    assert_eq!(
        place
            .count(
                "SELECT count(*) FROM player WHERE id NOT IN (SELECT entity_id FROM player_xref)"
            )
            .await,
        0
    );
    assert_eq!(deadlocks(&place).await, before);
}

async fn write_teams_and_players(process: usize, parents: &Store, children: &Store) {
    let mut rng = SmallRng::seed_from_u64(process as u64);
    for round in 0..ROUNDS {
        let mut teams: Vec<_> = (0..20)
            .map(|at| named(&format!("t{at}"), &format!("{process}-{round}")))
            .collect();
        teams.shuffle(&mut rng);
        let ids: Vec<_> = parents
            .merge(teams)
            .await
            .into_iter()
            .map(|outcome| outcome.unwrap().id)
            .collect();
        let mut players = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            let record = Record {
                key: Some([id.clone(), format!("p{round}").into()].into()),
                ..named("", "n")
            };
            players.push(external("s", &format!("{id:?}-{round}"), record.clone()));
            if at % 3 == 0 {
                players.push(external("t", &format!("{id:?}-{round}"), record));
            }
        }
        assert!(children.merge(players).await.iter().all(Result::is_ok));
    }
}

async fn processes_that_load_the_same_rows_make_each_once(place: Place) {
    let before = deadlocks(&place).await;
    let stores = processes(&place, &team()).await;
    let barrier = Arc::new(Barrier::new(stores.len()));
    let tasks = stores.into_iter().enumerate().map(|(process, store)| {
        let barrier = barrier.clone();
        tokio::spawn(async move {
            let mut rng = SmallRng::seed_from_u64(process as u64);
            let mut created = 0;
            for round in 0..ROUNDS {
                let mut records: Vec<Record> = (0..KEYS)
                    .filter(|_| rng.random_bool(0.8))
                    .map(|at| named(&format!("k{round}-{at}"), "n"))
                    .collect();
                records.shuffle(&mut rng);
                barrier.wait().await;
                // One of them merges what the others load.
                if process == 0 {
                    let merged = store.merge(records).await;
                    let effects = merged.into_iter().map(|outcome| outcome.unwrap().effect);
                    created += effects.filter(|effect| *effect == Effect::Created).count();
                    continue;
                }
                let loaded = store
                    .load(&Arc::new(Columns::of(store.table(), &records)))
                    .await;
                let effects = loaded.iter().map(|row| row.unwrap().effect);
                created += effects.filter(|effect| *effect == Effect::Created).count();
            }
            created as i64
        })
    });
    let mut created = 0;
    for task in tasks.collect::<Vec<_>>() {
        created += task.await.unwrap();
    }
    let rows = place.count("SELECT count(*) FROM team").await;
    assert_eq!(created, rows, "each row has one maker");
    assert_eq!(
        rows,
        place.count("SELECT count(DISTINCT slug) FROM team").await
    );
    if !place.is_postgres() {
        assert_eq!(rows, place.last_id("team").await, "burnt values");
    }
    assert_eq!(deadlocks(&place).await, before);
}

/// MySQL and MariaDB: a writer that takes no lock of ours makes a row after we have looked, and before we insert.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_a_stranger_makes_meanwhile_is_found_as_it_is() {
    let place = Place::open(Backend::MariaDb).await;
    let store = place.store(team()).await;
    let mut stranger = sqlx::MySqlConnection::connect(place.database.url())
        .await
        .unwrap();
    let begin = "BEGIN; INSERT INTO team (slug, name) VALUES ('b', 'theirs')";
    stranger.execute(sqlx::raw_sql(begin)).await.unwrap();
    let records = ["a", "b", "c"].map(|key| named(key, "ours"));
    let merging = tokio::spawn({
        let store = store.clone();
        async move { store.merge(records.into()).await }
    });
    let waiting = "SELECT count(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p \
         ON p.id = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' AND p.db = database()";
    while place.count(waiting).await == 0 {
        // SLEEP: InnoDB renews this table only if nobody has read it for 100 ms; the condition decides, not the clock.
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    stranger.execute("COMMIT").await.unwrap();
    let outcomes = merging.await.unwrap().into_iter().map(Result::unwrap);
    let outcomes: Vec<_> = outcomes.collect();
    let told = |at: usize| (outcomes[at].effect, outcomes[at].conflicts);
    assert_eq!(
        [told(0), told(1), told(2)],
        [
            (Effect::Created, 0),
            (Effect::Found, 1),
            (Effect::Created, 0)
        ]
    );
    let id = "SELECT id FROM team WHERE slug = 'b' AND name = 'theirs'";
    assert_eq!(outcomes[1].id_i64(), Some(place.count(id).await));
    assert_eq!(place.count("SELECT count(*) FROM team").await, 3);
}
