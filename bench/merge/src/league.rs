//! The generated league: a CSV file of appearances, its mapping, and what a database must hold when it is merged.
//!
//!   seed, rows ──▶ league.csv, league.toml      and, counted on the way ──▶ Expected
//!
//! L1. The same rows for the same numbers, on every machine.
//! L2. Every player comes once before any comes twice, and every club: the number of keys does not depend on luck.
//! L3. A row is made, counted and written; nothing of it is kept.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// The most players that a league has.
pub(crate) const PLAYERS: u64 = 200_000;
/// Rows for each player, at the least.
const APPEARANCES: u64 = 10;
const CLUBS: u64 = 2_000;
const VENUES: u64 = 500;
const SEASONS: u64 = 40;
/// Sums over references are weighted with the row, so that two that are swapped are seen.
pub(crate) const WEIGHT: u64 = 1_009;

const MAP: &str = include_str!("../hand/league.toml");
const HEAD: &str = "row,player,player_name,club,venue,season,date,minutes,goals\n";
const FIRST: [&str; 10] = [
    "Adam", "Björn", "Carlos", "Daniel", "Émile", "Fabio", "Georg", "Henrik", "Ivan", "João",
];
const LAST: [&str; 8] = [
    "Almeida",
    "Bergström",
    "Costa",
    "Doyle",
    "Eriksen",
    "Fischer",
    "García",
    "Hughes",
];

/// A league on disk. Its folder goes with it.
#[derive(Debug)]
pub(crate) struct League {
    folder: PathBuf,
    pub(crate) rows: u64,
    pub(crate) expected: Expected,
}

/// What a database must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Expected {
    pub(crate) rows: u64,
    pub(crate) players: u64,
    pub(crate) clubs: u64,
    pub(crate) venues: u64,
    pub(crate) seasons: u64,
    pub(crate) minutes: u64,
    pub(crate) goals: u64,
    /// Characters of the names of all players.
    pub(crate) names: u64,
    /// For player, club, venue and season: the sum of (row modulo [`WEIGHT`]) × number of what it refers to.
    pub(crate) links: [u64; 4],
}

impl Expected {
    /// Distinct keys that rows refer to.
    pub(crate) fn keys(&self) -> u64 {
        self.players + self.clubs + self.venues + self.seasons
    }
}

impl League {
    /// Writes a league of so many rows below `work`: ten or more to a player, and not more than [`PLAYERS`].
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn generate(work: &Path, rows: u64) -> Result<Self, String> {
        Self::of(work, rows, PLAYERS.min(rows.div_ceil(APPEARANCES)))
    }

    /// Writes a league in which each row has a player of its own: entities cost as much as facts there.
    ///
    /// # Errors
    /// As [`League::generate`].
    pub(crate) fn of_strangers(work: &Path, rows: u64) -> Result<Self, String> {
        Self::of(work, rows, rows)
    }

    /// The same league with more rows over the same keys.
    ///
    /// # Errors
    /// As [`League::generate`].
    pub(crate) fn longer(&self, work: &Path, rows: u64) -> Result<Self, String> {
        let longer = Self::of(work, rows, self.expected.players)?;
        if longer.expected.keys() != self.expected.keys() {
            return Err(format!("{rows} rows have not the keys of {}", self.rows));
        }
        Ok(longer)
    }

    fn of(work: &Path, rows: u64, players: u64) -> Result<Self, String> {
        let folder = work.join(format!("league-{rows}"));
        let written = write(&folder, rows, players);
        let expected = written.map_err(|why| format!("{}: {why}", folder.display()))?;
        Ok(Self {
            folder,
            rows,
            expected,
        })
    }

    pub(crate) fn feed(&self) -> PathBuf {
        self.folder.join("league.csv")
    }

    pub(crate) fn map(&self) -> PathBuf {
        self.folder.join("league.toml")
    }
}

impl Drop for League {
    fn drop(&mut self) {
        if let Err(why) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("bench-merge: {} stays: {why}", self.folder.display());
        }
    }
}

