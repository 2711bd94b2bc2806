//! What leaves a cache is dropped under none of its locks: a `Drop` of the user's may use the cache.

use super::script::seconds;
use crate::script::HandClock;
use futures_util::FutureExt;
use oneflight::Mark;
use oneflight::cache::{Cache, Failure, Lifetime, Overflow};
use std::future::Future;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use tokio::sync::oneshot;

type Kept = Cache<u32, Uses, Uses>;

/// A value, or an error, that uses the cache whenever one of its copies is dropped.
#[derive(Clone)]
struct Uses(u32, Weak<Desk>);

#[derive(Default)]
struct Desk {
    cache: OnceLock<Kept>,
    /// What was dropped under a lock.
    stuck: Mutex<Vec<u32>>,
}

impl Drop for Uses {
    fn drop(&mut self) {
        let Some(desk) = self.1.upgrade() else { return };
        let cache = desk.cache().clone();
        let (done, is_done) = channel();
        thread::spawn(move || {
            // All locks there are: that of the fence, the store and the flights. Nothing is kept for this key.
            cache.invalidate(&u32::MAX);
            let _ = done.send(());
        });
        if is_done.recv_timeout(seconds(2)).is_err() {
            let mut stuck = desk.stuck.lock().unwrap_or_else(PoisonError::into_inner);
            stuck.push(self.0);
        }
    }
}

/// A cache of three entries, all under one lock, with a value of its own kind for each number.
fn desk() -> (Arc<Desk>, HandClock) {
    let (desk, clock) = (Arc::<Desk>::default(), HandClock::new());
    let cache = Cache::builder(3)
        .clock(clock.clone())
        .shards(1)
        .ttl(seconds(60))
        .stale_if_error(seconds(60))
        .error_backoff(seconds(1), seconds(1))
        .negative_ttl(seconds(1))
        .max_waiters(1, Overflow::Load)
        .lifetime(|_, value: &Uses, usual| match value.0 {
            100 => Lifetime::of(seconds(0)),
            _ => usual,
        })
        .classify(|error: &Uses| match error.0 {
            404 => Failure::NotFound,
            403 => Failure::Permanent,
            _ => Failure::Transient,
        })
        .build();
    assert!(desk.cache.set(cache).is_ok());
    (desk, clock)
}

impl Desk {
    fn cache(&self) -> &Kept {
        self.cache.get().expect("it is set")
    }

    fn nothing_was_stuck(&self, what: &str) {
        let stuck = std::mem::take(&mut *self.stuck.lock().unwrap());
        assert!(stuck.is_empty(), "{what}: dropped under a lock: {stuck:?}");
    }
}

fn uses(desk: &Arc<Desk>, number: u32) -> Uses {
    Uses(number, Arc::downgrade(desk))
}

/// A load that ends once it is told how, and is polled once.
fn load<'c>(
    desk: &'c Arc<Desk>,
    key: &'c u32,
    since: Option<Mark>,
) -> (impl Future + Unpin + 'c, oneshot::Sender<Result<u32, u32>>) {
    let (tell, told) = oneshot::channel();
    let at = desk.clone();
    let mut call = desk.cache().get_or_load(key, move || async move {
        match told.await.expect("it is told") {
            Ok(value) => Ok(uses(&at, value)),
            Err(error) => Err(uses(&at, error)),
        }
    });
    if let Some(mark) = since {
        call = call.fresh_since(mark);
    }
    assert!((&mut call).now_or_never().is_none());
    (call, tell)
}

/// Ends a load, and drops what it has brought.
fn end(call: impl Future, tell: oneshot::Sender<Result<u32, u32>>, end: Result<u32, u32>) {
    assert!(tell.send(end).is_ok());
    assert!(call.now_or_never().is_some());
}

#[test]
fn writes_drop_nothing_under_a_lock() {
    let (desk, clock) = desk();
    let cache = desk.cache();
    for (key, value) in [(1, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (5, 100)] {
        cache.insert(key, uses(&desk, value));
        desk.nothing_was_stuck("insert");
    }
    cache.insert(1, uses(&desk, 7));
    cache.expire(&1);
    desk.nothing_was_stuck("expire");
    cache.invalidate(&1);
    desk.nothing_was_stuck("invalidate");
    cache.insert(1, uses(&desk, 8));
    clock.advance(seconds(600));
    cache.purge();
    desk.nothing_was_stuck("purge");
    assert!(cache.is_empty());
    cache.insert(1, uses(&desk, 9));
    cache.invalidate_all();
    cache.purge();
    desk.nothing_was_stuck("purge after all was invalidated");
    assert!(cache.is_empty());
}

#[test]
fn loads_that_land_drop_nothing_under_a_lock() {
    let (desk, clock) = desk();
    let cache = desk.cache();
    let (one, tell) = load(&desk, &1, None);
    end(one, tell, Ok(1));
    desk.nothing_was_stuck("a load");
    // In the order of their numbers, in the other, and overtaken by each kind of write.
    for value in [2, 100] {
        clock.advance(seconds(60));
        let ((one, tell), (two, tell_two)) = (load(&desk, &1, None), load(&desk, &1, None));
        end(two, tell_two, Ok(value));
        desk.nothing_was_stuck("a load that replaces");
        end(one, tell, Ok(3));
        desk.nothing_was_stuck("a load that comes too late");
    }
    let (one, tell) = load(&desk, &1, Some(cache.mark()));
    cache.invalidate(&1);
    end(one, tell, Ok(4));
    desk.nothing_was_stuck("a load that was fenced");
    let (one, tell) = load(&desk, &1, None);
    cache.expire(&1);
    end(one, tell, Ok(5));
    desk.nothing_was_stuck("a load that was expired");
}

#[test]
fn loads_that_fail_drop_nothing_under_a_lock() {
    for error in [404, 403, 503] {
        for kept in [false, true] {
            let (desk, clock) = desk();
            let cache = desk.cache();
            if kept {
                cache.insert(1, uses(&desk, 1));
            }
            for _ in 0..3 {
                clock.advance(seconds(60));
                let (one, tell) = load(&desk, &1, None);
                end(one, tell, Err(error));
                desk.nothing_was_stuck("a load that fails");
                let (one, tell) = load(&desk, &2, None);
                end(one, tell, Err(error));
                clock.advance(seconds(2));
                cache.invalidate_all();
                let (one, tell) = load(&desk, &2, None);
                end(one, tell, Err(error));
                desk.nothing_was_stuck("a load that fails after all was invalidated");
                if kept {
                    cache.insert(1, uses(&desk, 1));
                }
            }
            cache.expire(&1);
            cache.expire(&2);
            desk.nothing_was_stuck("expire of what has failed");
        }
    }
}
