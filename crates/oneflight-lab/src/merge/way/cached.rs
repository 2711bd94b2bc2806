//! One reference after another, with a memory of what is known.

use super::pick::Task;
use crate::error::Error;
use crate::merge::database::{Clock, Ran};
use crate::merge::link::Link;
use std::collections::HashMap;

pub(super) async fn run(task: &Task) -> Result<Ran, Error> {
    let mut link = Link::open(&task.site, &task.tables).await?;
    let clock = Clock::start(&task.site);
    let mut known: HashMap<u32, i64> = HashMap::new();
    let mut answers = Vec::with_capacity(task.keys.len());
    for &key in &*task.keys {
        let id = match known.get(&key) {
            Some(&id) => id,
            None => link.resolve(&task.site, key).await?,
        };
        known.insert(key, id);
        answers.push(id);
    }
    Ok(clock.stop(answers))
}
