//! Chunks side by side, on each database: any number of workers gives the books and the rows of one.

use oneflight_merge::mapping;
use oneflight_merge::merge::{Options, Stop, merge};
use oneflight_merge::report::Report;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;
use testkit::{Database, Proxy};

/// Facts whose keys come again in the same chunk, in the next ones and far away, under each policy.
const MAP: &str = r#"
    [table.place]
    key = "name"
    columns = { name = "text", land = { type = "text", policy = "fill" } }
    [table.visit]
    key = ["place", "day"]
    columns = { place = "ref place", day = "integer", first = { type = "integer", policy = "fill" }, last = { type = "integer", policy = "take" }, kept = { type = "integer", policy = "keep" } }
    [feed.visits]
    path = "feed.csv"
    [feed.visits.into.visit]
    place = { name = "place", land = "land" }
    day = "day"
    first = "first"
    last = "last"
    kept = "kept"
"#;

const VISITS: [&str; 1] = [
    "SELECT concat(p.name, '/', coalesce(p.land, '-'), ' ', v.day, ': ', coalesce(v.first, -1), ' ', \
     coalesce(v.last, -1), ' ', coalesce(v.kept, -1)) FROM visit v JOIN place p ON p.id = v.place_id ORDER BY 1",
];

/// Clubs that are known by a name, by an id or by both, and refer to each other.
const CLUBS: &str = r#"
    source = "s"
    [table.club]
    key = "name"
    crosswalk = { same_source = "link" }
    columns = { name = "text", city = { type = "text", policy = "fill" }, rival = "ref club" }
    [table.game]
    key = "n"
    columns = { n = "integer", club = "ref club" }
    [feed.games]
    path = "feed.csv"
    [feed.games.into.club]
    when = { kind = ["club"] }
    name = "name"
    external_id = "id"
    city = "city"
    rival = "rival"
    [feed.games.into.game]
    when = { kind = ["game"] }
    n = "n"
    club = { name = "name", external_id = "id" }
    [feed.games.into.played]
    table = "game"
    when = { kind = ["named"] }
    n = "n"
    club = "name"
"#;

const GAMES: [&str; 3] = [
    "SELECT concat(g.n, ' ', c.name) FROM game g JOIN club c ON c.id = g.club_id ORDER BY 1",
    "SELECT concat(c.name, ' ', coalesce(c.city, '-'), ' ', coalesce(r.name, '-')) FROM club c LEFT JOIN club r ON r.id = c.rival_id ORDER BY 1",
    "SELECT concat(x.external_id, ' ', c.name) FROM club_xref x JOIN club c ON c.id = x.club_id ORDER BY 1",
];

/// Where chunks are written to, and over what link.
#[derive(Clone)]
struct Target {
    url: String,
    lag: Duration,
}

impl Target {
    fn near(url: impl Into<String>) -> Self {
        let lag = Duration::ZERO;
        Self {
            url: url.into(),
            lag,
        }
    }

    async fn gives_the_same_as_one_worker(&self, seeds: RangeInclusive<u64>) {
        for seed in seeds.clone() {
            let feed = feed(seed);
            self.gives_the_same(MAP, &[&feed], 17, &VISITS, seed).await;
        }
        for same_source in POLICIES {
            let map = clubs(same_source);
            for seed in seeds.clone() {
                let chunk = [1, 2, 5, 20][seed as usize % 4];
                let feed = games(seed);
                self.gives_the_same(&map, &[&feed], chunk, &GAMES, seed)
                    .await;
            }
        }
    }

    async fn gives_the_same(
        &self,
        map: &str,
        feeds: &[&str],
        chunk: usize,
        rows: &[&str],
        seed: u64,
    ) {
        let one = self.run(map, feeds, (1, chunk), rows).await;
        for workers in [2, 8] {
            let many = self.run(map, feeds, (workers, chunk), rows).await;
            assert_eq!(one, many, "seed {seed}, {workers} workers, {map}");
        }
    }

    /// What merges of the feeds, one after the other, tell, and what stands in the database afterwards.
    async fn run(
        &self,
        map: &str,
        feeds: &[&str],
        (workers, chunk): (usize, usize),
        rows: &[&str],
    ) -> (Vec<String>, Vec<Vec<Option<String>>>) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let database = Database::create(&self.url).await;
        let mut told = Vec::new();
        for feed in feeds {
            std::fs::write(dir.path().join("feed.csv"), feed).expect("a feed");
            let plan = mapping::parse(map, "map.toml").unwrap_or_else(|errors| panic!("{errors}"));
            let mut options = Options::new(dir.path(), database.url());
            (options.workers, options.chunk_rows, options.connections) = (workers, chunk, 4);
            let far = match self.lag.is_zero() {
                true => None,
                false => Some(Proxy::start(database.url()).await),
            };
            if let Some(far) = &far {
                far.delay(self.lag);
                options.into = far.url().to_owned();
            }
            let report = merge(Arc::new(plan), options, &mut (), Stop::new()).await;
            told.extend(books(&report.unwrap_or_else(|error| panic!("{error}"))));
        }
        let mut left = Vec::new();
        for rows in rows {
            left.push(testkit::texts(database.url(), rows).await);
        }
        (told, left)
    }
}

