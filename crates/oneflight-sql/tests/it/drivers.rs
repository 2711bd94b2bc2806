//! What a driver promises: nothing is left open, a rehearsal leaves no trace, a link that breaks is made anew.

use crate::place::{Backend, Place, external, keyed, known_team, named, store_contract, team};
use oneflight_sql::driver::{self, Fault, Mode, Pipeline, Statement};
use oneflight_sql::{Dialect, Effect, Kind, SameSource, Store, Value};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection, Executor};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use testkit::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

store_contract!(
    a_future_that_is_dropped_leaves_no_transaction_open,
    a_rehearsal_sees_what_it_writes_and_leaves_no_trace,
    a_transaction_is_rolled_back_as_a_whole,
    a_link_that_breaks_anywhere_costs_no_row,
);

/// Some are on their way when the first pipelines come, and some are not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_are_never_more_connections_than_were_allowed() {
    let place = Place::open(Backend::PostgresTokio).await;
    for allowed in [1, 2, 7] {
        let proxy = Proxy::start(place.database.url()).await;
        let options = driver::Options::default().connections(allowed);
        let far = driver::connect(proxy.url(), options).await.unwrap();
        // Nobody is answered before as many wait as there may be connections.
        let gate = place.driver.rehearse().await.unwrap();
        let shut = Statement::new("SELECT pg_advisory_xact_lock(7)");
        gate.query(shut).await.unwrap();
        let ask = || {
            let far = far.clone();
            let pass = Statement::new("SELECT pg_advisory_xact_lock_shared(7)");
            tokio::spawn(async move { far.query(pass).await })
        };
        let mut asking: Vec<_> = (0..allowed * 3).map(|_| ask()).collect();
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        // Those who came before a line was there may all be behind another.
        while place.count(waiting).await < allowed as i64 {
            asking.push(ask());
        }
        drop(gate);
        for answered in asking {
            answered.await.unwrap().unwrap();
        }
        assert_eq!(proxy.connections(), allowed as u64);
    }
}

/// Three connections more are sent for, and refused: before the first is there, and whenever it is busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_may_have_one_connection_works_over_one() {
    let place = Place::open(Backend::PostgresTokio).await;
    let (server, name) = place.database.url().rsplit_once('/').unwrap();
    let (_, server) = server.split_once('@').unwrap();
    let role = format!("{name}_one");
    let sql = format!("CREATE ROLE {role} LOGIN PASSWORD 'one' CONNECTION LIMIT 1");
    place.execute(&sql).await;
    let url = format!("postgres://{role}:one@{server}/{name}");
    let worked = tokio::spawn(async move {
        let options = driver::Options::default().connections(4);
        let driver = driver::connect(&url, options).await.unwrap();
        let asking = (0..100).map(|number| {
            let driver = driver.clone();
            let sql = format!("SELECT {number}::int8");
            let ask = Statement::new(sql).returns([Kind::Int]);
            tokio::spawn(async move { driver.query(ask).await })
        });
        for (number, answered) in asking.collect::<Vec<_>>().into_iter().enumerate() {
            let rows = answered.await.unwrap().unwrap();
            assert!(rows.iter().eq([[Value::Int(number as i64)]]));
        }
    });
    let worked = worked.await;
    place.execute(&format!("DROP ROLE {role}")).await;
    worked.unwrap();
}

/// MySQL's servers speak first and PostgreSQL's never do, so that both would wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_that_leads_to_the_other_kind_of_server_says_so() {
    for (url, scheme, mistake) in [
        (
            testkit::services::postgres(),
            "mysql",
            "a PostgreSQL server answers there: expected postgres://",
        ),
        (
            testkit::services::mariadb(),
            "postgres",
            "a MySQL or MariaDB server answers there: expected mysql://",
        ),
    ] {
        let (_, place) = url.split_once("://").unwrap();
        let url = format!("{scheme}://{place}");
        let options = driver::Options::default();
        let error = driver::connect(&url, options).await.map(drop).unwrap_err();
        assert_eq!(error.to_string(), mistake);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transient_database_leaves_no_file_and_changes_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new.db");
    let url = format!("sqlite:{}", file.display());
    let transient = driver::Options::default().transient(true);
    let is_there = || std::fs::read_dir(folder.path()).unwrap().count() > 0;
    {
        let driver = driver::connect(&url, transient).await.unwrap();
        driver
            .query(Statement::new("CREATE TABLE t (a)"))
            .await
            .unwrap();
        driver
            .query(Statement::new("INSERT INTO t VALUES (1)"))
            .await
            .unwrap();
        let count = Statement::new("SELECT count(*) FROM t").returns([Kind::Int]);
        let rows = driver.query(count).await.unwrap();
        assert_eq!(rows.iter().next(), Some(&[Value::Int(1)][..]));
        assert!(!is_there());
    }
    assert!(!is_there());
    let elsewhere = format!("sqlite:{}", folder.path().join("none/new.db").display());
    assert!(driver::connect(&elsewhere, transient).await.is_err());
    // A file that is there is worked with as it is.
    let made = driver::connect(&url, driver::Options::default())
        .await
        .unwrap();
    made.query(Statement::new("CREATE TABLE t (a)"))
        .await
        .unwrap();
    drop(made);
    let driver = driver::connect(&url, transient).await.unwrap();
    driver
        .query(Statement::new("INSERT INTO t VALUES (1)"))
        .await
        .unwrap();
    assert_eq!(testkit::count(&url, "SELECT count(*) FROM t").await, 1);
}

