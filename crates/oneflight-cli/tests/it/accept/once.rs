//! A merge by itself: once, again, and dry.

use super::check;
use super::run::{map, merge, run};
use super::server::Server;
use super::sets::{F1, FOOTBALL, INTERNATIONAL, OPENFLIGHTS, Set};
use testkit::{count, data};

/// Merges a set with one worker and with eight; each twice: the second run changes nothing.
async fn the_set_comes_out_right(server: Server, set: &Set) {
    let Some(data) = data() else { return };
    let mut contents = Vec::new();
    for workers in ["1", "8"] {
        let database = server.database().await;
        let go = || {
            let mut command = merge(&map(set.map), &data, database.url());
            command.args(["--workers", workers]);
            run(command)
        };
        let first = go().await;
        check::books(&first, set);
        check::right(server, database.url(), set).await;
        check::no_id_is_burnt(server, database.url(), set).await;
        let content = check::content(server, database.url(), set).await;
        let tables = set
            .tables
            .iter()
            .filter(|(table, _)| *table != "club_alias");
        for (table, rows) in tables {
            let created = first.number("tables", table, "created");
            assert_eq!(i64::try_from(created).unwrap(), *rows, "{table} created");
        }

        let second = go().await;
        check::books(&second, set);
        assert_eq!(
            (
                second.sum("feeds", "inserted"),
                second.sum("feeds", "updated")
            ),
            (0, 0),
            "{}",
            second.summary
        );
        assert_eq!(second.sum("tables", "created"), 0, "{}", second.summary);
        check::right(server, database.url(), set).await;
        check::no_id_is_burnt(server, database.url(), set).await;
        check::same(
            "again",
            &content,
            &check::content(server, database.url(), set).await,
        );
        contents.push(content);
    }
    check::same("one worker and eight", &contents[0], &contents[1]);
}

/// A dry run says what a real one would do, and leaves no row behind.
async fn a_dry_run_does_everything_but_the_commit(server: Server) {
    let Some(data) = data() else { return };
    let set = &F1;
    let database = server.database().await;
    let mut command = merge(&map(set.map), &data, database.url());
    command.arg("--dry-run");
    let dry = run(command).await;
    check::books(&dry, set);
    let there = match server {
        Server::Sqlite => "SELECT count(*) FROM sqlite_master WHERE name = 'driver'",
        Server::Postgres => "SELECT count(*) FROM pg_tables WHERE tablename = 'driver'",
        Server::Mariadb => {
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = database() AND table_name = 'driver'"
        }
    };
    if count(database.url(), there).await > 0 {
        assert_eq!(
            count(database.url(), "SELECT count(*) FROM driver").await,
            0
        );
    }
    let real = run(merge(&map(set.map), &data, database.url())).await;
    for (table, _) in set.tables {
        assert_eq!(
            dry.number("tables", table, "created"),
            real.number("tables", table, "created"),
            "{table}"
        );
    }
    check::right(server, database.url(), set).await;
}

/// All four sets, and the dry run, on one server.
macro_rules! on {
    ($($module:ident => $server:expr),+) => {$(
        mod $module {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn openflights_comes_out_right() {
                the_set_comes_out_right($server, &OPENFLIGHTS).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn international_comes_out_right() {
                the_set_comes_out_right($server, &INTERNATIONAL).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn football_comes_out_right() {
                the_set_comes_out_right($server, &FOOTBALL).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn f1_comes_out_right() {
                the_set_comes_out_right($server, &F1).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_dry_run_leaves_nothing() {
                a_dry_run_does_everything_but_the_commit($server).await;
            }
        }
    )+};
}

on!(sqlite => Server::Sqlite, postgres => Server::Postgres, mariadb => Server::Mariadb);

#[tokio::test(flavor = "multi_thread")]
async fn without_the_aliases_every_spelling_is_a_club() {
    let Some(data) = data() else { return };
    let database = Server::Sqlite.database().await;
    let ran = run(merge(&map("football-names.toml"), &data, database.url())).await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    assert_eq!(count(database.url(), "SELECT count(*) FROM club").await, 69);
}
