//! The real data sets, where they are at hand: the folder is named by `ONEFLIGHT_DATA`.

use super::{Seen, all, comma, json_at, names, source};
use oneflight_merge::plan::{Csv, Format, Source};
use oneflight_merge::read::{self, Limits};
use serde_json::{Value, json};
use testkit::data;

fn seen(folder: &std::path::Path, source: &Source) -> Seen {
    let inputs = read::open(source, folder).expect("the real files are fine");
    let seen = all(
        inputs,
        Limits {
            rows: 1_000,
            bytes: 1 << 20,
        },
    )
    .expect("the real files are fine");
    assert_eq!(seen.bad, [], "{}", source.path);
    seen
}

#[test]
fn openflights_has_its_rows_and_its_escaped_quotes() {
    let Some(folder) = data() else { return };
    let files = [
        ("airports", 14, 7_698),
        ("airlines", 8, 6_162),
        ("routes", 9, 67_663),
        ("countries", 3, 261),
        ("planes", 3, 246),
    ];
    for (file, width, rows) in files {
        let columns = (0..width).map(|at| at.to_string()).collect();
        let dialect = Csv {
            escape: Some(b'\\'),
            columns: Some(columns),
            ..comma()
        };
        let seen = seen(
            &folder,
            &source(&format!("openflights/{file}.dat"), Format::Csv(dialect)),
        );
        assert_eq!(seen.rows.len(), rows, "{file}");
        assert!(
            seen.rows
                .iter()
                .enumerate()
                .all(|(at, (line, _))| *line == at as u64 + 1),
            "{file}: a row is a line"
        );
        match file {
            "airports" => assert!(
                seen.rows
                    .iter()
                    .any(|(_, row)| row[0] == json!("7052") && row[2] == json!("Xi'AN"))
            ),
            "airlines" => assert!(
                seen.rows
                    .iter()
                    .any(|(_, row)| row[0] == json!("13394") && row[4] == json!(r"\'\"))
            ),
            "routes" => assert!(seen.rows.iter().any(|(_, row)| row[5] == json!(r"\N"))),
            _ => {}
        }
    }
}

#[test]
fn intl_has_its_rows_and_columns() {
    let Some(folder) = data() else { return };
    let needs = ["date", "home_team", "away_team"];
    let csv = |needs: &[&str]| {
        Format::Csv(Csv {
            needs: names(needs),
            ..comma()
        })
    };
    assert_eq!(
        seen(&folder, &source("intl/results.csv", csv(&needs)))
            .rows
            .len(),
        49_520
    );
    assert_eq!(
        seen(&folder, &source("intl/shootouts.csv", csv(&needs)))
            .rows
            .len(),
        683
    );
    assert_eq!(
        seen(
            &folder,
            &source("intl/former_names.csv", csv(&["current", "former"]))
        )
        .rows
        .len(),
        36
    );
    let goals = seen(
        &folder,
        &source(
            "intl/goalscorers.parquet",
            Format::Parquet {
                needs: names(&["scorer", "minute"]),
            },
        ),
    );
    assert_eq!(goals.rows.len(), 47_914);
    let scorer = goals
        .columns
        .iter()
        .position(|column| column == "scorer")
        .expect("a scorer");
    assert_eq!(
        goals
            .rows
            .iter()
            .filter(|(_, row)| row[scorer] == json!("NA"))
            .count(),
        44
    );
}

#[test]
fn football_has_its_matches_with_their_seasons() {
    let Some(folder) = data() else { return };
    let new = seen(
        &folder,
        &source(
            "football/new/{season}.en.1.json",
            json_at(&["matches", "*"]),
        ),
    );
    assert_eq!(new.rows.len(), 6_080);
    assert!(
        new.scopes
            .iter()
            .all(|around| around.len() == 1 && around[0]["name"].is_string())
    );
    let old = seen(
        &folder,
        &source(
            "football/old/{season}.en.1.json",
            json_at(&["rounds", "*", "matches", "*"]),
        ),
    );
    assert_eq!(old.rows.len(), 2_793);
    assert!(old.scopes.iter().all(|around| around.len() == 2
        && around[1]["name"].is_string()
        && around[1].get("rounds").is_none()));
    assert_eq!(
        seen(
            &folder,
            &source(
                "football/old/*.cl.json",
                json_at(&["rounds", "*", "matches", "*"])
            )
        )
        .rows
        .len(),
        371
    );
    assert_eq!(
        seen(
            &folder,
            &source("football/new/*.cl.json", json_at(&["matches", "*"]))
        )
        .rows
        .len(),
        375
    );
    assert_eq!(
        seen(
            &folder,
            &source("football/club_aliases.csv", Format::Csv(comma()))
        )
        .rows
        .len(),
        11_176
    );
}

#[test]
fn f1_has_its_rows() {
    let Some(folder) = data() else { return };
    let files = [
        ("drivers", 917),
        ("constructors", 187),
        ("circuits", 78),
        ("countries", 249),
        ("continents", 7),
        ("grands-prix", 54),
        ("engine-manufacturers", 78),
        ("tyre-manufacturers", 9),
        ("engines", 424),
        ("chassis", 1_153),
        ("entrants", 830),
        ("races", 1_172),
        ("season_entrants", 1_799),
    ];
    for (file, rows) in files {
        assert_eq!(
            seen(
                &folder,
                &source(&format!("f1/{file}.ndjson"), Format::Ndjson)
            )
            .rows
            .len(),
            rows,
            "{file}"
        );
    }
    let results = seen(
        &folder,
        &source(
            "f1/race_results.parquet",
            Format::Parquet {
                needs: names(&["year", "round"]),
            },
        ),
    );
    assert_eq!(results.rows.len(), 27_533);
    let year = results
        .columns
        .iter()
        .position(|column| column == "year")
        .expect("a year");
    assert!(
        results
            .rows
            .iter()
            .all(|(_, row)| row[year].as_str().is_some_and(|year| year.len() == 4))
    );
    assert!(results.rows.iter().any(|(_, row)| {
        row.as_array()
            .is_some_and(|cells| cells.contains(&Value::Null))
    }));
}
