//! The flights of a resolver: what waits is batched, what is asked for twice is asked for once.
//!
//! L1. A flight whose record failed lands like any other; nothing of it is remembered.
//! L2. What is remembered was committed, and nobody has seen it before (R4 of the resolver).

use super::identity::Wanted;
use super::memory::{Memory, Remembered};
use super::options::Options;
use super::stats::Counters;
use crate::error::Error;
use crate::record::{Effect, Outcome};
use crate::store::Store;
use crate::value::Value;
use oneflight::batch::Loader;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a flight came to, shared by all who waited for it.
#[derive(Debug)]
pub(crate) struct Landed {
    result: Result<Outcome, Error>,
    /// What the record said that led the flight.
    detail: u64,
    /// True once somebody was told that the row was created.
    is_told: AtomicBool,
}

impl Landed {
    fn new(result: Result<Outcome, Error>, detail: u64) -> Arc<Self> {
        Arc::new(Self { result, detail, is_told: AtomicBool::new(false) })
    }

    /// True if this is the answer for `wanted` too, and there is nothing that it says which the leader did not.
    ///
    /// An error that comes of what the leader said is the leader's alone; one that has nothing to do with it is everybody's.
    pub(crate) fn is_enough_for(&self, wanted: &Wanted) -> bool {
        let says_the_same = wanted.detail() == self.detail;
        match &self.result {
            Ok(_) => says_the_same || wanted.detail() == 0,
            Err(error) => says_the_same || error.is_retryable(),
        }
    }

    /// The answer for one of those who waited.
    pub(crate) fn take(&self) -> Result<Outcome, Error> {
        let mut outcome = self.result.clone()?;
        outcome.effect = self.effect(outcome.effect);
        Ok(outcome)
    }

    /// The answer for one whose own flight came after this one: if this one created the row, that is what is to be told.
    pub(crate) fn also(&self, mut later: Outcome) -> Outcome {
        let first = self.result.as_ref().map_or(Effect::Found, |outcome| outcome.effect);
        if first == Effect::Created && self.effect(first) == Effect::Created {
            later.effect = Effect::Created;
        }
        later
    }

    /// One of those who wait is told that the row was created; to the others it was there.
    fn effect(&self, effect: Effect) -> Effect {
        // ORDERING: Relaxed; the swap alone decides who is first, and nothing else hangs on it.
        match effect == Effect::Found || !self.is_told.swap(true, Ordering::Relaxed) {
            true => effect,
            false => Effect::Found,
        }
    }
}