/// The first waits in the server; the others are written behind it all the same, and all are answered in one stretch.
#[tokio::test]
async fn pipelines_go_behind_each_other_on_one_connection() {
    let place = Place::open(Backend::PostgresTokio).await;
    let proxy = Proxy::start(place.database.url()).await;
    let options = driver::Options::default().connections(1);
    let far = driver::connect(proxy.url(), options).await.unwrap();
    let gate = place.driver.rehearse().await.unwrap();
    let shut = Statement::new("SELECT pg_advisory_xact_lock(7)");
    gate.query(shut).await.unwrap();
    let before = proxy.round_trips();
    let ask = |sql: &'static str| {
        let far = far.clone();
        tokio::spawn(async move { far.query(Statement::new(sql).returns([Kind::Int])).await })
    };
    let first = ask("SELECT 0::int8 FROM (SELECT pg_advisory_xact_lock_shared(7)) lock");
    let behind = [
        "SELECT 1::int8",
        "SELECT 2::int8",
        "SELECT 1 / 0::int8",
        "SELECT 4::int8",
    ];
    let behind = behind.map(ask);
    let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    while place.count(waiting).await == 0 {
        tokio::task::yield_now().await;
    }
    drop(gate);
    first.await.unwrap().unwrap();
    let mut answers = Vec::new();
    for answer in behind {
        let rows = answer.await.unwrap().ok();
        answers.push(rows.and_then(|rows| rows.iter().next()?.first()?.as_i64()));
    }
    assert_eq!(answers, [Some(1), Some(2), None, Some(4)]);
    assert_eq!(proxy.round_trips() - before, 1);
}

/// Others on the same connection neither come between its messages nor see the transaction that it leaves open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_decides_something_on_the_way_has_the_connection_for_himself() {
    let place = Place::open(Backend::PostgresTokio).await;
    place.execute("CREATE TABLE said (number int)").await;
    let driver = place.backend.connect(place.database.url(), 1).await;
    let insert = |number: usize| Statement::new(format!("INSERT INTO said VALUES ({number})"));
    let deciding = |number: usize| {
        let refuse = move |_: &[driver::Rows]| match number.is_multiple_of(2) {
            true => Ok(vec![insert(number)]),
            false => Err(driver::DriverError::new(Fault::Other, "no")),
        };
        Pipeline::new(Mode::Write { lock: None })
            .step(insert(number))
            .then(refuse)
    };
    let running = (0..60).map(|number| {
        let driver = driver.clone();
        let pipeline = match number % 3 {
            0 => deciding(number),
            _ => Pipeline::new(Mode::Write { lock: None }).step(insert(number)),
        };
        tokio::spawn(async move { driver.run(pipeline).await.is_ok() })
    });
    let running: Vec<_> = running.collect();
    for (number, ran) in running.into_iter().enumerate() {
        let refuses = number % 3 == 0 && number % 2 == 1;
        assert_eq!(ran.await.unwrap(), !refuses, "{number}");
    }
    // Ten of twenty decided to go on, and say it twice; forty had nothing to decide.
    assert_eq!(place.count("SELECT count(*) FROM said").await, 10 * 2 + 40);
}

/// Polls a future at most `polls` times.
async fn polled<F: Future>(future: F, mut polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if polls == 0 => Poll::Ready(None),
        Poll::Pending => {
            polls -= 1;
            Poll::Pending
        }
    })
    .await
}