fn write(folder: &Path, rows: u64, players: u64) -> io::Result<Expected> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("league.toml"), MAP)?;
    let mut feed = BufWriter::with_capacity(1 << 20, File::create(folder.join("league.csv"))?);
    feed.write_all(HEAD.as_bytes())?;
    let mut random = SmallRng::seed_from_u64(7);
    let mut seen = Seen::default();
    let mut expected = Expected::default();
    for number in 1..=rows {
        let row = Row::of(number, rows, players, &mut random);
        row.count(&mut expected, &mut seen);
        row.write(&mut feed)?;
    }
    feed.flush()?;
    Ok(expected)
}

/// Numbers of players, clubs, venues and seasons that have come.
type Seen = [HashSet<u64>; 4];

struct Row {
    number: u64,
    player: u64,
    club: u64,
    year: u64,
    minutes: u64,
    goals: u64,
}

impl Row {
    fn of(number: u64, rows: u64, players: u64, random: &mut SmallRng) -> Self {
        let mut draw = |of: u64| match number <= of {
            true => number - 1,
            false => random.random_range(0..of),
        };
        Self {
            number,
            player: draw(players),
            club: draw(CLUBS),
            year: 1980 + number * SEASONS / (rows + 1),
            minutes: random.random_range(0..=90),
            goals: if number.is_multiple_of(7) {
                number % 4
            } else {
                0
            },
        }
    }

    fn venue(&self) -> u64 {
        self.club % VENUES
    }

    fn name(&self) -> [&'static str; 2] {
        let at = (self.player % 80) as usize;
        [FIRST[at / LAST.len()], LAST[at % LAST.len()]]
    }

    fn write(&self, feed: &mut impl io::Write) -> io::Result<()> {
        let Self {
            number,
            player,
            club,
            year,
            minutes,
            goals,
        } = self;
        let ([first, last], venue) = (self.name(), self.venue());
        let (next, month, day) = ((year + 1) % 100, 1 + number % 12, 1 + number % 28);
        writeln!(
            feed,
            "{number},P{player:07},{first} {last} {player},Club {club:04} FC,Venue {venue:03},{year}-{next:02},\
             {year}-{month:02}-{day:02},{minutes},{goals}"
        )
    }

    fn count(&self, expected: &mut Expected, seen: &mut Seen) {
        expected.rows += 1;
        expected.minutes += self.minutes;
        expected.goals += self.goals;
        let numbers = [self.player, self.club, self.venue(), self.year];
        for (sum, number) in expected.links.iter_mut().zip(numbers) {
            *sum += self.number % WEIGHT * number;
        }
        let [player, club, venue, season] = [0, 1, 2, 3].map(|at| seen[at].insert(numbers[at]));
        expected.players += u64::from(player);
        expected.clubs += u64::from(club);
        expected.venues += u64::from(venue);
        expected.seasons += u64::from(season);
        if player {
            let [first, last] = self.name();
            let name = format!("{first} {last} {}", self.player);
            expected.names += name.chars().count() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_player_comes_once_before_any_comes_twice() {
        let mut random = SmallRng::seed_from_u64(1);
        let rows = PLAYERS + 1_000;
        let players: Seen = Seen::default();
        let [mut players, ..] = players;
        let fresh = (1..=PLAYERS).all(|number| {
            let row = Row::of(number, rows, PLAYERS, &mut random);
            players.insert(row.player)
        });
        assert!(fresh);
        assert!(!players.insert(Row::of(rows, rows, PLAYERS, &mut random).player));
    }

    #[test]
    fn what_is_written_is_what_is_counted() {
        let work = std::env::temp_dir().join(format!("bench-merge-{}", std::process::id()));
        let league = League::generate(&work, 500).unwrap();
        let text = std::fs::read_to_string(league.feed()).unwrap();
        let minutes = text.lines().skip(1).map(|line| {
            let cell = line.split(',').nth(7).unwrap();
            cell.parse::<u64>().unwrap()
        });
        assert_eq!(text.lines().count(), 501);
        assert_eq!(minutes.sum::<u64>(), league.expected.minutes);
        assert_eq!((league.expected.rows, league.expected.players), (500, 50));
        drop(league);
        std::fs::remove_dir(work).unwrap();
    }
}
