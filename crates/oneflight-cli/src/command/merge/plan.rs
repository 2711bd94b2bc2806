//! What a merge is to do, worked out and checked before anything is written.

use crate::cli::MergeArgs;
use crate::command::map;
use crate::exit::Failure;
use crate::rejects::{Opened, Rejects};
use crate::target::Target;
use oneflight_merge::merge::Options;
use oneflight_merge::plan::Plan;
use oneflight_merge::read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A merge that can begin.
#[derive(Debug)]
pub(crate) struct Job {
    /// The map.
    pub(crate) plan: Arc<Plan>,
    /// The database.
    pub(crate) target: Target,
    /// For the library.
    pub(crate) options: Options,
    /// The rejects file, emptied.
    pub(crate) rejects: Option<Rejects>,
    /// True if nothing is to be printed on the way.
    pub(crate) quiet: bool,
}

/// Reads the map, and checks what the command line asks for.
///
/// # Errors
/// If the map is wrong, the data folder is not there, or the rejects file cannot be written or is one of the files that are read.
pub(crate) fn plan(args: MergeArgs) -> Result<Job, Failure> {
    let plan = map::read(&args.map)?;
    let data = map::data_dir(&args.map, args.data.as_deref())?;
    let target = args.into.target(&args.map);
    let mut options = Options::new(data, target.url());
    if let Some(workers) = args.workers {
        options.workers = workers.into();
    }
    options.connections = args.connections.into();
    options.dry_run = args.dry_run;
    options.max_rejects = args.max_rejects;
    let rejects = match &args.rejects {
        Some(path) => Some(rejects(path, &args.map, &target, &plan, &options.data)?),
        None => None,
    };
    Ok(Job {
        plan,
        target,
        options,
        rejects,
        quiet: args.quiet,
    })
}

/// Opens the rejects file, makes sure that it is none of the other files, and only then empties it.
fn rejects(
    path: &Path,
    map: &Path,
    target: &Target,
    plan: &Plan,
    data: &Path,
) -> Result<Rejects, Failure> {
    let shown = path.display();
    if path.as_os_str() == "-" {
        return Err(
            Failure::say("--rejects wants a file: standard output is for the summary")
                .hint("try --rejects rejects.ndjson"),
        );
    }
    let cannot = |error| Failure::say(format!("cannot write the rejects file `{shown}`: {error}"));
    let opened = Opened::open(path).map_err(cannot)?;
    let other = std::iter::once((map.to_owned(), "the map"))
        .chain(target.file().map(|file| (file, "the database")))
        .chain(stdout().map(|file| (file, "where the summary goes")))
        .chain(
            inputs(plan, data)
                .into_iter()
                .map(|file| (file, "one of the files that are read")),
        )
        .find(|(file, _)| opened.is(file));
    if let Some((_, what)) = other {
        opened.withdraw();
        return Err(
            Failure::say(format!("the rejects file `{shown}` is {what}"))
                .hint("name another file with --rejects FILE"),
        );
    }
    opened.begin().map_err(cannot)
}

/// Standard output, if it goes into a file: two writers would overwrite each other there.
fn stdout() -> Option<PathBuf> {
    let path = PathBuf::from("/dev/stdout");
    path.is_file().then_some(path)
}

/// The files that will be read. What cannot be found is left out here: the merge itself will say so, and better.
fn inputs(plan: &Plan, data: &Path) -> Vec<PathBuf> {
    let lookups = plan.lookups.iter().map(|lookup| &lookup.source);
    let sources = plan
        .feeds
        .iter()
        .map(|feed| &feed.source)
        .chain(lookups)
        .filter(|source| source.path != "-");
    sources
        .filter_map(|source| read::files(source, data).ok())
        .flatten()
        .collect()
}
