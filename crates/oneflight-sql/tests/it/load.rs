//! What loading promises: what merging does, row by row, on every driver.

use crate::place::{Backend, Place, attribute, column, store_contract, team};
use oneflight_sql::{
    Applied, Attribute, Columns, Effect, Error, Kind, Policy, Record, Store, Table, Value, ddl,
};
use std::sync::Arc;

store_contract!(
    loading_is_merging_row_by_row,
    rows_of_every_kind_are_loaded_and_found,
    a_key_that_comes_twice_is_one_row,
    a_row_that_does_not_fit_fails_alone,
    a_row_that_the_database_refuses_fails_alone,
    what_nobody_says_is_left_to_its_default,
    what_exists_burns_no_value_of_a_sequence,
    a_table_without_an_id_is_loaded_too,
    many_rows_are_loaded_and_found,
    a_table_that_was_made_just_now_is_not_asked_first,
    a_second_unique_index_is_told_of,
);

/// Random numbers that a failing test can repeat: SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

const KINDS: [Kind; 9] = [
    Kind::Text,
    Kind::Int,
    Kind::Real,
    Kind::Decimal,
    Kind::Bool,
    Kind::Date,
    Kind::Timestamp,
    Kind::Uuid,
    Kind::Bytes,
];

const POLICIES: [Policy; 6] = [
    Policy::Fill,
    Policy::Keep,
    Policy::Take,
    Policy::Newest,
    Policy::Once,
    Policy::Error,
];

/// The value of a kind that a small number stands for: few of them, so that they meet.
fn value(kind: Kind, number: u64) -> Value {
    match kind {
        Kind::Text => ["", "a", "A", "ä", "a ", "a\\b'c\"d\n", "😀"][number as usize % 7].into(),
        Kind::Int => Value::Int([0, 1, -1, i64::MAX, i64::MIN][number as usize % 5]),
        Kind::Real => Value::Real([0.0, -1.5e-7, 1e300, 2.0][number as usize % 4]),
        Kind::Decimal => Value::Decimal(
            ["0", "-1.5", "10", "12345678901234567890.0625"][number as usize % 4].into(),
        ),
        Kind::Bool => Value::Bool(number.is_multiple_of(2)),
        Kind::Date => Value::Date([0, -719_162, 20_000][number as usize % 3]),
        Kind::Timestamp => Value::Timestamp([0, 1, 1_795_972_800_123_456][number as usize % 3]),
        Kind::Uuid => Value::Uuid([number as u8 % 3; 16]),
        _ => Value::Bytes([number as u8 % 3, 0, 255, 39, 92].into()),
    }
}

/// A table with a key of two columns, one of which sets the rows apart, and an attribute or two.
fn table(name: &str, dice: &mut Dice) -> Table {
    let kinds = KINDS.map(|kind| (dice.roll(100), kind));
    let policy = |dice: &mut Dice| POLICIES[dice.roll(6) as usize];
    let mut attributes: Vec<Attribute> = Vec::new();
    for (roll, kind) in kinds {
        if roll < 40 {
            attributes.push(attribute(
                &format!("a{}", attributes.len()),
                kind,
                policy(dice),
            ));
        }
    }
    let dated = attributes
        .iter()
        .any(|attribute| attribute.policy == Policy::Newest);
    if dated || dice.roll(4) == 0 {
        attributes.push(attribute("at", Kind::Int, policy(dice)));
    }
    let newest_by = attributes.last().filter(|last| last.column.name == "at");
    let kind = KINDS[dice.roll(9) as usize];
    let kind = if kind == Kind::Real { Kind::Int } else { kind };
    Table {
        name: name.into(),
        id: (dice.roll(2) == 0).then(|| "id".into()),
        key: vec![column("k", kind), column("n", Kind::Int)],
        newest_by: newest_by.map(|last| last.column.name.clone()),
        attributes,
        crosswalk: None,
    }
}

