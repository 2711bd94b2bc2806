//! The whole merge: rows with three references each, through crosswalk and slug, facts included.
//!
//!   League ──▶ appearances.csv, map ──▶ oneflight-merge, twice        and, row by row, the statements that it saves

use super::audit::counts;
use super::database::{Clock, Ran, Site};
use super::lab::scale;
use super::link::{Link, Param};
use super::tables::Statements;
use crate::error::Error;
use crate::feed::{self, Order};
use crate::result::{Audit, Case, Figure, Way};
use oneflight_merge::merge::{self, Events, Options, Stop};
use oneflight_merge::plan::Plan;
use oneflight_merge::rows::File;
use oneflight_sql::Dialect;
use oneflight_sql::driver::Statement;
use std::collections::HashSet;
use std::sync::Arc;

/// The tables of things, in the order of [`feed::League::iter`].
const THINGS: [&str; 3] = ["player", "team", "season"];

/// A league, written down.
pub(super) struct League {
    feed: feed::League,
    plan: Arc<Plan>,
}

impl League {
    /// Writes the feed into the folder of the site.
    pub(super) fn write(site: &Site, rows: u32, seed: u64) -> Result<Self, Error> {
        let feed = feed::League::new(rows, seed);
        let path = site.folder().join(feed::League::FILE);
        let file = std::fs::File::create(path).map_err(Error::file)?;
        feed.write(std::io::BufWriter::new(file))
            .map_err(Error::file)?;
        let plan = oneflight_merge::mapping::parse(feed::League::MAP, "the league's map");
        let plan = plan.map_err(|error| Error::internal(error.to_string()))?;
        Ok(Self {
            feed,
            plan: Arc::new(plan),
        })
    }

    /// Merges the feed. The clock starts with the first row: the merge has connected by then, and made its tables.
    pub(super) async fn merge(
        &self,
        site: &Site,
        run: u32,
        round_trip_ms: u64,
    ) -> Result<Figure, Error> {
        let options = Options::new(site.folder(), site.far());
        let connections = match site.dialect() {
            Dialect::Sqlite => 1,
            _ => options.connections as u32,
        };
        let mut watch = Watch { site, clock: None };
        let report = merge::merge(self.plan.clone(), options, &mut watch, Stop::new()).await?;
        let clock = watch.clock;
        site.count(report.round_trips);
        let ran = clock
            .ok_or_else(|| Error::internal("the merge read no feed"))?
            .stop(Vec::new());
        let audit = self.audit(site, self.feed.rows).await?;
        Ok(Figure {
            run,
            connections,
            ..self.figure(Way::Batches, &ran, round_trip_ms, audit)
        })
    }

    /// The first `part` rows, a statement for each step, and scaled to all. The tables are the merge's own.
    pub(super) async fn one_by_one(
        &self,
        site: &Site,
        part: u32,
        round_trip_ms: u64,
    ) -> Result<Figure, Error> {
        self.make_tables(site).await?;
        let part = part.min(self.feed.rows);
        let mut walker = Walker::open(site).await?;
        let clock = Clock::start(site);
        for row in self.feed.iter().take(part as usize) {
            walker.merge(site, &row).await?;
        }
        let ran = clock.stop(Vec::new());
        let audit = self.audit(site, part).await?;
        self.remove(site).await?;
        let mut figure = self.figure(Way::Sequential, &ran, round_trip_ms, audit);
        if part < self.feed.rows {
            // Each row looks up three things and stores one fact; each thing is made by two statements.
            let trips = 4 * u64::from(self.feed.rows) + 2 * u64::from(self.feed.entities());
            (figure.seconds, figure.round_trips) = scale(&ran, trips);
            figure.scaled_from = Some(part);
        }
        Ok(figure)
    }

    /// Drops the tables, those that refer to others first.
    pub(super) async fn remove(&self, site: &Site) -> Result<(), Error> {
        let links = THINGS.map(|thing| format!("{thing}_xref"));
        let tables = ["appearance"]
            .into_iter()
            .chain(links.iter().map(String::as_str))
            .chain(THINGS);
        for table in tables {
            let sql = format!("DROP TABLE {table}");
            site.near().query(Statement::new(sql)).await?;
        }
        Ok(())
    }

    /// Makes the tables as a merge makes them: by merging a feed without rows.
    async fn make_tables(&self, site: &Site) -> Result<(), Error> {
        let folder = site.folder().join("empty");
        std::fs::create_dir_all(&folder).map_err(Error::file)?;
        let file = std::fs::File::create(folder.join(feed::League::FILE)).map_err(Error::file)?;
        feed::League::new(0, 0).write(file).map_err(Error::file)?;
        let options = Options::new(folder, site.near_url());
        merge::merge(self.plan.clone(), options, &mut (), Stop::new()).await?;
        Ok(())
    }

