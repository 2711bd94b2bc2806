//! Hostile input: whatever it is, it is read or refused, and nothing panics.

use super::world::plan;
use oneflight_merge::map::{Lookups, Mapper};
use oneflight_merge::mapping;
use oneflight_merge::plan::Plan;
use oneflight_merge::rows::{Chunk, File, Flat, Rows, Scope, Tree};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::Arc;

const MAPS: [&str; 4] = [
    "openflights.toml",
    "international.toml",
    "football.toml",
    "f1.toml",
];

fn map(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/maps")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_mapping_that_is_cut_anywhere_is_read_or_refused() {
    for name in MAPS {
        let text = map(name);
        for end in (0..text.len())
            .step_by(7)
            .filter(|end| text.is_char_boundary(*end))
        {
            let _ = mapping::parse(&text[..end], name);
        }
    }
}

#[test]
fn a_mapping_with_words_in_wrong_places_is_read_or_refused() {
    let mut rng = SmallRng::seed_from_u64(7);
    for name in MAPS {
        let text = map(name);
        let words: Vec<&str> = text.split_inclusive([' ', '\n', '"', '.', '=']).collect();
        for _ in 0..300 {
            let mut words = words.clone();
            for _ in 0..rng.random_range(1..4) {
                let (from, to) = (
                    rng.random_range(0..words.len()),
                    rng.random_range(0..words.len()),
                );
                words[to] = words[from];
            }
            if let Err(errors) = mapping::parse(&words.concat(), name) {
                assert!(
                    errors
                        .iter()
                        .all(|error| error.line() >= 1 && !error.message().is_empty())
                );
            }
        }
    }
}

/// A plan for each way to fill a column.
fn plans() -> Vec<Plan> {
    let columns = [
        ("text", "\"b\""),
        ("decimal", "\"b\""),
        (
            "integer",
            "{ from = [\"a\", \"b\"], format = \"1 234.56\" }",
        ),
        ("real", "{ from = \"b\", format = \"1.234,56\" }"),
        ("boolean", "{ from = \"^.b\", map = { \"1\" = true } }"),
        ("date", "\"b\""),
        (
            "date",
            "{ from = [\"a\", \"b\"], join = \" \", format = \"%d %B %y\" }",
        ),
        ("timestamp", "\"b\""),
        ("timestamp", "{ from = \"b\", format = \"unix\" }"),
        ("uuid", "\"b\""),
        ("bytes", "\"b\""),
        ("bytes", "{ from = \"b\", format = \"base64\" }"),
        ("ref x", "{ t = \"b\", d = \"c\" }"),
        (
            "ref z",
            "{ external_id = { from = [\"a\", \"b\"], join = \"~\" } }",
        ),
    ];
    let plan_of = |(kind, value): &(&str, &str)| {
        plan(&format!(
            r#"
            [table.x]
            key = ["t", "d"]
            fold = "slug"
            columns = {{ d = "decimal", v = "{kind}" }}
            null_key = "value"
            [table.z]
            crosswalk = true
            [feed.f]
            path = "f.ndjson"
            [feed.f.into.x]
            t = "a"
            d = {{ from = "c", default = 1 }}
            v = {value}
            [feed.f.into.z]
            each = "..c"
            external_id = "."
            "#
        ))
    };
    columns.iter().map(plan_of).collect()
}

/// A text that could be many things.
fn text(rng: &mut SmallRng) -> String {
    let parts = [
        "",
        " ",
        "-",
        "+",
        ".",
        ",",
        ":",
        "T",
        "Z",
        "e",
        "0",
        "1",
        "9",
        "99999999999999999999",
        "2023-02-28",
        "12:00",
        "é",
        "\u{301}",
        "\0",
        "ß",
        "ﬁ",
        "\u{a0}",
        "true",
        "null",
        "NaN",
        "-0",
        "1e9",
        "0x",
        "==",
        "{",
        "}",
        "\u{10ffff}",
        "🦀",
        "Mai",
        "May",
    ];
    (0..rng.random_range(0..4))
        .map(|_| parts[rng.random_range(0..parts.len())])
        .collect()
}

fn value(rng: &mut SmallRng, depth: u32) -> Json {
    match rng.random_range(0..if depth > 3 { 4 } else { 7 }) {
        0 => Json::Null,
        1 => json!(rng.random_bool(0.5)),
        2 => {
            let texts = [
                "0",
                "-1",
                "1.50",
                "1e5",
                "-0.0",
                "1e-400",
                "1E400",
                "123456789012345678901234567890",
            ];
            serde_json::from_str(texts[rng.random_range(0..texts.len())]).unwrap_or_default()
        }
        3 => json!(text(rng)),
        4 => (0..rng.random_range(0..3))
            .map(|_| value(rng, depth + 1))
            .collect(),
        _ => ["a", "b", "c"]
            .iter()
            .map(|name| ((*name).to_owned(), value(rng, depth + 1)))
            .collect(),
    }
}

fn chunk(rows: Rows, columns: &[&str]) -> Chunk {
    let file = File {
        name: "f".into(),
        stem: "f".into(),
        captures: Vec::new(),
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        bytes: None,
    };
    Chunk {
        file: Arc::new(file),
        rows,
        bad: Vec::new(),
        bytes_read: 0,
    }
}

/// Maps rows, and looks that each is mapped or rejected and that references lead somewhere.
fn check(plan: &Plan, chunk: &Chunk, rows: usize) -> usize {
    let mapped = Mapper::new(plan, 0, &Lookups::default()).map(chunk);
    assert_eq!(mapped.rows.len() + mapped.rejects.len(), rows, "B3");
    for declares in mapped.rows.iter().flat_map(|row| row.declares) {
        assert!((declares.rec as usize) < mapped.tables[declares.table as usize].len());
    }
    mapped.rows.len()
}

#[test]
fn any_tree_is_mapped_or_rejected() {
    let (plans, mut rng) = (plans(), SmallRng::seed_from_u64(11));
    let mut mapped = 0;
    for plan in plans.iter().cycle().take(60) {
        let trees: Vec<Tree> = (0..100)
            .map(|line| {
                let scope = Scope {
                    value: value(&mut rng, 2),
                    omitted: Vec::new(),
                    parent: None,
                };
                Tree {
                    value: value(&mut rng, 0),
                    parent: rng.random_bool(0.5).then(|| Arc::new(scope)),
                    line,
                }
            })
            .collect();
        mapped += check(plan, &chunk(Rows::Tree(trees), &[]), 100);
    }
    assert!(mapped > 50, "some rows are right: {mapped}");
}

#[test]
fn any_flat_row_is_mapped_or_rejected() {
    let (plans, mut rng) = (plans(), SmallRng::seed_from_u64(13));
    let mut mapped = 0;
    for plan in plans.iter().cycle().take(200) {
        let mut flat = Flat::new(3);
        for row in 0..50 {
            for _ in 0..3 {
                let text = if rng.random_bool(0.5) {
                    String::new()
                } else {
                    text(&mut rng)
                };
                flat.push(rng.random_bool(0.9).then_some(&text));
            }
            flat.end_row(row);
        }
        mapped += check(plan, &chunk(Rows::Flat(flat), &["a", "b", "c"]), 50);
    }
    assert!(mapped > 50, "some rows are right: {mapped}");
}