fn batch(table: &Table, dice: &mut Dice) -> Vec<Record> {
    // All new, all there, or some of each; all nulls, none, or some of each.
    let (first, rows) = (dice.roll(60) as i64, dice.roll(40) as i64);
    let nulls = [0, 0, 1, 4][dice.roll(4) as usize];
    let numbers = [1, 1, 3][dice.roll(3) as usize];
    let silent: Vec<bool> = table.attributes.iter().map(|_| dice.roll(5) == 0).collect();
    let mut record = |row: i64| {
        let attributes = table
            .attributes
            .iter()
            .zip(&silent)
            .map(|(attribute, silent)| {
                let null = dice.roll(4) < nulls;
                let said = match (attribute.column.kind, dice.roll(numbers)) {
                    // Two of three databases keep no sign of a zero.
                    (Kind::Real, 2) => Value::Real(-0.0),
                    (kind, number) => value(kind, number),
                };
                (!silent).then_some(if null { Value::Null } else { said })
            });
        let attributes = attributes.collect();
        Record {
            key: Some([value(table.key[0].kind, row as u64), Value::Int(row)].into()),
            external: None,
            attributes,
        }
    };
    (first..first + rows).map(&mut record).collect()
}

async fn loading_is_merging_row_by_row(place: Place) {
    for seed in 0..12 {
        let mut dice = Dice(seed);
        let merged = place
            .store(table(&format!("merged{seed}"), &mut dice))
            .await;
        let mut loaded = merged.table().clone();
        loaded.name = format!("loaded{seed}");
        let loaded = place.store(loaded).await;
        for step in 0..8 {
            let records = batch(merged.table(), &mut dice);
            let rows = Arc::new(Columns::of(loaded.table(), &records));
            let by_merge = merged.merge(records).await;
            let by_load = loaded.load(&rows).await;
            let by_load: Vec<_> = by_load.iter().map(told).collect();
            let by_merge: Vec<_> = by_merge
                .iter()
                .map(|outcome| match outcome {
                    Ok(outcome) => Ok((outcome.effect, outcome.conflicts)),
                    Err(error) => Err(error.is_refused()),
                })
                .collect();
            assert_eq!(by_load, by_merge, "seed {seed}, step {step}: {rows:?}");
        }
        assert_eq!(apart(&place, &merged, &loaded).await, 0, "seed {seed}");
    }
}

fn told(outcome: Result<Applied, &Error>) -> Result<(Effect, u32), bool> {
    match outcome {
        Ok(applied) => Ok((applied.effect, applied.conflicts)),
        Err(error) => Err(error.is_refused()),
    }
}

