//! A run: every way, at every round trip, in every order.

use super::audit::audit;
use super::database::{Ran, Site};
use super::rows;
use super::settings::{Events, Settings, Step};
use super::tables::Tables;
use super::way::{self, Task};
use crate::error::Error;
use crate::feed::{Order, References, Shape};
use crate::result::{Case, Figure, Lag, Results, Skipped, Way};
use oneflight_sql::Dialect;
use std::sync::Arc;
use std::time::Duration;

/// Measures what the settings ask for, on the server of `url`: in a database of the name [`Settings::scratch`], which is made and
/// dropped; for SQLite in a temporary file, whatever file the URL names, and at a round trip of 0 only.
///
/// A way that lacks something ([`Error::is_missing`]) is skipped, and the results say so.
///
/// # Cancel safety
/// Dropping the future drops the scratch database; the thread waits for that.
///
/// # Errors
/// The settings make no sense, the scratch database exists already, or the database failed.
///
/// # Examples
/// ```
/// # #[tokio::main] async fn main() -> Result<(), oneflight_lab::Error> {
/// use oneflight_lab::feed::Order;
/// use oneflight_lab::merge::{Case, Settings, Way, run};
///
/// let mut settings = Settings::default();
/// settings.cases = vec![Case::References];
/// settings.ways = vec![Way::Sequential, Way::Batches];
/// (settings.references, settings.keys) = (200, 50);
/// let results = run("sqlite:", settings, &mut ()).await?;
/// let batches = results.references(Way::Batches, Order::Shuffled, 0);
/// assert!(batches.is_some_and(|figure| figure.audit.is_right()));
/// # Ok(()) }
/// ```
pub async fn run(url: &str, settings: Settings, events: &mut dyn Events) -> Result<Results, Error> {
    settings.check()?;
    let site = Arc::new(Site::open(url, &settings.scratch).await?);
    let mut settings = settings;
    if site.dialect() == Dialect::Sqlite {
        settings.round_trips_ms = vec![0];
    }
    let mut lab = Lab {
        results: Results {
            server: site.version().await?,
            seed: settings.seed,
            references: settings.references,
            keys: settings.keys,
            rows: settings.rows,
            part: settings.part,
            ..Results::default()
        },
        site: site.clone(),
        settings,
        events,
        begun: 0,
    };
    lab.measure().await?;
    let results = lab.results;
    site.close().await?;
    Ok(results)
}

struct Lab<'e> {
    site: Arc<Site>,
    settings: Settings,
    results: Results,
    events: &'e mut dyn Events,
    /// Steps that have begun.
    begun: u32,
}

