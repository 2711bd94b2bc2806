//! Runs what is asked for, and gathers what was found.
//!
//! R1. What is not there (a server, a shell, Python) is told, and the rest runs; what is wrong ends the run.
//! R2. This process does nothing big before children are measured: their memory is counted from its own (H2 of `child`).

use crate::child;
use crate::league::League;
use crate::load::{self, Load};
use crate::memory::{self, Memory, Peak};
use crate::options::{Options, Part, Sizes};
use crate::place::Engine;
use crate::program::Program;
use crate::reading::{self, Reading};
use crate::tools::{self, Python, Tool};
use crate::wire::{self, Wire};
use reporting::{Machine, machine};
use std::path::{Path, PathBuf};

/// The programs whose versions are told.
const TOOLS: [(&str, &str); 3] = [
    ("rustc", "--version"),
    ("python3", "--version"),
    ("valgrind", "--version"),
];

/// The packages whose versions are told.
const PACKAGES: [&str; 4] = ["oneflight-merge", "sqlx", "tokio-postgres", "csv"];

/// Everything that was measured.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    pub(crate) sizes: Sizes,
    /// What was not there, and what is missing without it.
    pub(crate) missing: Vec<String>,
    pub(crate) loads: Vec<Load>,
    pub(crate) memory: Option<Memory>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) wire: Option<Wire>,
    pub(crate) reading: Vec<Reading>,
}

/// Runs everything that is asked for, and tells on stderr how far it is.
///
/// # Errors
/// The first part that fails; what is not there is no failure (R1).
pub(crate) fn measure(options: &Options) -> Result<Results, String> {
    let mut results = Results {
        machine: Machine::this(&TOOLS, &PACKAGES),
        sizes: options.sizes,
        missing: Vec::new(),
        loads: Vec::new(),
        memory: None,
        tools: Vec::new(),
        wire: None,
        reading: Vec::new(),
    };
    let work = work()?;
    let program = Program::find(options.program.as_deref())?;
    let said = machine::version(&program.path().to_string_lossy(), "--version");
    results.machine.tools.extend(said);
    leagues(options, &program, &work, &mut results)?;
    if options.has(Part::Tools) {
        match Python::prepare(&work) {
            Ok(python) => beside_tools(options, &python, &program, &work, &mut results)?,
            Err(why) => results
                .missing
                .push(format!("sqlite-utils and dlt were not run: {why}")),
        }
    }
    if options.has(Part::References) || options.has(Part::Rows) {
        match is_there(Engine::Postgres) {
            Ok(()) => results.wire = Some(wire::measure(options)?),
            Err(why) => results
                .missing
                .push(format!("nothing was run with latency: {why}")),
        }
    }
    // This process itself reads, and grows by it: after all that is measured from outside (R2).
    if options.has(Part::Reading) {
        eprintln!("bench-merge: reading alone");
        let rows = options.sizes.reading_rows;
        results.reading = reading::all(rows).map_err(|why| format!("reading: {why}"))?;
    }
    Ok(results)
}

/// The whole league into each database, and its memory.
fn leagues(
    options: &Options,
    program: &Program,
    work: &Path,
    results: &mut Results,
) -> Result<(), String> {
    let asked = [Part::Sqlite, Part::Postgres, Part::Mariadb];
    let mut engines = Vec::new();
    for (engine, part) in Engine::ALL.into_iter().zip(asked) {
        if options.has(part) {
            match is_there(engine) {
                Ok(()) => engines.push(engine),
                Err(why) => results
                    .missing
                    .push(format!("{} was not run: {why}", engine.name())),
            }
        }
    }
    if engines.is_empty() && !options.has(Part::Memory) {
        return Ok(());
    }
    let sizes = options.sizes;
    let league = League::generate(work, sizes.rows)?;
    for engine in engines {
        let load = load::measure(engine, &league, program, work, sizes.passes)?;
        results.machine.tools.push(load.version.clone());
        results.loads.push(load);
    }
    if options.has(Part::Memory) {
        let known = results.load(Engine::Sqlite).and_then(|load| {
            let run = load.first.first()?;
            Some(Peak::of(&league, run.cost))
        });
        let memory = memory::measure(&league, known, sizes.more, program, work)?;
        if child::own_peak().is_some_and(|own| own > memory.few.bytes) {
            return Err("H2: this process is bigger than the program that it measures".to_owned());
        }
        results.memory = Some(memory);
    }
    Ok(())
}

fn beside_tools(
    options: &Options,
    python: &Python,
    program: &Program,
    work: &Path,
    results: &mut Results,
) -> Result<(), String> {
    results.machine.tools.extend(python.versions.clone());
    let rows = options.sizes.tool_rows;
    for make in [League::generate, League::of_strangers] {
        let league = make(work, rows)?;
        for kind in tools::Kind::ALL {
            match is_there(kind.engine()) {
                Ok(()) => {
                    let tool = tools::measure(kind, python, &league, program, work)?;
                    results.tools.push(tool);
                }
                Err(why) => results
                    .missing
                    .push(format!("{} was not run: {why}", kind.name())),
            }
        }
    }
    Ok(())
}

impl Results {
    pub(crate) fn load(&self, engine: Engine) -> Option<&Load> {
        self.loads.iter().find(|load| load.engine == engine)
    }

    /// The tools on the league that is like the big one, and not made of strangers.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().filter(|tool| tool.players < tool.rows)
    }
}

/// Whether an engine can be measured here; else what it lacks.
fn is_there(engine: Engine) -> Result<(), String> {
    let shell = engine.shell();
    machine::version(shell, "--version").ok_or_else(|| format!("{shell} is not installed"))?;
    match engine.variable() {
        Some(variable) if std::env::var(variable).unwrap_or_default().is_empty() => Err(format!(
            "{variable} is not set; `./test shell` starts the server and sets it"
        )),
        _ => Ok(()),
    }
}

/// A folder of our own beside this program, in the target folder.
fn work() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|why| why.to_string())?;
    let folder = program.with_file_name("bench-merge-work");
    std::fs::create_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    Ok(folder)
}
