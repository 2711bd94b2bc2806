//! Tables that are made, and tables that are there.

use crate::place::{
    Place, attribute, column, crosswalk, keyed, known_team, refers, store_contract, team,
};
use oneflight_sql::ddl::{self, TableState};
use oneflight_sql::driver::Statement;
use oneflight_sql::{Attribute, Dialect, Kind, Policy, SameSource, Store, Table, Value};

store_contract!(
    tables_are_made_once_and_checked_afterwards,
    two_processes_make_the_tables_once,
    a_process_that_opens_while_another_makes_the_tables_finds_them,
    tables_are_looked_at_all_at_once,
    tables_that_refer_to_each_other_are_made_with_real_foreign_keys,
    a_table_that_does_not_fit_is_named_with_what_was_expected,
    without_a_unique_index_nothing_is_opened_and_the_message_mends_it,
    a_collation_that_folds_is_refused,
    empty_tables_are_taken_back_and_full_ones_stay,
    a_failed_taking_back_leaves_the_references_checked,
    a_charset_that_cannot_hold_every_key_is_refused,
);

fn cycle() -> Vec<Table> {
    let person = Table {
        name: "person".into(),
        attributes: vec![
            Attribute {
                column: refers("team_id", "team"),
                required: false,
                policy: Policy::Fill,
            },
            Attribute {
                column: refers("boss_id", "person"),
                required: false,
                policy: Policy::Fill,
            },
        ],
        ..team()
    };
    let mut team = known_team(SameSource::Split);
    team.attributes.push(Attribute {
        column: refers("captain_id", "person"),
        required: false,
        policy: Policy::Fill,
    });
    let key = vec![refers("person_id", "person"), refers("team_id", "team")];
    let plays = Table {
        name: "plays".into(),
        id: None,
        key,
        attributes: Vec::new(),
        ..person.clone()
    };
    vec![team, person, plays]
}

async fn tables_are_made_once_and_checked_afterwards(place: Place) {
    use TableState::{Created, Present};
    let states =
        |tables: Vec<Table>| async { ddl::prepare(&place.driver, &{ tables }).await.unwrap() };
    let league = Table {
        name: "league".into(),
        ..team()
    };
    assert_eq!(states(vec![league.clone()]).await, [Created]);
    assert_eq!(
        states([cycle(), vec![league]].concat()).await,
        [Created, Created, Created, Present]
    );
    assert_eq!(states(cycle()).await, [Present, Present, Present]);
}

async fn two_processes_make_the_tables_once(place: Place) {
    let mut tasks = Vec::new();
    for _ in 0..6 {
        let (backend, url) = (place.backend, place.database.url().to_owned());
        tasks.push(tokio::spawn(async move {
            let driver = backend.connect(&url, 2).await;
            ddl::prepare(&driver, &cycle()).await.unwrap()
        }));
    }
    let mut created = 0;
    for task in tasks {
        created += task
            .await
            .unwrap()
            .iter()
            .filter(|state| **state == TableState::Created)
            .count();
    }
    assert_eq!(created, 3);
}

/// The other one makes them in a transaction that is open when this one looks, and commits while it waits for the lock.
async fn a_process_that_opens_while_another_makes_the_tables_finds_them(place: Place) {
    if place.driver.dialect() != Dialect::Postgres {
        return;
    }
    let other = place.backend.connect(place.database.url(), 1).await;
    let (tables, tell) = (
        vec![team()],
        std::sync::Arc::new(tokio::sync::Notify::new()),
    );
    let (driver, opens, told) = (place.driver.clone(), tables.clone(), tell.clone());
    let opening = tokio::spawn(async move {
        told.notified().await;
        ddl::prepare_and_open(&driver, &opens).await.unwrap()
    });
    let rehearsal = other.rehearse().await.unwrap();
    assert_eq!(
        ddl::prepare(&rehearsal, &tables).await.unwrap(),
        [TableState::Created]
    );
    tell.notify_one();
    // It waits for the lock that the other one holds, and is seen to.
    let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    while place.count(waiting).await == 0 {
        tokio::task::yield_now().await;
    }
    let commit = Statement::new("COMMIT");
    rehearsal.query(commit).await.unwrap();
    let (store, state) = opening.await.unwrap().remove(0);
    assert_eq!(state, TableState::Present);
    store.merge(vec![keyed("a")]).await.remove(0).unwrap();
}

