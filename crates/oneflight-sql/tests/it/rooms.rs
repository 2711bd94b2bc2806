//! Columns that keep less than their kind has: what would not be found again, or would be less than what was said, is refused, and
//! the column is named.

use crate::place::{
    Backend, Place, attribute, column, external, known_team, named, store_contract,
};
use oneflight_sql::{
    Columns, Dialect, Effect, Kind, Policy, Record, SameSource, Store, Table, Value,
};
use std::sync::Arc;

store_contract!(
    a_key_that_its_column_would_change_is_refused,
    a_value_that_its_column_would_change_is_refused,
    a_time_is_no_key_of_days,
    a_type_that_is_written_as_text_has_all_its_texts,
    a_float_is_compared_as_near_as_its_column_keeps_it,
);

/// The type of a column, its kind, a key that it keeps, one that it would change, and what is expected instead.
type Case = (&'static str, Kind, &'static str, &'static str, &'static str);

const MYSQL: [Case; 8] = [
    (
        "DATETIME",
        Kind::Timestamp,
        "1000000",
        "1500000",
        "whole seconds",
    ),
    (
        "DATETIME(3)",
        Kind::Timestamp,
        "1500000",
        "1500001",
        "3 digits of a second",
    ),
    (
        "DECIMAL(10,2)",
        Kind::Decimal,
        "-1.25",
        "1.255",
        "2 digits behind",
    ),
    ("DECIMAL(10)", Kind::Decimal, "7", "7.5", "rounded away"),
    ("YEAR", Kind::Int, "2010", "10", "0 or a year"),
    (
        "CHAR(5) COLLATE utf8mb4_nopad_bin",
        Kind::Text,
        "a",
        "a ",
        "no space at the end",
    ),
    (
        "VARCHAR(3) COLLATE utf8mb4_nopad_bin",
        Kind::Text,
        "ab ",
        "abc ",
        "3 characters",
    ),
    ("BINARY(4)", Kind::Bytes, "abcd", "ab", "exactly 4 bytes"),
];

/// Domains that stand on each other, and what they stand on.
const DOMAINS: [&str; 5] = [
    "CREATE DOMAIN code AS varchar(3) COLLATE \"C\"",
    "CREATE DOMAIN country AS code",
    "CREATE DOMAIN home AS country CHECK (VALUE <> '')",
    "CREATE DOMAIN cents AS numeric(10,2)",
    "CREATE DOMAIN moment AS timestamptz(0)",
];

const POSTGRES: [Case; 12] = [
    ("code", Kind::Text, "abc", "abcd", "3 characters"),
    ("country", Kind::Text, "abc", "abcd", "3 characters"),
    ("home", Kind::Text, "abc", "abcd", "3 characters"),
    ("cents", Kind::Decimal, "1.25", "1.255", "2 digits behind"),
    (
        "moment",
        Kind::Timestamp,
        "1000000",
        "1500000",
        "whole seconds",
    ),
    (
        "name",
        Kind::Text,
        "é3456789012345678901234567890123456789012345678901234567890123",
        "é3456789012345678901234567890123456789012345678901234567890123x",
        "63 bytes",
    ),
    ("\"char\"", Kind::Text, "a", "ab", "1 byte"),
    (
        "timestamp(0)",
        Kind::Timestamp,
        "1000000",
        "1500000",
        "whole seconds",
    ),
    (
        "timestamptz(3)",
        Kind::Timestamp,
        "1500000",
        "1500001",
        "3 digits of a second",
    ),
    (
        "numeric(10,2)",
        Kind::Decimal,
        "-1.25",
        "1.255",
        "2 digits behind",
    ),
    (
        "char(5) COLLATE \"C\"",
        Kind::Text,
        "a",
        "a ",
        "no space at the end",
    ),
    (
        "varchar(3) COLLATE \"C\"",
        Kind::Text,
        "ab ",
        "abc ",
        "3 characters",
    ),
];

const SQLITE: [Case; 2] = [
    (
        "DECIMAL(10,2)",
        Kind::Decimal,
        "1.255",
        "0.1234567890123456",
        "15 digits",
    ),
    (
        "STRING",
        Kind::Text,
        "seven",
        "007",
        "does not read as a number",
    ),
];

