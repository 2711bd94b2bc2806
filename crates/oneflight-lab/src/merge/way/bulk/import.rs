//! SQLite: `.import` into a temporary table, by the shell `sqlite3`.

use super::super::pick::Task;
use super::shell::Shell;
use super::start::{answers, feed, pairs};
use crate::error::Error;
use crate::merge::database::{Clock, Ran};
use crate::merge::tables::SOURCE;
use tokio::process::Command;

/// Statements of the script that are more than a setting.
const STATEMENTS: u64 = 7;

pub(super) async fn run(task: &Task) -> Result<Ran, Error> {
    let (things, links) = (task.tables.name(), task.tables.links());
    let folder = task.site.folder();
    std::fs::write(folder.join("feed.tsv"), feed(task)).map_err(Error::file)?;
    let mut command = Command::new("sqlite3");
    command
        .current_dir(folder)
        .args(["-batch", "-bail", "lab.db"]);
    // The settings of the other ways.
    let hello = "\
        PRAGMA synchronous = NORMAL;\nPRAGMA foreign_keys = ON;\nPRAGMA temp_store = MEMORY;\n.mode tabs\nSELECT 'ready';\n";
    let shell = Shell::start(command, hello).await?;
    let script = format!(
        "CREATE TEMP TABLE stage (external_id TEXT, slug TEXT);\n\
         .import --schema temp feed.tsv stage\n\
         BEGIN IMMEDIATE;\n\
         INSERT INTO {things} (slug) SELECT DISTINCT slug FROM stage WHERE true ON CONFLICT DO NOTHING;\n\
         INSERT INTO {links} (source, external_id, entity_id) SELECT DISTINCT '{SOURCE}', s.external_id, t.id \
         FROM stage s JOIN {things} t ON t.slug = s.slug WHERE true ON CONFLICT DO NOTHING;\n\
         COMMIT;\n\
         SELECT external_id, entity_id FROM {links} WHERE external_id IN (SELECT external_id FROM stage);\n"
    );
    let clock = Clock::start(&task.site);
    let printed = shell.run(&script).await?;
    task.site.count(STATEMENTS);
    Ok(clock.stop(answers(task, pairs(&printed))))
}
