//! From a URL to a driver.

use super::contract::Driver;
use super::error::{DriverError, Fault};
use super::mistaken;
use super::mysql::SqlxMySql;
use super::patience::Patience;
use super::postgres::PgDriver;
use super::reach::{self, Accept, Place};
use super::sqlite::SqlxSqlite;
use crate::dialect::Dialect;
use futures_util::TryFutureExt as _;
use sqlx::Connection;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::config::Host;

/// Kibibytes that a SQLite connection keeps of its database, negative as the pragma wants it. With its default, 2 MB, looking
/// up the parents of facts (their foreign keys) read pages again and again: a third of the CPU time of a load of 300,000
/// rows under 200,000 parents. Above 16 MB no gain was measured there.
const SQLITE_CACHE: &str = "-16000";

/// Rows that SQLite's thread may be ahead of ours: as many as one list asks for. With sqlx's default, 50, the two woke each other
/// three times as often, and finding rows took a sixth more CPU time.
const SQLITE_ROWS: usize = 512;

/// How long SQLite waits for a lock that another connection or process holds.
const SQLITE_BUSY: Duration = Duration::from_secs(30);

/// How to connect.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The most connections that are open at once. 2 by default: one resolves, one writes.
    pub connections: usize,
    /// SQLite: create the file if there is none. True by default.
    pub create: bool,
    /// SQLite: create no file for good. If there is none, all goes into one without a name, which is gone with the driver. False by
    /// default.
    pub transient: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 2,
            create: true,
            transient: false,
        }
    }
}

impl Options {
    /// Sets [`Options::connections`].
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections.clamp(1, 1_000);
        self
    }

    /// Sets [`Options::create`].
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets [`Options::transient`].
    pub fn transient(mut self, transient: bool) -> Self {
        self.transient = transient;
        self
    }
}

/// Connects to `sqlite:PATH`, `sqlite::memory:`, `postgres://…` or `mysql://…` (`mariadb://…`).
///
/// A SQLite file is opened in WAL mode, `synchronous = NORMAL`, with 16 MB of cache a connection, and waits up to 30 s for
/// locks of others. A password that the URL lacks is taken from `PGPASSWORD` or `MYSQL_PWD`. Where none of the addresses of a host
/// accepts a connection within 5 s (PostgreSQL: or the `connect_timeout` of the URL; 0 is for ever), nobody is there. The runtime
/// needs its timer.
///
/// # Cancel safety
/// Dropping the future leaves nothing behind.
///
/// # Errors
/// The URL is none of these, or nothing answers. The message never holds the password.
///
/// # Examples
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), oneflight_sql::driver::DriverError> {
/// use oneflight_sql::driver::{self, Options, Statement};
/// use oneflight_sql::{Kind, Value};
///
/// let db = driver::connect("sqlite::memory:", Options::default()).await?;
/// let rows = db.query(Statement::new("SELECT 6 * 7").returns([Kind::Int])).await?;
/// assert_eq!(rows.iter().next(), Some(&[Value::Int(42)][..]));
/// # Ok(()) }
/// ```
pub async fn connect(url: &str, options: Options) -> Result<Arc<dyn Driver>, DriverError> {
    match Dialect::of_url(url) {
        Some(Dialect::Sqlite) => sqlite(url, options).await,
        Some(Dialect::Postgres) => postgres(url, options).await,
        Some(Dialect::MySql) => mysql(url, options).await,
        None => Err(wrong(
            "expected a URL that begins with sqlite:, postgres:// or mysql://".to_owned(),
        )),
    }
}

async fn sqlite(url: &str, options: Options) -> Result<Arc<dyn Driver>, DriverError> {
    let mut is_own = url.contains(":memory:") || url.contains("mode=memory");
    // A path may hold `?` only as the begin of options; sqlx reads both `sqlite:path` and `sqlite://path`.
    let connect = SqliteConnectOptions::from_str(url)
        .map_err(|error| wrong(format!("expected sqlite:PATH or sqlite::memory: ({error})")))?
        .create_if_missing(options.create && !url.contains("mode="))
        .foreign_keys(true)
        .busy_timeout(SQLITE_BUSY)
        .synchronous(SqliteSynchronous::Normal)
        .row_buffer_size(SQLITE_ROWS)
        .pragma("cache_size", SQLITE_CACHE);
    let connect = match is_own {
        false if options.transient && options.create && can_be_made(connect.get_filename()) => {
            is_own = true;
            // To SQLite, a file without a name is one of its own, on disk, that ends with the connection.
            connect.filename("")
        }
        false => connect.journal_mode(SqliteJournalMode::Wal),
        true => connect,
    };
    let pool = SqlitePoolOptions::new()
        // Each connection to `:memory:`, or to a file without a name, has a database of its own: so there is one, and it lives as
        // long as the pool.
        .max_connections(if is_own {
            1
        } else {
            options.connections.max(1) as u32
        })
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(Duration::from_secs(120));
    // A fresh file goes over to WAL when nobody else reads or writes it, and for that SQLite does not wait by itself: what it
    // calls a busy timeout is not asked there.
    let mut patience = Patience::lasting(SQLITE_BUSY);
    let pool = loop {
        match pool.clone().connect_with(connect.clone()).await {
            Ok(pool) => break pool,
            Err(error) => patience.after(DriverError::from_sqlx(error)).await?,
        }
    };
    Ok(Arc::new(SqlxSqlite::new(pool)))
}

/// True if there is no such file, and its folder lets one be made.
fn can_be_made(file: &Path) -> bool {
    let folder = match file.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return false,
    };
    let is_writable = || {
        std::fs::metadata(folder)
            .is_ok_and(|folder| folder.is_dir() && !folder.permissions().readonly())
    };
    !file.exists() && is_writable()
}

