//! Random scripts against a model so simple that it can be seen to be right.
//!
//! M1. The loader starts the same batches, drops the same ones and gives the same answers as the model, after every step.
//! M2. When only callers that were woken are polled, and seven of them never again, all others are answered: no wake is lost.

use super::script::{Broken, Caller, Script};
use oneflight::batch::LoadMany;
use std::task::Poll;

const SCRIPTS: u64 = 3_000;

/// A small generator of numbers, so that a seed replays a script.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Queued,
    Flying(usize),
    Landed(usize),
}

struct Flight {
    key: u32,
    state: State,
    is_forgotten: bool,
}

#[derive(Default)]
struct Model {
    limits: (usize, usize),
    flights: Vec<Flight>,
    /// The flights that each call waits for, while it is there.
    calls: Vec<Option<Vec<usize>>>,
    batches: Vec<Vec<u32>>,
    running: Vec<usize>,
    /// Batches that have been told to end, in that order.
    told: Vec<usize>,
    dropped: Vec<usize>,
}

impl Model {
    fn load(&mut self, keys: &[u32]) {
        let flights = keys.iter().map(|&key| {
            let open = |flight: &Flight| {
                flight.key == key
                    && !flight.is_forgotten
                    && !matches!(flight.state, State::Landed(_))
            };
            self.flights.iter().rposition(open).unwrap_or_else(|| {
                let (state, is_forgotten) = (State::Queued, false);
                self.flights.push(Flight {
                    key,
                    state,
                    is_forgotten,
                });
                self.flights.len() - 1
            })
        });
        let flights = flights.collect();
        self.calls.push(Some(flights));
    }

    fn forget(&mut self, key: u32) {
        for flight in self.flights.iter_mut().filter(|flight| flight.key == key) {
            flight.is_forgotten |= flight.state != State::Queued;
        }
    }

    fn is_wanted(&self, flight: usize) -> bool {
        self.calls
            .iter()
            .flatten()
            .any(|flights| flights.contains(&flight))
    }

    fn leave(&mut self, call: usize) {
        self.calls[call] = None;
        for at in 0..self.flights.len() {
            if self.flights[at].state == State::Queued && !self.is_wanted(at) {
                self.flights[at].state = State::Landed(usize::MAX);
            }
        }
        for batch in self.running.clone() {
            let of_it = |at: &usize| self.flights[*at].state == State::Flying(batch);
            if !(0..self.flights.len())
                .filter(of_it)
                .any(|at| self.is_wanted(at))
            {
                self.end(batch, usize::MAX);
            }
        }
    }

    fn end(&mut self, batch: usize, landed: usize) {
        self.running.retain(|&running| running != batch);
        self.told.retain(|&told| told != batch);
        self.dropped.push(batch);
        for flight in &mut self.flights {
            if flight.state == State::Flying(batch) {
                flight.state = State::Landed(landed);
            }
        }
    }

    /// What any caller's poll does; then the answers, if this call has them all.
    fn poll(&mut self, call: usize) -> Option<Vec<(u32, usize)>> {
        loop {
            if let Some(&batch) = self.told.first() {
                self.end(batch, batch);
                continue;
            }
            let queued =
                (0..self.flights.len()).filter(|&at| self.flights[at].state == State::Queued);
            let next: Vec<_> = queued.take(self.limits.0).collect();
            if next.is_empty() || self.running.len() == self.limits.1 {
                break;
            }
            let batch = self.batches.len();
            next.iter()
                .for_each(|&at| self.flights[at].state = State::Flying(batch));
            self.batches
                .push(next.iter().map(|&at| self.flights[at].key).collect());
            self.running.push(batch);
        }
        let flights = self.calls[call].as_ref()?;
        let answers = flights.iter().map(|&at| match self.flights[at].state {
            State::Landed(batch) => Some((self.flights[at].key, batch)),
            State::Queued | State::Flying(_) => None,
        });
        let answers = answers.collect::<Option<_>>()?;
        self.calls[call] = None;
        Some(answers)
    }
}

struct Run {
    script: Script,
    model: Model,
    calls: Vec<Option<Caller<LoadMany<u32, u32, Broken>>>>,
    steps: Vec<String>,
}

impl Run {
    fn poll(&mut self, call: usize) {
        let Some(caller) = &mut self.calls[call] else {
            return;
        };
        self.steps.push(format!("poll {call}"));
        let expected = self.model.poll(call);
        match (caller.poll(), expected) {
            (Poll::Pending, None) => {}
            (Poll::Ready(answers), Some(expected)) => {
                let answers: Vec<_> = answers.into_iter().map(said).collect();
                let expected: Vec<_> = expected
                    .into_iter()
                    .map(|(key, batch)| says(key, batch))
                    .collect();
                assert_eq!(answers, expected, "{:#?}", self.steps);
                self.calls[call] = None;
            }
            (got, expected) => panic!(
                "ready: {}, expected: {expected:?}, after {:#?}",
                got.is_ready(),
                self.steps
            ),
        }
    }

