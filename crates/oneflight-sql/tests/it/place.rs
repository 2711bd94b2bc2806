//! A place to test in: a fresh database, a driver, and a way to ask behind the driver's back.

use oneflight_sql::driver::{self, Driver, PgDriver, SqlxMySql, SqlxPostgres};
use oneflight_sql::{
    Attribute, Column, Crosswalk, Dialect, External, Kind, Policy, Record, Reference, SameSource,
    Store, Table, Value, ddl,
};
use std::str::FromStr;
use std::sync::Arc;
use testkit::Database;

/// The drivers that keep the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Sqlite,
    PostgresTokio,
    PostgresSqlx,
    PgBouncer,
    PgBouncerSqlx,
    MariaDb,
}

pub(crate) struct Place {
    pub(crate) backend: Backend,
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) database: Database,
}

/// Writes each test once for every driver.
macro_rules! store_contract {
    ($($test:ident),+ $(,)?) => {
        store_contract!(@ sqlite Sqlite => $($test)+);
        store_contract!(@ postgres_tokio PostgresTokio => $($test)+);
        store_contract!(@ postgres_sqlx PostgresSqlx => $($test)+);
        store_contract!(@ pgbouncer PgBouncer => $($test)+);
        store_contract!(@ pgbouncer_sqlx PgBouncerSqlx => $($test)+);
        store_contract!(@ mariadb MariaDb => $($test)+);
    };
    (@ $name:ident $backend:ident => $($test:ident)+) => {
        mod $name {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test($crate::place::Place::open($crate::place::Backend::$backend).await).await;
                }
            )+
        }
    };
}
pub(crate) use store_contract;

impl Backend {
    fn admin(self) -> String {
        match self {
            Self::Sqlite => "sqlite:".to_owned(),
            Self::PostgresTokio | Self::PostgresSqlx => testkit::services::postgres(),
            Self::PgBouncer | Self::PgBouncerSqlx => testkit::services::pgbouncer(),
            Self::MariaDb => testkit::services::mariadb(),
        }
    }

    /// A driver as another process would have it: a pool of its own.
    pub(crate) async fn connect(self, url: &str, connections: u32) -> Arc<dyn Driver> {
        match self {
            Self::Sqlite => {
                let options = driver::Options::default().connections(connections as usize);
                driver::connect(url, options).await.unwrap()
            }
            Self::PostgresTokio | Self::PgBouncer => {
                let config = tokio_postgres::Config::from_str(url).unwrap();
                Arc::new(
                    PgDriver::connect(config, connections as usize)
                        .await
                        .unwrap(),
                )
            }
            Self::PostgresSqlx | Self::PgBouncerSqlx => {
                let options = sqlx::postgres::PgPoolOptions::new().max_connections(connections);
                let driver = SqlxPostgres::new(options.connect(url).await.unwrap());
                match self {
                    Self::PgBouncerSqlx => Arc::new(driver.behind_pooler()),
                    _ => Arc::new(driver),
                }
            }
            Self::MariaDb => {
                let options = sqlx::mysql::MySqlPoolOptions::new().max_connections(connections);
                Arc::new(SqlxMySql::new(options.connect(url).await.unwrap()))
            }
        }
    }
}

impl Place {
    pub(crate) async fn open(backend: Backend) -> Self {
        let database = Database::create(&backend.admin()).await;
        let driver = backend.connect(database.url(), 3).await;
        Self {
            backend,
            driver,
            database,
        }
    }

    /// Makes the table and opens it.
    pub(crate) async fn store(&self, table: Table) -> Store {
        ddl::prepare(&self.driver, std::slice::from_ref(&table))
            .await
            .unwrap();
        Store::open(self.driver.clone(), table).await.unwrap()
    }

    /// The same table as another process has it.
    pub(crate) async fn other(&self, table: Table) -> Store {
        Store::open(self.backend.connect(self.database.url(), 2).await, table)
            .await
            .unwrap()
    }

    pub(crate) async fn count(&self, sql: &str) -> i64 {
        testkit::count(self.database.url(), sql).await
    }

    pub(crate) async fn execute(&self, sql: &str) {
        testkit::execute(self.database.url(), sql).await;
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.driver.dialect() == Dialect::Postgres
    }

    /// The highest id that has ever been given.
    pub(crate) async fn last_id(&self, table: &str) -> i64 {
        match self.driver.dialect() {
            Dialect::Postgres => {
                let sql = format!(
                    "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {table}_id_seq"
                );
                self.count(&sql).await
            }
            Dialect::Sqlite => {
                self.count(&format!("SELECT coalesce(max(id), 0) FROM {table}"))
                    .await
            }
            _ => {
                // Statistics of tables are remembered for a day.
                let sql = format!(
                    "SET SESSION information_schema_stats_expiry = 0; SELECT CAST(auto_increment - 1 AS SIGNED) FROM information_schema.tables \
                     WHERE table_schema = database() AND table_name = '{table}'"
                );
                let sql = sql.split_once("; ").unwrap().1;
                self.count(sql).await
            }
        }
    }
}

pub(crate) fn column(name: &str, kind: Kind) -> Column {
    Column {
        name: name.into(),
        kind,
        max_chars: None,
        references: None,
    }
}

pub(crate) fn refers(name: &str, table: &str) -> Column {
    let to = Reference {
        table: table.into(),
        column: "id".into(),
    };
    Column {
        references: Some(to),
        ..column(name, Kind::Int)
    }
}

pub(crate) fn attribute(name: &str, kind: Kind, policy: Policy) -> Attribute {
    Attribute {
        column: column(name, kind),
        required: false,
        policy,
    }
}

/// `team(id, slug, name)`.
pub(crate) fn team() -> Table {
    Table {
        name: "team".into(),
        id: Some("id".into()),
        key: vec![column("slug", Kind::Text)],
        attributes: vec![attribute("name", Kind::Text, Policy::Fill)],
        newest_by: None,
        crosswalk: None,
    }
}

pub(crate) fn crosswalk(table: &str, same_source: SameSource) -> Crosswalk {
    Crosswalk {
        table: table.into(),
        source: "source".into(),
        external_id: "external_id".into(),
        id: "entity_id".into(),
        same_source,
    }
}

/// `team`, with external ids in `team_xref`.
pub(crate) fn known_team(same_source: SameSource) -> Table {
    Table {
        crosswalk: Some(crosswalk("team_xref", same_source)),
        ..team()
    }
}

pub(crate) fn keyed(key: &str) -> Record {
    Record {
        key: Some([Value::from(key)].into()),
        external: None,
        attributes: [None].into(),
    }
}

pub(crate) fn named(key: &str, name: &str) -> Record {
    Record {
        attributes: [Some(Value::from(name))].into(),
        ..keyed(key)
    }
}

pub(crate) fn external(source: &str, id: &str, record: Record) -> Record {
    Record {
        external: Some(External {
            source: source.into(),
            id: id.into(),
        }),
        ..record
    }
}
