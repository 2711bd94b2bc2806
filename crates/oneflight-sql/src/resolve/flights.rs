//! The flights of a resolver: what waits is batched, what is asked for twice is asked for once.
//!
//! L1. A flight whose record failed lands like any other; nothing of it is remembered.
//! L2. What is remembered was committed, and nobody has seen it before (R4 of the resolver).

use super::identity::Wanted;
use super::memory::{Memory, Remembered};
use super::options::Options;
use super::stats::Counters;
use crate::error::Error;
use crate::record::{Effect, Outcome, Record};
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
        Arc::new(Self {
            result,
            detail,
            is_told: AtomicBool::new(false),
        })
    }

    /// True if this is the answer for `wanted` too, and there is nothing that it says which the leader did not.
    ///
    /// An error that comes of what the leader said is the leader's alone; one that has nothing to do with it is everybody's.
    pub(crate) fn is_enough_for(&self, wanted: &Wanted) -> bool {
        let says_the_same = wanted.detail() == self.detail;
        match &self.result {
            Ok(_) => says_the_same || wanted.detail() == 0,
            Err(error) => says_the_same || !(error.is_refused() || error.is_usage()),
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
        let first = self
            .result
            .as_ref()
            .map_or(Effect::Found, |outcome| outcome.effect);
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

/// The two kinds of flights over one store.
#[derive(Debug)]
pub(crate) struct Flights {
    merges: Loader<Wanted, Arc<Landed>, Error>,
    finds: Loader<Wanted, Value, Error>,
}

impl Flights {
    pub(crate) fn new(
        store: Store,
        memory: Arc<Memory>,
        counters: Arc<Counters>,
        options: &Options,
    ) -> Self {
        let crew = Crew {
            store,
            memory,
            counters,
        };
        let finders = crew.clone();
        let merges = Loader::builder()
            .max_batch(options.max_batch)
            .max_in_flight(options.batches_in_flight)
            .build(move |wanted| crew.clone().merge(wanted));
        let finds = Loader::builder()
            .max_batch(options.max_batch)
            .max_in_flight(options.batches_in_flight)
            .build(move |wanted| finders.clone().find(wanted));
        Self { merges, finds }
    }

    /// Queues what is wanted, now, and says what it came to.
    pub(crate) fn merge(
        &self,
        wanted: Vec<Wanted>,
    ) -> impl Future<Output = Vec<Result<Arc<Landed>, Error>>> + Send + use<> {
        let landing = self.merges.load_many(wanted);
        async move {
            landing
                .await
                .into_iter()
                .map(|landed| landed.map_err(of_flight)?.ok_or_else(nobody))
                .collect()
        }
    }

    /// Queues what is to be found, now, and says which ids it has.
    pub(crate) fn find(
        &self,
        wanted: Vec<Wanted>,
    ) -> impl Future<Output = Vec<Result<Option<Value>, Error>>> + Send + use<> {
        let landing = self.finds.load_many(wanted);
        async move {
            landing
                .await
                .into_iter()
                .map(|found| found.map_err(of_flight))
                .collect()
        }
    }

    /// How many records were sent, and how many joined one that was on its way.
    pub(crate) fn led_and_joined(&self) -> (u64, u64) {
        let (merges, finds) = (self.merges.stats(), self.finds.stats());
        (merges.sent + finds.sent, merges.joined + finds.joined)
    }

    /// Lets the next call for this record start a flight of its own.
    pub(crate) fn forget(&self, wanted: &Wanted) {
        self.merges.forget(wanted);
        self.finds.forget(wanted);
    }
}

/// What a batch brings back: an answer for each key that has one.
type Batch<V> = Result<Vec<(Wanted, Result<V, Error>)>, Error>;

/// What the batches work on.
#[derive(Clone, Debug)]
struct Crew {
    store: Store,
    memory: Arc<Memory>,
    counters: Arc<Counters>,
}

impl Crew {
    /// Finds or creates what is wanted, remembers it (L2), and says what became of each.
    async fn merge(self, wanted: Vec<Wanted>) -> Batch<Arc<Landed>> {
        self.counters.batches.add(1);
        let watch = self.memory.begin();
        let records = wanted
            .iter()
            .map(|wanted| wanted.record().clone())
            .collect();
        let results = self.store.merge(records).await;
        watch.remember(wanted.iter().zip(&results).filter_map(|(wanted, result)| {
            let outcome = result.as_ref().ok()?;
            let Outcome { id, conflicts, .. } = outcome.clone();
            Some((
                wanted.print(),
                Remembered {
                    id,
                    detail: wanted.detail(),
                    conflicts,
                },
            ))
        }));
        for result in &results {
            match result {
                Ok(outcome) => self.counters.count(outcome),
                Err(_) => self.counters.failed.add(1),
            }
        }
        let landed = wanted.into_iter().zip(results).map(|(wanted, result)| {
            let landed = Landed::new(result, wanted.detail());
            (wanted, Ok(landed))
        });
        Ok(landed.collect())
    }

    /// Looks up what is wanted. What is found is remembered, unless more is known of it already.
    async fn find(self, wanted: Vec<Wanted>) -> Batch<Value> {
        self.counters.batches.add(1);
        let watch = self.memory.begin();
        let records: Vec<Record> = wanted
            .iter()
            .map(|wanted| wanted.record().clone())
            .collect();
        let found = self.store.find(&records).await?;
        watch.remember(wanted.iter().zip(&found).filter_map(|(wanted, id)| {
            // With both a key and an external id, it may have been found by the key: nothing is known of the external id then.
            let is_told = wanted.record().external.is_none() || wanted.record().key.is_none();
            let id = id
                .clone()
                .filter(|_| is_told && self.memory.get(wanted.print()).is_none())?;
            Some((
                wanted.print(),
                Remembered {
                    id,
                    detail: 0,
                    conflicts: 0,
                },
            ))
        }));
        Ok(wanted
            .into_iter()
            .zip(found)
            .filter_map(|(wanted, id)| Some((wanted, Ok(id?))))
            .collect())
    }
}

/// The error of a flight, as one of ours: what the work said, or what became of the flight.
fn of_flight(error: oneflight::Error<Error>) -> Error {
    match error.work() {
        Some(error) => Error::clone(error),
        None => Error::internal(format!("a batch ended early: {error}")),
    }
}

fn nobody() -> Error {
    Error::internal("a batch had no answer for one of its records")
}