/// Floats are no keys.
const REALS: [Case; 3] = [
    ("FLOAT", Kind::Real, "51.5073509", "1e300", "3.5e38"),
    ("FLOAT(8,2)", Kind::Real, "1.1", "1.255", "2 digits behind"),
    (
        "DOUBLE(10,2)",
        Kind::Real,
        "1.25",
        "1.255",
        "2 digits behind",
    ),
];
const POSTGRES_REALS: [Case; 1] = [("real", Kind::Real, "2147483648", "-1e300", "3.5e38")];

fn value(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Real => Value::Real(text.parse().unwrap()),
        Kind::Timestamp => Value::Timestamp(text.parse().unwrap()),
        Kind::Int => Value::Int(text.parse().unwrap()),
        Kind::Decimal => Value::Decimal(text.into()),
        Kind::Bytes => Value::Bytes(text.as_bytes().into()),
        _ => text.into(),
    }
}

/// What the database of the place has, with what it needs made.
async fn cases(place: &Place) -> &'static [Case] {
    match place.driver.dialect() {
        Dialect::MySql => &MYSQL,
        Dialect::Postgres => {
            for domain in DOMAINS {
                place.execute(domain).await;
            }
            &POSTGRES
        }
        _ => &SQLITE,
    }
}

async fn a_key_that_its_column_would_change_is_refused(place: Place) {
    let cases = cases(&place).await;
    for (nth, &(of_type, kind, kept, changed, expected)) in cases.iter().enumerate() {
        let (kept, changed) = (value(kind, kept), value(kind, changed));
        let store = keyed_by(&place, &format!("t{nth}"), of_type, kind).await;
        for effect in [Effect::Created, Effect::Found] {
            let outcome = store.merge(vec![record(&kept)]).await.remove(0);
            assert_eq!(
                outcome.map_err(|e| e.to_string()).unwrap().effect,
                effect,
                "{of_type}"
            );
        }
        let found = store.find(&[record(&kept)]).await.unwrap();
        assert!(found[0].is_some(), "{of_type}: what was stored is found");
        let message = |error: &oneflight_sql::Error| {
            assert!(error.is_refused(), "{of_type}: {error}");
            let message = error.to_string();
            assert!(
                message.contains("column `k` is ") && message.contains(expected),
                "{message}"
            );
        };
        let mut outcomes = store.merge(vec![record(&changed), record(&kept)]).await;
        assert_eq!(outcomes.remove(1).unwrap().effect, Effect::Found);
        message(&outcomes.remove(0).unwrap_err());
        let rows = Columns::of(store.table(), &[record(&kept), record(&changed)]);
        let loaded = store.load(&Arc::new(rows)).await;
        assert_eq!(loaded.get(0).unwrap().effect, Effect::Found);
        message(loaded.get(1).unwrap_err());
        assert_eq!(
            place.count(&format!("SELECT count(*) FROM t{nth}")).await,
            1,
            "{of_type}"
        );
    }
}

/// What is less than what was said, and what would differ from it at each run.
async fn a_value_that_its_column_would_change_is_refused(place: Place) {
    let reals: &[Case] = match place.driver.dialect() {
        Dialect::MySql => &REALS,
        Dialect::Postgres => &POSTGRES_REALS,
        _ => &[],
    };
    let cases = cases(&place).await.iter().chain(reals).enumerate();
    for (nth, &(of_type, kind, kept, changed, expected)) in cases {
        let (kept, changed) = (value(kind, kept), value(kind, changed));
        let store = valued(&place, &format!("t{nth}"), of_type, kind).await;
        for effect in [Effect::Created, Effect::Found] {
            let outcome = store.merge(vec![said(1, &kept)]).await.remove(0);
            let told = outcome.map_err(|error| error.to_string());
            assert_eq!(told.unwrap().effect, effect, "{of_type}");
        }
        let message = |error: &oneflight_sql::Error| {
            assert!(error.is_refused(), "{of_type}: {error}");
            let message = error.to_string();
            let is_told = message.contains("column `v` is ") && message.contains(expected);
            let is_helped = message.contains(", or a ");
            assert!(is_helped, "{message}");
            assert!(is_told, "{message}");
        };
        let rows = [said(1, &changed), said(2, &changed), said(1, &kept)];
        let mut outcomes = store.merge(rows.to_vec()).await;
        assert_eq!(
            outcomes.remove(2).unwrap().effect,
            Effect::Found,
            "{of_type}"
        );
        outcomes
            .into_iter()
            .for_each(|outcome| message(&outcome.unwrap_err()));
        let loaded = store
            .load(&Arc::new(Columns::of(store.table(), &rows)))
            .await;
        assert_eq!(loaded.get(2).unwrap().effect, Effect::Found, "{of_type}");
        for row in [0, 1] {
            message(loaded.get(row).unwrap_err());
        }
        let count = format!("SELECT count(*) FROM t{nth}");
        assert_eq!(place.count(&count).await, 1, "{of_type}");
    }
}

