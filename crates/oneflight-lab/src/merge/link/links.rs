//! Several links, each used by one caller at a time.

use super::resolve::Link;
use crate::error::Error;
use crate::merge::database::Site;
use crate::merge::tables::Tables;
use futures_util::future::try_join_all;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Semaphore;

/// Links that wait for work.
#[derive(Debug)]
pub(in crate::merge) struct Links {
    free: Mutex<Vec<Link>>,
    permits: Semaphore,
}

impl Links {
    /// Opens `n` of them at once.
    pub(in crate::merge) async fn open(
        site: &Site,
        tables: &Tables,
        n: u32,
    ) -> Result<Self, Error> {
        let links = try_join_all((0..n).map(|_| Link::open(site, tables))).await?;
        Ok(Self {
            permits: Semaphore::new(links.len()),
            free: Mutex::new(links),
        })
    }

    /// Resolves a reference on the next link that is free.
    pub(in crate::merge) async fn resolve(&self, site: &Site, key: u32) -> Result<i64, Error> {
        let closed = || Error::internal("the links are gone");
        let _permit = self.permits.acquire().await.map_err(|_| closed())?;
        // LOCK: let go of before anything waits. A permit is a link, so there is one.
        let link = self.lock().pop();
        let mut link = link.ok_or_else(closed)?;
        let id = link.resolve(site, key).await;
        self.lock().push(link);
        id
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Link>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
