//! The league as two providers write it down, with everything that goes wrong in real feeds.
//!
//!   almanac/clubs.csv                  its ids and names
//!   almanac/results-SEASON.csv         a row a match: clubs in many spellings, some without an id, repeated rows, broken rows
//!   courier/clubs.ndjson               other ids
//!   courier/SEASON.json                rounds, matches and goals, nested; short names; a club that was renamed
//!   courier/players.ndjson             players, who have been named by goals before
//!   aliases.csv                        which short name is which club
//!   league.toml                        the map
//!
//! D1. [`Truth`] is counted while the files are written, not read back from a database: what the merge says is compared with it.

use super::league::{Club, Dice, League, Match, SEASONS};
use serde_json::json;
use std::collections::HashSet;

/// The map, which stands beside the files so that it can be edited.
const MAP: &str = include_str!("league.toml");

/// A club that nobody has ever heard of: only a broken row names it, so that it must not come into being.
pub(super) const PHANTOM: &str = "Phantom Town";

/// A ground that is spelled without its accent in the last season. Accents tell names apart, so it becomes a ground of its own,
/// and the audit asks about it.
const LOOK_ALIKE: (&str, &str) = ("Estádio do Sol", "Estadio do Sol");

/// The club that a sponsor renames in the last season; only the courier's id tells that it is the same.
const RENAMED: (&str, &str) = ("Kingsmere Albion", "Quickloan Albion");

/// The files, and what they come to.
#[derive(Debug)]
pub(super) struct Files {
    /// Path within the folder, and content.
    pub(super) files: Vec<(String, String)>,
    /// What a merge must make of them.
    pub(super) truth: Truth,
}

/// What a merge must come to (D1).
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Truth {
    /// Rows in all feeds.
    pub(super) rows: u64,
    /// How many ways there are in which the clubs are written.
    pub(super) spellings: u64,
    /// Rows that stand there twice.
    pub(super) repeated: u64,
    /// Values in which the providers differ.
    pub(super) conflicts: u64,
    /// Rows in each table.
    pub(super) tables: Vec<(&'static str, u64)>,
    /// The broken rows: file and line.
    pub(super) rejects: Vec<(String, u64)>,
}

impl Truth {
    /// How many rows this table must have.
    pub(super) fn table(&self, name: &str) -> u64 {
        self.tables
            .iter()
            .find(|table| table.0 == name)
            .map_or(0, |table| table.1)
    }
}

/// Writes the files.
pub(super) fn files() -> Files {
    let dice = &mut Dice::new(2_024);
    let league = League::new(dice);
    let mut writer = Writer {
        league: &league,
        dice,
        spellings: HashSet::new(),
        truth: Truth::default(),
    };
    let mut files = vec![
        ("league.toml".to_owned(), MAP.to_owned()),
        ("aliases.csv".to_owned(), aliases(&league)),
        ("almanac/clubs.csv".to_owned(), writer.almanac_clubs()),
        ("courier/clubs.ndjson".to_owned(), writer.courier_clubs()),
    ];
    for (season, written) in SEASONS.iter().enumerate() {
        let name = format!("almanac/results-{written}.csv");
        let text = writer.results(season, &name);
        files.push((name, text));
    }
    let mut goals = 0;
    for (season, written) in SEASONS.iter().enumerate() {
        let name = format!("courier/{written}.json");
        let text = writer.scores(season, &name, &mut goals);
        files.push((name, text));
    }
    let name = "courier/players.ndjson";
    files.push((name.to_owned(), writer.players(name)));
    let mut truth = writer.truth;
    truth.spellings = writer.spellings.len() as u64;
    truth.tables = vec![
        ("season", SEASONS.len() as u64),
        ("club", league.clubs.len() as u64),
        ("ground", league.clubs.len() as u64 + 1),
        ("player", league.players.len() as u64),
        ("match", league.matches.len() as u64),
        ("goal", goals),
    ];
    Files { files, truth }
}

fn aliases(league: &League) -> String {
    let mut text = String::from("alias,club\n");
    for club in &league.clubs {
        text.push_str(&format!("{},{}\n", club.short, club.name));
    }
    text
}

/// What is needed to write, and what is counted on the way.
struct Writer<'l> {
    league: &'l League,
    dice: &'l mut Dice,
    spellings: HashSet<String>,
    truth: Truth,
}

