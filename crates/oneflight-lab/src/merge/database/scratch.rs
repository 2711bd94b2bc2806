//! The scratch database: made, and dropped however the run ends (L1).

use crate::error::Error;
use crate::url::renamed;
use oneflight_sql::Dialect;
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// A database that was not there before. Dropping it drops the database.
#[derive(Debug)]
#[must_use = "dropping it drops the database"]
pub(in crate::merge) struct Scratch {
    url: String,
    /// For files, a feed for a bulk load say; in SQLite also the database.
    folder: TempDir,
    /// On a server: the URL that makes and drops databases, and the name.
    made: Mutex<Option<(String, String)>>,
}

impl Scratch {
    /// Makes the database `name` on the server of `url`, or a file if `url` is of SQLite, whatever file that is.
    pub(in crate::merge) async fn create(url: &str, name: &str) -> Result<Self, Error> {
        let folder = tempfile::Builder::new()
            .prefix("oneflight-lab")
            .tempdir()
            .map_err(Error::file)?;
        if Dialect::of_url(url) == Some(Dialect::Sqlite) {
            let path = folder.path().join("lab.db");
            let path = path.to_str().ok_or_else(|| {
                Error::usage("the name of the folder for temporary files is not Unicode")
            })?;
            // In a URL, `?` begins the options and `%` a character by its number.
            let path = path.replace('%', "%25").replace('?', "%3F");
            return Ok(Self {
                url: format!("sqlite:{path}"),
                folder,
                made: Mutex::default(),
            });
        }
        let made = renamed(url, name);
        // Nobody connects to template0, so that copying it never waits for anybody.
        let sql = match url.starts_with("postgres") {
            true => format!("CREATE DATABASE {name} TEMPLATE template0"),
            false => format!("CREATE DATABASE {name} CHARACTER SET utf8mb4"),
        };
        execute(url, sql)
            .await
            .map_err(|error| match code(&error) {
                // PostgreSQL's word for a database that exists, and MySQL's.
                Some(code) if code == "42P04" || code == "1007" => Error::taken(name),
                _ => Error::database(
                "the scratch database cannot be made; the user must be allowed to create databases",
                error,
            ),
            })?;
        Ok(Self {
            url: made,
            folder,
            made: Mutex::new(Some((url.to_owned(), name.to_owned()))),
        })
    }

    pub(in crate::merge) fn url(&self) -> &str {
        &self.url
    }

    pub(in crate::merge) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Drops the database, and says so if that fails.
    pub(in crate::merge) async fn close(&self) -> Result<(), Error> {
        let Some((url, name)) = self.take() else {
            return Ok(());
        };
        let dropped = drop_database(&url, &name).await;
        dropped.map_err(|error| {
            Error::database(
                format!("the scratch database `{name}` cannot be dropped"),
                error,
            )
        })
    }

    /// The duty to drop the database: it is paid once.
    fn take(&self) -> Option<(String, String)> {
        self.made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Some((url, name)) = self.take() else {
            return;
        };
        // A thread of its own: whoever drops this may stand inside of a runtime, which cannot be waited for from there.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime
                .block_on(drop_database(&url, &name))
                .map_err(std::io::Error::other)
        });
        // Nobody is left to tell: the run has ended with an error of its own, or was given up.
        let _ = dropping.join();
    }
}

async fn drop_database(url: &str, name: &str) -> Result<(), sqlx::Error> {
    let sql = match url.starts_with("postgres") {
        true => format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
        // A connection that was given up may still hold a table: wait for it, but not for ever.
        false => format!("SET lock_wait_timeout = 20; DROP DATABASE IF EXISTS {name}"),
    };
    execute(url, sql).await
}

async fn execute(url: &str, sql: String) -> Result<(), sqlx::Error> {
    if url.starts_with("postgres") {
        let mut connection = PgConnection::connect(url).await?;
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await?;
        connection.close().await
    } else {
        let mut connection = MySqlConnection::connect(url).await?;
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await?;
        connection.close().await
    }
}

/// The code of a database's error: its SQLSTATE, or MySQL's own number.
fn code(error: &sqlx::Error) -> Option<String> {
    let error = error.as_database_error()?;
    match error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        Some(error) => Some(error.number().to_string()),
        None => error.code().map(Into::into),
    }
}
