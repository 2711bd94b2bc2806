//! An independent client: plain SQL over a connection of its own, so that no test asks our code whether our code is right.
//!
//! It sends text and prepares nothing: behind a transaction pooler, a prepared statement may belong to somebody else.

use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection, Row, SqliteConnection};

// The three connections have no common type that can be named without ceremony; the text of what is done with them is the same.
macro_rules! with_connection {
    ($url:expr, |$connection:ident| $body:block) => {{
        let url: &str = $url;
        match url.split(':').next() {
            Some("postgres" | "postgresql") => {
                let mut $connection = opened(url, PgConnection::connect(url).await);
                $body
            }
            Some("mysql" | "mariadb") => {
                let mut $connection = opened(url, MySqlConnection::connect(url).await);
                $body
            }
            Some("sqlite") => {
                let mut $connection = opened(url, SqliteConnection::connect(url).await);
                $body
            }
            _ => panic!("not the URL of a database: {}", without_password(url)),
        }
    }};
}

/// Runs a query whose answer is one whole number, and returns it.
///
/// # Cancel safety
/// Dropping the future closes the connection.
///
/// # Panics
/// When the database cannot be reached, the query fails, or its answer is something else.
pub async fn count(url: &str, sql: &str) -> i64 {
    with_connection!(url, |connection| {
        let row = sqlx::raw_sql(AssertSqlSafe(sql))
            .fetch_one(&mut connection)
            .await;
        let row = row.unwrap_or_else(|error| panic!("{sql}: {error}"));
        row.try_get(0)
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    })
}

/// Runs a query whose answer is one column of text, and returns it in the order of the answer.
///
/// # Cancel safety
/// Dropping the future closes the connection.
///
/// # Panics
/// When the database cannot be reached, the query fails, or its answer is something else (cast other types to text).
pub async fn texts(url: &str, sql: &str) -> Vec<Option<String>> {
    with_connection!(url, |connection| {
        let rows = sqlx::raw_sql(AssertSqlSafe(sql))
            .fetch_all(&mut connection)
            .await;
        let rows = rows.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let mut texts = Vec::new();
        for row in &rows {
            texts.push(
                row.try_get(0)
                    .unwrap_or_else(|error| panic!("{sql}: {error}")),
            );
        }
        texts
    })
}

/// Runs statements, separated by semicolons, and forgets what they return.
///
/// # Cancel safety
/// Dropping the future closes the connection; what has run by then has run.
///
/// # Panics
/// When the database cannot be reached or a statement fails.
pub async fn execute(url: &str, sql: &str) {
    with_connection!(url, |connection| {
        let done = sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await;
        done.unwrap_or_else(|error| panic!("{sql}: {error}"));
    })
}

fn opened<C>(url: &str, connection: sqlx::Result<C>) -> C {
    connection.unwrap_or_else(|error| panic!("{}: {error}", without_password(url)))
}

fn without_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}://…{}", &url[..scheme], &url[at..]),
        _ => url.to_owned(),
    }
}
