//! One reference after another: look up, then create.

use super::pick::Task;
use crate::error::Error;
use crate::merge::database::{Clock, Ran};
use crate::merge::link::Link;

pub(super) async fn run(task: &Task) -> Result<Ran, Error> {
    let mut link = Link::open(&task.site, &task.tables).await?;
    let clock = Clock::start(&task.site);
    let mut answers = Vec::with_capacity(task.keys.len());
    for &key in &*task.keys {
        answers.push(link.resolve(&task.site, key).await?);
    }
    Ok(clock.stop(answers))
}