/// How many rows of one table the other lacks, both ways.
async fn apart(place: &Place, one: &Store, other: &Store) -> i64 {
    let names = one
        .table()
        .key
        .iter()
        .chain(one.table().attributes.iter().map(|a| &a.column));
    let names = names
        .map(|column| column.name.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    let mut rows = 0;
    for (a, b) in [(one, other), (other, one)] {
        let (a, b) = (&a.table().name, &b.table().name);
        let sql = format!(
            "SELECT count(*) FROM (SELECT {names} FROM {a} EXCEPT SELECT {names} FROM {b}) x"
        );
        rows += place.count(&sql).await;
    }
    rows
}

async fn rows_of_every_kind_are_loaded_and_found(place: Place) {
    let keys = KINDS.iter().filter(|kind| **kind != Kind::Real);
    let name = |prefix: &str, kind: &Kind| format!("{prefix}_{kind:?}").to_lowercase();
    let table = Table {
        name: "kinds".into(),
        key: keys
            .clone()
            .map(|kind| column(&name("k", kind), *kind))
            .chain([column("n", Kind::Int)])
            .collect(),
        attributes: KINDS
            .iter()
            .map(|kind| attribute(&name("a", kind), *kind, Policy::Take))
            .collect(),
        ..team()
    };
    let store = place.store(table).await;
    let records = |add: u64| {
        let record = |row: u64| Record {
            key: Some(
                keys.clone()
                    .map(|kind| value(*kind, row))
                    .chain([Value::Int(row as i64)])
                    .collect(),
            ),
            external: None,
            attributes: KINDS
                .iter()
                .map(|kind| Some(value(*kind, row + add)))
                .collect(),
        };
        (0..100).map(record).collect::<Vec<_>>()
    };
    let rows = |add| Arc::new(Columns::of(store.table(), &records(add)));
    let before = place.driver.round_trips();
    assert_eq!(store.load(&rows(0)).await.alike(), Some(Effect::Created));
    assert_eq!(store.load(&rows(0)).await.alike(), Some(Effect::Found));
    if place.driver.is_pipelined() {
        // Asked and inserted; inserted in vain and asked. Had a row gone through `merge`, there would be more.
        assert_eq!(place.driver.round_trips() - before, 4);
    }
    let found = store.merge(records(0)).await;
    assert!(
        found
            .iter()
            .all(|outcome| outcome.as_ref().unwrap().effect == Effect::Found),
        "what was loaded is what is read"
    );
    assert_eq!(store.load(&rows(1)).await.alike(), Some(Effect::Updated));
    assert_eq!(store.load(&rows(1)).await.alike(), Some(Effect::Found));
}

fn numbered(store: &Store, numbers: impl Iterator<Item = i64>, name: &str) -> Arc<Columns> {
    let record = |number: i64| Record {
        key: Some([Value::from(format!("k{number}"))].into()),
        external: None,
        attributes: [Some(Value::from(name))].into(),
    };
    Arc::new(Columns::of(
        store.table(),
        &numbers.map(record).collect::<Vec<_>>(),
    ))
}

fn counts(loaded: &oneflight_sql::Loaded) -> [usize; 4] {
    use Effect::{Completed, Created, Found, Updated};
    [Created, Found, Completed, Updated].map(|effect| {
        loaded
            .iter()
            .filter(|row| row.as_ref().is_ok_and(|row| row.effect == effect))
            .count()
    })
}

async fn a_key_that_comes_twice_is_one_row(place: Place) {
    let store = place.store(team()).await;
    let twice = || [1, 2, 1, 3, 3, 3].into_iter();
    let first = store.load(&numbered(&store, twice(), "a")).await;
    let effects: Vec<_> = first.iter().map(|row| row.unwrap().effect).collect();
    use Effect::{Created, Found};
    assert_eq!(effects, [Created, Created, Found, Created, Found, Found]);
    assert_eq!(
        store.load(&numbered(&store, twice(), "a")).await.alike(),
        Some(Found)
    );
    // The same where new rows are expected.
    let new = store.load(&numbered(&store, 10..20, "a")).await;
    assert_eq!(new.alike(), Some(Created));
    let third = store
        .load(&numbered(&store, [30, 31, 30].into_iter(), "a"))
        .await;
    assert_eq!(counts(&third), [2, 1, 0, 0]);
    assert_eq!(place.count("SELECT count(*) FROM team").await, 15);
}

async fn a_row_that_does_not_fit_fails_alone(place: Place) {
    let mut table = team();
    table
        .attributes
        .push(attribute("height", Kind::Real, Policy::Fill));
    table
        .attributes
        .push(attribute("born", Kind::Date, Policy::Fill));
    let store = place.store(table).await;
    let record = |row: i64, height: f64, born: i32| Record {
        key: Some([Value::from(format!("k{row}"))].into()),
        external: None,
        attributes: [None, Some(Value::Real(height)), Some(Value::Date(born))].into(),
    };
    let mut records: Vec<_> = (0..40).map(|row| record(row, 1.5, 0)).collect();
    records[7] = record(7, f64::NAN, 0);
    records[8] = record(8, 1.5, i32::MAX);
    records[9].key = Some([Value::Null].into());
    for round in 0..2 {
        let loaded = store
            .load(&Arc::new(Columns::of(store.table(), &records)))
            .await;
        let failed: Vec<_> = (0..40).filter(|&row| loaded.get(row).is_err()).collect();
        assert_eq!(failed, [7, 8, 9], "round {round}");
        assert!(loaded.get(7).unwrap_err().is_refused());
        assert!(loaded.get(9).unwrap_err().is_usage());
    }
    assert_eq!(place.count("SELECT count(*) FROM team").await, 37);
    // Rows that fit another table are told so, each of them.
    let strange = Columns::of(&team(), &[record(1, 1.0, 1)]);
    assert!(
        store
            .load(&Arc::new(strange))
            .await
            .get(0)
            .unwrap_err()
            .is_usage()
    );
}

async fn a_row_that_the_database_refuses_fails_alone(place: Place) {
    let mut table = team();
    table.attributes[0].required = true;
    let store = place.store(table).await;
    for new_rows_are_expected in [false, true] {
        let from = if new_rows_are_expected { 1_000 } else { 0 };
        let rows = numbered(&store, from..from + 40, "x");
        let mut records: Vec<_> = (0..40).map(|row| rows.record(row)).collect();
        records[17].attributes = [None].into();
        let loaded = store
            .load(&Arc::new(Columns::of(store.table(), &records)))
            .await;
        let failed: Vec<_> = (0..40).filter(|&row| loaded.get(row).is_err()).collect();
        assert_eq!(failed, [17]);
        assert!(loaded.get(17).unwrap_err().is_refused());
        assert_eq!(counts(&loaded), [39, 0, 0, 0]);
        let more = store.load(&numbered(&store, 500..510, "x")).await;
        assert!(more.alike().is_some());
    }
    assert_eq!(place.count("SELECT count(*) FROM team").await, 88);
}

async fn what_nobody_says_is_left_to_its_default(place: Place) {
    place.store(team()).await;
    place.execute("DROP TABLE team").await;
    let id = match place.driver.dialect() {
        oneflight_sql::Dialect::Postgres => "bigserial PRIMARY KEY",
        oneflight_sql::Dialect::Sqlite => "INTEGER PRIMARY KEY",
        _ => "BIGINT AUTO_INCREMENT PRIMARY KEY",
    };
    let (slug, name) = match place.driver.dialect() {
        oneflight_sql::Dialect::MySql => (
            "VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL",
            "VARCHAR(50) DEFAULT 'nobody'",
        ),
        _ => ("text NOT NULL", "text DEFAULT 'nobody'"),
    };
    let sql = format!("CREATE TABLE team (id {id}, slug {slug}, name {name}, UNIQUE (slug))");
    place.execute(&sql).await;
    let store = Store::open(place.driver.clone(), team()).await.unwrap();
    for from in [0, 10] {
        let silent: Vec<_> = (from..from + 5)
            .map(|row| Record {
                attributes: [None].into(),
                ..numbered(&store, row..row + 1, "").record(0)
            })
            .collect();
        let loaded = store
            .load(&Arc::new(Columns::of(store.table(), &silent)))
            .await;
        assert_eq!(loaded.alike(), Some(Effect::Created));
    }
    let sql = "SELECT count(*) FROM team WHERE name = 'nobody'";
    assert_eq!(place.count(sql).await, 10);
}

async fn what_exists_burns_no_value_of_a_sequence(place: Place) {
    let store = place.store(team()).await;
    let rows = |from: i64, to: i64| numbered(&store, from..to, "a");
    assert_eq!(
        store.load(&rows(0, 50)).await.alike(),
        Some(Effect::Created)
    );
    for _ in 0..3 {
        assert_eq!(store.load(&rows(0, 50)).await.alike(), Some(Effect::Found));
    }
    assert_eq!(counts(&store.load(&rows(25, 75)).await), [25, 25, 0, 0]);
    assert_eq!(
        store.load(&rows(75, 100)).await.alike(),
        Some(Effect::Created)
    );
    assert_eq!(place.last_id("team").await, 100, "no value was burnt");
}

async fn a_table_without_an_id_is_loaded_too(place: Place) {
    let table = Table {
        name: "route_plane".into(),
        id: None,
        key: vec![column("route_id", Kind::Int), column("plane_id", Kind::Int)],
        attributes: Vec::new(),
        newest_by: None,
        crosswalk: None,
    };
    let store = place.store(table).await;
    let rows = |numbers: std::ops::Range<i64>| {
        let record = |number: i64| Record {
            key: Some([Value::Int(number / 10), Value::Int(number)].into()),
            ..Record::default()
        };
        Arc::new(Columns::of(
            store.table(),
            &numbers.map(record).collect::<Vec<_>>(),
        ))
    };
    assert_eq!(
        store.load(&rows(0..100)).await.alike(),
        Some(Effect::Created)
    );
    assert_eq!(store.load(&rows(0..100)).await.alike(), Some(Effect::Found));
    assert_eq!(counts(&store.load(&rows(50..150)).await), [50, 50, 0, 0]);
    assert_eq!(store.load(&rows(0..0)).await.len(), 0);
    assert_eq!(place.count("SELECT count(*) FROM route_plane").await, 150);
}

async fn many_rows_are_loaded_and_found(place: Place) {
    let store = place.store(team()).await;
    let rows = |name: &str| numbered(&store, 0..9_000, name);
    assert_eq!(store.load(&rows("a")).await.alike(), Some(Effect::Created));
    assert_eq!(store.load(&rows("a")).await.alike(), Some(Effect::Found));
    let third = store.load(&rows("b")).await;
    assert_eq!(counts(&third), [0, 9_000, 0, 0]);
    assert!(third.iter().all(|row| row.unwrap().conflicts == 1));
    assert_eq!(place.last_id("team").await, 9_000);
}

async fn a_table_that_was_made_just_now_is_not_asked_first(place: Place) {
    let opened = async || {
        let opened = ddl::prepare_and_open(&place.driver, &[team()]).await;
        opened.unwrap().remove(0).0
    };
    let load = async |store: &Store| {
        let before = place.driver.round_trips();
        let loaded = store.load(&numbered(store, 0..100, "n")).await;
        (loaded.alike(), place.driver.round_trips() - before)
    };
    let (made, trips) = load(&opened().await).await;
    assert_eq!(made, Some(Effect::Created));
    let (found, again) = load(&opened().await).await;
    assert_eq!(found, Some(Effect::Found));
    if place.driver.is_pipelined() {
        assert_eq!((trips, again), (1, 1));
    }
}

async fn a_second_unique_index_is_told_of(place: Place) {
    assert!(place.store(team()).await.is_keyed_alone());
    place
        .execute("ALTER TABLE team ADD COLUMN shirt integer")
        .await;
    place
        .execute("CREATE UNIQUE INDEX also ON team (shirt)")
        .await;
    assert!(!place.other(team()).await.is_keyed_alone());
}

/// A constraint of the table's own that replaces rows, and a trigger that passes over some.
#[tokio::test(flavor = "multi_thread")]
async fn sqlite_says_created_of_what_was_stored_anew_alone() {
    let place = Place::open(Backend::Sqlite).await;
    place
        .execute(
            "CREATE TABLE team (id INTEGER PRIMARY KEY, slug TEXT NOT NULL, name TEXT, UNIQUE (slug) ON CONFLICT REPLACE)",
        )
        .await;
    let store = place.other(team()).await;
    let load = async |from: i64, to: i64, name: &str| {
        let rows = numbered(&store, from..to, name);
        counts(&store.load(&rows).await)
    };
    assert_eq!(load(0, 10, "first").await, [10, 0, 0, 0]);
    // New rows are expected now; half of these are there.
    assert_eq!(load(5, 15, "second").await[0], 5);
    let kept = "SELECT count(*) FROM team WHERE name = 'first'";
    assert_eq!(place.count(kept).await, 10);
    place
        .execute("CREATE TRIGGER never BEFORE INSERT ON team WHEN new.slug = 'k21' BEGIN SELECT RAISE(IGNORE); END")
        .await;
    assert_eq!(load(30, 40, "third").await, [10, 0, 0, 0]);
    let rows = numbered(&store, 20..25, "fourth");
    let loaded = store.load(&rows).await;
    assert!(loaded.get(1).is_err());
    assert_eq!(place.count("SELECT count(*) FROM team").await, 29);
}