/// How many connections are in a transaction, though the only one that there is has just answered.
async fn open_transactions(place: &Place, driver: &dyn driver::Driver) -> i64 {
    let ask = |sql: &'static str| driver.query(Statement::new(sql).returns([Kind::Int]));
    match place.driver.dialect() {
        Dialect::Postgres => {
            ask("SELECT 1::int8").await.unwrap();
            let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'";
            place.count(sql).await
        }
        Dialect::MySql => match ask("SELECT CAST(@@in_transaction AS SIGNED)")
            .await
            .unwrap()
            .iter()
            .next()
        {
            Some([Value::Int(open)]) => *open,
            other => panic!("{other:?}"),
        },
        _ => 0,
    }
}

async fn a_future_that_is_dropped_leaves_no_transaction_open(place: Place) {
    place.store(known_team(SameSource::Split)).await;
    // One connection: whatever is left open on it, the next one meets.
    let driver = place.backend.connect(place.database.url(), 1).await;
    let store = Store::open(driver.clone(), known_team(SameSource::Split))
        .await
        .unwrap();
    let mut done = 0;
    for polls in 0.. {
        let record = |at: usize| {
            external(
                "s",
                &format!("x{polls}-{at}"),
                named(&format!("k{polls}-{at}"), "n"),
            )
        };
        let records = (0..3).map(record).collect::<Vec<_>>();
        let ended = polled(store.merge(records.clone()), polls).await.is_some();
        assert_eq!(
            open_transactions(&place, &*driver).await,
            0,
            "dropped after {polls} polls"
        );
        // On SQLite a transaction inside a transaction is an error.
        driver
            .run(Pipeline::new(Mode::Write { lock: None }))
            .await
            .unwrap();
        assert!(store.merge(records).await.iter().all(Result::is_ok));
        done += usize::from(ended);
        if done == 3 {
            break;
        }
    }
    let rows = place.count("SELECT count(*) FROM team").await;
    assert_eq!(
        (
            place.last_id("team").await,
            place.count("SELECT count(*) FROM team_xref").await
        ),
        (rows, rows)
    );
}

async fn a_rehearsal_sees_what_it_writes_and_leaves_no_trace(place: Place) {
    let table = known_team(SameSource::Split);
    let store = place.store(table.clone()).await;
    store.merge(vec![external("s", "1", named("a", "n"))]).await;
    let rehearsal = place.driver.rehearse().await.unwrap();
    assert!(rehearsal.is_rehearsal());
    let rehearsed = Store::open(rehearsal, table).await.unwrap();
    let records = || {
        vec![
            external("s", "1", named("a", "m")),
            external("s", "2", named("b", "n")),
            keyed("c"),
        ]
    };
    let outcomes = rehearsed.merge(records()).await;
    let effects: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome.as_ref().unwrap().effect)
        .collect();
    assert_eq!(effects, [Effect::Found, Effect::Created, Effect::Created]);
    let outcomes = rehearsed.merge(records()).await;
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.as_ref().unwrap().effect == Effect::Found)
    );
    // A bad record among good ones is rolled back on its own.
    let bad = external("s", "1", keyed("x\0"));
    rehearsed
        .merge(vec![bad, keyed("d")])
        .await
        .remove(1)
        .unwrap();
    assert_eq!(place.count("SELECT count(*) FROM team").await, 1);
    drop((rehearsed, outcomes));
    assert!(store.merge(records()).await.iter().all(Result::is_ok));
    assert_eq!(place.count("SELECT count(*) FROM team").await, 3);
}

async fn a_transaction_is_rolled_back_as_a_whole(place: Place) {
    place.store(team()).await;
    let insert = |slug: &str| Statement::new(format!("INSERT INTO team (slug) VALUES ('{slug}')"));
    let pipeline = Pipeline::new(Mode::Write { lock: None })
        .step(insert("a"))
        .step(insert("a"));
    let error = place.driver.run(pipeline).await.unwrap_err();
    assert_eq!(error.fault(), Fault::Unique);
    assert!(error.code().is_some());
    let refusing = |_: &[driver::Rows]| Err(driver::DriverError::new(Fault::Other, "no"));
    let pipeline = Pipeline::new(Mode::Write { lock: None })
        .step(insert("b"))
        .then(refusing);
    assert_eq!(
        place.driver.run(pipeline).await.unwrap_err().to_string(),
        "no"
    );
    assert_eq!(place.count("SELECT count(*) FROM team").await, 0);
    let pipeline = Pipeline::new(Mode::Write { lock: None }).step(insert("c"));
    assert_eq!(place.driver.run(pipeline).await.unwrap().len(), 1);
    assert_eq!(place.count("SELECT count(*) FROM team").await, 1);
}

