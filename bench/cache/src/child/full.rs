//! A cache that is full: what an entry costs. Twice as many keys are loaded as there is room for.

use crate::subject::Cached;
use trial::{Figures, Size, Until, Work, alone, check, keys, let_tasks_run};

/// Entries that there is room for.
const ROOM: usize = 100_000;

/// Bytes of heap for each entry that there is room for, the cache's own among them.
pub(super) fn run<S: Cached>(size: Size) -> Result<Figures, String> {
    let room = size.pick(ROOM, ROOM / 100);
    let keys = keys(2 * room);
    alone(async move {
        counting::start();
        let before = counting::read();
        let subject: &'static S = Box::leak(Box::new(S::sized(room, false)));
        for key in keys {
            let value = S::value(subject.call(key, Work::new(*key, Until::Now)).await);
            check("what was loaded", value, *key)?;
        }
        let_tasks_run().await;
        let live = counting::read().live - before.live;
        Ok(Figures::from([(
            "heap bytes".to_owned(),
            live as f64 / room as f64,
        )]))
    })?
}