/// What stands in the brackets of these types is no number of characters.
async fn a_type_that_is_written_as_text_has_all_its_texts(place: Place) {
    let cases: &[(&str, &str)] = match place.driver.dialect() {
        Dialect::Postgres => &[
            ("time(0)", "10:30:00"),
            ("interval(0)", "10:30:00"),
            ("varchar(3)[]", "{abc,def}"),
            ("char(3)[]", "{abc,def}"),
            ("bit(3)", "101"),
            ("bit(3)[]", "{101,110}"),
            ("numeric(10,2)[]", "{1.25,2.50}"),
        ],
        Dialect::MySql => &[("TIME(3)", "10:30:00.000"), ("ENUM('1','22')", "22")],
        _ => &[("VARCHAR(3)", "abcdef")],
    };
    for (nth, (of_type, text)) in cases.iter().enumerate() {
        let store = valued(&place, &format!("t{nth}"), of_type, Kind::Text).await;
        let record = said(1, &Value::from(*text));
        for effect in [Effect::Created, Effect::Found] {
            let outcome = store.merge(vec![record.clone()]).await.remove(0);
            let told = outcome.map_err(|error| error.to_string());
            assert_eq!(told.unwrap().effect, effect, "{of_type}");
        }
        let rows = Arc::new(Columns::of(store.table(), &[record]));
        assert_eq!(store.load(&rows).await.alike(), Some(Effect::Found));
    }
}

/// A second run finds what the first one said, and asks no more of it than of a column that keeps it all.
async fn a_float_is_compared_as_near_as_its_column_keeps_it(place: Place) {
    let types: &[&str] = match place.driver.dialect() {
        Dialect::Postgres => &["double precision", "real"],
        Dialect::MySql => &["DOUBLE", "FLOAT", "FLOAT(11,7)"],
        _ => &["DOUBLE", "REAL"],
    };
    let reals = [51.507_350_9, 1.1, -0.127_758_3, 123.0, 7.5].into_iter();
    let records: Vec<Record> = (0..)
        .zip(reals)
        .map(|(key, real)| said(key, &Value::Real(real)))
        .collect();
    let mut asked = Vec::new();
    for (nth, of_type) in types.iter().enumerate() {
        let store = valued(&place, &format!("t{nth}"), of_type, Kind::Real).await;
        let rows = Arc::new(Columns::of(store.table(), &records));
        assert_eq!(store.load(&rows).await.alike(), Some(Effect::Created));
        let before = place.driver.round_trips();
        assert_eq!(store.load(&rows).await.alike(), Some(Effect::Found));
        let again = place.driver.round_trips() - before;
        // What was not loaded but merged is as near, and is found by either.
        let merged = store.merge(records.clone()).await.into_iter();
        let effects = merged.map(|outcome| outcome.unwrap().effect);
        assert!(
            { effects }.all(|effect| effect == Effect::Found),
            "{of_type}"
        );
        let other = said(9, &Value::Real(51.507_350_9));
        let made = store.merge(vec![other.clone()]).await.remove(0);
        assert_eq!(made.unwrap().effect, Effect::Created);
        let other = Arc::new(Columns::of(store.table(), &[other]));
        let before = place.driver.round_trips();
        assert_eq!(store.load(&other).await.alike(), Some(Effect::Found));
        asked.push((again, place.driver.round_trips() - before));
    }
    assert!(asked.iter().all(|trips| *trips == asked[0]), "{asked:?}");
    if place.is_postgres() {
        // PostgreSQL casts no number to one that is nothing: such a row takes the long way, and is found as well.
        let store = valued(&place, "small", "real", Kind::Real).await;
        let rows = [said(1, &Value::Real(1e-50)), said(2, &Value::Real(1.1))];
        let rows = Arc::new(Columns::of(store.table(), &rows));
        for effect in [Effect::Created, Effect::Found] {
            let loaded = store.load(&rows).await;
            let effects = (0..2).map(|row| loaded.get(row).unwrap().effect);
            assert_eq!(effects.collect::<Vec<_>>(), [effect, effect]);
        }
    }
}

