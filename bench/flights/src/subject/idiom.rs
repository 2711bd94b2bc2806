//! What people write themselves, in its leanest form: no box around the work, and the work removes its entry when it ends.

use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::OnceCell;
use trial::{Kind, Subject, Work};

/// A map of weak `futures::Shared`.
pub(crate) struct Shareds(Map<WeakShared<Removing>>);

type Map<T> = Mutex<HashMap<u64, T>>;

impl Subject for Shareds {
    const NAME: &'static str = "Shared in a map";
    const KIND: Kind = Kind::Idiom;
    type Answer = u64;

    fn new() -> Self {
        Self(Map::default())
    }

    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = u64> + Send + 'static {
        let mut map = locked(&self.0);
        if let Some(shared) = map.get(key).and_then(WeakShared::upgrade) {
            return shared;
        }
        let shared: Shared<_> = Removing {
            work,
            key,
            map: &self.0,
        }
        .shared();
        if let Some(weak) = shared.downgrade() {
            map.insert(*key, weak);
        }
        shared
    }

    fn value(answer: u64) -> u64 {
        answer
    }
}

/// Work that removes its entry when it ends.
pub(crate) struct Removing {
    work: Work,
    key: &'static u64,
    map: &'static Map<WeakShared<Self>>,
}

impl Future for Removing {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        let value = Pin::new(&mut self.work).poll(context);
        if value.is_ready() {
            locked(self.map).remove(self.key);
        }
        value
    }
}

/// A map of tokio's `OnceCell`.
pub(crate) struct OnceCells(Map<Arc<OnceCell<u64>>>);

impl Subject for OnceCells {
    const NAME: &'static str = "OnceCell in a map";
    const KIND: Kind = Kind::Idiom;
    type Answer = u64;

    fn new() -> Self {
        Self(Map::default())
    }

    async fn call(&'static self, key: &'static u64, work: Work) -> u64 {
        let cell = locked(&self.0).entry(*key).or_default().clone();
        let init = || async move {
            let value = work.await;
            locked(&self.0).remove(key);
            value
        };
        *cell.get_or_init(init).await
    }

    fn value(answer: u64) -> u64 {
        answer
    }
}

fn locked<T>(map: &Map<T>) -> MutexGuard<'_, HashMap<u64, T>> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}