impl Lab<'_> {
    async fn measure(&mut self) -> Result<(), Error> {
        for round_trip_ms in self.settings.round_trips_ms.clone() {
            self.site.delay(Duration::from_millis(round_trip_ms));
            let measured_ms = self.site.lag().await?;
            self.results.lags.push(Lag {
                round_trip_ms,
                measured_ms,
            });
        }
        if self.settings.cases.contains(&Case::References) {
            for round_trip_ms in self.settings.round_trips_ms.clone() {
                self.site.delay(Duration::from_millis(round_trip_ms));
                for order in self.settings.orders.clone() {
                    self.references(order, round_trip_ms).await?;
                }
            }
        }
        if self.settings.cases.contains(&Case::Rows) {
            self.rows().await?;
        }
        Ok(())
    }

    async fn references(&mut self, order: Order, round_trip_ms: u64) -> Result<(), Error> {
        let feed = References::generate(Shape {
            references: self.settings.references,
            keys: self.settings.keys,
            order,
            seed: self.settings.seed,
        });
        for way in self.settings.ways.clone() {
            self.begin(Case::References, way, order, round_trip_ms);
            if self.is_skipped(way) {
                continue;
            }
            match self.reference(way, &feed, round_trip_ms).await {
                Ok(figure) => self.keep(figure),
                Err(error) if error.is_missing() => self.skip(way, &error),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// One way, on tables of its own.
    async fn reference(
        &self,
        way: Way,
        feed: &References,
        round_trip_ms: u64,
    ) -> Result<Figure, Error> {
        let whole = feed.len();
        let part = match way.is_serial() && round_trip_ms > 0 {
            true => whole.min(self.settings.part as usize),
            false => whole,
        };
        let tables = Tables::create(&self.site, self.begun, way != Way::Naive).await?;
        let task = Task {
            site: self.site.clone(),
            tables: Arc::new(tables),
            keys: feed.iter().take(part).collect(),
            connections: self.settings.connections,
        };
        let ran = way::run(way, &task).await?;
        let mentioned: Vec<String> = task
            .keys
            .iter()
            .map(|&key| References::external_id(key))
            .collect();
        let audit = audit(&self.site, &task.tables, &mentioned, &ran.answers).await?;
        task.tables.remove(&self.site).await?;
        let trips = |references| {
            let keys = feed.distinct(references) as u64;
            way::trips(way, references as u64, keys)
        };
        let scaled = (part < whole).then(|| scale(&ran, trips(whole)));
        let (seconds, round_trips) = scaled.unwrap_or((ran.seconds, ran.round_trips));
        Ok(Figure {
            case: Case::References,
            way,
            run: 1,
            order: feed.shape().order,
            round_trip_ms,
            seconds,
            scaled_from: scaled.map(|_| part as u32),
            round_trips,
            connections: match way.is_wide() {
                true => self.settings.connections,
                false => 1,
            },
            audit,
        })
    }

    /// The whole merge, and the same row by row.
    async fn rows(&mut self) -> Result<(), Error> {
        let league = rows::League::write(&self.site, self.settings.rows, self.settings.seed)?;
        for round_trip_ms in self.settings.round_trips_ms.clone() {
            self.site.delay(Duration::from_millis(round_trip_ms));
            if self.settings.ways.contains(&Way::Sequential) {
                self.begin(Case::Rows, Way::Sequential, Order::Shuffled, round_trip_ms);
                // Without latency a row takes a fraction of a millisecond, and more of them make a steadier figure.
                let part = match round_trip_ms {
                    0 => 2_000,
                    _ => self.settings.part.div_ceil(3),
                };
                let figure = league.one_by_one(&self.site, part, round_trip_ms).await?;
                self.keep(figure);
            }
            if self.settings.ways.contains(&Way::Batches) {
                for run in [1, 2] {
                    self.begin(Case::Rows, Way::Batches, Order::Shuffled, round_trip_ms);
                    let figure = league.merge(&self.site, run, round_trip_ms).await?;
                    self.keep(figure);
                }
                league.remove(&self.site).await?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, case: Case, way: Way, order: Order, round_trip_ms: u64) {
        self.begun += 1;
        let (number, of) = (self.begun, self.steps());
        self.events.began(Step {
            case,
            way,
            order,
            round_trip_ms,
            number,
            of,
        });
    }

    /// How many steps there are in all.
    fn steps(&self) -> u32 {
        let Settings {
            cases,
            ways,
            orders,
            round_trips_ms,
            ..
        } = &self.settings;
        let per_trip = |case: &Case| match case {
            Case::References => orders.len() * ways.len(),
            Case::Rows => {
                usize::from(ways.contains(&Way::Sequential))
                    + 2 * usize::from(ways.contains(&Way::Batches))
            }
        };
        (round_trips_ms.len() * cases.iter().map(per_trip).sum::<usize>()) as u32
    }

    fn keep(&mut self, figure: Figure) {
        self.events.measured(&figure);
        self.results.figures.push(figure);
    }

    fn is_skipped(&self, way: Way) -> bool {
        self.results.skipped.iter().any(|other| other.way == way)
    }

    fn skip(&mut self, way: Way, error: &Error) {
        let why = error.to_string();
        self.results.skipped.push(Skipped { way, why });
    }
}

/// The seconds and the round trips of the whole, of which a part was measured.
pub(super) fn scale(ran: &Ran, trips: u64) -> (f64, u64) {
    let trip = ran.seconds / ran.round_trips.max(1) as f64;
    (trip * trips as f64, trips)
}
