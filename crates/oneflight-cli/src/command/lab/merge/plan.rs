//! What the lab is to do, checked before it begins: a run takes minutes.

use crate::cli::{Format, LabMergeArgs};
use crate::exit::Failure;
use crate::target::Target;
use oneflight_lab::merge::{Case, Settings, Way};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

/// A run that can begin.
#[derive(Debug)]
pub(super) struct Job {
    /// The server; none for SQLite.
    pub(super) target: Option<Target>,
    /// For the library.
    pub(super) settings: Settings,
    /// Where the chart goes.
    pub(super) svg: Option<PathBuf>,
    /// Where the figures go.
    pub(super) json: Option<PathBuf>,
    /// How they are printed.
    pub(super) format: Format,
}

/// Checks what the command line asks for.
///
/// # Errors
/// If it makes no sense, or a file cannot be written.
pub(super) fn plan(args: LabMergeArgs) -> Result<Job, Failure> {
    let mut settings = Settings::default();
    settings.cases = args.case;
    settings.orders = args.order;
    settings.round_trips_ms = args.round_trip;
    settings.references = args.references;
    settings.keys = args.keys;
    settings.rows = args.rows;
    settings.connections = args.connections;
    settings.part = args.part;
    settings.seed = args.seed;
    settings.scratch = args.scratch;
    if !args.ways.is_empty() {
        settings.ways = args.ways;
    }
    settings.check().map_err(Failure::usage)?;
    for path in [&args.svg, &args.json].into_iter().flatten() {
        writable(path)?;
    }
    Ok(Job {
        target: args.into.filter(|target| !is_sqlite(target)),
        settings,
        svg: args.svg,
        json: args.json,
        format: args.format,
    })
}

impl Job {
    /// The URL for the library.
    pub(super) fn url(&self) -> &str {
        self.target.as_ref().map_or("sqlite:", Target::url)
    }

    /// About how many seconds will be spent waiting for round trips.
    pub(super) fn waiting(&self) -> f64 {
        if self.target.is_none() {
            return 0.0;
        }
        let settings = &self.settings;
        let is_asked = |case| settings.cases.contains(&case);
        let per_order: f64 = settings.ways.iter().map(|way| self.trips(*way)).sum();
        let references = per_order * settings.orders.len() as f64;
        // A row by row part of a third of the references, at seven trips a row or so.
        let rows = f64::from(settings.part) / 3.0 * 7.0 + 60.0;
        let trips = f64::from(u8::from(is_asked(Case::References))) * references
            + f64::from(u8::from(is_asked(Case::Rows))) * rows;
        let milliseconds: u64 = settings.round_trips_ms.iter().sum();
        trips * milliseconds as f64 / 1e3
    }

    /// About how many round trips a way makes one after another.
    fn trips(&self, way: Way) -> f64 {
        let Settings {
            references,
            keys,
            part,
            connections,
            ..
        } = self.settings;
        let [references, keys, part, connections] =
            [references, keys, part, connections].map(f64::from);
        match way {
            Way::Naive => (references + 2.0 * keys) / connections,
            Way::Flights => 3.0 * keys / connections,
            way if way.is_serial() => part.min(references) * 2.6,
            _ => 10.0,
        }
    }
}

fn is_sqlite(target: &Target) -> bool {
    target.url().starts_with("sqlite:")
}

/// Makes sure that a file can be written, and leaves what is in it.
fn writable(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map(drop)
        .map_err(|error| Failure::say(format!("cannot write `{shown}`: {error}")))
}
