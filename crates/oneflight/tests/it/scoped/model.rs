//! Random scripts of scoped calls against a model that knows, at each step, who leads, who is woken, and who has what.
//!
//! `ONEFLIGHT_SCRIPTS` is how many scripts run (5,000), `ONEFLIGHT_SEED` the seed of the first. A failure prints the seed and the
//! steps.

use super::script::{End, Flights, Script};
use crate::model::Random;
use crate::observe::Books;
use std::collections::{BTreeMap, BTreeSet};

const KEYS: [&str; 2] = ["a", "b"];

#[derive(Debug, Default)]
struct Flight {
    /// Who waits, and whether it has been polled.
    waiting: BTreeMap<usize, bool>,
    leader: Option<usize>,
    /// The run of the leader's work.
    run: Option<usize>,
    says: Option<End>,
    end: Option<End>,
    over: bool,
}

struct Model<'g> {
    seed: u64,
    steps: Vec<String>,
    script: Script<'g>,
    flights: Vec<Flight>,
    table: BTreeMap<&'static str, usize>,
    /// The flight of each call.
    calls: Vec<usize>,
    runs: usize,
    landed: u64,
    books: Books,
}

impl Drop for Model<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}\n{}", self.seed, self.steps.join("\n"));
        }
    }
}

#[test]
fn random_scripts_do_what_the_model_says() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let scripts = number("ONEFLIGHT_SCRIPTS").unwrap_or(5_000);
    let first = number("ONEFLIGHT_SEED").unwrap_or(1);
    let landed: u64 = (first..first + scripts).map(script).sum();
    assert!(landed >= scripts, "they hardly do anything: {landed}");
    println!("{scripts} scripts from seed {first}, {landed} landings");
}

fn script(seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let books = Books::default();
    let group = Flights::new().with_observer(books.clone());
    let mut model = Model {
        seed,
        steps: Vec::new(),
        script: Script::new(&group),
        flights: Vec::new(),
        table: BTreeMap::new(),
        calls: Vec::new(),
        runs: 0,
        landed: 0,
        books,
    };
    for _ in 0..5 + random.below(50) {
        model.step(&mut random);
        model.check();
    }
    model.bring_home();
    model.landed
}

