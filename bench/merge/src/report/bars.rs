//! The bars that were set before anything was built, and whether they are met.

use super::{mebibytes, reading, wire};
use crate::load::Load;
use crate::place::Engine;
use crate::run::Results;
use reporting::{Bar, Better, bars, number};

/// All bars, as a table, and a line for each that is missed.
pub(super) fn text(results: &Results) -> String {
    let note =
        "Set before the measuring; each a ratio within this run, unless it says what it counts.";
    bars::text("The merge's bars", note, &all(results))
}

fn all(results: &Results) -> Vec<Bar> {
    let mut all = wire::bars(results);
    for engine in Engine::ALL {
        all.extend(loaded(results, engine));
    }
    all.extend(tools(results));
    all.extend(memory(results));
    all.push(busy(results));
    all.extend(reading::bars(results));
    all
}

/// A first run beside the way by hand, and a second run beside the first.
fn loaded(results: &Results, engine: Engine) -> [Bar; 2] {
    let (limit, beside) = match engine {
        Engine::Sqlite => (0.8, ".import and SQL by hand"),
        Engine::Postgres => (0.9, "COPY and SQL by hand"),
        Engine::Mariadb => (0.8, "LOAD DATA and SQL by hand"),
    };
    let load = results.load(engine);
    let seconds = |runs: fn(&Load) -> &Vec<_>| load.and_then(|load| Load::seconds(runs(load)));
    let [first, again, hand] = [
        seconds(|load| &load.first),
        seconds(|load| &load.again),
        seconds(|load| &load.hand),
    ];
    let own = load.and_then(|load| Some(Load::best(&load.first)?.cost.cpu_seconds));
    let rows = number(Some(results.sizes.rows as f64));
    let name = engine.name();
    let told = [first, own, hand, again].map(number);
    let [first_told, own, hand_told, again_told] = told;
    [
        Bar {
            what: format!("{rows} rows into {name}, rows/s"),
            beside: Some(beside.to_owned()),
            is: first.zip(hand).map(|(first, hand)| hand / first),
            limit,
            better: Better::More,
            why: format!(
                "It took {first_told} s ({own} s of its own processor time), by hand {hand_told} s."
            ),
        },
        Bar {
            what: format!("a second, unchanged run into {name}, rows/s"),
            beside: Some("the first run".to_owned()),
            is: first.zip(again).map(|(first, again)| first / again),
            limit: 2.0,
            better: Better::More,
            why: format!("It took {again_told} s, the first {first_told} s."),
        },
    ]
}

fn tools(results: &Results) -> Vec<Bar> {
    let bar = |kind: crate::tools::Kind| {
        let tool = results.tools().find(|tool| tool.name == kind.name());
        let told = tool.map(|tool| (tool.ours, tool.seconds));
        let [ours, theirs] = [told.map(|told| told.0), told.map(|told| told.1)].map(number);
        Bar {
            what: format!(
                "{} rows into {}, rows/s",
                number(Some(results.sizes.tool_rows as f64)),
                kind.engine().name(),
            ),
            beside: Some(kind.name().to_owned()),
            is: told.map(|(ours, theirs)| theirs / ours),
            limit: 10.0,
            better: Better::More,
            why: format!("It took {ours} s, the other {theirs} s."),
        }
    };
    crate::tools::Kind::ALL.map(bar).to_vec()
}

/// Bytes that the program may use beside those for keys, and for each key.
const BASE: u64 = 64 << 20;
const EACH: u64 = 100;

fn memory(results: &Results) -> [Bar; 2] {
    let memory = results.memory.as_ref();
    let limit = memory.map_or(BASE, |memory| BASE + EACH * memory.keys);
    let [few, many] =
        [results.sizes.rows, results.sizes.more].map(|rows| number(Some(rows as f64)));
    let keys = number(memory.map(|memory| memory.keys as f64));
    [
        Bar {
            what: format!("peak memory, {many} rows"),
            beside: Some(format!("{few} rows, the same keys")),
            is: memory.map(|memory| memory.many.bytes as f64 / memory.few.bytes as f64),
            limit: 1.1,
            better: Better::Less,
            why: "It grows with rows, not only with keys.".to_owned(),
        },
        Bar {
            what: format!("peak memory, {many} rows, {keys} keys, MiB"),
            beside: Some("64 MiB and 100 bytes a key".to_owned()),
            is: memory.map(|memory| mebibytes(memory.many.bytes)),
            limit: mebibytes(limit),
            better: Better::Less,
            why: format!(
                "SQLite's own cache is in it; {few} rows took {} MiB.",
                number(memory.map(|memory| mebibytes(memory.few.bytes)))
            ),
        },
    ]
}

/// Whether somebody always works.
fn busy(results: &Results) -> Bar {
    let load = results.load(Engine::Postgres);
    let run = load.and_then(|load| Load::best(&load.first));
    let shares = run.and_then(|run| {
        Some((
            run.cost.cpu_seconds,
            run.server_cpu_seconds?,
            run.cost.seconds,
        ))
    });
    let why = shares.map_or(String::new(), |(own, server, wall)| {
        let [own, server, wall] = [own, server, wall].map(|seconds| number(Some(seconds)));
        format!("Of {wall} s, the program worked {own} s and the server {server} s.")
    });
    Bar {
        what: format!(
            "PostgreSQL: processor seconds by seconds, {} cores",
            results.machine.cores
        ),
        beside: Some("program and server".to_owned()),
        is: shares.map(|(own, server, wall)| (own + server) / wall),
        limit: 1.6,
        better: Better::More,
        why,
    }
}
