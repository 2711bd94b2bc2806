//! What the tests of oneflight share: where the services are, a database of one's own, and how to wreck a connection.
//!
//! ```text
//!   ./test ──starts──▶ PostgreSQL ◀── PgBouncer     MariaDB          (services: their addresses)
//!                          ▲                           ▲
//!   test ── Proxy ─────────┴── Database ───────────────┘             (a link that lags or breaks; a fresh database)
//!     └──── count, texts: an independent client that uses none of our code
//! ```
//!
//! K1. A service that is missing fails the test that needs it, and says how to start it: never a silent pass.
//! K2. What a test creates on a server goes when the test ends, also when it fails.
//!
//! This crate is for tests: it panics where a library would return an error.
#![forbid(unsafe_code)]

mod client;
mod data;
mod database;
mod proxy;
pub mod services;

pub use client::{count, execute, texts};
pub use data::data;
pub use database::Database;
pub use proxy::Proxy;
