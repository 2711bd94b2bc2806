//! A fresh database of a test's own, gone when the test ends (K2).

use crate::execute;
use oneflight_lab::url::renamed;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;
use tempfile::TempDir;

/// A database that nobody else uses. Dropping it drops the database, whoever is still connected.
#[derive(Debug)]
pub struct Database {
    url: String,
    home: Home,
}

/// Where the database lives, and so how it is dropped.
#[derive(Debug)]
enum Home {
    /// A file in a folder that goes with it.
    File { _folder: TempDir },
    /// A server: the URL of its administrator's database, and the name of ours.
    Server { admin: String, name: String },
}

impl Database {
    /// Creates a database on the server behind `url`, or a file if `url` is `sqlite:` and nothing more.
    ///
    /// # Cancel safety
    /// Dropping the future may leave an empty database behind.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn create(url: &str) -> Self {
        if url.starts_with("sqlite:") {
            return Self::file();
        }
        let name = unique_name();
        let sql = match url.starts_with("postgres") {
            // Nobody connects to template0, so copying it never waits for anybody.
            true => format!("CREATE DATABASE {name} TEMPLATE template0"),
            false => format!("CREATE DATABASE {name} CHARACTER SET utf8mb4"),
        };
        execute(url, &sql).await;
        Self {
            url: renamed(url, &name),
            home: Home::Server {
                admin: url.to_owned(),
                name,
            },
        }
    }

    /// The URL of the database. For SQLite it may be opened by a client that creates nothing: the file is there, and empty.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    fn file() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("test.db");
        std::fs::File::create(&path).expect("a file in the temporary folder");
        Self {
            url: format!("sqlite:{}", path.display()),
            home: Home::File { _folder: folder },
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Home::Server { admin, name } = &self.home else {
            return;
        };
        let sql = match admin.starts_with("postgres") {
            true => format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
            // A connection that a failed test left in a transaction holds the tables: wait for it, but not for ever.
            false => format!("SET lock_wait_timeout = 10; DROP DATABASE IF EXISTS {name}"),
        };
        let admin = admin.clone();
        // A thread of its own: the test's runtime may be shutting down, and cannot be waited for from inside.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime").block_on(execute(&admin, &sql));
        });
        // The thread has said what was wrong; a second panic while a test fails would hide the first.
        if dropped.join().is_err() && !std::thread::panicking() {
            panic!("the test database {name} could not be dropped");
        }
    }
}

/// A name that no other test, process or earlier run has used.
fn unique_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_micros());
    // ORDERING: Relaxed; all that matters is that no two threads get the same number.
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("oneflight_{}_{now}_{next}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_never_used_twice() {
        assert_ne!(unique_name(), unique_name());
    }
}