async fn tables_are_looked_at_all_at_once(place: Place) {
    let trips = || place.driver.round_trips();
    let before = trips();
    let opened = ddl::prepare_and_open(&place.driver, &cycle())
        .await
        .unwrap();
    assert!(
        opened
            .iter()
            .all(|(_, state)| *state == TableState::Created)
    );
    let (made, again) = (trips() - before, trips());
    let opened = ddl::prepare_and_open(&place.driver, &cycle())
        .await
        .unwrap();
    assert!(
        opened
            .iter()
            .all(|(_, state)| *state == TableState::Present)
    );
    let looked = trips() - again;
    if place.driver.is_pipelined() {
        assert_eq!((made, looked), (2, 1));
    }
    let again = trips();
    let stores = Store::open_all(place.driver.clone(), cycle())
        .await
        .unwrap();
    let names = |stores: Vec<&Store>| {
        stores
            .iter()
            .map(|store| store.table().name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(stores.iter().collect()),
        names(opened.iter().map(|(store, _)| store).collect())
    );
    assert!(trips() - again <= looked);
}

async fn tables_that_refer_to_each_other_are_made_with_real_foreign_keys(place: Place) {
    ddl::prepare(&place.driver, &cycle()).await.unwrap();
    let sql = match place.driver.dialect() {
        Dialect::Postgres => "SELECT count(*) FROM pg_constraint WHERE contype = 'f'",
        Dialect::Sqlite => {
            "SELECT count(*) FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'"
        }
        _ => {
            "SELECT CAST(count(*) AS SIGNED) FROM information_schema.referential_constraints WHERE constraint_schema = database()"
        }
    };
    assert_eq!(place.count(sql).await, 6);
    let store = Store::open(place.driver.clone(), cycle().remove(1))
        .await
        .unwrap();
    let orphan = oneflight_sql::Record {
        attributes: [Some(oneflight_sql::Value::Int(77)), None].into(),
        ..crate::place::keyed("k")
    };
    let outcome = store.merge(vec![orphan]).await.remove(0);
    assert!(outcome.unwrap_err().is_refused());
}

async fn a_table_that_does_not_fit_is_named_with_what_was_expected(place: Place) {
    ddl::prepare(&place.driver, &[team()]).await.unwrap();
    let mut other = team();
    other
        .attributes
        .push(attribute("founded", Kind::Int, Policy::Fill));
    let error = ddl::prepare(&place.driver, &[other]).await.unwrap_err();
    assert!(error.is_schema());
    assert_eq!(
        error.to_string(),
        "table `team` has no column `founded`: it has `id`, `slug`, `name`"
    );
    let mut other = team();
    other.attributes[0].column.kind = Kind::Int;
    let error = ddl::prepare(&place.driver, &[other]).await.unwrap_err();
    assert!(error.is_schema());
    assert!(
        error
            .to_string()
            .contains("column `name` of table `team` is "),
        "{error}"
    );
    assert!(
        error.to_string().ends_with("expected one for integer"),
        "{error}"
    );
    let mut other = team();
    other.key = vec![column("name", Kind::Text)];
    other.attributes.clear();
    let error = ddl::prepare(&place.driver, &[other]).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("unique index on (name) is missing"),
        "{error}"
    );
    let missing = Table {
        name: "nowhere".into(),
        ..team()
    };
    let error = Store::open(place.driver.clone(), missing)
        .await
        .unwrap_err();
    assert_eq!(
        (error.is_schema(), error.to_string().as_str()),
        (true, "there is no table `nowhere`")
    );
}

