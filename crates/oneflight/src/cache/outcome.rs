//! What a caller gets besides the value: where it is from, and how old it is.

use crate::error::Error;
use std::time::Duration;

/// A value, where it is from, and how old it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome<V, E> {
    /// The value.
    pub value: V,
    /// Where it is from.
    pub source: Source<E>,
    /// How long ago it was loaded or inserted; none if the cache has no clock.
    pub age: Option<Duration>,
}

/// Where a value is from.
#[derive(Debug)]
#[non_exhaustive]
pub enum Source<E> {
    /// It was kept, and is fresh.
    Fresh,
    /// It was kept, and is stale; it is being loaded anew.
    Stale,
    /// It was kept, and is stale; it could not be loaded anew, for this reason.
    StaleOnError(Error<E>),
    /// This call loaded it.
    Loaded,
    /// This call joined one that loaded it.
    Joined,
}

/// A value that is kept; see [`Cache::peek`](super::Cache::peek).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peeked<V> {
    /// The value.
    pub value: V,
    /// What it is still good for.
    pub freshness: Freshness,
    /// How long ago it was loaded or inserted; none if the cache has no clock.
    pub age: Option<Duration>,
}

/// What a value that is kept is still good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Freshness {
    /// It serves.
    Fresh,
    /// It serves, and is to be loaded anew.
    Stale,
    /// It serves only if loading fails, or is slow.
    Grace,
}

impl<E> Source<E> {
    /// True if the value is older than it should be.
    pub fn is_stale(&self) -> bool {
        matches!(self, Self::Stale | Self::StaleOnError(_))
    }

    /// Why the value could not be loaded anew.
    pub fn error(&self) -> Option<&Error<E>> {
        match self {
            Self::StaleOnError(error) => Some(error),
            _ => None,
        }
    }
}

impl<E> Clone for Source<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Fresh => Self::Fresh,
            Self::Stale => Self::Stale,
            Self::StaleOnError(error) => Self::StaleOnError(error.clone()),
            Self::Loaded => Self::Loaded,
            Self::Joined => Self::Joined,
        }
    }
}
