//! Tools that people use today, from PyPI, as their documentation says, beside the program on the same rows.
//!
//!   venv below the target folder ── sqlite-utils ──▶ SQLite        beside the program into SQLite
//!                                └─ dlt          ──▶ PostgreSQL    beside the program into PostgreSQL
//!
//! Y1. A whole process is measured, for them as for us.   Y2. What they have loaded is audited as far as it has the shape for it.

use crate::audit;
use crate::child;
use crate::league::League;
use crate::load;
use crate::place::{Engine, Place};
use crate::program::{Program, Turn};
use reporting::machine;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One tool, and the program beside it.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) engine: Engine,
    pub(crate) rows: u64,
    pub(crate) players: u64,
    pub(crate) seconds: f64,
    /// Of the program, on the same rows and engine.
    pub(crate) ours: f64,
}

/// The tools, and what they are called in tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    SqliteUtils,
    Dlt,
    DltArrow,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::SqliteUtils, Self::Dlt, Self::DltArrow];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SqliteUtils => "sqlite-utils",
            Self::Dlt => "dlt",
            Self::DltArrow => "dlt, Arrow",
        }
    }

    pub(crate) fn engine(self) -> Engine {
        match self {
            Self::SqliteUtils => Engine::Sqlite,
            Self::Dlt | Self::DltArrow => Engine::Postgres,
        }
    }
}

const PACKAGES: [&str; 3] = ["sqlite-utils", "dlt[postgres]", "pyarrow"];

/// Python with the tools in it.
#[derive(Debug)]
pub(crate) struct Python {
    bin: PathBuf,
    /// Name and version of each tool.
    pub(crate) versions: Vec<String>,
}

impl Python {
    /// Makes a virtual environment below `work`, or takes the one that is there.
    ///
    /// # Errors
    /// If Python is not there, or PyPI has not what is needed.
    pub(crate) fn prepare(work: &Path) -> Result<Self, String> {
        let folder = work.join("venv");
        let bin = folder.join("bin");
        if !bin.join("pip").exists() {
            machine::version("python3", "--version").ok_or("python3 is not installed")?;
            let mut venv = Command::new("python3");
            child::run(venv.args(["-m", "venv"]).arg(&folder), None)?;
        }
        eprintln!("bench-merge: installing {}", PACKAGES.join(", "));
        let mut pip = Command::new(bin.join("pip"));
        child::run(pip.args(["install", "--quiet"]).args(PACKAGES), None)?;
        let mut pip = Command::new(bin.join("pip"));
        let listed = child::run(pip.args(["list", "--format", "freeze"]), None)?.said;
        let versions = listed.lines().filter_map(|line| {
            let (name, version) = line.split_once("==")?;
            let wanted = PACKAGES
                .iter()
                .any(|package| package.split('[').next() == Some(name));
            wanted.then(|| format!("{name} {version}"))
        });
        Ok(Self {
            versions: versions.collect(),
            bin,
        })
    }
}

/// Runs one of them, and the program on the same rows.
///
/// # Errors
/// If either fails, or its database is not what it must be (Y2).
pub(crate) fn measure(
    kind: Kind,
    python: &Python,
    league: &League,
    program: &Program,
    work: &Path,
) -> Result<Tool, String> {
    let players = league.expected.players;
    eprintln!(
        "bench-merge: {} rows, {players} players, {}",
        league.rows,
        kind.name()
    );
    let place = Place::create(kind.engine(), work)?;
    let run = load::ours(league, program, &place, Turn::First)?;
    drop(place);
    let place = Place::create(kind.engine(), work)?;
    let seconds = match kind {
        Kind::SqliteUtils => sqlite_utils(python, league, &place)?,
        Kind::Dlt => dlt(python, league, &place, "dlt_league.py", work)?,
        Kind::DltArrow => dlt(python, league, &place, "dlt_league_arrow.py", work)?,
    };
    Ok(Tool {
        name: kind.name(),
        engine: kind.engine(),
        rows: league.rows,
        players,
        seconds,
        ours: run.cost.seconds,
    })
}

/// `insert`, then `extract` for each reference: its page on extracting columns into a table.
fn sqlite_utils(python: &Python, league: &League, place: &Place) -> Result<f64, String> {
    let file = place.file().ok_or("sqlite-utils needs a file")?;
    let feed = league.feed();
    let tool = |arguments: &[&str], tail: &[&str]| {
        let mut command = Command::new(python.bin.join("sqlite-utils"));
        command.args(arguments).arg(&file).args(tail);
        child::run(&mut command, None).map(|ran| ran.cost.seconds)
    };
    let feed = feed.to_string_lossy();
    let mut seconds = tool(
        &["insert"],
        &["appearance", &feed, "--csv", "--pk", "row", "--silent"],
    )?;
    seconds += tool(
        &["extract"],
        &[
            "appearance",
            "player",
            "player_name",
            "--table",
            "player",
            "--fk-column",
            "player_id",
            "--rename",
            "player",
            "code",
            "--rename",
            "player_name",
            "name",
        ],
    )?;
    for column in ["club", "venue", "season"] {
        seconds += tool(
            &["extract"],
            &["appearance", column, "--rename", column, "name"],
        )?;
    }
    audit::contents(place, &league.expected).map_err(|why| format!("sqlite-utils: {why}"))?;
    Ok(seconds)
}

/// A pipeline in a folder of its own, so that nothing is left over from an earlier one.
fn dlt(
    python: &Python,
    league: &League,
    place: &Place,
    script: &str,
    work: &Path,
) -> Result<f64, String> {
    let folder = work.join("dlt");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    }
    fs::create_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let hand = Path::new(env!("CARGO_MANIFEST_DIR")).join("hand");
    let mut command = Command::new(python.bin.join("python"));
    command
        .arg(hand.join(script))
        .arg(league.feed())
        .arg(place.url())
        .arg(&folder)
        .env("RUNTIME__DLTHUB_TELEMETRY", "false")
        .current_dir(&folder);
    let seconds = child::run(&mut command, None)?.cost.seconds;
    // It keeps no ids and no references: rows, keys and sums can be counted, orphans can not.
    let expected = &league.expected;
    let is = place.ask(
        "SELECT count(*), count(DISTINCT \"row\"), sum(minutes), sum(goals) FROM league.appearance;
         SELECT count(*), count(DISTINCT code), sum(length(name)) FROM league.player;
         SELECT (SELECT count(*) FROM league.club), (SELECT count(*) FROM league.venue), (SELECT count(*) FROM league.season);",
    )?;
    let must = format!(
        "{rows}|{rows}|{}|{}\n{players}|{players}|{}\n{}|{}|{}\n",
        expected.minutes,
        expected.goals,
        expected.names,
        expected.clubs,
        expected.venues,
        expected.seasons,
        rows = expected.rows,
        players = expected.players,
    );
    if is != must {
        return Err(format!("{script}: {is:?}, and not {must:?}"));
    }
    Ok(seconds)
}
