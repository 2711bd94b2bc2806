//! A league that never was: who plays whom, and who scores. Made up, and always the same.
//!
//!   Dice (a fixed seed) ──▶ Club, Player, Match ──▶ `files` writes them down as two providers would
//!
//! L1. The same program makes the same league, byte for byte: nothing is taken from the clock or the system.

/// The seasons, as both providers name them.
pub(super) const SEASONS: [&str; 3] = ["2022-23", "2023-24", "2024-25"];

/// Players of each club.
const SQUAD: usize = 25;

/// Name, short name as some reporters write it, ground, year of foundation.
const CLUBS: [(&str, &str, &str, u16); 20] = [
    ("Ashford Rovers", "Ashford", "Mill Lane", 1887),
    ("Blåvik IF", "Blåvik", "Fjordvallen", 1911),
    (
        "Castel Verde Calcio",
        "C. Verde",
        "Stadio delle Palme",
        1923,
    ),
    ("Dunmore Athletic", "Dunmore Ath", "The Quarry", 1894),
    ("Eskilby SK", "Eskilby", "Åparken", 1906),
    ("Ferrybridge Town", "Ferrybridge", "Station Road", 1899),
    ("Großenbach 04", "Großenbach", "Stadion am Bach", 1904),
    ("Harbour City United", "Harbour Utd", "Dockside", 1902),
    ("Isla Blanca CF", "Isla Blanca", "Campo Nuevo", 1931),
    ("Jökulsá FC", "Jökulsá", "Norðurvöllur", 1948),
    ("Kingsmere Albion", "Kingsmere", "Albion Park", 1882),
    ("Lac Noir Olympique", "Olympique", "Stade du Lac", 1919),
    ("Marlow Vale Wanderers", "Marlow W.", "Vale Road", 1890),
    ("Nowa Łąka", "N. Łąka", "Stadion Miejski", 1937),
    ("Oldcastle City", "Oldcastle", "Castle Ground", 1885),
    ("Pont-à-Bray", "Pont", "Stade de la Gare", 1926),
    ("Queensmouth Rangers", "Queensmouth", "Lighthouse End", 1879),
    ("Rosenthal SV", "Rosenthal", "Waldstadion", 1909),
    ("São Bento Futebol", "S. Bento", "Estádio do Sol", 1914),
    ("Thornbury County", "Thornbury", "Hill View", 1897),
];

const FIRST: [&str; 24] = [
    "Adam", "Björn", "Carlos", "Daniel", "Émile", "Fabio", "Georg", "Henrik", "Ivan", "João",
    "Kasper", "Luca", "Mateusz", "Niall", "Oscar", "Paulo", "Quentin", "Ruben", "Søren", "Tomás",
    "Umberto", "Viktor", "William", "Yannick",
];

const LAST: [&str; 24] = [
    "Almeida",
    "Bergström",
    "Costa",
    "Doyle",
    "Eriksen",
    "Fischer",
    "García",
    "Hughes",
    "Ivarsson",
    "Jensen",
    "Kowalski",
    "Lefèvre",
    "Müller",
    "Nowak",
    "O'Brien",
    "Pereira",
    "Quinn",
    "Rossi",
    "Silva",
    "Tóth",
    "Ueda",
    "Vidal",
    "Weiß",
    "Zanetti",
];

/// A club.
#[derive(Debug)]
pub(super) struct Club {
    pub(super) name: &'static str,
    pub(super) short: &'static str,
    pub(super) ground: &'static str,
    pub(super) founded: u16,
}

/// A player.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) name: String,
    pub(super) born: String,
    /// Index of the club.
    pub(super) club: usize,
}

/// A match.
#[derive(Debug)]
pub(super) struct Match {
    /// Index of the season.
    pub(super) season: usize,
    /// The round, from 1.
    pub(super) round: usize,
    pub(super) date: String,
    /// Indexes of the clubs.
    pub(super) home: usize,
    pub(super) away: usize,
    pub(super) goals: Vec<Goal>,
}

/// A goal.
#[derive(Debug)]
pub(super) struct Goal {
    /// Index of the player.
    pub(super) player: usize,
    pub(super) minute: u64,
    pub(super) penalty: bool,
    /// True if it counts for the home side.
    pub(super) home: bool,
}

impl Match {
    /// Goals of the home side and of the away side.
    pub(super) fn score(&self) -> (usize, usize) {
        let home = self.goals.iter().filter(|goal| goal.home).count();
        (home, self.goals.len() - home)
    }
}

/// The whole league.
#[derive(Debug)]
pub(super) struct League {
    pub(super) clubs: Vec<Club>,
    pub(super) players: Vec<Player>,
    /// In the order of season and round.
    pub(super) matches: Vec<Match>,
}

