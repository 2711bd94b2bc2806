//! Makes the feeds, merges them twice, audits, and says what happened.

use super::check::Differences;
use super::files::{self, PHANTOM, Truth};
use super::folder;
use crate::cli::{DemoArgs, Format, IntoArg, MergeArgs};
use crate::command::{audit, merge};
use crate::exit::{Exit, Failure};
use crate::print::{count, out, shell};
use crate::target::Target;
use oneflight_merge::report::Report;
use std::path::{Path, PathBuf};

/// Does what the command line says.
///
/// # Errors
/// If the folder holds anything that is not the demo's own, or something fails.
pub(crate) async fn command(args: DemoArgs) -> Result<Exit, Failure> {
    let demo = Demo::new(args.dir)?;
    let files = files::files();
    folder::write(&demo.dir, &files)?;
    let truth = files.truth;
    let mut differences = Differences::default();
    out(&demo.intro(&truth))?;

    out(&format!(
        "$ oneflight merge {} --into {} --rejects {}\n",
        demo.map(),
        demo.database(),
        demo.rejects()
    ))?;
    let done = merge::run(merge::plan(demo.merge_args(false))?).await?;
    if done.report.interrupted {
        return Ok(Exit::Interrupted);
    }
    out(&merge::text(&done))?;
    differences.first(&done.report, &truth);
    differences.rejects(
        &std::fs::read_to_string(demo.dir.join(folder::REJECTS)).unwrap_or_default(),
        &truth,
    );
    out(&comment(&truth))?;

    out(&format!(
        "$ oneflight merge {} --into {}          (the same again)\n",
        demo.map(),
        demo.database()
    ))?;
    let again = merge::run(merge::plan(demo.merge_args(true))?).await?;
    if again.report.interrupted {
        return Ok(Exit::Interrupted);
    }
    differences.again(&again.report, &truth);
    out(&second(&again.report))?;

    out(&format!(
        "$ oneflight audit {} --into {}\n",
        demo.map(),
        demo.database()
    ))?;
    let report = audit::run(&demo.dir.join(folder::MAP), &demo.target).await?;
    differences.audit(&report, &truth);
    out(&audit::text(&report))?;
    out(&demo.outro())?;
    judge(&differences)
}

/// A demo that shows something else than it should is a fault of the program.
fn judge(differences: &Differences) -> Result<Exit, Failure> {
    if differences.0.is_empty() {
        return Ok(Exit::Done);
    }
    let message = format!(
        "the demo did not come out as it must:\n  {}",
        differences.0.join("\n  ")
    );
    Err(Failure {
        exit: Exit::Internal,
        ..Failure::say(message)
    })
}

struct Demo {
    dir: PathBuf,
    target: Target,
}

impl Demo {
    fn new(dir: PathBuf) -> Result<Self, Failure> {
        let path = dir.join(folder::DATABASE);
        let text = path.to_str().ok_or_else(|| {
            Failure::say(format!(
                "the name of the folder `{}` is no Unicode",
                dir.display()
            ))
        })?;
        let target = Target::of_file(text);
        Ok(Self { dir, target })
    }

    fn merge_args(&self, quiet: bool) -> MergeArgs {
        MergeArgs {
            map: self.dir.join(folder::MAP),
            data: None,
            into: IntoArg::of(self.target.clone()),
            rejects: (!quiet).then(|| self.dir.join(folder::REJECTS)),
            max_rejects: None,
            workers: None,
            connections: 4,
            dry_run: false,
            format: Format::Text,
            quiet,
        }
    }

    fn map(&self) -> String {
        shown(&self.dir.join(folder::MAP))
    }

    fn database(&self) -> String {
        shell(self.target.shown())
    }

    fn rejects(&self) -> String {
        shown(&self.dir.join(folder::REJECTS))
    }

    fn intro(&self, truth: &Truth) -> String {
        format!(
            "A league that never was, told by two providers who know nothing of each other, in {}:\n\
             {} rows of CSV, NDJSON and nested JSON; {} clubs in {} spellings under two sets of ids;\n\
             {} rows that stand there twice, and {} that are broken.\n\n",
            shown(&self.dir),
            count(truth.rows),
            count(truth.table("club")),
            count(truth.spellings),
            count(truth.repeated),
            count(truth.rejects.len() as u64),
        )
    }

    fn outro(&self) -> String {
        format!(
            "\nNow it is yours: look at {}, change it, and merge again; or\n$ sqlite3 {} 'SELECT name FROM club'\n",
            self.map(),
            shown(&self.dir.join(folder::DATABASE)),
        )
    }
}

fn shown(path: &Path) -> String {
    shell(&path.display().to_string())
}

/// What the first merge has shown.
fn comment(truth: &Truth) -> String {
    format!(
        "→ {} spellings became {} clubs: by folding, by the ids of both providers, and by a list of short names.\n\
         → The {} rejected rows are the broken ones, and nothing of them is stored: \"{PHANTOM}\", which only a broken row\n  \
         names, is no club. (Typed by you, this ends with exit code 3: done, with rejects.)\n\
         → The providers tell {} results differently: what came first is kept, and the conflict is counted.\n\n",
        count(truth.spellings),
        count(truth.table("club")),
        count(truth.rejects.len() as u64),
        count(truth.conflicts),
    )
}

/// What the second merge has shown, in one line.
fn second(report: &Report) -> String {
    let created: u64 = report.tables.iter().map(|table| table.created).sum();
    let updated: u64 = report
        .tables
        .iter()
        .map(|table| table.updated + table.completed)
        .sum();
    format!(
        "→ {} rows read, {} created, {} updated: a merge may be repeated at any time.\n\n",
        count(report.read()),
        count(created),
        count(updated),
    )
}
