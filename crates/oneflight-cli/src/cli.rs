//! The command line, parsed. Nothing here does any work.

use crate::exit::CODES;
use crate::target::Target;
use clap::{Args, Parser, Subcommand, ValueEnum};
use oneflight_lab::feed::Order;
use oneflight_lab::merge::{Case, Way};
use std::path::PathBuf;

const ABOUT: &str = "One key, one flight, one row: merges feeds into a database without duplicates and without orphans";

const MERGE_EXAMPLES: &str = "\
Examples:
  oneflight merge league.toml
  oneflight merge league.toml --into postgres://ann@localhost/league --rejects rejects.ndjson
  zcat results.csv.gz | oneflight merge results.toml --dry-run --format json      (path = \"-\" in the map)

A merge may be repeated at any time: what is there already stays as it is.";

const LAB_MERGE_EXAMPLES: &str = "\
Examples:
  oneflight lab merge                                        in a temporary SQLite file: half a minute
  oneflight lab merge --into postgres://ann@localhost/postgres --round-trip 40
  oneflight lab merge --into mysql://ann@localhost/mysql --ways sequential,flights,batches --svg ways.svg
  oneflight lab merge --case rows --rows 200000 --format json";

/// The program's arguments.
#[derive(Debug, Parser)]
#[command(name = "oneflight", version, about = ABOUT, after_help = CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Merge the feeds of a map into a database
    #[command(after_help = MERGE_EXAMPLES, after_long_help = format!("{MERGE_EXAMPLES}\n\n{CODES}"))]
    Merge(MergeArgs),
    /// Look for duplicates, dangling references and other trouble in a merged database
    #[command(after_help = CODES)]
    Audit(AuditArgs),
    /// Measure every way of doing the job beside each other, on a database of its own
    #[command(after_help = CODES)]
    Lab(LabArgs),
    /// Make up a league's feeds in a folder, merge them into a new SQLite file, and audit it
    #[command(after_help = CODES)]
    Demo(DemoArgs),
}

/// `oneflight merge`
#[derive(Args, Debug)]
pub(crate) struct MergeArgs {
    /// The mapping file (TOML): which tables there are, and how the rows of each feed fill them
    pub(crate) map: PathBuf,

    /// The folder that the paths of the map are relative to [default: the map's own folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) into: IntoArg,

    /// Write every rejected row to FILE, a JSON object a line: file, line, feed, column, value, reason. The file is created even
    /// if there are none, and replaced if it exists
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,

    /// Stop when more than N rows are rejected; 0 stops at the first [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) max_rejects: Option<u64>,

    /// Chunks of rows to work on side by side, 1 to 64 [default: 4, for SQLite 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) workers: Option<u16>,

    /// Connections to the database, 1 to 64; SQLite uses one
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) connections: u16,

    /// Do everything but the commit, and print the same summary
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// How to print the summary on standard output
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Print nothing but errors (and, with --format json, the summary)
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `oneflight audit`
#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    /// The mapping file (TOML) that the database was merged with
    pub(crate) map: PathBuf,

    #[command(flatten)]
    pub(crate) into: IntoArg,

    /// How to print what was found on standard output
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `oneflight demo`
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// The folder to make; one that exists is used only if nothing but an earlier demo is in it
    #[arg(value_name = "DIR", default_value = "oneflight-demo")]
    pub(crate) dir: PathBuf,
}

/// `oneflight lab`
#[derive(Args, Debug)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) experiment: Experiment,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Experiment {
    /// Every way of merging: one by one, cached, naive, behind a mutex or a queue, flights, flights and batches, bulk load by hand
    #[command(after_help = LAB_MERGE_EXAMPLES, after_long_help = format!("{LAB_MERGE_EXAMPLES}\n\n{CODES}"))]
    Merge(LabMergeArgs),
}

/// `oneflight lab merge`
#[derive(Args, Debug)]
pub(crate) struct LabMergeArgs {
    /// The server: postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE. A scratch database is made there and dropped; no
    /// other is touched [default: SQLite, in a temporary file]
    #[arg(long, value_name = "URL", value_parser = target)]
    pub(crate) into: Option<Target>,

    /// What to measure: references (to things, which become ids), rows (a whole merge, facts included)
    #[arg(
        long,
        value_name = "CASES",
        value_delimiter = ',',
        default_value = "references,rows"
    )]
    pub(crate) case: Vec<Case>,

    /// How many references there are
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) references: u32,

    /// To how many things they are; some are named far more often than most
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub(crate) keys: u32,

    /// Rows of the whole merge, three references each
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) rows: u32,

    /// Round trips, in milliseconds, that a proxy in the program adds; SQLite is in the process and has none
    #[arg(
        long,
        value_name = "MS",
        value_delimiter = ',',
        default_value = "0,10,40,80"
    )]
    pub(crate) round_trip: Vec<u64>,

    /// Orders of the references: shuffled, clustered (all of one thing side by side)
    #[arg(
        long,
        value_name = "ORDERS",
        value_delimiter = ',',
        default_value = "shuffled,clustered"
    )]
    pub(crate) order: Vec<Order>,

    /// The ways: sequential, mutex, queue, cached, naive, flights, by-hand, batches [default: all]
    #[arg(long, value_name = "WAYS", value_delimiter = ',')]
    pub(crate) ways: Vec<Way>,

    /// Connections of the ways that use many, 1 to 1,000
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub(crate) connections: u32,

    /// References for which a way is measured that would take minutes; the whole is scaled by the counted round trips
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) part: u32,

    /// Another seed, another feed of the same shape
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// The name of the scratch database; nothing is done if it exists
    #[arg(long, value_name = "NAME", default_value = "oneflight_lab")]
    pub(crate) scratch: String,

    /// Write a chart to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Write all figures to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// How to print the figures on standard output
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `--into`, the same for all commands.
#[derive(Args, Debug)]
pub(crate) struct IntoArg {
    /// The database: sqlite:FILE, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE. A password may stand in the URL,
    /// or in PGPASSWORD or MYSQL_PWD; it is never printed [default: sqlite:NAME.db for a map NAME.toml]
    #[arg(long, value_name = "URL", env = "ONEFLIGHT_URL", hide_env_values = true, value_parser = target)]
    into: Option<Target>,
}

impl IntoArg {
    /// This database.
    pub(crate) fn of(target: Target) -> Self {
        Self { into: Some(target) }
    }

    /// The database that was named, or the one that belongs to the map.
    pub(crate) fn target(&self, map: &std::path::Path) -> Target {
        self.into.clone().unwrap_or_else(|| Target::beside(map))
    }
}

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Text,
    /// One JSON object
    Json,
}

fn target(text: &str) -> Result<Target, String> {
    Target::parse(text, |name| std::env::var(name).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_map_alone_merges_into_a_file_named_like_it() {
        let cli = Cli::try_parse_from(["oneflight", "merge", "maps/league.toml"]).unwrap();
        let Command::Merge(args) = cli.command else {
            panic!("another command")
        };
        assert_eq!(
            (args.workers, args.dry_run, args.max_rejects),
            (None, false, None)
        );
    }
}
