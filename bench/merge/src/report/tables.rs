//! The tables, one for each thing that is measured.

use super::{mebibytes, reading, wire};
use crate::load::{Load, Run};
use crate::run::Results;
use reporting::{Table, number, times};

/// All that were run, in order.
pub(super) fn all(results: &Results) -> Vec<Table> {
    let tables = [
        loads(results),
        tools(results),
        memory(results),
        reading::table(results),
    ];
    wire::tables(results)
        .into_iter()
        .chain(tables)
        .filter(|table| !table.rows.is_empty())
        .collect()
}

fn loads(results: &Results) -> Table {
    let rows = results.sizes.rows as f64;
    let mut table = Table::new(
        &format!("{} rows, no latency", number(Some(rows))),
        "A league: 200,000 players, 2,000 clubs, 500 venues, 40 seasons, 4 references a row. The whole process, from an empty \
         database to the commit, tables and all; by hand is the database's own shell with the scripts in `bench/merge/hand`. Both \
         have the same columns, types, collations, indexes and foreign keys (compared by the catalog), and the same contents \
         (rows, distinct keys, sums, no orphan).",
        &[
            "",
            "seconds",
            "rows/s",
            "× by hand",
            "own CPU s",
            "server CPU s",
            "peak MiB",
        ],
    );
    for load in &results.loads {
        let hand = Load::seconds(&load.hand);
        let ways = [
            ("oneflight", &load.first),
            ("oneflight, again", &load.again),
            ("by hand", &load.hand),
        ];
        for (way, runs) in ways {
            let Some(Run {
                cost,
                server_cpu_seconds,
            }) = Load::best(runs)
            else {
                continue;
            };
            table.rows.push(vec![
                format!("{}: {way}", load.engine.name()),
                number(Some(cost.seconds)),
                number(Some((rows / cost.seconds).round())),
                times(hand.map(|hand| hand / cost.seconds)),
                number(Some(cost.cpu_seconds)),
                number(server_cpu_seconds),
                number(Some(mebibytes(cost.peak_bytes))),
            ]);
        }
    }
    table
}

fn tools(results: &Results) -> Table {
    let mut table = Table::new(
        &format!(
            "Tools, {} rows",
            number(Some(results.sizes.tool_rows as f64))
        ),
        "The same league, with ten rows to a player and with a new player in each row; as the tools' documentation says: sqlite-utils `insert`, then `extract` for each reference; dlt with a \
         resource a table, merged by primary key, as pages of rows and as Arrow tables by COPY. dlt makes no ids, no unique index \
         and no foreign key: that is in our figure, not in its own. Whole processes.",
        &[
            "",
            "players",
            "seconds",
            "rows/s",
            "oneflight, seconds",
            "oneflight is",
        ],
    );
    for tool in &results.tools {
        table.rows.push(vec![
            format!("{}: {}", tool.engine.name(), tool.name),
            number(Some(tool.players as f64)),
            number(Some(tool.seconds)),
            number(Some((tool.rows as f64 / tool.seconds).round())),
            number(Some(tool.ours)),
            times(Some(tool.seconds / tool.ours)),
        ]);
    }
    table
}

fn memory(results: &Results) -> Table {
    let mut table = Table::new(
        "Memory",
        "The most memory that was resident, as the kernel counts it; into SQLite, whose cache is the program's own memory.",
        &["rows", "keys", "seconds", "peak MiB"],
    );
    if let Some(memory) = &results.memory {
        for peak in [memory.few, memory.many] {
            table.rows.push(vec![
                number(Some(peak.rows as f64)),
                number(Some(memory.keys as f64)),
                number(Some(peak.seconds)),
                number(Some(mebibytes(peak.bytes))),
            ]);
        }
    }
    table
}
