//! Many callers at once.

use crate::error::Error;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

/// Callers that are under way at once, in the ways that have many: far more than there are connections.
pub(super) const CALLERS: usize = 1_024;

/// Lets one caller after another begin, `at_once` of them under way, and returns their answers in the order of the references.
pub(super) async fn all(
    at_once: usize,
    keys: &[u32],
    caller: impl AsyncFn(u32) -> Result<i64, Error>,
) -> Result<Vec<i64>, Error> {
    let asking = keys.iter().enumerate().map(|(at, &key)| {
        let caller = &caller;
        async move { Ok::<_, Error>((at, caller(key).await?)) }
    });
    let mut answers = vec![0; keys.len()];
    // In the order in which they come: one that waits must not keep others from beginning.
    let mut coming = stream::iter(asking).buffer_unordered(at_once);
    while let Some((at, id)) = coming.try_next().await? {
        answers[at] = id;
    }
    Ok(answers)
}
