//! As many references at once as there are connections, and nothing between them: two callers that look up the same thing at
//! the same moment both create it. The callers of the slower one go on with an id that nothing leads to.

use super::callers::all;
use super::pick::Task;
use crate::error::Error;
use crate::merge::database::{Clock, Ran};
use crate::merge::link::Links;

pub(super) async fn run(task: &Task) -> Result<Ran, Error> {
    let links = Links::open(&task.site, &task.tables, task.connections).await?;
    let clock = Clock::start(&task.site);
    let at_once = task.connections as usize;
    let answers = all(at_once, &task.keys, async |key| {
        links.resolve(&task.site, key).await
    })
    .await?;
    Ok(clock.stop(answers))
}
