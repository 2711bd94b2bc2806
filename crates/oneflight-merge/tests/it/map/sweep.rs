//! Rows of a flat file are read column by column, those of a nested one row by row: what comes of them must be the same.

use super::world::{plan, rejects, shown};
use oneflight_merge::batch::Mapped;
use oneflight_merge::map::{Lookups, Mapper};
use oneflight_merge::rows::{Chunk, File, Flat, Rows, Tree};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

const COLUMNS: [&str; 12] = [
    "home",
    "away",
    "day",
    "goals",
    "note",
    "referee",
    "best",
    "best_name",
    "best_born",
    "country",
    "nth",
    "since",
];

const TABLES: &str = r#"
    [table.country]
    key = "code"
    [table.club]
    key = "name"
    fold = "full"
    columns = { country = "ref country", captain = "ref player" }
    [table.player]
    key = "code"
    columns = { name = "text", born = { type = "date", policy = "take" }, club = "ref club" }
    [table.day]
    key = ["day", "goals"]
    columns = { day = "date", goals = "integer", best = "ref player", home = { type = "text", max = 12 } }
    [table.match]
    key = ["home", "away", "day"]
    [table.match.columns]
    home = "ref club"
    away = "ref club"
    day = "date"
    goals = { type = "integer", required = true }
    note = { type = "text", policy = "keep" }
    referee = "ref player"
    best = "ref player"
    [table.kick]
    key = "nth"
    columns = { nth = "integer", note = "text", goals = { type = "integer", policy = "take" } }
    [table.reign]
    key = "since"
    columns = { since = "date", best = "ref player" }
"#;

const MATCH: &str = r#"
    [feed.f.into.match]
    home = "home"
    away = { name = "away" }
    day = "day"
    goals = "goals"
    note = "note"
    referee = "referee"
    best = { code = "best", name = "best_name", born = "best_born" }
"#;

const CLUB: &str = "[feed.f.into.club]\nname = \"home\"\ncountry = \"country\"\n";

/// Tables that refer to each other.
const RING: &str = r#"
    [feed.f.into.player]
    code = "best"
    name = "best_name"
    club = { name = "home", captain = "referee" }
"#;

/// Rows whose records are mostly new.
const DAY: &str = r#"
    [feed.f.into.day]
    day = "day"
    goals = "goals"
    best = { code = "best", name = "note" }
    home = { from = "home", trim = false, null = ["FC Köln 1", "x"] }
"#;

/// Rows whose keys mostly rise, as the ids of a feed do.
const RISING: &str = r#"
    [feed.f.into.kick]
    nth = "nth"
    note = "note"
    goals = "goals"
    [feed.f.into.reign]
    since = "since"
    best = "best"
"#;

/// The row's own number, a day of its own, or what the usual cell may be.
fn cell_of_row(row: u32, falls: bool, column: &str, rng: &mut SmallRng) -> String {
    let odd = falls && rng.random_range(0..300) == 0;
    let row = if odd {
        rng.random_range(0..row + 3)
    } else {
        row
    };
    match column {
        "nth" | "since" if odd && row.is_multiple_of(5) => ["", "x"][row as usize % 2].into(),
        "nth" => (i64::from(row) - 100).to_string(),
        "since" => format!(
            "{}-{:02}-{:02}",
            1900 + row / 300,
            row / 25 % 12 + 1,
            row % 25 + 1
        ),
        _ => cell(column, rng),
    }
}

/// What a cell may be: the usual first, then nulls, spellings and what is refused.
fn cell(column: &str, rng: &mut SmallRng) -> String {
    let nth = rng.random_range(0..40);
    let odd = rng.random_range(0..30) == 0;
    match column {
        "home" | "away" if odd => {
            ["", "  ", "\u{a0}", "fc  KÖLN 1", "FC\u{a0}Köln 1"][nth % 5].into()
        }
        "home" | "away" => format!("FC Köln {}", nth % 12),
        "day" | "best_born" if odd => {
            ["", "2010-02-30", "14/08/2010", " 2010-08-14 "][nth % 4].into()
        }
        "day" | "best_born" => format!("2010-08-{:02}", nth % 28 + 1),
        "goals" if odd => ["", "x", "-3", "1.0", "99999999999999999999", "1.5"][nth % 6].into(),
        "goals" => (nth * [1, 1_000_003, 100_000_000_007][nth % 3]).to_string(),
        "note" => ["", "sunny", " rain ", "nul\0"][if odd { 3 } else { nth % 3 }].into(),
        "referee" | "best" if odd => " P1 ".into(),
        "referee" | "best" => ["", "P1", "P2", "P3", "P4"][nth % 5].into(),
        "best_name" => ["", "Ann", "Bob"][nth % 3].into(),
        _ => ["", "DE", "FR"][nth % 3].into(),
    }
}