impl Model<'_> {
    fn step(&mut self, random: &mut Random) {
        let key = KEYS[random.below(KEYS.len())];
        let waiting: Vec<_> = (0..self.calls.len())
            .filter(|&call| self.script.is_waiting(call))
            .collect();
        let any = |random: &mut Random| match waiting.len() {
            0 => None,
            len => Some(waiting[random.below(len)]),
        };
        match random.below(100) {
            0..30 => self.call(key),
            30..60 => any(random).into_iter().for_each(|call| self.poll(call)),
            60..80 => any(random)
                .into_iter()
                .for_each(|call| self.drop_call(call)),
            80..96 => {
                let led: Vec<_> = (0..self.flights.len())
                    .filter(|&at| self.flights[at].leader.is_some())
                    .collect();
                if !led.is_empty() {
                    let at = led[random.below(led.len())];
                    self.say(at, random.below(6));
                }
            }
            _ => self.forget(key),
        }
    }

    fn call(&mut self, key: &'static str) {
        let call = self.script.call(key);
        self.steps.push(format!("call {key} -> {call}"));
        let at = *self.table.entry(key).or_insert_with(|| {
            self.flights.push(Flight::default());
            self.flights.len() - 1
        });
        self.flights[at].waiting.insert(call, false);
        self.calls.push(at);
    }

    fn poll(&mut self, call: usize) {
        self.steps.push(format!("poll {call}"));
        let at = self.calls[call];
        let flight = &mut self.flights[at];
        if flight.end.is_none() && flight.leader.is_none() {
            flight.waiting.remove(&call);
            flight.leader = Some(call);
            flight.run = Some(self.runs);
            flight.says = None;
            self.runs += 1;
        }
        if flight.leader == Some(call)
            && let Some(says) = flight.says
        {
            flight.end = Some(says);
            flight.leader = None;
            self.landed += 1;
            self.over(at);
        } else if let Some(polled) = flight.waiting.get_mut(&call) {
            *polled = true;
        }
        let ready = self.script.poll(call);
        assert_eq!(ready, self.flights[at].end.is_some(), "call {call}");
        match self.flights[at].end {
            None => {}
            Some(End::Value(value)) => assert_eq!(self.script.value(call), Some(value)),
            Some(End::Fails(_)) => assert!(self.script.error(call).is_work()),
            Some(End::Panics(_)) => assert!(self.script.error(call).is_panic()),
        }
        if ready {
            self.flights[at].waiting.remove(&call);
        }
    }

    fn drop_call(&mut self, call: usize) {
        self.steps.push(format!("drop {call}"));
        let at = self.calls[call];
        self.script.drop_call(call);
        let flight = &mut self.flights[at];
        flight.waiting.remove(&call);
        if flight.leader == Some(call) {
            flight.leader = None;
        }
        if flight.end.is_none() && flight.leader.is_none() && flight.waiting.is_empty() {
            self.over(at);
        }
    }

    fn over(&mut self, at: usize) {
        self.flights[at].over = true;
        self.table.retain(|_, there| *there != at);
    }

    fn say(&mut self, at: usize, how: usize) {
        let flight = &mut self.flights[at];
        let says = match how {
            0 => End::Fails("fails"),
            1 => End::Panics("panics"),
            _ => End::Value(at as u64),
        };
        self.steps
            .push(format!("the work of flight {at} says {says:?}"));
        flight.says = Some(says);
        self.script.end_run(flight.run.expect("led"), says);
    }

    fn forget(&mut self, key: &'static str) {
        self.steps.push(format!("forget {key}"));
        let there = self.table.remove(key).is_some();
        assert_eq!(self.script.group.forget(key), there);
    }

    /// What holds after each step.
    fn check(&self) {
        assert_eq!(self.script.group.in_flight(), self.table.len(), "K1");
        let runs: usize = KEYS.iter().map(|key| self.script.starts(key)).sum();
        assert_eq!(runs, self.runs, "runs of the work");
        let led: BTreeSet<_> = self
            .flights
            .iter()
            .filter_map(|flight| flight.leader.and(flight.run))
            .collect();
        for run in 0..self.runs {
            let dropped = self.script.run(run, |run| run.dropped);
            assert_eq!(dropped, !led.contains(&run), "D1: run {run}");
        }
        for flight in &self.flights {
            let due = |(&call, &polled): (&usize, &bool)| {
                (polled && self.script.is_woken(call)).then_some(call)
            };
            let woken: Vec<_> = flight.waiting.iter().filter_map(due).collect();
            let polled = flight.waiting.values().any(|&polled| polled);
            match (flight.end, flight.leader) {
                (Some(_), _) => assert_eq!(
                    woken.len(),
                    flight.waiting.values().filter(|&&polled| polled).count(),
                    "all are woken for the answer"
                ),
                (None, None) if polled => assert!(!woken.is_empty(), "P2: nobody is woken to lead"),
                (None, _) => {}
            }
        }
        let stats = self.script.group.stats();
        let ends = stats.landed + stats.failed + stats.panicked + stats.abandoned;
        let up = self.flights.iter().filter(|flight| !flight.over).count();
        assert_eq!(stats.started, ends + up as u64, "{stats:?}");
        let answered = (0..self.calls.len()).filter(|&call| self.script.has_answer(call));
        self.books.check(stats, answered.count());
        assert_eq!(stats.landed + stats.failed + stats.panicked, self.landed);
    }

    /// Lets all works say something, and all calls that are woken be polled: nobody may hang.
    fn bring_home(&mut self) {
        loop {
            let silent = (0..self.flights.len())
                .find(|&at| self.flights[at].leader.is_some() && self.flights[at].says.is_none());
            if let Some(at) = silent {
                self.say(at, 2);
            } else if let Some(call) =
                (0..self.calls.len()).find(|&call| self.script.is_woken(call))
            {
                self.poll(call);
            } else {
                break;
            }
            self.check();
        }
        let hangs = (0..self.calls.len()).find(|&call| self.script.is_waiting(call));
        assert_eq!(hangs, None, "a call hangs");
        assert_eq!(self.script.group.in_flight(), 0);
    }
}
