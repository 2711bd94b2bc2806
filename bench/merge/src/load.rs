//! A whole league into an empty database: by the program, by the program again, and by hand.
//!
//!   pass 1: program, again │ by hand        pass 2: by hand │ program, again        …
//!
//! A1. Passes alternate the order, and each run has a database of its own; what is told is the best of each.
//! A2. Both are audited, and have tables of the same shape; a figure without that is none.
//! A3. The servers that `./test` starts are small. MariaDB gets room for the whole league first, or its own paging would be
//!     all that is measured; what it and PostgreSQL are set to is told beside their versions.

mod room;

use crate::audit;
use crate::child::Cost;
use crate::league::League;
use crate::place::{Engine, Place};
use crate::program::{Program, Turn};
use crate::server::Server;
use std::path::Path;

/// What one engine took, pass by pass.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Load {
    pub(crate) engine: Engine,
    pub(crate) version: String,
    pub(crate) first: Vec<Run>,
    pub(crate) again: Vec<Run>,
    pub(crate) hand: Vec<Run>,
}

/// One run.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Run {
    #[serde(flatten)]
    pub(crate) cost: Cost,
    /// What the server's processes used of the processor, where that can be seen.
    pub(crate) server_cpu_seconds: Option<f64>,
}

impl Load {
    /// The fastest run.
    pub(crate) fn best(runs: &[Run]) -> Option<Run> {
        let seconds = |run: &Run| run.cost.seconds;
        runs.iter()
            .copied()
            .min_by(|a, b| seconds(a).total_cmp(&seconds(b)))
    }

    /// Seconds of the fastest run.
    pub(crate) fn seconds(runs: &[Run]) -> Option<f64> {
        Self::best(runs).map(|run| run.cost.seconds)
    }
}

/// Runs both on one engine, `passes` times (A1).
///
/// # Errors
/// The first run that fails, or whose database is not what it must be (A2).
pub(crate) fn measure(
    engine: Engine,
    league: &League,
    program: &Program,
    work: &Path,
    passes: usize,
) -> Result<Load, String> {
    let room = match engine {
        Engine::Mariadb => Some(room::Room::make(Place::create(engine, work)?)?),
        Engine::Sqlite | Engine::Postgres => None,
    };
    let mut load = Load {
        engine,
        version: version(engine, work)?,
        first: Vec::new(),
        again: Vec::new(),
        hand: Vec::new(),
    };
    for pass in 0..passes {
        let told = format!("{}, pass {} of {passes}", engine.name(), pass + 1);
        let mut shapes = ["program", "hand"];
        if pass % 2 == 1 {
            shapes.reverse();
        }
        let mut found = Vec::new();
        for who in shapes {
            eprintln!("bench-merge: {} rows, {told}: {who}", league.rows);
            let place = Place::create(engine, work)?;
            match who {
                "program" => {
                    load.first.push(ours(league, program, &place, Turn::First)?);
                    load.again.push(ours(league, program, &place, Turn::Again)?);
                }
                _ => load.hand.push(by_hand(league, &place)?),
            }
            audit::contents(&place, &league.expected).map_err(|why| format!("{who}: {why}"))?;
            found.push((who, audit::shape(&place)?));
        }
        found.sort();
        if let [(_, hand), (_, ours)] = &found[..] {
            audit::same(engine, ours, hand)?;
        }
    }
    room.map_or(Ok(()), room::Room::give_back)?;
    Ok(load)
}

/// A merge by the program.
///
/// # Errors
/// If it fails.
pub(crate) fn ours(
    league: &League,
    program: &Program,
    place: &Place,
    turn: Turn,
) -> Result<Run, String> {
    place.settle()?;
    with_server(place, || program.merge(league, place, turn))
}

fn by_hand(league: &League, place: &Place) -> Result<Run, String> {
    let script = match place.engine {
        Engine::Sqlite => include_str!("../hand/sqlite.sql"),
        Engine::Postgres => include_str!("../hand/postgres.sql"),
        Engine::Mariadb => include_str!("../hand/mariadb.sql"),
    };
    let script = script.replace("{feed}", &league.feed().to_string_lossy());
    place.settle()?;
    with_server(place, || Ok(place.script(&script)?.cost))
}

/// Runs `work`, and counts what the server uses meanwhile.
fn with_server(place: &Place, work: impl FnOnce() -> Result<Cost, String>) -> Result<Run, String> {
    let server = match place.engine {
        Engine::Postgres => Server::find(place),
        Engine::Sqlite | Engine::Mariadb => None,
    };
    let used = || server.and_then(Server::cpu_seconds);
    let before = used();
    let cost = work()?;
    Ok(Run {
        cost,
        server_cpu_seconds: used().zip(before).map(|(after, before)| after - before),
    })
}

/// The server's own word for itself, and for what it is set to (A3).
fn version(engine: Engine, work: &Path) -> Result<String, String> {
    let place = Place::create(engine, work)?;
    let said = place.ask(match engine {
        Engine::Sqlite => "SELECT sqlite_version();",
        Engine::Postgres => {
            "SELECT format('%s (shared_buffers %s, fsync %s, synchronous_commit %s)', \
             current_setting('server_version'), current_setting('shared_buffers'), current_setting('fsync'), \
             current_setting('synchronous_commit'));"
        }
        Engine::Mariadb => {
            "SELECT concat(version(), ' (innodb_buffer_pool_size ', @@innodb_buffer_pool_size DIV 1048576, \
             'MB, innodb_log_file_size ', @@innodb_log_file_size DIV 1048576, \
             'MB, innodb_flush_log_at_trx_commit ', @@innodb_flush_log_at_trx_commit, ')');"
        }
    })?;
    Ok(format!("{} {}", engine.name(), said.trim()))
}