async fn postgres(url: &str, options: Options) -> Result<Arc<dyn Driver>, DriverError> {
    let mut config = tokio_postgres::Config::from_str(url)
        .map_err(|_| wrong("expected postgres://USER@HOST:PORT/DATABASE".to_owned()))?;
    if config.get_user().is_none()
        && let Ok(user) = std::env::var("PGUSER")
    {
        config.user(user);
    }
    let accept = match config.get_connect_timeout() {
        None if is_endless(url) => Accept::Endless,
        within => {
            let within = within.copied().unwrap_or(reach::ACCEPT);
            config.connect_timeout(within);
            match has_socket(&config) {
                true => Accept::Unasked,
                false => Accept::Within(within),
            }
        }
    };
    let places = places(&config);
    let connecting = PgDriver::connect(config, options.connections);
    let driver = mistaken::postgres(connecting, &places, accept).await?;
    Ok(Arc::new(driver))
}

/// True if the URL says that connecting may take as long as it likes, which its reader takes for nothing said.
fn is_endless(url: &str) -> bool {
    let options = url.split_once('?').map_or("", |(_, options)| options);
    let said = options.split('&');
    let mut said = said.filter_map(|option| option.strip_prefix("connect_timeout="));
    let seconds = said.next_back().and_then(|seconds| seconds.parse().ok());
    seconds.is_some_and(|seconds: i64| seconds <= 0)
}

/// True if one of the hosts is a socket in the file system.
fn has_socket(config: &tokio_postgres::Config) -> bool {
    let is_socket = |host: &Host| !matches!(host, Host::Tcp(_));
    config.get_hostaddrs().is_empty() && config.get_hosts().iter().any(is_socket)
}

/// The hosts and ports that are tried; a socket in the file system is what its name says.
fn places(config: &tokio_postgres::Config) -> Vec<Place> {
    let ports = config.get_ports();
    let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
    let addresses = config.get_hostaddrs().iter().map(|ip| Some(ip.to_string()));
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(host) => Some(host.clone()),
        #[cfg(unix)]
        Host::Unix(_) => None,
    });
    // Where both are given, a host is but the name of its address.
    let places: Vec<Option<String>> = match config.get_hostaddrs() {
        [] => hosts.collect(),
        _ => addresses.collect(),
    };
    let places = places.into_iter().enumerate();
    places
        .filter_map(|(at, place)| Some((place?, port(at))))
        .collect()
}

async fn mysql(url: &str, options: Options) -> Result<Arc<dyn Driver>, DriverError> {
    let mut connect = MySqlConnectOptions::from_str(url)
        .map_err(|_| wrong("expected mysql://USER@HOST:PORT/DATABASE".to_owned()))?
        .charset("utf8mb4");
    let has_password = url
        .split_once("://")
        .and_then(|(_, rest)| rest.split_once('@'))
        .is_some_and(|(who, _)| who.contains(':'));
    if !has_password && let Ok(password) = std::env::var("MYSQL_PWD") {
        connect = connect.password(&password);
    }
    // A pool goes on trying where nobody listens; here that is an error at once.
    let connecting = MySqlConnection::connect_with(&connect).map_err(DriverError::from_sqlx);
    let (host, port) = (connect.get_host(), connect.get_port());
    let first = match connect.get_socket() {
        None => mistaken::mysql(connecting, host, port).await?,
        Some(_) => connecting.await?,
    };
    first.close().await.map_err(DriverError::from_sqlx)?;
    let pool = MySqlPoolOptions::new()
        .max_connections(options.connections.max(1) as u32)
        .acquire_timeout(Duration::from_secs(60))
        // A connection that the server has closed is seen when it is used, and the batch is run again on another.
        .test_before_acquire(false)
        .connect_lazy_with(connect);
    Ok(Arc::new(SqlxMySql::new(pool)))
}

fn wrong(message: String) -> DriverError {
    DriverError::new(Fault::Other, message)
}
