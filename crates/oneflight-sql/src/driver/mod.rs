//! Drivers: how statements reach a database.
//!
//! ```text
//!   Pipeline ─▶ BEGIN · statement · statement · (decide) · statement · COMMIT · after
//!               └──────────── one transaction, short ───────────────┘
//!
//!   PgDriver (tokio-postgres)   all of it in one round trip, unnamed statements, fit for a transaction pooler
//!   SqlxMySql                   your own pool; statements that bind nothing go together, as one text
//!   SqlxPostgres, SqlxSqlite    your own pool, one statement after the other
//! ```
//!
//! D1. A future that is dropped leaves no open transaction behind: the pipeline runs in a task of its own, to its end.
//! D2. A failed transaction is rolled back before its error is seen; a connection that cannot be rolled back is closed.
//! D3. No error shows a password.

mod array;
mod connect;
mod contract;
mod error;
mod lines;
mod mistaken;
mod mysql;
mod patience;
mod pipeline;
mod postgres;
mod reach;
mod rehearsal;
mod sqlite;
mod sqlx_postgres;
mod sqlx_shared;
mod together;
mod turns;

pub use connect::{Options, connect};
pub use contract::Driver;
pub use error::{DriverError, Fault};
pub use mysql::SqlxMySql;
pub(crate) use mysql::TWO_ROWS;
pub(crate) use patience::Patience;
pub use pipeline::{Bind, BindColumn, BindRows, Decide, Mode, Pipeline, Rows, Statement, Step};
pub use postgres::PgDriver;
pub use sqlite::SqlxSqlite;
pub use sqlx_postgres::SqlxPostgres;