    fn tell(&mut self, batch: usize) {
        self.steps.push(format!("tell {batch}"));
        self.model.told.push(batch);
        let keys = self.script.batches()[batch].clone();
        self.script.say(batch, move || {
            let answers = keys.iter().rev().filter_map(|&key| {
                says(key, batch)
                    .transpose()
                    .map(|said| (key, said.map_err(Broken)))
            });
            Ok(answers.collect())
        });
    }

    fn step(&mut self, dice: &mut Dice) {
        match dice.below(12) {
            0..4 => {
                let keys: Vec<_> = (0..dice.below(5)).map(|_| dice.below(7) as u32).collect();
                self.steps.push(format!("load {keys:?}"));
                self.model.load(&keys);
                self.calls.push(Some(self.script.load_many(keys)));
            }
            4..8 if !self.calls.is_empty() => self.poll(dice.below(self.calls.len())),
            8 if !self.calls.is_empty() => {
                let call = dice.below(self.calls.len());
                self.steps.push(format!("leave {call}"));
                if self.calls[call].take().is_some() {
                    self.model.leave(call);
                }
            }
            9 => {
                let key = dice.below(7) as u32;
                self.steps.push(format!("forget {key}"));
                self.model.forget(key);
                self.script.loader.forget(&key);
            }
            _ => {
                let open: Vec<_> = self
                    .model
                    .running
                    .iter()
                    .copied()
                    .filter(|batch| !self.model.told.contains(batch))
                    .collect();
                if !open.is_empty() {
                    self.tell(open[dice.below(open.len())]);
                }
            }
        }
        self.check();
    }

    fn check(&self) {
        assert_eq!(
            self.script.batches(),
            self.model.batches,
            "M1, after {:#?}",
            self.steps
        );
        let mut dropped = (self.script.dropped(), self.model.dropped.clone());
        dropped.0.sort_unstable();
        dropped.1.sort_unstable();
        assert_eq!(dropped.0, dropped.1, "M1, after {:#?}", self.steps);
        let stats = self.script.loader.stats();
        let queued = self
            .model
            .flights
            .iter()
            .filter(|flight| flight.state == State::Queued)
            .count();
        assert_eq!(
            (stats.queued, stats.running),
            (queued, self.model.running.len()),
            "M1, after {:#?}",
            self.steps
        );
    }

    /// Polls only those who were woken, and some of those never; tells a batch to end only when nobody was.
    fn drain(&mut self, dice: &mut Dice) {
        let dead: Vec<_> = (0..dice.below(8))
            .map(|_| dice.below(self.calls.len().max(1)))
            .collect();
        self.steps.push(format!("never again {dead:?}"));
        loop {
            let mut living = (0..self.calls.len()).filter(|call| !dead.contains(call));
            let is_woken = |&call: &usize| self.calls[call].as_ref().is_some_and(Caller::is_woken);
            if let Some(call) = living.clone().find(is_woken) {
                self.poll(call);
                continue;
            }
            if living.all(|call| self.calls[call].is_none()) {
                break;
            }
            let told = &self.model.told;
            let open = self
                .model
                .running
                .iter()
                .find(|batch| !told.contains(batch));
            let Some(&batch) = open else {
                panic!("M2: a wake was lost, after {:#?}", self.steps)
            };
            self.tell(batch);
        }
        for call in dead {
            if self.calls.get_mut(call).and_then(Option::take).is_some() {
                self.model.leave(call);
            }
        }
        self.check();
        let stats = self.script.loader.stats();
        let open = (stats.queued, stats.running, stats.waiting);
        assert_eq!(open, (0, 0, 0), "{:#?}", self.steps);
    }
}

/// What a batch says of a key: a value, nothing, or an error.
fn says(key: u32, batch: usize) -> Result<Option<u32>, &'static str> {
    match (key + batch as u32) % 5 {
        0 => Ok(None),
        1 => Err("bad"),
        _ => Ok(Some(key * 1_000 + batch as u32)),
    }
}

fn said(
    answer: Result<Option<u32>, oneflight::Error<Broken>>,
) -> Result<Option<u32>, &'static str> {
    answer.map_err(|error| error.work().map_or("none of the work's", |broken| broken.0))
}

#[test]
fn random_scripts_do_what_the_model_does_and_lose_no_wake() {
    let mut batches = 0;
    for seed in 1..=SCRIPTS {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let limits = (1 + dice.below(4), 1 + dice.below(3));
        let mut run = Run {
            script: Script::new(limits.0, limits.1),
            model: Model {
                limits,
                ..Model::default()
            },
            calls: Vec::new(),
            steps: vec![format!("seed {seed}, limits {limits:?}")],
        };
        for _ in 0..60 {
            run.step(&mut dice);
        }
        run.drain(&mut dice);
        batches += run.model.batches.len() as u64;
    }
    assert!(
        batches > SCRIPTS * 5,
        "the scripts did too little: {batches} batches"
    );
}