fn chunk(rows: &[Vec<String>], nested: bool) -> Chunk {
    let columns: Vec<String> = COLUMNS.map(str::to_owned).into();
    let rows = if nested {
        let tree = |(line, cells): (u64, &Vec<String>)| {
            let members = columns.iter().zip(cells);
            let members = members.map(|(name, cell)| (name.clone(), Json::String(cell.clone())));
            let value = Json::Object(members.collect::<Map<_, _>>());
            Tree {
                value,
                parent: None,
                line,
            }
        };
        Rows::Tree((2..).zip(rows).map(tree).collect())
    } else {
        let mut flat = Flat::new(columns.len());
        for (line, cells) in (2..).zip(rows) {
            cells.iter().for_each(|cell| flat.push(Some(cell)));
            flat.end_row(line);
        }
        Rows::Flat(flat)
    };
    let file = File {
        name: "f".into(),
        stem: "f".into(),
        captures: Vec::new(),
        columns: if nested { Vec::new() } else { columns },
        bytes: None,
    };
    Chunk {
        file: Arc::new(file),
        rows,
        bad: Vec::new(),
        bytes_read: 0,
    }
}

/// All that a chunk comes to, as text.
fn told(feed: &str, nested: bool, rows: &[Vec<String>]) -> Vec<String> {
    let ending = if nested { "ndjson" } else { "csv" };
    let plan = plan(&format!("{TABLES}[feed.f]\npath = \"f.{ending}\"\n{feed}"));
    let mapped: Mapped = Mapper::new(&plan, 0, &Lookups::default()).map(&chunk(rows, nested));
    let mut told = Vec::new();
    for (table, recs) in plan.tables.iter().zip(&mapped.tables) {
        let records = shown(&plan, &mapped, &table.sql.name);
        for (record, rec) in records.into_iter().zip(recs.iter()) {
            let (declared, conflicts) = (rec.is_declared(), rec.conflicts());
            told.push(format!(
                "{}: {record} {declared} {conflicts}",
                table.sql.name
            ));
        }
    }
    for row in mapped.rows.iter() {
        told.push(format!("{}: {:?}", row.line, row.declares));
    }
    told.extend(rejects(&mapped));
    told
}

#[test]
fn rows_that_are_swept_come_to_what_rows_that_are_drafted_come_to() {
    let feeds = [
        MATCH.to_owned(),
        format!("{MATCH}{CLUB}"),
        format!("{CLUB}{MATCH}"),
        RING.to_owned(),
        DAY.to_owned(),
        RISING.to_owned(),
        format!("{RISING}{MATCH}"),
    ];
    for seed in 0..12 {
        // In some files keys rise to the end.
        let falls = seed % 3 > 0;
        let mut rng = SmallRng::seed_from_u64(seed);
        // More than one block of them.
        let count = [1, 40, 700, 1_300][seed as usize % 4];
        let rows: Vec<Vec<String>> = (0..count)
            .map(|row| {
                let columns = COLUMNS.iter();
                columns
                    .map(|column| cell_of_row(row, falls, column, &mut rng))
                    .collect()
            })
            .collect();
        for feed in &feeds {
            let (swept, drafted) = (told(feed, false, &rows), told(feed, true, &rows));
            for (swept, drafted) in swept.iter().zip(&drafted) {
                assert_eq!(swept, drafted, "E1: seed {seed}, {feed}");
            }
            assert_eq!(swept.len(), drafted.len(), "E1: seed {seed}, {feed}");
        }
    }
}