    /// Counts what the first `rows` rows left.
    async fn audit(&self, site: &Site, rows: u32) -> Result<Audit, Error> {
        let mut mentioned = THINGS.map(|_| HashSet::new());
        for row in self.feed.iter().take(rows as usize) {
            for (seen, key) in mentioned.iter_mut().zip(row.keys) {
                seen.insert(key);
            }
        }
        let mut audit = Audit {
            expected: mentioned.iter().map(|seen| seen.len() as u64).sum(),
            expected_facts: rows.into(),
            ..Audit::default()
        };
        for thing in THINGS {
            let counted = counts(
                site,
                &[
                    format!("SELECT count(*) FROM {thing}"),
                    format!("SELECT count(DISTINCT name_key) FROM {thing}"),
                    format!("SELECT count(*) FROM {thing}_xref"),
                    format!(
                        "SELECT count(*) FROM {thing} t WHERE NOT EXISTS (SELECT 1 FROM appearance a WHERE a.{thing}_id = t.id)"
                    ),
                ],
            )
            .await?;
            audit.rows += counted[0];
            audit.distinct += counted[1];
            audit.links += counted[2];
            audit.orphans += counted[3];
        }
        let facts = ["SELECT count(DISTINCT number) FROM appearance".to_owned()];
        audit.facts = counts(site, &facts).await?[0];
        Ok(audit)
    }

    fn figure(&self, way: Way, ran: &Ran, round_trip_ms: u64, audit: Audit) -> Figure {
        Figure {
            case: Case::Rows,
            way,
            run: 1,
            order: Order::Shuffled,
            round_trip_ms,
            seconds: ran.seconds,
            scaled_from: None,
            round_trips: ran.round_trips,
            connections: 1,
            audit,
        }
    }
}

/// Starts the clock when the merge begins to read.
struct Watch<'s> {
    site: &'s Site,
    clock: Option<Clock<'s>>,
}

impl Events for Watch<'_> {
    fn feed_started(&mut self, _: usize, _: &str, _: &[Arc<File>], _: u64) {
        self.clock = Some(Clock::start(self.site));
    }
}

/// Goes through rows one by one, on one connection.
struct Walker {
    link: Link,
}

/// The statements of a thing.
const PER_THING: usize = 4;

impl Walker {
    async fn open(site: &Site) -> Result<Self, Error> {
        let of_thing = |thing: &str| {
            let (links, id) = (format!("{thing}_xref"), format!("{thing}_id"));
            let columns = ["name_key", "name"];
            Statements::new(site.dialect(), thing, &columns, &links, &id).in_order()
        };
        let things: [[String; PER_THING]; 3] = THINGS.map(of_thing);
        let fact = fact(site.dialect());
        let sql = things.iter().flatten().chain([&fact]).map(String::as_str);
        let link = Link::prepare(site, sql).await?;
        Ok(Self { link })
    }

    async fn merge(&mut self, site: &Site, row: &feed::Row) -> Result<(), Error> {
        let mut ids = [0; 3];
        for (thing, id) in ids.iter_mut().enumerate() {
            *id = self.resolve(site, thing, row).await?;
        }
        let fact = [
            Param::Int(row.number.into()),
            Param::Int(ids[0]),
            Param::Int(ids[1]),
            Param::Int(ids[2]),
            Param::Text(&row.date),
            Param::Int(row.minutes.into()),
            Param::Int(row.goals.into()),
        ];
        self.link.run(site, THINGS.len() * PER_THING, &fact).await?;
        Ok(())
    }

    async fn resolve(&mut self, site: &Site, thing: usize, row: &feed::Row) -> Result<i64, Error> {
        let (external, name) = (&row.external_ids()[thing], &row.names()[thing]);
        let slug = name.to_lowercase().replace([' ', '/'], "-");
        let names = [Param::Text(&slug), Param::Text(name)];
        self.link
            .find_or_create(site, thing * PER_THING, external, &names)
            .await
    }
}

/// The statement that stores a fact.
fn fact(dialect: Dialect) -> String {
    let (values, end) = match dialect {
        Dialect::MySql => (
            "?, ?, ?, ?, ?, ?, ?",
            " ON DUPLICATE KEY UPDATE number = number",
        ),
        Dialect::Sqlite => ("?1, ?2, ?3, ?4, ?5, ?6, ?7", " ON CONFLICT DO NOTHING"),
        // The parameter is a text, as the feed's is.
        _ => (
            "$1, $2, $3, $4, $5::text::date, $6, $7",
            " ON CONFLICT DO NOTHING",
        ),
    };
    format!(
        "INSERT INTO appearance (number, player_id, team_id, season_id, date, minutes, goals) VALUES ({values}){end}"
    )
}
