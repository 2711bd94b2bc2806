//! The databases: a fresh one for every run, the shell that goes with it, and the processor that its server uses.
//!
//!   Servers ── create ──▶ Place ── url ──▶ the program        shell ──▶ sqlite3, psql, mariadb
//!
//! D1. A run finds an empty database.   D2. Its database goes with the [`Place`], however the run ends.
//! D3. What is not there is said by name; it is never passed over.

use crate::child::{self, Ran};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) enum Engine {
    #[serde(rename = "SQLite")]
    Sqlite,
    #[serde(rename = "PostgreSQL")]
    Postgres,
    #[serde(rename = "MariaDB")]
    Mariadb,
}

impl Engine {
    pub(crate) const ALL: [Self; 3] = [Self::Sqlite, Self::Postgres, Self::Mariadb];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::Mariadb => "MariaDB",
        }
    }

    /// The program that runs scripts on it.
    pub(crate) fn shell(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite3",
            Self::Postgres => "psql",
            Self::Mariadb => "mariadb",
        }
    }

    /// Where its server is told from.
    pub(crate) fn variable(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("ONEFLIGHT_TEST_POSTGRES"),
            Self::Mariadb => Some("ONEFLIGHT_TEST_MARIADB"),
        }
    }
}

/// A fresh database (D1, D2).
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) engine: Engine,
    /// The database's name; for SQLite, a file in a folder of its own.
    name: String,
    address: Address,
    scripts: PathBuf,
}

#[derive(Debug)]
enum Address {
    Folder(PathBuf),
    /// `scheme://user:password@host:port` of the server, and the database of its administrator.
    Server {
        base: String,
        admin: String,
    },
}

impl Place {
    /// Creates one; files of its own go below `work`.
    ///
    /// # Errors
    /// If the server is not there or refuses (D3).
    pub(crate) fn create(engine: Engine, work: &Path) -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // ORDERING: a counter.
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bench_{}_{next}", std::process::id());
        let scripts = work.join(&name);
        fs::create_dir_all(&scripts).map_err(|why| format!("{}: {why}", scripts.display()))?;
        let address = match engine.variable() {
            None => Address::Folder(scripts.clone()),
            Some(variable) => server(variable)?,
        };
        let place = Self {
            engine,
            name,
            address,
            scripts,
        };
        let create = match engine {
            Engine::Sqlite => return Ok(place),
            Engine::Postgres => format!("CREATE DATABASE {} TEMPLATE template0", place.name),
            Engine::Mariadb => format!("CREATE DATABASE {} CHARACTER SET utf8mb4", place.name),
        };
        place.administer(&create)?;
        Ok(place)
    }

    pub(crate) fn url(&self) -> String {
        match &self.address {
            Address::Folder(folder) => format!("sqlite:{}", folder.join("league.db").display()),
            Address::Server { base, .. } => format!("{base}/{}", self.name),
        }
    }

    /// The file of an SQLite database.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        match &self.address {
            Address::Folder(folder) => Some(folder.join("league.db")),
            Address::Server { .. } => None,
        }
    }

    /// Runs a script in the shell of the database.
    ///
    /// # Errors
    /// If the shell is not there, or the script fails.
    pub(crate) fn script(&self, text: &str) -> Result<Ran, String> {
        self.run(&self.name, text)
    }

    /// What the database answers: a line a row, cells set apart by bars.
    ///
    /// # Errors
    /// As [`Place::script`].
    pub(crate) fn ask(&self, sql: &str) -> Result<String, String> {
        Ok(self.script(sql)?.said.replace('\t', "|"))
    }

    /// Lets the server finish what is left over from before, so that it does not fall on the next run.
    ///
    /// # Errors
    /// As [`Place::script`].
    pub(crate) fn settle(&self) -> Result<(), String> {
        match self.engine {
            Engine::Postgres => self.ask("CHECKPOINT;").map(drop),
            Engine::Sqlite | Engine::Mariadb => Ok(()),
        }
    }

    fn administer(&self, sql: &str) -> Result<(), String> {
        let Address::Server { admin, .. } = &self.address else {
            return Ok(());
        };
        self.run(admin, &format!("{sql};\n")).map(drop)
    }

    fn run(&self, database: &str, text: &str) -> Result<Ran, String> {
        let script = self.scripts.join("script.sql");
        fs::write(&script, text).map_err(|why| format!("{}: {why}", script.display()))?;
        let mut shell = Command::new(self.engine.shell());
        match &self.address {
            Address::Folder(folder) => {
                shell
                    .args(["-batch", "-bail"])
                    .arg(folder.join("league.db"));
            }
            Address::Server { base, .. } if self.engine == Engine::Postgres => {
                shell.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
                shell.arg(format!("{base}/{database}"));
            }
            Address::Server { base, .. } => mariadb(&mut shell, base, database)?,
        }
        child::run(&mut shell, Some(&script))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let dropped = match self.engine {
            Engine::Sqlite => Ok(()),
            Engine::Postgres => {
                self.administer(&format!("DROP DATABASE {} WITH (FORCE)", self.name))
            }
            Engine::Mariadb => self.administer(&format!("DROP DATABASE {}", self.name)),
        };
        let removed = fs::remove_dir_all(&self.scripts).map_err(|why| why.to_string());
        for why in [dropped, removed].into_iter().filter_map(Result::err) {
            eprintln!("bench-merge: {} stays: {why}", self.name);
        }
    }
}

/// The server that a variable names.
fn server(variable: &str) -> Result<Address, String> {
    let url = std::env::var(variable).unwrap_or_default();
    let missing = || format!("{variable} is not set; `./test shell` starts the server and sets it");
    let (base, admin) = url.rsplit_once('/').ok_or_else(missing)?;
    let admin = admin.split('?').next().unwrap_or_default();
    Ok(Address::Server {
        base: base.to_owned(),
        admin: admin.to_owned(),
    })
}

/// The client of MariaDB takes its address in pieces, and the password from the environment.
fn mariadb(shell: &mut Command, base: &str, database: &str) -> Result<(), String> {
    let pieces = || {
        let (_, address) = base.split_once("://")?;
        let (user, host) = address.rsplit_once('@')?;
        let (host, port) = host.split_once(':').unwrap_or((host, "3306"));
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        (!address.contains('%')).then_some([user, password, host, port])
    };
    let [user, password, host, port] =
        pieces().ok_or("the URL of MariaDB is not mysql://user:password@host:port/database")?;
    shell
        .args(["--no-defaults", "--batch", "--skip-column-names"])
        .args(["--local-infile=1", "--default-character-set=utf8mb4"])
        .args(["-h", host, "-P", port, "-u", user, database])
        .env("MYSQL_PWD", password);
    Ok(())
}