impl Writer<'_> {
    fn almanac_clubs(&mut self) -> String {
        let mut text = String::from("id,name,founded\n");
        for (at, club) in self.league.clubs.iter().enumerate() {
            text.push_str(&format!(
                "{},{},{}\n",
                almanac_id(at),
                club.name,
                club.founded
            ));
            self.spellings.insert(club.name.to_owned());
            self.truth.rows += 1;
        }
        text
    }

    fn courier_clubs(&mut self) -> String {
        let mut text = String::new();
        for (at, club) in self.league.clubs.iter().enumerate() {
            let name = self.spell(club);
            text.push_str(&format!(
                "{{\"id\":{},\"name\":{}}}\n",
                courier_id(at),
                json!(name)
            ));
            self.truth.rows += 1;
        }
        text
    }

    /// The almanac's results of a season.
    fn results(&mut self, season: usize, file: &str) -> String {
        let mut lines =
            vec!["date,home_id,home,away_id,away,ground,home_goals,away_goals".to_owned()];
        let matches = self
            .league
            .matches
            .iter()
            .filter(|game| game.season == season);
        for (at, game) in matches.enumerate() {
            let (home, away) = game.score();
            let row = |date: &str, home_side: &str, away_side: &str, home_goals: &str| {
                let ground = ground(game, &self.league.clubs);
                format!("{date},{home_side},{away_side},{ground},{home_goals},{away}")
            };
            let (home_side, away_side) = (self.side(game.home), self.side(game.away));
            let good = row(&game.date, &home_side, &away_side, &home.to_string());
            let broken = match (season, at) {
                (0, 57) => Some(row("2023-02-30", &home_side, &away_side, &home.to_string())),
                (0, 200) => Some(row(&game.date, &format!(",{PHANTOM}"), &away_side, "two")),
                (1, 101) => Some(good.split(',').take(4).collect::<Vec<_>>().join(",")),
                (1, 320) => Some(row(&game.date, ",", &away_side, &home.to_string())),
                _ => None,
            };
            if broken.is_some() {
                self.truth
                    .rejects
                    .push((file.to_owned(), lines.len() as u64 + 1));
            } else if at % 50 == 49 {
                // Somebody pasted this row twice.
                lines.push(good.clone());
                self.truth.repeated += 1;
            }
            lines.push(broken.unwrap_or(good));
        }
        self.truth.rows += lines.len() as u64 - 1;
        lines.join("\n") + "\n"
    }

    /// `id,name` of a club in the almanac; now and then the id is missing.
    fn side(&mut self, at: usize) -> String {
        let name = self.spell(&self.league.clubs[at]);
        if self.dice.below(10) == 0 {
            format!(",{name}")
        } else {
            format!("{},{name}", almanac_id(at))
        }
    }

    /// The courier's season: rounds, and in them matches, and in them goals.
    fn scores(&mut self, season: usize, file: &str, goals: &mut u64) -> String {
        let mut text = format!(
            "{{\"league\":\"Premier Invention\",\"season\":\"{}\",\"rounds\":[\n",
            SEASONS[season]
        );
        let mut line = 2;
        let matches: Vec<&Match> = self
            .league
            .matches
            .iter()
            .filter(|game| game.season == season)
            .collect();
        for (index, round) in matches.chunk_by(|a, b| a.round == b.round).enumerate() {
            text.push_str(&format!(
                "{}{{\"round\":{},\"matches\":[\n",
                if index == 0 { "" } else { "," },
                index + 1
            ));
            line += 1;
            for (at, game) in round.iter().enumerate() {
                // One minute of the second season is written in words, and its match is broken by that.
                let broken =
                    season == 1 && !game.goals.is_empty() && index >= 20 && !self.has_reject(file);
                if broken {
                    self.truth.rejects.push((file.to_owned(), line));
                } else {
                    *goals += game.goals.len() as u64;
                }
                let row = self.game(game, broken);
                text.push_str(&format!("{}{row}\n", if at == 0 { "" } else { "," }));
                line += 1;
                self.truth.rows += 1;
            }
            text.push_str("]}\n");
            line += 1;
        }
        text + "]}\n"
    }

    fn has_reject(&self, file: &str) -> bool {
        self.truth.rejects.iter().any(|reject| reject.0 == file)
    }

    /// A match as the courier writes it.
    fn game(&mut self, game: &Match, broken: bool) -> String {
        let (mut home, away) = game.score();
        // The reporters do not always agree about the score.
        if game.season == 2 && game.round.is_multiple_of(13) && game.home == 4 + game.round / 13 {
            home += 1;
            self.truth.conflicts += 1;
        }
        let goals = game.goals.iter().enumerate().map(|(at, goal)| {
            let minute = if broken && at == 0 {
                json!("ninety")
            } else {
                json!(goal.minute)
            };
            let (id, name) = (
                player_id(goal.player),
                json!(self.league.players[goal.player].name),
            );
            format!(
                "{{\"minute\":{minute},\"player\":{{\"id\":{id},\"name\":{name}}},\"penalty\":{}}}",
                goal.penalty
            )
        });
        let goals = goals.collect::<Vec<_>>().join(",");
        let (home_side, away_side) = (self.club(game, game.home), self.club(game, game.away));
        let score = format!("{{\"home\":{home},\"away\":{away}}}");
        let date = &game.date;
        format!(
            "{{\"date\":\"{date}\",\"home\":{home_side},\"away\":{away_side},\"score\":{score},\"goals\":[{goals}]}}"
        )
    }

    /// A club as the courier writes it: by a short name now and then, and without an id now and then.
    fn club(&mut self, game: &Match, at: usize) -> String {
        let club = &self.league.clubs[at];
        let renamed = game.season == SEASONS.len() - 1 && club.name == RENAMED.0;
        let name = match self.dice.below(4) {
            _ if renamed => RENAMED.1.to_owned(),
            0 => club.short.to_owned(),
            _ => self.spell(club),
        };
        // Under its new name nobody would know the club, were it not for its id.
        let id = if !renamed && self.dice.below(10) == 0 {
            json!(null)
        } else {
            json!(courier_id(at))
        };
        let text = format!("{{\"id\":{id},\"name\":{}}}", json!(name));
        self.spellings.insert(name);
        text
    }

    fn players(&mut self, file: &str) -> String {
        let mut lines = Vec::new();
        for (at, player) in self.league.players.iter().enumerate() {
            let (club, club_name) = (
                courier_id(player.club),
                json!(self.league.clubs[player.club].name),
            );
            let row = |id: usize, name: &str, born: &str| {
                let (name, club) = (
                    json!(name),
                    format!("{{\"id\":{club},\"name\":{club_name}}}"),
                );
                format!("{{\"id\":{id},\"name\":{name},\"born\":\"{born}\",\"club\":{club}}}")
            };
            let broken = match at {
                123 => Some(
                    row(9_998, "Torn Inhalf", "1999-01-13")
                        .trim_end_matches('}')
                        .to_owned(),
                ),
                400 => Some(row(9_999, "Nobody Atall", "1999-13-01")),
                _ => None,
            };
            let row = row(player_id(at), &player.name, &player.born);
            if let Some(broken) = broken {
                lines.push(broken);
                self.truth
                    .rejects
                    .push((file.to_owned(), lines.len() as u64));
            }
            lines.push(row);
        }
        self.truth.rows += lines.len() as u64;
        lines.join("\n") + "\n"
    }

    /// One of the ways to write a club, all of which are one name to the full fold.
    fn spell(&mut self, club: &Club) -> String {
        let name = club.name;
        let spelled = match self.dice.below(16) {
            0 => name.to_uppercase(),
            1 => name.to_lowercase(),
            2 => name.replace(' ', "  "),
            3 => format!("{name} "),
            4 => format!(" {name}"),
            5 => format!("{name}\u{a0}"),
            6 => decomposed(name),
            _ => name.to_owned(),
        };
        self.spellings.insert(spelled.clone());
        spelled
    }
}

