//! What must be true of a database after a merge, asked in plain SQL (Z1).

use super::run::Ran;
use super::server::Server;
use super::sets::Set;
use testkit::{count, texts};

/// Everything that must be true after all feeds of a set have been merged, however.
pub(crate) async fn right(server: Server, url: &str, set: &Set) {
    for (table, rows) in set.tables {
        let sql = server.sql(&format!("SELECT count(*) FROM \"{table}\""));
        assert_eq!(count(url, &sql).await, *rows, "rows of {table}");
    }
    for (sql, answer) in set.numbers {
        assert_eq!(count(url, &server.sql(sql)).await, *answer, "{sql}");
    }
    nothing_dangles(server, url, set).await;
}

/// No reference points nowhere, whatever the database's own constraints say.
pub(crate) async fn nothing_dangles(server: Server, url: &str, set: &Set) {
    for (table, column, target) in set.references {
        let sql = format!(
            "SELECT count(*) FROM \"{table}\" t LEFT JOIN \"{target}\" r ON r.id = t.\"{column}\" \
             WHERE t.\"{column}\" IS NOT NULL AND r.id IS NULL"
        );
        assert_eq!(
            count(url, &server.sql(&sql)).await,
            0,
            "{table}.{column} dangles"
        );
    }
}

/// No id was drawn for a row that was not made: where nothing failed, the largest is the number of rows.
pub(crate) async fn no_id_is_burnt(server: Server, url: &str, set: &Set) {
    no_id_is_burnt_in(server, url, set.numbered).await;
}

/// The same for two processes that ran at once. On PostgreSQL rows that nobody refers to are inserted under no lock: where both
/// insert the same one at the same moment, one of them has drawn an id for nothing.
pub(crate) async fn no_id_is_burnt_by_two(server: Server, url: &str, set: &Set) {
    let referred = |table: &&&str| set.references.iter().any(|(_, _, to)| *to == **table);
    let numbered = set.numbered.iter();
    let numbered: Vec<&str> = match server {
        Server::Postgres => numbered.filter(referred).copied().collect(),
        _ => numbered.copied().collect(),
    };
    no_id_is_burnt_in(server, url, &numbered).await;
}

async fn no_id_is_burnt_in(server: Server, url: &str, tables: &[&str]) {
    for table in tables {
        let sql = server.sql(&format!("SELECT max(id) - count(*) FROM \"{table}\""));
        assert_eq!(count(url, &sql).await, 0, "ids burnt in {table}");
        if server == Server::Postgres {
            let sql = format!(
                "SELECT (SELECT last_value FROM pg_sequences WHERE quote_ident(schemaname) || '.' || quote_ident(sequencename) \
                 = pg_get_serial_sequence('\"{table}\"', 'id')) - (SELECT count(*) FROM \"{table}\")"
            );
            assert_eq!(
                count(url, &sql).await,
                0,
                "sequence values burnt for {table}"
            );
        }
    }
}

/// What the database says, without its ids: sorted lines that are the same wherever the same was merged.
pub(crate) async fn content(server: Server, url: &str, set: &Set) -> Vec<String> {
    let mut content = Vec::new();
    for sql in set.content {
        content.extend(texts(url, &server.sql(sql)).await.into_iter().flatten());
    }
    content.sort_unstable();
    content
}

/// Fails with the first few lines in which two contents differ.
pub(crate) fn same(what: &str, a: &[String], b: &[String]) {
    let only = |a: &[String], b: &[String]| {
        a.iter()
            .filter(|line| b.binary_search(line).is_err())
            .take(5)
            .cloned()
            .collect::<Vec<_>>()
    };
    assert!(
        a == b,
        "{what}: {} and {} lines; only here {:?}, only there {:?}",
        a.len(),
        b.len(),
        only(a, b),
        only(b, a)
    );
}

/// The books of a run balance, and it read and rejected what it should.
pub(crate) fn books(ran: &Ran, set: &Set) {
    let expected = if set.rejected > 0 { 3 } else { 0 };
    assert_eq!(ran.code, Some(expected), "{}", ran.errors);
    for (feed, rows) in set.feeds {
        let of = |name| ran.number("feeds", feed, name);
        assert_eq!(of("read"), *rows, "rows of {feed}");
        assert_eq!(
            of("read"),
            of("inserted") + of("existing") + of("updated") + of("rejected"),
            "the books of {feed}"
        );
    }
    assert_eq!(ran.sum("feeds", "rejected"), set.rejected);
}
