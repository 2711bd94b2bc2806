//! Whether a database holds what it must, and has the shape it must: asked of the database itself, by its own shell.
//!
//! X1. Rows, distinct keys, sums of attributes, and for each reference the sum of weighted numbers of what it refers to: one row that
//!     is lost, doubled, orphaned or refers to another's key changes one of them.
//! X2. Tables by hand and by the program have the same columns, types, collations, unique indexes and foreign keys, by the catalog.

use crate::league::{Expected, WEIGHT};
use crate::place::{Engine, Place};

/// Asks whether the database holds a league (X1).
///
/// # Errors
/// The first table that is not as it must be.
pub(crate) fn contents(place: &Place, expected: &Expected) -> Result<(), String> {
    let Expected { rows, links, .. } = expected;
    let wants = [
        (facts(place.engine), {
            let mut numbers = vec![*rows; 6];
            numbers.extend([expected.minutes, expected.goals]);
            numbers.extend(links);
            numbers
        }),
        (
            format!(
                "SELECT count(*), count(DISTINCT code), sum({}(name)) FROM player;",
                length(place.engine)
            ),
            vec![expected.players, expected.players, expected.names],
        ),
        (names("club"), vec![expected.clubs; 2]),
        (names("venue"), vec![expected.venues; 2]),
        (names("season"), vec![expected.seasons; 2]),
    ];
    for (sql, wants) in wants {
        let wants: Vec<String> = wants.iter().map(u64::to_string).collect();
        let (is, must) = (place.ask(&sql)?, wants.join("|"));
        if is.trim() != must {
            let is = is.trim();
            return Err(format!(
                "{}: {is}, and not {must}: {sql}",
                place.engine.name()
            ));
        }
    }
    Ok(())
}

fn names(table: &str) -> String {
    format!("SELECT count(*), count(DISTINCT name) FROM {table};")
}

fn length(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite | Engine::Postgres => "length",
        Engine::Mariadb => "char_length",
    }
}

/// Every row with what it refers to.
fn facts(engine: Engine) -> String {
    let (integer, row) = match engine {
        Engine::Sqlite => ("INTEGER", "\"row\""),
        Engine::Postgres => ("bigint", "\"row\""),
        Engine::Mariadb => ("SIGNED", "`row`"),
    };
    let link = |text: &str| format!("sum(a.{row} % {WEIGHT} * CAST({text} AS {integer}))");
    let links = [
        link("substr(p.code, 2)"),
        link("substr(c.name, 6, 4)"),
        link("substr(v.name, 7, 3)"),
        link("substr(s.name, 1, 4)"),
    ];
    format!(
        "SELECT count(*), count(a.date), count(p.id), count(c.id), count(v.id), count(s.id), sum(a.minutes), sum(a.goals), {} \
         FROM appearance a LEFT JOIN player p ON p.id = a.player_id LEFT JOIN club c ON c.id = a.club_id \
         LEFT JOIN venue v ON v.id = a.venue_id LEFT JOIN season s ON s.id = a.season_id;",
        links.join(", ")
    )
}

/// The shape of the tables, as the catalog tells it (X2); names of constraints are left out.
///
/// # Errors
/// If the database does not answer.
pub(crate) fn shape(place: &Place) -> Result<String, String> {
    place.ask(match place.engine {
        Engine::Sqlite => {
            "SELECT t.name, c.name, c.type, c.\"notnull\", c.pk FROM sqlite_master t, pragma_table_info(t.name) c \
               WHERE t.type = 'table' ORDER BY 1, 2;
             SELECT t.name, i.\"unique\", (SELECT group_concat(x.name) FROM pragma_index_info(i.name) x) \
               FROM sqlite_master t, pragma_index_list(t.name) i WHERE t.type = 'table' ORDER BY 1, 3;
             SELECT t.name, f.\"from\", f.\"table\", f.\"to\", f.on_delete FROM sqlite_master t, pragma_foreign_key_list(t.name) f \
               ORDER BY 1, 2;"
        }
        Engine::Postgres => {
            "SELECT table_name, column_name, data_type, is_nullable, collation_name, is_identity FROM information_schema.columns \
               WHERE table_schema = 'public' ORDER BY 1, 2;
             SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint \
               WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2;
             SELECT tablename, regexp_replace(indexdef, '^.* ON ', '') FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2;"
        }
        Engine::Mariadb => {
            "SELECT table_name, column_name, column_type, is_nullable, collation_name, extra FROM information_schema.columns \
               WHERE table_schema = database() ORDER BY 1, 2;
             SELECT table_name, non_unique, group_concat(column_name ORDER BY seq_in_index) c FROM information_schema.statistics \
               WHERE table_schema = database() GROUP BY table_name, index_name, non_unique ORDER BY 1, 3;
             SELECT table_name, column_name, referenced_table_name, referenced_column_name \
               FROM information_schema.key_column_usage \
               WHERE table_schema = database() AND referenced_table_name IS NOT NULL ORDER BY 1, 2;"
        }
    })
}

/// Holds two shapes against each other (X2).
///
/// # Errors
/// The first line in which they differ.
pub(crate) fn same(engine: Engine, ours: &str, hand: &str) -> Result<(), String> {
    if ours == hand {
        return Ok(());
    }
    let pair = ours.lines().zip(hand.lines()).find(|(a, b)| a != b);
    let (ours, hand) = pair.unwrap_or(("more or fewer lines", ""));
    Err(format!(
        "{}: tables differ: `{ours}` by the program, `{hand}` by hand",
        engine.name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_differ_are_told_by_their_first_line() {
        let differ = same(Engine::Sqlite, "a|1\nb|2\n", "a|1\nb|3\n");
        assert!(differ.is_err_and(|why| why.contains("b|2") && why.contains("b|3")));
        assert!(same(Engine::Sqlite, "a\n", "a\nb\n").is_err());
        assert_eq!(same(Engine::Sqlite, "a\n", "a\n"), Ok(()));
    }
}
