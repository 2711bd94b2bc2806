//! Two processes merge the same set into the same fresh database at once.

use super::check;
use super::run::{ended, map, merge};
use super::server::Server;
use super::sets::{F1, FOOTBALL, INTERNATIONAL, OPENFLIGHTS, Set};
use testkit::{count, data};

/// How many times each race is run; `ONEFLIGHT_RACE_ROUNDS` asks for more.
fn rounds() -> u32 {
    std::env::var("ONEFLIGHT_RACE_ROUNDS")
        .map_or(1, |rounds| rounds.parse().expect("a number of rounds"))
}

async fn two_at_once_come_out_right(server: Server, set: &Set) {
    let Some(data) = data() else { return };
    for round in 0..rounds() {
        let database = server.database().await;
        let begin = || merge(&map(set.map), &data, database.url()).spawn().unwrap();
        let (a, b) = (begin(), begin());
        let (a, b) = tokio::join!(ended(a), ended(b));
        check::books(&a, set);
        check::books(&b, set);
        check::right(server, database.url(), set).await;
        check::no_id_is_burnt_by_two(server, database.url(), set).await;
        for (table, rows) in set
            .tables
            .iter()
            .filter(|(table, _)| *table != "club_alias")
        {
            let created = [&a, &b].map(|ran| ran.number("tables", table, "created"));
            let created = i64::try_from(created[0] + created[1]).unwrap();
            assert_eq!(
                created, *rows,
                "{table}: each row is created by one of the two (round {round})"
            );
        }
        if server == Server::Postgres {
            let sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
            assert_eq!(
                count(database.url(), sql).await,
                0,
                "deadlocks (round {round})"
            );
        }
    }
}

macro_rules! races {
    ($($module:ident => $server:expr),+) => {$(
        mod $module {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn two_processes_share_openflights() {
                two_at_once_come_out_right($server, &OPENFLIGHTS).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn two_processes_share_international() {
                two_at_once_come_out_right($server, &INTERNATIONAL).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn two_processes_share_football() {
                two_at_once_come_out_right($server, &FOOTBALL).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn two_processes_share_f1() {
                two_at_once_come_out_right($server, &F1).await;
            }
        }
    )+};
}

races!(sqlite => Server::Sqlite, postgres => Server::Postgres, mariadb => Server::Mariadb);
