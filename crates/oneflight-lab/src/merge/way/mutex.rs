//! Many callers, and a mutex around all they do: right, and one at a time.

use super::callers::{CALLERS, all};
use super::pick::Task;
use crate::error::Error;
use crate::merge::database::{Clock, Ran};
use crate::merge::link::Link;
use tokio::sync::Mutex;

pub(super) async fn run(task: &Task) -> Result<Ran, Error> {
    let link = Mutex::new(Link::open(&task.site, &task.tables).await?);
    let clock = Clock::start(&task.site);
    // LOCK: over the whole of it, which is the idea of this way.
    let resolve = async |key| link.lock().await.resolve(&task.site, key).await;
    Ok(clock.stop(all(CALLERS, &task.keys, resolve).await?))
}