/// What two ids of one source under one name mean.
const POLICIES: [&str; 3] = ["link", "split", "error"];

fn clubs(same_source: &str) -> String {
    CLUBS.replace("\"link\"", &format!("\"{same_source}\""))
}

/// Few names and few ids, so that they meet again and again; one of the two may be missing.
fn games(seed: u64) -> String {
    let mut dice = SmallRng::seed_from_u64(seed);
    let mut feed = "kind,n,id,name,city,rival\n".to_owned();
    let most = [2, 6, 30][seed as usize % 3];
    for row in 0..60 {
        let mut cell = |sort: &str, chance| match dice.random_bool(chance) {
            true => format!("{sort}{}", dice.random_range(0..most)),
            false => String::new(),
        };
        let (id, name) = (cell("i", 0.7), cell("c", 0.8));
        let (city, rival) = (cell("t", 0.3), cell("c", 0.3));
        let kind = ["club", "game", "named"][dice.random_range(0..3)];
        let _ = writeln!(feed, "{kind},{row},{id},{name},{city},{rival}");
    }
    feed
}

/// Some rows say nothing of some columns, so that what comes first and what comes last can be told.
fn feed(seed: u64) -> String {
    let mut dice = SmallRng::seed_from_u64(seed);
    let mut feed = "place,land,day,first,last,kept\n".to_owned();
    // With few days nearly every chunk meets the one before; with many, few do.
    let days = [3, 30, 300, 3_000][seed as usize % 4];
    for row in 0..600 {
        let mut cell = |row: u32| match dice.random_bool(0.7) {
            true => row.to_string(),
            false => String::new(),
        };
        let (land, first, last, kept) = (cell(row % 2), cell(row), cell(row), cell(row));
        let (place, day) = (dice.random_range(0..20), dice.random_range(0..days));
        let _ = writeln!(feed, "place {place},{land},{day},{first},{last},{kept}");
    }
    feed
}

fn books(report: &Report) -> Vec<String> {
    let feeds = report.feeds.iter().map(|feed| format!("{feed:?}"));
    let tables = report.tables.iter().map(|table| format!("{table:?}"));
    feeds.chain(tables).collect()
}

/// SQLite asks nobody over a link, and so goes through more feeds in the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_workers_gives_the_same_as_one_on_sqlite() {
    let target = Target::near("sqlite:");
    target.gives_the_same_as_one_worker(1..=12).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_workers_gives_the_same_as_one_on_postgres() {
    let target = Target::near(testkit::services::postgres());
    target.gives_the_same_as_one_worker(1..=4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_workers_gives_the_same_as_one_on_mariadb() {
    let target = Target::near(testkit::services::mariadb());
    target.gives_the_same_as_one_worker(1..=4).await;
}

/// With a link that lags, what one chunk does in one trip comes before what another does in two.
fn far() -> Target {
    let url = testkit::services::postgres();
    let lag = Duration::from_millis(4);
    Target { url, lag }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_workers_gives_the_same_as_one_on_a_postgres_that_is_far_away() {
    far().gives_the_same_as_one_worker(2..=2).await;
}

/// A2: the link is there already, and only the database knows that a name in a large chunk and an id in the small one behind it
/// mean one row. The large one looks first and then writes, the small one writes at once: side by side, the small one would be first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_row_wins_whatever_it_calls_what_it_means() {
    const HEAD: &str = "kind,n,id,name,city,rival\n";
    let names = (0..100).map(|name| format!("club,,,c{name},near,\n"));
    let linked: String = (0..100).map(|n| format!("club,,i{n},c{n},,\n")).collect();
    let large: String = names.collect();
    let (linked, said) = (
        format!("{HEAD}{linked}"),
        format!("{HEAD}{large}club,,i7,,far,\n"),
    );
    for same_source in POLICIES {
        let map = clubs(same_source);
        let feeds = [linked.as_str(), said.as_str()];
        far().gives_the_same(&map, &feeds, 100, &GAMES, 0).await;
    }
}