async fn without_a_unique_index_nothing_is_opened_and_the_message_mends_it(place: Place) {
    let text = match place.driver.dialect() {
        Dialect::MySql => "VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
        Dialect::Postgres => "text",
        _ => "TEXT",
    };
    let id = match place.driver.dialect() {
        Dialect::MySql => "bigint AUTO_INCREMENT PRIMARY KEY",
        Dialect::Postgres => "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        _ => "INTEGER PRIMARY KEY",
    };
    place
        .execute(&format!(
            "CREATE TABLE team (id {id}, slug {text} NOT NULL, name {text})"
        ))
        .await;
    place.execute(&format!("CREATE TABLE xref (source {text} NOT NULL, external_id {text} NOT NULL, entity_id bigint NOT NULL)")).await;
    if place.driver.dialect() != Dialect::MySql {
        // An index over some of the rows decides nothing for the others.
        place
            .execute("CREATE UNIQUE INDEX partly ON team (slug) WHERE name IS NOT NULL")
            .await;
    }
    let table = Table {
        crosswalk: Some(crosswalk("xref", SameSource::Split)),
        ..team()
    };
    for about in ["team", "xref"] {
        let error = Store::open(place.driver.clone(), table.clone())
            .await
            .unwrap_err();
        assert!(
            error.is_schema() && error.to_string().contains(&format!("table `{about}`")),
            "{error}"
        );
        let message = error.to_string();
        let (_, statement) = message.split_once("Create it with: ").unwrap();
        place.execute(statement).await;
    }
    let store = Store::open(place.driver.clone(), table).await.unwrap();
    let record = crate::place::external("s", "1", crate::place::named("k", "n"));
    assert!(store.merge(vec![record]).await.remove(0).is_ok());
}

async fn a_collation_that_folds_is_refused(place: Place) {
    let (column, expected) = match place.driver.dialect() {
        Dialect::MySql => (
            "VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
            "utf8mb4_general_ci",
        ),
        Dialect::Postgres => ("text COLLATE folding", "folding"),
        _ => ("TEXT COLLATE NOCASE", "NOCASE"),
    };
    if place.is_postgres() {
        place.execute("CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)").await;
    }
    place
        .execute(&format!(
            "CREATE TABLE team (id integer PRIMARY KEY, slug {column} NOT NULL UNIQUE, name text)"
        ))
        .await;
    let error = Store::open(place.driver.clone(), team()).await.unwrap_err();
    assert!(
        error.is_schema() && error.to_string().contains(expected),
        "{error}"
    );
}

async fn empty_tables_are_taken_back_and_full_ones_stay(place: Place) {
    ddl::prepare(&place.driver, &cycle()).await.unwrap();
    assert!(ddl::drop_empty(&*place.driver, &cycle()).await.unwrap());
    let store = place.store(team()).await;
    store.merge(vec![keyed("a")]).await.remove(0).unwrap();
    assert!(!ddl::drop_empty(&*place.driver, &[team()]).await.unwrap());
    assert_eq!(place.count("SELECT count(*) FROM team").await, 1);
}

/// The table is a view to the database: it can be read, and is no table that can be dropped.
async fn a_failed_taking_back_leaves_the_references_checked(place: Place) {
    place
        .execute("CREATE VIEW team AS SELECT 1 AS id LIMIT 0")
        .await;
    let driver = place.backend.connect(place.database.url(), 1).await;
    let error = ddl::drop_empty(&*driver, &[team()]).await.unwrap_err();
    assert!(error.is_database() || error.is_schema(), "{error:?}");
    if driver.dialect() == Dialect::MySql {
        let sql = "SELECT CAST(@@SESSION.foreign_key_checks AS SIGNED)";
        let asked = Statement::new(sql).returns([Kind::Int]);
        let rows = driver.query(asked).await.unwrap();
        assert_eq!(rows.iter().next(), Some(&[Value::Int(1)][..]));
    }
}

/// A charset of three bytes makes a question mark of what it lacks: that is another row's key.
async fn a_charset_that_cannot_hold_every_key_is_refused(place: Place) {
    if place.driver.dialect() != Dialect::MySql {
        return;
    }
    place
        .execute(
            "CREATE TABLE team (id BIGINT PRIMARY KEY AUTO_INCREMENT, name LONGTEXT, \
             slug VARCHAR(99) CHARACTER SET utf8mb3 COLLATE utf8mb3_nopad_bin NOT NULL UNIQUE)",
        )
        .await;
    let error = Store::open(place.driver.clone(), team()).await.unwrap_err();
    assert!(error.is_schema(), "{error:?}");
    assert!(error.to_string().contains("utf8mb4_nopad_bin"), "{error}");
}