async fn a_link_that_breaks_anywhere_costs_no_row(place: Place) {
    if place.backend == Backend::Sqlite {
        return;
    }
    place.store(known_team(SameSource::Split)).await;
    let proxy = Proxy::start(place.database.url()).await;
    let driver = place.backend.connect(proxy.url(), 2).await;
    let store = Store::open(driver, known_team(SameSource::Split))
        .await
        .unwrap();
    // Each time the link breaks a little later: before, in, and after the transaction, and after the commit.
    for step in 0..40 {
        let records = |_| {
            (0..3)
                .map(|at| {
                    external(
                        "s",
                        &format!("x{step}-{at}"),
                        named(&format!("k{step}-{at}"), "n"),
                    )
                })
                .collect()
        };
        proxy.cut_after(100 + 97 * step);
        let outcomes = store.merge(records(())).await;
        proxy.uncut();
        assert!(
            outcomes.iter().all(Result::is_ok),
            "cut after {} bytes: {outcomes:?}",
            100 + 97 * step
        );
        let again = store.merge(records(())).await;
        for (first, again) in outcomes.iter().zip(&again) {
            assert_eq!(first.as_ref().unwrap().id, again.as_ref().unwrap().id);
        }
    }
    assert_eq!(place.count("SELECT count(*) FROM team").await, 120);
    assert_eq!(place.count("SELECT count(*) FROM team_xref").await, 120);
}

#[tokio::test]
async fn an_error_never_shows_the_password() {
    for url in [
        "postgres://me:s3cret@127.0.0.1:1/x",
        "mysql://me:s3cret@127.0.0.1:1/x",
        "sqlite:/nowhere/s3cret-free.db",
        "ftp://me:s3cret@h/",
    ] {
        let error = driver::connect(url, driver::Options::default())
            .await
            .unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(
            !shown.contains("s3cret@") && !shown.contains(":s3cret"),
            "{shown}"
        );
    }
}

/// A server, or a pooler, that answers what nobody asked: the connection is given up, and the next question goes on a new one.
#[tokio::test]
async fn a_link_that_is_out_of_step_is_lost() {
    const READY: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    const STRANGE: &[u8] = b"C\0\0\0\x0dSELECT 1\0";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://me@{}/x", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let mut links = Vec::new();
        for _ in 0..2 {
            let (mut link, _) = listener.accept().await.unwrap();
            let mut asked = [0; 4096];
            for answer in [READY, STRANGE] {
                assert_ne!(link.read(&mut asked).await.unwrap(), 0);
                link.write_all(answer).await.unwrap();
            }
            links.push(link);
        }
        links
    });
    let options = driver::Options::default().connections(1);
    let driver = driver::connect(&url, options).await.unwrap();
    for _ in 0..2 {
        let ask = Statement::new("SELECT 1").returns([Kind::Int]);
        let error = driver.query(ask).await.unwrap_err();
        assert_eq!(error.fault(), Fault::Lost, "{error}");
    }
    assert_eq!(server.await.unwrap().len(), 2);
}

/// What is behind it on the same connection may look right, and is the answer to something else.
#[tokio::test]
async fn what_comes_after_a_strange_answer_is_not_believed() {
    let ready: &[u8] = b"Z\0\0\0\x05I";
    let column = b"T\0\0\0\x1a\0\x01a\0\0\0\0\0\0\0\0\0\0\x14\0\x08\xff\xff\xff\xff\0\x01";
    let row = b"D\0\0\0\x12\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x07";
    let end = b"C\0\0\0\x0dSELECT 1\0";
    let parsed = b"1\0\0\0\x042\0\0\0\x04";
    let fine = [&parsed[..], column, row, end, ready].concat();
    let strange = [end, ready].concat();
    let sync = b"S\0\0\0\x04";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://me@{}/x", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let mut answers = Vec::new();
        for first in [fine.clone(), strange] {
            let (mut link, _) = listener.accept().await.unwrap();
            let mut asked = [0; 4096];
            assert_ne!(link.read(&mut asked).await.unwrap(), 0);
            let login = [b"R\0\0\0\x08\0\0\0\0", ready].concat();
            link.write_all(&login).await.unwrap();
            let mut all = Vec::new();
            while all.windows(5).filter(|bytes| bytes == sync).count() < 2 {
                assert_ne!(link.read_buf(&mut all).await.unwrap(), 0);
            }
            link.write_all(&[&first[..], &fine].concat()).await.unwrap();
            answers.push(link);
        }
        answers
    });
    for is_right in [true, false] {
        let options = driver::Options::default().connections(1);
        let driver = driver::connect(&url, options).await.unwrap();
        let ask = || driver.query(Statement::new("SELECT a").returns([Kind::Int]));
        let (first, second) = tokio::join!(ask(), ask());
        for asked in [first, second] {
            match asked {
                Ok(rows) => assert!(is_right && rows.iter().eq([[Value::Int(7)]])),
                Err(error) => assert!(!is_right && error.fault() == Fault::Lost, "{error}"),
            }
        }
    }
    drop(server.await.unwrap());
}

