//! The four real sets: what goes in, and what must come out, from the notes that come with the data.

/// A set, and what is right for it.
#[derive(Debug)]
pub(crate) struct Set {
    /// The map, in `examples/maps`.
    pub(crate) map: &'static str,
    /// Feeds, and how many rows each has.
    pub(crate) feeds: &'static [(&'static str, u64)],
    /// Rows that must be rejected, and no others.
    pub(crate) rejected: u64,
    /// Tables, and how many rows each must have.
    pub(crate) tables: &'static [(&'static str, i64)],
    /// References: table, column, the table it refers to.
    pub(crate) references: &'static [(&'static str, &'static str, &'static str)],
    /// Tables whose rows have an id of their own.
    pub(crate) numbered: &'static [&'static str],
    /// Other numbers that are known: a query, and its answer.
    pub(crate) numbers: &'static [(&'static str, i64)],
    /// The content, spelled out: one line of text for each row, with ids resolved to what they stand for.
    pub(crate) content: &'static [&'static str],
}

pub(crate) static OPENFLIGHTS: Set = Set {
    map: "openflights.toml",
    feeds: &[
        ("countries", 261),
        ("airports", 7_698),
        ("airlines", 6_162),
        ("planes", 246),
        ("routes", 67_663),
    ],
    // Planes without an IATA code.
    rejected: 12,
    tables: &[
        ("airport", 7_810),
        ("airline", 6_162),
        ("country", 354),
        ("plane", 272),
        ("route", 67_663),
        ("route_plane", 93_231),
    ],
    references: &[
        ("airport", "country_id", "country"),
        ("airline", "country_id", "country"),
        ("route", "airline_id", "airline"),
        ("route", "source_id", "airport"),
        ("route", "target_id", "airport"),
        ("route_plane", "route_id", "route"),
        ("route_plane", "plane_id", "plane"),
    ],
    numbered: &["airport", "airline", "country", "plane", "route"],
    numbers: &[
        // Created by reference: no file declares them.
        ("SELECT count(*) FROM airport WHERE name IS NULL", 112),
        ("SELECT count(*) FROM plane WHERE name IS NULL", 52),
        ("SELECT count(airline_id) FROM route", 67_184),
        (
            "SELECT count(source_id) + count(target_id) FROM route",
            134_885,
        ),
    ],
    content: &[
        "SELECT concat_ws('|', r.airline_code, r.source_code, r.target_code, l.code, s.code, t.code) FROM route r \
         LEFT JOIN airline l ON l.id = r.airline_id LEFT JOIN airport s ON s.id = r.source_id \
         LEFT JOIN airport t ON t.id = r.target_id",
        "SELECT concat_ws('|', a.code, a.name, a.city, a.iata, c.name) FROM airport a LEFT JOIN country c ON c.id = a.country_id",
        "SELECT concat_ws('|', r.airline_code, r.source_code, r.target_code, p.iata) FROM route_plane l \
         JOIN route r ON r.id = l.route_id JOIN plane p ON p.id = l.plane_id",
    ],
};

pub(crate) static INTERNATIONAL: Set = Set {
    map: "international.toml",
    feeds: &[("results", 49_520), ("goals", 47_914), ("shootouts", 683)],
    rejected: 0,
    tables: &[
        ("team", 337),
        ("tournament", 202),
        ("match", 49_520),
        ("scorer", 15_827),
        ("goal", 47_835),
    ],
    references: &[
        ("match", "home_id", "team"),
        ("match", "away_id", "team"),
        ("match", "tournament_id", "tournament"),
        ("match", "winner_id", "team"),
        ("match", "first_shooter_id", "team"),
        ("scorer", "team_id", "team"),
        ("goal", "match_id", "match"),
        ("goal", "team_id", "team"),
        ("goal", "scorer_id", "scorer"),
    ],
    numbered: &["team", "tournament", "match", "scorer"],
    numbers: &[
        // Stands in the shoot-outs alone.
        (
            "SELECT count(*) FROM \"match\" WHERE tournament_id IS NULL",
            1,
        ),
        ("SELECT count(winner_id) FROM \"match\"", 683),
        ("SELECT count(first_shooter_id) FROM \"match\"", 260),
    ],
    content: &[
        "SELECT concat_ws('|', m.date, h.name, a.name, m.home_score, m.away_score, t.name, m.city, m.country) \
         FROM \"match\" m JOIN team h ON h.id = m.home_id JOIN team a ON a.id = m.away_id \
         LEFT JOIN tournament t ON t.id = m.tournament_id",
        "SELECT concat_ws('|', m.date, h.name, t.name, s.name, g.minute) FROM goal g JOIN \"match\" m ON m.id = g.match_id \
         JOIN team h ON h.id = m.home_id JOIN team t ON t.id = g.team_id LEFT JOIN scorer s ON s.id = g.scorer_id",
    ],
};

