//! The site: one database, near and far.

use super::scratch::Scratch;
use crate::error::Error;
use crate::proxy::Proxy;
use oneflight_sql::driver::{self, Driver, Statement};
use oneflight_sql::{Dialect, Kind, Value};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A database, and the way to it.
#[derive(Debug)]
pub(in crate::merge) struct Site {
    near: Arc<dyn Driver>,
    proxy: Option<Proxy>,
    /// Statements, counted by those who run them, where no proxy counts round trips (L5).
    statements: AtomicU64,
    scratch: Scratch,
}

impl Site {
    /// Makes the scratch database, and a proxy in front of it if it is on a server.
    pub(in crate::merge) async fn open(url: &str, name: &str) -> Result<Self, Error> {
        let scratch = Scratch::create(url, name).await?;
        let near = driver::connect(scratch.url(), driver::Options::default()).await?;
        let proxy = match near.dialect() {
            Dialect::Sqlite => None,
            _ => Some(
                Proxy::start(scratch.url())
                    .await
                    .map_err(|error| Error::database("the proxy cannot be started", error))?,
            ),
        };
        Ok(Self {
            near,
            proxy,
            statements: AtomicU64::new(0),
            scratch,
        })
    }

    pub(in crate::merge) fn dialect(&self) -> Dialect {
        self.near.dialect()
    }

    /// The database without the proxy: for tables and audits.
    pub(in crate::merge) fn near(&self) -> &Arc<dyn Driver> {
        &self.near
    }

    /// The URL of the database, by way of the proxy.
    pub(in crate::merge) fn far(&self) -> &str {
        self.proxy
            .as_ref()
            .map_or_else(|| self.scratch.url(), Proxy::url)
    }

    /// The URL of the database without the proxy.
    pub(in crate::merge) fn near_url(&self) -> &str {
        self.scratch.url()
    }

    /// A folder for files.
    pub(in crate::merge) fn folder(&self) -> &Path {
        self.scratch.folder()
    }

    /// Sets the round trip from now on. A database in the process has none.
    pub(in crate::merge) fn delay(&self, round_trip: Duration) {
        if let Some(proxy) = &self.proxy {
            proxy.delay(round_trip);
        }
    }

    /// Notes that a statement was run.
    pub(in crate::merge) fn count(&self, statements: u64) {
        // ORDERING: Relaxed; a counter.
        self.statements.fetch_add(statements, Ordering::Relaxed);
    }

    /// Round trips until now (L5).
    fn round_trips(&self) -> u64 {
        match &self.proxy {
            Some(proxy) => proxy.round_trips(),
            // ORDERING: Relaxed; a counter.
            None => self.statements.load(Ordering::Relaxed),
        }
    }

    /// How long the simplest statement takes by way of the proxy, in milliseconds: the median of five.
    pub(in crate::merge) async fn lag(&self) -> Result<f64, Error> {
        let options = driver::Options::default().connections(1);
        let far = driver::connect(self.far(), options).await?;
        let ask = || Statement::new("SELECT 1");
        // MySQL's driver prepares a statement when it first meets it.
        far.query(ask()).await?;
        let mut lags = Vec::new();
        for _ in 0..5 {
            let began = Instant::now();
            far.query(ask()).await?;
            lags.push(began.elapsed().as_secs_f64() * 1e3);
        }
        lags.sort_by(f64::total_cmp);
        Ok(lags[2])
    }

    /// What the database calls itself.
    pub(in crate::merge) async fn version(&self) -> Result<String, Error> {
        let (name, sql) = match self.dialect() {
            Dialect::Sqlite => ("SQLite", "SELECT sqlite_version()"),
            Dialect::MySql => ("", "SELECT version()"),
            _ => ("PostgreSQL", "SELECT current_setting('server_version')"),
        };
        let rows = self
            .near
            .query(Statement::new(sql).returns([Kind::Text]))
            .await?;
        let said = match rows.iter().next() {
            Some([Value::Text(version)]) => version.split(' ').next().unwrap_or(version).to_owned(),
            _ => String::new(),
        };
        Ok(match name {
            "" if said.contains("MariaDB") => {
                format!("MariaDB {}", said.split('-').next().unwrap_or(&said))
            }
            "" => format!("MySQL {said}"),
            name => format!("{name} {said}"),
        })
    }

    /// Drops the scratch database.
    pub(in crate::merge) async fn close(&self) -> Result<(), Error> {
        self.scratch.close().await
    }
}

/// A clock that runs (L2).
#[derive(Debug)]
pub(in crate::merge) struct Clock<'s> {
    site: &'s Site,
    began: Instant,
    trips: u64,
}

impl<'s> Clock<'s> {
    /// Everybody is connected, everything is prepared: now.
    pub(in crate::merge) fn start(site: &'s Site) -> Self {
        Self {
            site,
            trips: site.round_trips(),
            began: Instant::now(),
        }
    }

    /// Done; `answers` are the ids that the callers got, in the order of the references.
    pub(in crate::merge) fn stop(self, answers: Vec<i64>) -> Ran {
        Ran {
            seconds: self.began.elapsed().as_secs_f64(),
            round_trips: self.site.round_trips() - self.trips,
            answers,
        }
    }
}

/// What a way did.
#[derive(Debug)]
pub(in crate::merge) struct Ran {
    pub(in crate::merge) seconds: f64,
    pub(in crate::merge) round_trips: u64,
    pub(in crate::merge) answers: Vec<i64>,
}
