//! The maps of the real data sets: what they come to, in any order of their feeds, once and twice.

use super::world::{World, plan};
use std::path::Path;

fn map(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/maps")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Merges with a map, then again, then anew with these feeds first: the counts must be these each time.
fn check(name: &str, first: &[&str], rejects: usize, counts: &[(&str, usize)]) -> Option<World> {
    let data = testkit::data()?;
    let plan = plan(&map(name));
    let mut world = World::default();
    world.merge(&plan, &data, None);
    let seen = |world: &World| {
        counts
            .iter()
            .map(|(table, _)| (*table, world.count(table)))
            .collect::<Vec<_>>()
    };
    assert_eq!(seen(&world), counts, "{name}: {:?}", world.rejects.first());
    assert_eq!(world.rejects.len(), rejects, "{name}: {:?}", world.rejects);
    world.merge(&plan, &data, None);
    assert_eq!(seen(&world), counts, "{name}, twice");
    let mut other = World::default();
    other.merge(&plan, &data, Some(first));
    assert_eq!(seen(&other), counts, "{name}, in another order");
    Some(other)
}

#[test]
fn openflights_comes_to_its_counts() {
    let counts = [
        ("airport", 7_810),
        ("airline", 6_162),
        ("country", 354),
        ("plane", 272),
        ("route", 67_663),
        ("route_plane", 93_231),
    ];
    let Some(world) = check("openflights.toml", &["routes", "planes"], 12, &counts) else {
        return;
    };
    assert_eq!(world.declared("airport"), 7_698);
    assert_eq!(world.declared("plane"), 220);
    assert!(
        world
            .rejects
            .iter()
            .all(|reject| reject.column.as_deref() == Some("iata")),
        "{:?}",
        world.rejects
    );
}

#[test]
fn international_comes_to_its_counts() {
    let counts = [
        ("team", 337),
        ("tournament", 202),
        ("match", 49_520),
        ("scorer", 15_827),
        ("goal", 47_835),
    ];
    check("international.toml", &["shootouts", "goals"], 0, &counts);
}

#[test]
fn football_comes_to_its_counts() {
    let Some(world) = check(
        "football.toml",
        &["new"],
        0,
        &[("club", 41), ("match", 6_080)],
    ) else {
        return;
    };
    assert_eq!(world.externals("club"), 69);
    assert_eq!(world.read, 6_080 + 2_793);
}

#[test]
fn football_without_aliases_takes_every_spelling_for_a_club() {
    check("football-names.toml", &["new"], 0, &[("club", 69)]);
}

#[test]
fn f1_comes_to_its_counts() {
    let counts = [
        ("driver", 917),
        ("constructor", 187),
        ("engine_manufacturer", 78),
        ("tyre_manufacturer", 9),
        ("chassis", 1_153),
        ("engine", 424),
        ("entrant", 830),
        ("circuit", 78),
        ("grand_prix", 54),
        ("country", 249),
        ("continent", 7),
        ("race", 1_172),
        ("race_result", 27_533),
        ("driver_family", 86),
    ];
    let Some(world) = check("f1.toml", &["race_results"], 0, &counts) else {
        return;
    };
    assert_eq!(world.declared("driver"), 917);
}
