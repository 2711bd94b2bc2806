//! A league: rows of facts with three references each, and the map that merges them.

use super::random::{Keys, scrambled};
use std::io::{self, Write};

/// What the rows of a league look like: a provider's ids and names for player, team and season, and what happened.
///
/// # Examples
/// ```
/// use oneflight_lab::feed::League;
///
/// let mut csv = Vec::new();
/// League::new(1_000, 7).write(&mut csv)?;
/// assert_eq!(csv.iter().filter(|&&byte| byte == b'\n').count(), 1_001); // a header, and the rows
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct League {
    /// How many rows there are.
    pub rows: u32,
    /// Players.
    pub players: u32,
    /// Teams.
    pub teams: u32,
    /// Seasons.
    pub seasons: u32,
    /// Another seed, another league of the same size.
    pub seed: u64,
}

impl League {
    /// The file that the map reads.
    pub const FILE: &'static str = "appearances.csv";

    /// The map that merges the rows: each reference is known by the provider's id, and else by the slug of its name.
    pub const MAP: &'static str = r#"
[table.player]
key = "name"
fold = "slug"
crosswalk = true
columns = { name = "text" }

[table.team]
key = "name"
fold = "slug"
crosswalk = true
columns = { name = "text" }

[table.season]
key = "name"
fold = "slug"
crosswalk = true
columns = { name = "text" }

[table.appearance]
key = "number"
columns = { number = "integer", player = "ref player", team = "ref team", season = "ref season", date = "date", minutes = "integer", goals = "integer" }

[feed.appearances]
source = "lab"
path = "appearances.csv"

[feed.appearances.into.appearance]
number = "number"
player = { external_id = "player_id", name = "player" }
team = { external_id = "team_id", name = "team" }
season = { external_id = "season_id", name = "season" }
date = "date"
minutes = "minutes"
goals = "goals"
"#;

    /// A league of so many rows: 2,000 players, 500 teams and 10 seasons, or fewer if there are fewer rows.
    #[must_use]
    pub fn new(rows: u32, seed: u64) -> Self {
        Self {
            rows,
            players: rows.min(2_000),
            teams: rows.min(500),
            seasons: rows.min(10),
            seed,
        }
    }

    /// How many players, teams and seasons there are.
    #[must_use]
    pub fn entities(&self) -> u32 {
        self.players + self.teams + self.seasons
    }

    /// The rows, the same for every call.
    pub fn iter(&self) -> impl Iterator<Item = Row> + use<> {
        let rows = self.rows as usize;
        let draw = |keys, salt| Keys::new(keys, self.seed ^ salt).draw(rows).into_iter();
        let (players, teams, seasons) = (
            draw(self.players, 1),
            draw(self.teams, 2),
            draw(self.seasons, 3),
        );
        let keys = players.zip(teams).zip(seasons);
        (0..self.rows)
            .zip(keys)
            .map(|(number, ((player, team), season))| Row::new(number, [player, team, season]))
    }

    /// Writes the feed as CSV.
    ///
    /// # Errors
    /// `to` cannot be written to.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        writeln!(
            to,
            "number,player_id,player,team_id,team,season_id,season,date,minutes,goals"
        )?;
        for row in self.iter() {
            let ([player_id, team_id, season_id], [player, team, season]) =
                (row.external_ids(), row.names());
            writeln!(
                to,
                "{},{player_id},{player},{team_id},{team},{season_id},{season},{},{},{}",
                row.number, row.date, row.minutes, row.goals,
            )?;
        }
        to.flush()
    }
}

/// A row of a league: an appearance of a player for a team in a season.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// Its number, from 0.
    pub number: u32,
    /// Player, team and season.
    pub keys: [u32; 3],
    /// The day, `2020-02-28`.
    pub date: String,
    /// Minutes played.
    pub minutes: u32,
    /// Goals.
    pub goals: u32,
}

impl Row {
    fn new(number: u32, keys: [u32; 3]) -> Self {
        let (year, month, day) = (2_015 + keys[2], 1 + number % 12, 1 + number % 28);
        Self {
            number,
            keys,
            date: format!("{year}-{month:02}-{day:02}"),
            minutes: number % 91,
            goals: number % 5 / 4,
        }
    }

    /// The ids that the provider has for player, team and season.
    #[must_use]
    pub fn external_ids(&self) -> [String; 3] {
        self.keys.map(|key| scrambled(key).to_string())
    }

    /// Their names.
    #[must_use]
    pub fn names(&self) -> [String; 3] {
        let [player, team, season] = self.keys;
        let year = 2_015 + season;
        [
            format!("Player {:08}", scrambled(player)),
            format!("Team {:08}", scrambled(team)),
            format!("{year}/{}", year + 1),
        ]
    }
}
