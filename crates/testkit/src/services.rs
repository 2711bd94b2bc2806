//! Where the services are that `./test` starts.
//!
//! Each function returns the URL of a database whose user may create others; tests make their own with
//! [`Database`](crate::Database).

/// Returns the URL of PostgreSQL.
///
/// # Panics
/// When the service is not there (K1).
#[must_use]
pub fn postgres() -> String {
    from_env("ONEFLIGHT_TEST_POSTGRES")
}

/// Returns the URL of PgBouncer, in transaction mode, in front of [`postgres`].
///
/// # Panics
/// When the service is not there (K1).
#[must_use]
pub fn pgbouncer() -> String {
    from_env("ONEFLIGHT_TEST_PGBOUNCER")
}

/// Returns the URL of MariaDB.
///
/// # Panics
/// When the service is not there (K1).
#[must_use]
pub fn mariadb() -> String {
    from_env("ONEFLIGHT_TEST_MARIADB")
}

fn from_env(name: &str) -> String {
    match std::env::var(name) {
        Ok(url) if !url.is_empty() => url,
        _ => panic!(
            "{name} is not set: run the tests with ./test, which starts the services (or keep them up with ./test shell)"
        ),
    }
}