/// A row of a table `(k, v)`.
fn said(key: i64, value: &Value) -> Record {
    Record {
        key: Some([Value::Int(key)].into()),
        attributes: [Some(value.clone())].into(),
        ..Record::default()
    }
}

/// A store of a table `(k, v)` as a user would have made it.
async fn valued(place: &Place, name: &str, of_type: &str, kind: Kind) -> Store {
    let charset = match place.driver.dialect() {
        Dialect::MySql => " CHARACTER SET utf8mb4",
        _ => "",
    };
    let sql = format!("CREATE TABLE {name} (k BIGINT NOT NULL, v {of_type}, UNIQUE (k)){charset}");
    place.execute(&sql).await;
    let table = Table {
        name: name.into(),
        id: None,
        key: vec![column("k", Kind::Int)],
        attributes: vec![attribute("v", kind, Policy::Take)],
        newest_by: None,
        crosswalk: None,
    };
    let opened = Store::open(place.driver.clone(), table).await;
    opened.unwrap_or_else(|error| panic!("{of_type}: {error}"))
}

/// A store of a table `(id, k)` as a user would have made it.
async fn keyed_by(place: &Place, name: &str, of_type: &str, kind: Kind) -> Store {
    let id = match place.driver.dialect() {
        Dialect::Postgres => "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        Dialect::MySql => "BIGINT AUTO_INCREMENT PRIMARY KEY",
        _ => "INTEGER PRIMARY KEY",
    };
    let charset = match place.driver.dialect() {
        Dialect::MySql => " CHARACTER SET utf8mb4",
        _ => "",
    };
    let sql = format!("CREATE TABLE {name} (id {id}, k {of_type} NOT NULL, UNIQUE (k)){charset}");
    place.execute(&sql).await;
    let table = Table {
        name: name.into(),
        id: Some("id".into()),
        key: vec![column("k", kind)],
        attributes: Vec::new(),
        newest_by: None,
        crosswalk: None,
    };
    let opened = Store::open(place.driver.clone(), table).await;
    opened.unwrap_or_else(|error| panic!("{of_type}: {error}"))
}

fn record(key: &Value) -> Record {
    Record {
        key: Some([key.clone()].into()),
        ..Record::default()
    }
}

async fn a_time_is_no_key_of_days(place: Place) {
    let sql = "CREATE TABLE diary (k DATE NOT NULL, UNIQUE (k))";
    place.execute(sql).await;
    let table = Table {
        name: "diary".into(),
        id: None,
        key: vec![column("k", Kind::Timestamp)],
        attributes: Vec::new(),
        newest_by: None,
        crosswalk: None,
    };
    let error = Store::open(place.driver.clone(), table).await.unwrap_err();
    assert!(error.is_schema());
    assert_eq!(
        error.to_string(),
        "column `k` of table `diary` is date, expected one for timestamp"
    );
}

/// MySQL and MariaDB: our own column is as wide as an index lets it be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_external_id_that_its_column_would_cut_is_refused() {
    let place = Place::open(Backend::MariaDb).await;
    let store = place.store(known_team(SameSource::Split)).await;
    let id = |spaces: usize| format!("7{}", " ".repeat(spaces));
    let long = external("opta", &id(300), named("ars", "Arsenal"));
    let error = store.merge(vec![long]).await.remove(0).unwrap_err();
    assert!(error.is_refused(), "{error}");
    assert!(error.to_string().contains("`external_id`"), "{error}");
    assert_eq!(place.count("SELECT count(*) FROM team").await, 0);
}