/// The ground of a match as the almanac writes it.
fn ground(game: &Match, clubs: &[Club]) -> &'static str {
    match clubs[game.home].ground {
        ground if ground == LOOK_ALIKE.0 && game.season == SEASONS.len() - 1 => LOOK_ALIKE.1,
        ground => ground,
    }
}

/// The same text with its accents as characters of their own, as some systems write it.
fn decomposed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'å' => out.push_str("a\u{30a}"),
            'ã' => out.push_str("a\u{303}"),
            'à' => out.push_str("a\u{300}"),
            'á' => out.push_str("a\u{301}"),
            'ö' => out.push_str("o\u{308}"),
            'ą' => out.push_str("a\u{328}"),
            c => out.push(c),
        }
    }
    out
}

fn almanac_id(club: usize) -> String {
    format!("A{:02}", club + 1)
}

fn courier_id(club: usize) -> usize {
    // Not in the almanac's order: the numbers of two providers have nothing to do with each other.
    101 + (club * 7) % 20
}

fn player_id(player: usize) -> usize {
    2_000 + player
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_have_what_goes_wrong_in_real_feeds() {
        let Files { files, truth } = files();
        assert_eq!(files.len(), 11);
        assert_eq!(truth.rejects.len(), 7);
        assert_eq!(
            (truth.conflicts, truth.table("club"), truth.table("match")),
            (2, 20, 1_140)
        );
        assert!(truth.spellings > 100 && truth.repeated > 10, "{truth:?}");
        assert!(truth.rows > 2_800, "{truth:?}");
    }

    #[test]
    fn a_broken_row_stands_on_the_line_that_is_expected_to_be_rejected() {
        let Files { files, truth } = files();
        let marks = ["2023-02-30", PHANTOM, "ninety", "1999-13-01", ",,"];
        for (file, line) in &truth.rejects {
            let text = &files.iter().find(|other| &other.0 == file).unwrap().1;
            let row = text.lines().nth(*line as usize - 1).unwrap();
            let torn = row.split(',').count() == 4
                || serde_json::from_str::<serde_json::Value>(row).is_err();
            assert!(
                torn || marks.iter().any(|mark| row.contains(mark)),
                "{file}:{line}: {row}"
            );
        }
    }
}
