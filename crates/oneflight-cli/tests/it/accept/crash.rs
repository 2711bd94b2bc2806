//! A merge that is killed in the middle, or loses its connections.

use super::check;
use super::run::{ended, map, merge, run};
use super::server::Server;
use super::sets::{F1, OPENFLIGHTS};
use std::path::Path;
use std::time::Duration;
use testkit::{Proxy, count, data};

/// Kills a merge when `far_enough`; what is there must be sound, and a second run completes it.
async fn a_killed_merge_is_completed_by_the_next(
    server: Server,
    url: &str,
    through: &str,
    data: &Path,
    mut far_enough: impl FnMut() -> bool,
) {
    let set = &OPENFLIGHTS;
    let mut child = merge(&map(set.map), data, through).spawn().unwrap();
    while !far_enough() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "the merge ended before it could be killed"
        );
        // SLEEP: another process works; there is nothing of ours to wait on.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    child.kill().unwrap();
    let killed = ended(child).await;
    assert_eq!(
        killed.code, None,
        "the merge ended by itself: {}",
        killed.errors
    );
    // Whoever finds the database now finds no reference that points nowhere, and not yet everything.
    check::nothing_dangles(server, url, set).await;
    let links = count(url, "SELECT count(*) FROM route_plane").await;
    assert!(links < 93_231, "killed too late to show anything");

    check::books(&run(merge(&map(set.map), data, url)).await, set);
    check::right(server, url, set).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_into_sqlite_survives_kill_9() {
    let Some(data) = data() else { return };
    for bytes in [500_000, 2_000_000, 6_000_000] {
        let database = Server::Sqlite.database().await;
        let path = database.url().strip_prefix("sqlite:").unwrap().to_owned();
        let size = |path: &str| std::fs::metadata(path).map_or(0, |file| file.len());
        let far_enough = || size(&path) + size(&format!("{path}-wal")) > bytes;
        a_killed_merge_is_completed_by_the_next(
            Server::Sqlite,
            database.url(),
            database.url(),
            &data,
            far_enough,
        )
        .await;
    }
}

/// A server learns that its client is gone by the broken link, so it may be killed after so many bytes, or answers.
async fn a_merge_into_a_server_survives_kill_9(server: Server, trips: [u64; 3]) {
    let Some(data) = data() else { return };
    for trips in trips {
        let database = server.database().await;
        let proxy = Proxy::start(database.url()).await;
        let far_enough = || proxy.round_trips() >= trips;
        a_killed_merge_is_completed_by_the_next(
            server,
            database.url(),
            proxy.url(),
            &data,
            far_enough,
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_into_postgres_survives_kill_9() {
    // The first 14 or so open the connections and make the tables.
    a_merge_into_a_server_survives_kill_9(Server::Postgres, [20, 30, 40]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_into_mariadb_survives_kill_9() {
    a_merge_into_a_server_survives_kill_9(Server::Mariadb, [50, 70, 90]).await;
}

/// All connections break at once, in the middle; the merge goes on over new ones.
async fn a_merge_survives_the_loss_of_its_connections(server: Server) {
    let Some(data) = data() else { return };
    for bytes in [100_000, 1_000_000, 2_500_000] {
        let database = server.database().await;
        let proxy = Proxy::start(database.url()).await;
        proxy.cut_after(bytes);
        let ran = run(merge(&map(F1.map), &data, proxy.url())).await;
        assert!(!proxy.uncut(), "the link was not cut at {bytes} bytes");
        check::books(&ran, &F1);
        check::right(server, database.url(), &F1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_into_postgres_survives_the_loss_of_its_connections() {
    a_merge_survives_the_loss_of_its_connections(Server::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_into_mariadb_survives_the_loss_of_its_connections() {
    a_merge_survives_the_loss_of_its_connections(Server::Mariadb).await;
}
