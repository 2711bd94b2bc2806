//! What becomes of a source, told as it happens.

use super::failure::Failure;
use super::pair::Version;
use crate::sync::Arc;
use crate::waiting::panics::hushed;
use std::fmt;

/// What happened to a source; see [`Builder::on_event`](super::Builder::on_event).
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a, E> {
    /// The server gave a new pair, and the store has it.
    #[non_exhaustive]
    Renewed {
        /// Its version.
        version: Version,
    },
    /// The store had a pair that this process did not know: at the start, or because another process renewed it.
    #[non_exhaustive]
    Found {
        /// Its version.
        version: Version,
    },
    /// A renewal failed.
    #[non_exhaustive]
    Failed {
        /// Why.
        failure: &'a Failure<E>,
        /// True if the old access token is still good, so that callers do not notice.
        serving: bool,
    },
    /// Nothing but a new login helps. It is told once for each pair, and not again before there is another.
    #[non_exhaustive]
    LoginNeeded {
        /// Why.
        failure: &'a Failure<E>,
    },
}

/// What a source has done so far.
///
/// # Examples
/// ```
/// # use oneflight::{Tokio, token::{Grant, TokenSource}};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
///     .build_minting(|| async { Ok(Grant::new("minted")) });
/// for _ in 0..100 {
///     source.token().await.unwrap();
/// }
/// assert_eq!((source.stats().sent, source.stats().renewed), (1, 1));
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Requests that were sent to the server, those that were repeated too.
    pub sent: u64,
    /// Pairs that the server gave and the store took.
    pub renewed: u64,
    /// Pairs that were found in the store.
    pub found: u64,
    /// Pairs that the server gave and the store did not take, since another was there first.
    pub superseded: u64,
    /// Flights that failed.
    pub failed: u64,
}

/// A function that is told, if there is one.
pub(super) struct Hook<E>(pub(super) Option<Told<E>>);

type Told<E> = Arc<dyn Fn(&Event<'_, E>) + Send + Sync>;

impl<E> Hook<E> {
    /// Tells. A panic in the hook ends here.
    pub(super) fn tell(&self, event: &Event<'_, E>) {
        if let Some(told) = &self.0 {
            hushed(|| told(event));
        }
    }
}

impl<E> fmt::Debug for Hook<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Some(..)" } else { "None" })
    }
}
