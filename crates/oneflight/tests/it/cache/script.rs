//! A desk with a cache on it: the calls and works are those of every script, and each call's part is noted.

use crate::script::{Answer, Call, Flies, HandClock, HandSpawn, Oops, Script, Work};
use oneflight::cache::{Builder, Cache, Failure, Many, Outcome, Source};
use oneflight::{Mark, batch::Loader};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub(super) type Prices = Cache<String, u64, Oops>;
pub(super) type Prepared = Builder<String, u64, Oops>;

/// What became of a call: where its value is from, and how old it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) source: &'static str,
    pub(super) age: Option<Duration>,
    pub(super) error: Option<String>,
}

/// What a key of a call for many got; none if there is no value.
pub(super) type Row = Option<(u64, Part)>;

impl Part {
    fn of(outcome: &Outcome<u64, Oops>) -> Self {
        let source = match &outcome.source {
            Source::Fresh => "fresh",
            Source::Stale => "stale",
            Source::StaleOnError(_) => "stale on error",
            Source::Loaded => "loaded",
            Source::Joined => "joined",
            _ => "unknown",
        };
        Self {
            source,
            age: outcome.age,
            error: outcome.source.error().map(ToString::to_string),
        }
    }
}

/// A cache, its time and its tasks.
pub(super) struct Desk {
    pub(super) cache: Prices,
    pub(super) clock: HandClock,
    pub(super) tasks: HandSpawn,
    parts: Mutex<BTreeMap<usize, Part>>,
    rows: Mutex<BTreeMap<usize, Vec<Row>>>,
    calls: AtomicUsize,
}

pub(super) const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(super) const TTL: Duration = seconds(60);

/// What errors of scripts mean, by what they say.
pub(super) fn classes(error: &Oops) -> Failure {
    match error.0 {
        "not found" => Failure::NotFound,
        "forbidden" => Failure::Permanent,
        _ => Failure::Transient,
    }
}

impl Desk {
    /// A cache with a clock, values that live for [`TTL`], and what else the test says. Nothing runs behind.
    pub(super) fn new(prepare: impl FnOnce(Prepared) -> Prepared) -> Self {
        Self::with(HandSpawn::default(), prepare)
    }

    /// As `new`, with a runtime for what runs behind.
    pub(super) fn behind(prepare: impl FnOnce(Prepared) -> Prepared) -> Self {
        let tasks = HandSpawn::default();
        let spawn = tasks.clone();
        Self::with(tasks, |builder| prepare(builder.spawner(spawn)))
    }

    fn with(tasks: HandSpawn, prepare: impl FnOnce(Prepared) -> Prepared) -> Self {
        let clock = HandClock::new();
        let builder = Cache::builder(100).clock(clock.clone()).ttl(TTL);
        let builder = builder.classify(classes).count_hits();
        Self {
            cache: prepare(builder).build(),
            clock,
            tasks,
            parts: Mutex::default(),
            rows: Mutex::default(),
            calls: AtomicUsize::new(0),
        }
    }

    pub(super) fn script(&self) -> Script<'_, Self> {
        Script::new(self)
    }

    /// A call on terms.
    pub(super) fn ask<'g>(
        &'g self,
        key: &str,
        since: Option<Mark>,
        limit: Option<Duration>,
        work: impl FnOnce() -> Work + Send + 'static,
    ) -> Pin<Box<dyn Future<Output = Answer> + 'g>> {
        let (key, turn) = (key.to_owned(), self.calls.fetch_add(1, Ordering::SeqCst));
        Box::pin(async move {
            let mut lookup = self.cache.get_or_load(key.as_str(), work);
            if let Some(mark) = since {
                lookup = lookup.fresh_since(mark);
            }
            if let Some(limit) = limit {
                lookup = lookup.within(limit);
            }
            let outcome = lookup.outcome().await?;
            let part = Part::of(&outcome);
            self.parts.lock().unwrap().insert(turn, part);
            Ok(outcome.value)
        })
    }

    /// A call for many keys on terms, as one of the script: its answer is how many keys it was for, and each key's is a [`Row`].
    pub(super) fn ask_many<'g>(
        &'g self,
        keys: &[&str],
        since: Option<Mark>,
        loader: &'g Loader<String, u64, Oops>,
    ) -> Pin<Box<dyn Future<Output = Answer> + 'g>> {
        let turn = self.calls.fetch_add(1, Ordering::SeqCst);
        let mut many = self.many(keys, loader);
        if let Some(mark) = since {
            many = many.fresh_since(mark);
        }
        Box::pin(async move {
            let rows = many.outcome().await.into_iter();
            let row = |row: Result<Option<Outcome<u64, Oops>>, _>| {
                let outcome = row.ok().flatten()?;
                Some((outcome.value, Part::of(&outcome)))
            };
            let rows: Vec<Row> = rows.map(row).collect();
            let count = rows.len() as u64;
            self.rows.lock().unwrap().insert(turn, rows);
            Ok(count)
        })
    }

    /// What the keys of a call for many got.
    pub(super) fn rows(&self, call: Call) -> Vec<Row> {
        let rows = self.rows.lock().unwrap();
        rows.get(&call.0).expect("the call is over").clone()
    }

    pub(super) fn part(&self, call: Call) -> Part {
        let parts = self.parts.lock().unwrap();
        parts.get(&call.0).expect("the call got a value").clone()
    }

    pub(super) fn source(&self, call: Call) -> &'static str {
        self.part(call).source
    }

    /// Lets all that runs behind run.
    pub(super) fn run_behind(&self) {
        self.tasks.settle();
    }

    /// Keys of a batch, by a loader.
    pub(super) fn many<'g>(
        &'g self,
        keys: &[&str],
        loader: &'g Loader<String, u64, Oops>,
    ) -> Many<'g, String, u64, Oops> {
        self.cache
            .get_or_load_many(keys.iter().map(|&key| key.to_owned()), loader)
    }
}

/// What is left to run holds its spawner, and the spawner what is left to run.
impl Drop for Desk {
    fn drop(&mut self) {
        self.tasks.drop_all();
    }
}

impl Flies for Desk {
    type Call<'g> = Pin<Box<dyn Future<Output = Answer> + 'g>>;

    fn fly<'g>(
        &'g self,
        key: &str,
        work: impl FnOnce() -> Work + Send + 'static,
    ) -> Self::Call<'g> {
        self.ask(key, None, None, work)
    }

    fn led(_: &Self::Call<'_>) -> Option<bool> {
        None
    }
}

/// A call that is polled once, and has its value at once.
pub(super) fn at_once(script: &mut Script<'_, Desk>, key: &str) -> (u64, &'static str) {
    let call = script.call(key);
    assert!(script.poll(call), "{key} has no answer at once");
    let value = script.value(call).expect("a value");
    (value, script.group.source(call))
}

/// A call that is polled once, and waits.
pub(super) fn waits(script: &mut Script<'_, Desk>, key: &str) -> Call {
    let call = script.call(key);
    assert!(!script.poll(call), "{key} has an answer at once");
    call
}

/// Puts a value there by a load.
pub(super) fn fill(script: &mut Script<'_, Desk>, key: &str, value: u64) {
    let call = waits(script, key);
    script.finish_work(key, value);
    assert_eq!(script.answer(call), Some(value));
}