impl League {
    /// Makes it up.
    pub(super) fn new(dice: &mut Dice) -> Self {
        let club = |(name, short, ground, founded)| Club {
            name,
            short,
            ground,
            founded,
        };
        let clubs: Vec<Club> = CLUBS.into_iter().map(club).collect();
        let players = (0..clubs.len() * SQUAD)
            .map(|at| player(at / SQUAD, dice))
            .collect();
        let mut matches = Vec::new();
        for season in 0..SEASONS.len() {
            for (round, home, away) in fixtures(clubs.len()) {
                let day = first_day(season) + 7 * (round as i64 - 1) + dice.below(2) as i64;
                let goals = goals(home, away, dice);
                matches.push(Match {
                    season,
                    round,
                    date: iso(day),
                    home,
                    away,
                    goals,
                });
            }
        }
        Self {
            clubs,
            players,
            matches,
        }
    }
}

fn player(club: usize, dice: &mut Dice) -> Player {
    let name = format!("{} {}", dice.pick(&FIRST), dice.pick(&LAST));
    // Born between 1986 and 2004.
    Player {
        name,
        born: iso(5_844 + dice.below(6_900) as i64),
        club,
    }
}

/// Everyone against everyone, at home and away: (round, home, away), by the circle method.
fn fixtures(clubs: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let rounds = clubs - 1;
    (0..2 * rounds).flat_map(move |round| {
        let turn = round % rounds;
        (0..clubs / 2).map(move |pair| {
            let seat = |at: usize| {
                if at == 0 {
                    0
                } else {
                    1 + (at - 1 + turn) % rounds
                }
            };
            let (a, b) = (seat(pair), seat(clubs - 1 - pair));
            let swap = (pair + turn + usize::from(round >= rounds)) % 2 == 1;
            if swap {
                (round + 1, b, a)
            } else {
                (round + 1, a, b)
            }
        })
    })
}

/// The goals of a match, by the minute; no player scores twice in a minute.
fn goals(home: usize, away: usize, dice: &mut Dice) -> Vec<Goal> {
    let mut goals: Vec<Goal> = Vec::new();
    for _ in 0..dice.below(4) + dice.below(3) {
        let at_home = dice.below(100) < 56;
        let player = if at_home { home } else { away } * SQUAD + dice.below(SQUAD as u64) as usize;
        let goal = Goal {
            player,
            minute: 1 + dice.below(90),
            penalty: dice.below(12) == 0,
            home: at_home,
        };
        if !goals
            .iter()
            .any(|other| (other.player, other.minute) == (goal.player, goal.minute))
        {
            goals.push(goal);
        }
    }
    goals.sort_by_key(|goal| (goal.minute, goal.player));
    goals
}

/// The first day of a season, a Saturday in August, in days since 1970.
fn first_day(season: usize) -> i64 {
    // 2022-08-06, 2023-08-05, 2024-08-03.
    [19_210, 19_574, 19_938][season]
}

/// A day as text.
fn iso(days: i64) -> String {
    // The civil calendar, counted from 1 March 0000 in eras of 400 years.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// SplitMix64: small, and the same on every machine and with every version of every library (L1).
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// Dice that fall the same way every time.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `n`, which is not 0.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    /// One of these.
    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn everyone_plays_everyone_at_home_and_away() {
        let pairs: HashSet<_> = fixtures(20).map(|(_, home, away)| (home, away)).collect();
        assert_eq!(pairs.len(), 380);
        assert!(pairs.iter().all(|(home, away)| home != away));
        for round in 1..=38 {
            let busy: HashSet<_> = fixtures(20)
                .filter(|f| f.0 == round)
                .flat_map(|f| [f.1, f.2])
                .collect();
            assert_eq!(busy.len(), 20, "round {round}");
        }
    }

    #[test]
    fn days_are_written_by_the_civil_calendar() {
        let days = [0, 11_016, 19_210, 19_574, 19_938, 5_844].map(iso);
        assert_eq!(
            days,
            [
                "1970-01-01",
                "2000-02-29",
                "2022-08-06",
                "2023-08-05",
                "2024-08-03",
                "1986-01-01"
            ]
        );
    }

    #[test]
    fn the_league_is_always_the_same() {
        let (a, b) = (
            League::new(&mut Dice::new(4)),
            League::new(&mut Dice::new(4)),
        );
        assert_eq!(format!("{a:?}"), format!("{b:?}"));
        assert_eq!(
            (a.clubs.len(), a.players.len(), a.matches.len()),
            (20, 500, 1_140)
        );
    }
}