pub(crate) static FOOTBALL: Set = Set {
    map: "football.toml",
    feeds: &[("old", 2_793), ("new", 6_080)],
    rejected: 0,
    tables: &[("club", 41), ("match", 6_080), ("club_alias", 69)],
    references: &[
        ("match", "home_id", "club"),
        ("match", "away_id", "club"),
        ("club_alias", "club_id", "club"),
    ],
    numbered: &["club", "match"],
    numbers: &[],
    content: &[
        "SELECT concat_ws('|', m.season, h.name, a.name, m.date) FROM \"match\" m \
         JOIN club h ON h.id = m.home_id JOIN club a ON a.id = m.away_id",
    ],
};

pub(crate) static F1: Set = Set {
    map: "f1.toml",
    feeds: &[
        ("continents", 7),
        ("countries", 249),
        ("drivers", 917),
        ("constructors", 187),
        ("engine_manufacturers", 78),
        ("tyre_manufacturers", 9),
        ("engines", 424),
        ("chassis", 1_153),
        ("circuits", 78),
        ("grands_prix", 54),
        ("races", 1_172),
        ("race_results", 27_533),
        ("entrants", 830),
        ("season_entrants", 1_799),
    ],
    rejected: 0,
    tables: &[
        ("driver", 917),
        ("constructor", 187),
        ("chassis", 1_153),
        ("race_result", 27_533),
        ("circuit", 78),
        ("country", 249),
        ("continent", 7),
        ("grand_prix", 54),
        ("engine_manufacturer", 78),
        ("tyre_manufacturer", 9),
        ("engine", 424),
        ("entrant", 830),
        ("race", 1_172),
        ("driver_family", 86),
    ],
    references: &[
        ("country", "continent_id", "continent"),
        ("driver", "nationality_id", "country"),
        ("driver_family", "driver_id", "driver"),
        ("driver_family", "relative_id", "driver"),
        ("constructor", "country_id", "country"),
        ("chassis", "constructor_id", "constructor"),
        ("engine", "manufacturer_id", "engine_manufacturer"),
        ("circuit", "country_id", "country"),
        ("race", "circuit_id", "circuit"),
        ("race", "grand_prix_id", "grand_prix"),
        ("race_result", "race_id", "race"),
        ("race_result", "driver_id", "driver"),
        ("race_result", "constructor_id", "constructor"),
        (
            "race_result",
            "engine_manufacturer_id",
            "engine_manufacturer",
        ),
        ("race_result", "tyre_manufacturer_id", "tyre_manufacturer"),
    ],
    numbered: &[
        "driver",
        "constructor",
        "chassis",
        "circuit",
        "country",
        "race",
        "engine",
        "entrant",
    ],
    numbers: &[
        // Every stub is completed, in whatever order the feeds stand.
        (
            "SELECT count(*) FROM driver WHERE name IS NULL OR born IS NULL",
            0,
        ),
        ("SELECT count(*) FROM constructor WHERE name IS NULL", 0),
        ("SELECT count(driver_id) FROM race_result", 27_533),
        (
            "SELECT count(*) FROM (SELECT DISTINCT race_id, driver_id FROM race_result) t",
            27_438,
        ),
        ("SELECT count(DISTINCT race_id) FROM race_result", 1_160),
    ],
    content: &[
        "SELECT concat_ws('|', ra.year, ra.round, d.code, r.driver_number, c.code, r.position, r.laps) FROM race_result r \
         JOIN race ra ON ra.id = r.race_id JOIN driver d ON d.id = r.driver_id \
         LEFT JOIN constructor c ON c.id = r.constructor_id",
        "SELECT concat_ws('|', d.code, d.name, d.born, n.code) FROM driver d LEFT JOIN country n ON n.id = d.nationality_id",
        "SELECT concat_ws('|', d.code, r.code, f.relation) FROM driver_family f \
         JOIN driver d ON d.id = f.driver_id JOIN driver r ON r.id = f.relative_id",
    ],
};
