//! A database of one's own, on every server.

use testkit::{Database, count, execute, services, texts};

async fn a_fresh_database_is_empty_ours_and_gone_at_the_end(server: String) {
    let database = Database::create(&server).await;
    let other = Database::create(&server).await;
    for (database, rows) in [(&database, 2), (&other, 0)] {
        execute(database.url(), "CREATE TABLE t (k VARCHAR(10))").await;
        for i in 0..rows {
            execute(database.url(), &format!("INSERT INTO t VALUES ('k{i}')")).await;
        }
        assert_eq!(count(database.url(), "SELECT count(*) FROM t").await, rows);
    }
    assert_eq!(
        texts(database.url(), "SELECT k FROM t ORDER BY k").await,
        [Some("k0".into()), Some("k1".into())]
    );
    if server.starts_with("sqlite:") {
        return;
    }
    let name = database.url().rsplit('/').next().unwrap().to_owned();
    let there = match server.starts_with("postgres") {
        true => format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'"),
        false => {
            format!("SELECT count(*) FROM information_schema.schemata WHERE schema_name = '{name}'")
        }
    };
    assert_eq!(count(&server, &there).await, 1);
    drop(database);
    assert_eq!(count(&server, &there).await, 0);
}

#[tokio::test]
async fn a_database_is_ones_own_on_sqlite() {
    a_fresh_database_is_empty_ours_and_gone_at_the_end("sqlite:".into()).await;
}

#[tokio::test]
async fn a_database_is_ones_own_on_postgres() {
    a_fresh_database_is_empty_ours_and_gone_at_the_end(services::postgres()).await;
}

#[tokio::test]
async fn a_database_is_ones_own_behind_pgbouncer() {
    a_fresh_database_is_empty_ours_and_gone_at_the_end(services::pgbouncer()).await;
}

#[tokio::test]
async fn a_database_is_ones_own_on_mariadb() {
    a_fresh_database_is_empty_ours_and_gone_at_the_end(services::mariadb()).await;
}
