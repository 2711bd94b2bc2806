//! Many callers, and one worker behind a queue: right, and one at a time.

use super::callers::{CALLERS, all};
use super::pick::Task;
use crate::error::Error;
use crate::merge::database::{Clock, Ran};
use crate::merge::link::Link;
use tokio::sync::{mpsc, oneshot};

pub(super) async fn run(task: &Task) -> Result<Ran, Error> {
    let mut link = Link::open(&task.site, &task.tables).await?;
    let (orders, mut queue) = mpsc::channel::<(u32, oneshot::Sender<Result<i64, Error>>)>(CALLERS);
    let site = task.site.clone();
    // It ends when the last caller is gone.
    tokio::spawn(async move {
        while let Some((key, reply)) = queue.recv().await {
            // A caller that has gone away wants no answer.
            let _ = reply.send(link.resolve(&site, key).await);
        }
    });
    let gone = || Error::internal("the worker is gone");
    let clock = Clock::start(&task.site);
    let resolve = async |key| {
        let (reply, answer) = oneshot::channel();
        orders.send((key, reply)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    };
    Ok(clock.stop(all(CALLERS, &task.keys, resolve).await?))
}