/// A file that another process is just filling, not in WAL mode yet: going over to it wants the file for itself, and SQLite
/// says "database is locked" at once, whatever the busy timeout.
#[tokio::test]
async fn a_fresh_sqlite_file_is_opened_when_the_other_process_lets_it_go() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fresh.db");
    let options = SqliteConnectOptions::new()
        .filename(&file)
        .create_if_missing(true);
    let mut other = SqliteConnection::connect_with(&options).await.unwrap();
    for statement in ["CREATE TABLE a(b)", "BEGIN", "SELECT count(*) FROM a"] {
        sqlx::raw_sql(statement).execute(&mut other).await.unwrap();
    }

    let url = format!("sqlite:{}", file.display());
    let mut connecting = pin!(driver::connect(&url, driver::Options::default()));
    // SLEEP: lets it find the file locked; were it not long enough, the test would pass without having seen that.
    let wait = Duration::from_millis(100);
    if let Ok(done) = tokio::time::timeout(wait, &mut connecting).await {
        panic!("it did not wait: {:?}", done.map(drop));
    }
    sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();

    let driver = connecting.await.unwrap();
    let mode = driver.query(Statement::new("PRAGMA journal_mode").returns([Kind::Text]));
    let mode = mode.await.unwrap();
    assert_eq!(mode.iter().next(), Some(&[Value::from("wal")][..]));
}

#[tokio::test]
async fn one_address_leads_to_each_database() {
    for (url, dialect) in [
        (testkit::services::postgres(), Dialect::Postgres),
        (testkit::services::mariadb(), Dialect::MySql),
        (
            testkit::services::mariadb().replace("mysql://", "mariadb://"),
            Dialect::MySql,
        ),
        ("sqlite::memory:".to_owned(), Dialect::Sqlite),
    ] {
        let driver = driver::connect(&url, driver::Options::default())
            .await
            .unwrap();
        assert_eq!(driver.dialect(), dialect);
        let rows = driver
            .query(Statement::new("SELECT 'a'").returns([Kind::Text]))
            .await
            .unwrap();
        assert_eq!(rows.iter().next(), Some(&[Value::from("a")][..]));
    }
}

/// MariaDB can be told to take an empty text for null.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_text_is_a_text_whatever_the_mode_of_the_session() {
    let place = Place::open(Backend::MariaDb).await;
    place.store(team()).await;
    let mode = "SET SESSION sql_mode = CONCAT(@@SESSION.sql_mode, ',EMPTY_STRING_IS_NULL')";
    let options = sqlx::mysql::MySqlPoolOptions::new().max_connections(1);
    let options = options.after_connect(move |connection, _| {
        Box::pin(async move { connection.execute(mode).await.map(drop) })
    });
    let pool = options.connect(place.database.url()).await.unwrap();
    let odd = Arc::new(driver::SqlxMySql::new(pool.clone()));
    let store = Store::open(odd, team()).await.unwrap();
    for effect in [Effect::Created, Effect::Found] {
        let outcome = store.merge(vec![named("", "")]).await.remove(0);
        assert_eq!(outcome.unwrap().effect, effect);
    }
    let rows = Arc::new(oneflight_sql::Columns::of(
        store.table(),
        &[named("b", ""), named("c", "")],
    ));
    for effect in [Effect::Created, Effect::Found] {
        assert_eq!(store.load(&rows).await.alike(), Some(effect));
    }
    let empty = "SELECT count(*) FROM team WHERE name = ''";
    assert_eq!(place.count(empty).await, 3);
    let is_kept: i64 =
        sqlx::query_scalar("SELECT @@SESSION.sql_mode LIKE '%EMPTY_STRING_IS_NULL%'")
            .fetch_one(&pool)
            .await
            .unwrap();
    assert_eq!(is_kept, 1, "the session has its mode again");
}
