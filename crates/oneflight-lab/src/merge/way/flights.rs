//! One flight for each key, on many connections: who asks for a key that is asked for already joins that flight, and what has
//! landed is remembered. The work of a flight is look up, then create.

use super::callers::{CALLERS, all};
use super::pick::Task;
use crate::error::Error;
use crate::merge::database::{Clock, Ran};
use crate::merge::link::Links;
use oneflight::Group;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) async fn run(task: &Task) -> Result<Ran, Error> {
    let links = Links::open(&task.site, &task.tables, task.connections).await?;
    let links = Arc::new(links);
    let landed: Mutex<HashMap<u32, i64>> = Mutex::default();
    let group: Group<u32, i64, Error> = Group::new();
    let clock = Clock::start(&task.site);
    let resolve = async |key| {
        if let Some(&id) = lock(&landed).get(&key) {
            return Ok(id);
        }
        let flight = group.run(&key, || {
            let (links, site) = (links.clone(), task.site.clone());
            async move { links.resolve(&site, key).await }
        });
        let id = flight.await.map_err(|error| match error.work() {
            Some(error) => Error::clone(error),
            None => Error::internal(error.to_string()),
        })?;
        lock(&landed).insert(key, id);
        Ok(id)
    };
    Ok(clock.stop(all(CALLERS, &task.keys, resolve).await?))
}

/// What has landed. Nobody waits while they hold it.
fn lock(landed: &Mutex<HashMap<u32, i64>>) -> MutexGuard<'_, HashMap<u32, i64>> {
    landed.lock().unwrap_or_else(PoisonError::into_inner)
}
