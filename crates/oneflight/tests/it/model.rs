//! Random scripts against a model that knows, at each step, what a group must do.
//!
//! ```text
//!   xorshift(seed) ─▶ Plan ─▶ steps ─┬─▶ the group, by a `Script`     after each step: answers, starts, drops, wakes due,
//!                       ▲            └─▶ the model                    flights in the table and the numbers agree
//!                       └── a step less, while it still fails ◀────── they do not
//! ```
//!
//! `ONEFLIGHT_SCRIPTS` is how many scripts run (10,000), `ONEFLIGHT_SEED` the seed of the first. A failure prints the seed and
//! the shortest script found that fails, in words.

use crate::observe::Books;
use crate::script::{Call, Flights, HandClock, HandSpawn, Script, muted};
use oneflight::{Group, Mark, Stats};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const KEYS: [&str; 3] = ["a", "b", "c"];
const TICK: Duration = Duration::from_millis(1);
const LIMIT: u64 = 5;

/// Marsaglia's xorshift.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self((seed ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % limit as u64).expect("below a usize")
    }

    /// Picks one of things that are not known yet; see [`picked`].
    fn pick(&mut self) -> usize {
        self.below(1 << 16)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Value(u64),
    Fails,
    Panics,
    Overdue,
    Cancelled,
    Abandoned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piloting {
    Off,
    WhenJoined,
    Detached,
}

#[derive(Debug)]
struct Flight {
    key: &'static str,
    run: usize,
    born: u64,
    deadline: Option<u64>,
    leader: usize,
    callers: usize,
    live: BTreeSet<usize>,
    pilot: Option<usize>,
    woken: bool,
    polled: bool,
    sleeping: bool,
    polls: usize,
    says: Option<End>,
    end: Option<End>,
}

/// A script before it runs. Its steps pick among what is there when they run, so that it stays a script when one is left out.
#[derive(Clone, Debug)]
struct Plan {
    piloting: Piloting,
    limited: bool,
    /// Whether somebody is told what happens; half of them, so that the other half is run too.
    observed: bool,
    shards: usize,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Call(&'static str),
    CallSince(usize, &'static str),
    Join(&'static str),
    Poll(usize),
    Drop(usize),
    Say(usize, Says),
    Wake(usize),
    PollTask(usize),
    DropTask(usize),
    Mark,
    Forget(&'static str),
    ForgetUnshared(&'static str),
    Advance(u64),
    Close,
    CancelAll,
}

#[derive(Clone, Copy, Debug)]
enum Says {
    Value,
    Fails,
    Panics,
}

/// A mistake of the model, to see what comes of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// It holds that a flight that is forgotten stays in the table.
    ForgetDoesNothing,
    /// It holds that a flight ends with its leader.
    LeaderTakesAll,
}

/// A script that fails: what it did, in words, and what was wrong.
#[derive(Debug)]
struct Failure {
    words: Vec<String>,
    why: String,
}

/// The group, the model, and the steps so far.
struct Run<'g> {
    mistake: Mistake,
    words: Vec<String>,
    script: Script<'g>,
    clock: HandClock,
    tasks: HandSpawn,
    piloting: Piloting,
    limited: bool,
    now: u64,
    epoch: u64,
    closed: bool,
    marks: Vec<(Mark, u64)>,
    flights: Vec<Flight>,
    table: BTreeMap<&'static str, usize>,
    /// The flight of each call; none if it was refused.
    calls: Vec<Option<usize>>,
    stats: BTreeMap<&'static str, u64>,
    books: Option<Books>,
}

#[test]
fn random_scripts_do_what_the_model_says() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let scripts = number("ONEFLIGHT_SCRIPTS").unwrap_or(10_000);
    let first = number("ONEFLIGHT_SEED").unwrap_or(1);
    let mut landed = 0;
    for seed in first..first + scripts {
        let plan = Plan::new(seed);
        match run(&plan, Mistake::None) {
            Ok(landings) => landed += landings,
            Err(_) => {
                let (plan, failure) = shrunk(plan, Mistake::None);
                panic!("seed {seed}, {}", told(&plan, &failure));
            }
        }
    }
    assert!(
        landed >= scripts,
        "the scripts hardly do anything: {landed} landings"
    );
    println!("{scripts} scripts from seed {first}, {landed} landings");
}

#[test]
fn a_mistake_is_found_soon_and_told_in_a_script_of_few_words() {
    let expected = [
        (
            Mistake::ForgetDoesNothing,
            &["call K -> 0", "forget K"] as &[_],
        ),
        (
            Mistake::LeaderTakesAll,
            &["call K -> 0", "call K -> 1", "drop 0"],
        ),
    ];
    for (mistake, expected) in expected {
        let plan = (1..100)
            .map(Plan::new)
            .find(|plan| run(plan, mistake).is_err())
            .expect("a script of the first hundred finds it");
        let (plan, failure) = shrunk(plan, mistake);
        assert_eq!((plan.piloting, plan.limited), (Piloting::Off, false));
        let words: Vec<_> = (failure.words.iter())
            .map(|step| {
                KEYS.iter().fold(step.clone(), |step, key| {
                    step.replace(&format!(" {key}"), " K")
                })
            })
            .collect();
        assert_eq!(words, expected, "{}", told(&plan, &failure));
    }
}

fn told(plan: &Plan, failure: &Failure) -> String {
    let (piloting, limited, shards) = (plan.piloting, plan.limited, plan.shards);
    format!(
        "autopilot: {piloting:?}, limited: {limited}, shards: {shards}\n  {}\n{}",
        failure.words.join("\n  "),
        failure.why
    )
}

/// The shortest script that still fails, as far as leaving out steps finds one.
fn shrunk(mut plan: Plan, mistake: Mistake) -> (Plan, Failure) {
    let mut failure = run(&plan, mistake).expect_err("it fails");
    let mut size = plan.steps.len().max(1);
    loop {
        let before = plan.steps.len();
        for less in smaller(&plan, size) {
            if let Err(still) = run(&less, mistake) {
                (plan, failure) = (less, still);
                break;
            }
        }
        let shorter = plan.steps.len() < before;
        match (shorter, size) {
            (true, _) => size = size.min(plan.steps.len().max(1)),
            (false, 1) => break,
            (false, _) => size /= 2,
        }
    }
    for simpler in simpler(&plan) {
        if let Err(still) = run(&simpler, mistake) {
            return (simpler, still);
        }
    }
    (plan, failure)
}

/// The plan without so many steps in a row, from each place.
fn smaller(plan: &Plan, size: usize) -> Vec<Plan> {
    let places = (0..plan.steps.len()).step_by(size);
    let without = |at: usize| {
        let end = (at + size).min(plan.steps.len());
        let mut less = plan.clone();
        less.steps.drain(at..end);
        less
    };
    places.map(without).collect()
}

/// The plan with fewer options, the fewest first.
fn simpler(plan: &Plan) -> Vec<Plan> {
    let with = |piloting, limited| Plan {
        piloting,
        limited,
        observed: plan.observed,
        shards: 1,
        steps: plan.steps.clone(),
    };
    vec![
        with(Piloting::Off, false),
        with(plan.piloting, false),
        with(Piloting::Off, plan.limited),
    ]
}

impl Plan {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let pilots = [
            Piloting::Off,
            Piloting::Off,
            Piloting::WhenJoined,
            Piloting::Detached,
        ];
        Self {
            piloting: pilots[random.below(4)],
            limited: random.below(3) == 0,
            observed: seed.is_multiple_of(2),
            shards: 1 + random.below(2),
            steps: (0..5 + random.below(60))
                .map(|_| Step::any(&mut random))
                .collect(),
        }
    }
}

impl Step {
    fn any(random: &mut Random) -> Self {
        let key = KEYS[random.below(KEYS.len())];
        match random.below(100) {
            0..24 => Self::Call(key),
            24..28 => Self::CallSince(random.pick(), key),
            28..32 => Self::Join(key),
            32..54 => Self::Poll(random.pick()),
            54..66 => Self::Drop(random.pick()),
            66..76 => {
                let says = match random.below(6) {
                    0 => Says::Fails,
                    1 => Says::Panics,
                    _ => Says::Value,
                };
                Self::Say(random.pick(), says)
            }
            76..82 => Self::Wake(random.pick()),
            82..88 => Self::PollTask(random.pick()),
            88..90 => Self::DropTask(random.pick()),
            90..92 => Self::Mark,
            92..94 => Self::Forget(key),
            94..96 => Self::ForgetUnshared(key),
            96..99 => Self::Advance(1 + random.below(4) as u64),
            _ if random.below(4) == 0 => Self::Close,
            _ => Self::CancelAll,
        }
    }
}

/// Runs a script against the model; how many flights landed, if they agree.
fn run(plan: &Plan, mistake: Mistake) -> Result<u64, Failure> {
    let (clock, tasks) = (HandClock::new(), HandSpawn::default());
    let mut builder = Group::builder().clock(clock.clone()).shards(plan.shards);
    if plan.limited {
        builder = builder.max_flight(TICK * u32::try_from(LIMIT).expect("small"));
    }
    let books = plan.observed.then(Books::default);
    if let Some(books) = &books {
        builder = builder.observer(books.clone());
    }
    let group: Flights = match plan.piloting {
        Piloting::Off => builder,
        Piloting::WhenJoined => builder.autopilot(tasks.clone()),
        Piloting::Detached => builder.detached(tasks.clone()),
    }
    .build();
    let mut run = Run {
        mistake,
        words: Vec::new(),
        script: Script::new(&group),
        clock,
        tasks,
        piloting: plan.piloting,
        limited: plan.limited,
        now: 0,
        epoch: 0,
        closed: false,
        marks: Vec::new(),
        flights: Vec::new(),
        table: BTreeMap::new(),
        calls: Vec::new(),
        stats: BTreeMap::new(),
        books,
    };
    let agreed = muted(|| {
        for &step in &plan.steps {
            run.step(step);
            run.check();
        }
        run.bring_home();
    });
    let words = std::mem::take(&mut run.words);
    match agreed {
        Ok(()) => Ok(run.stats.get("landed").copied().unwrap_or(0)),
        Err(why) => Err(Failure { words, why }),
    }
}

/// One of those that are there, by a number that was picked before they were known.
fn picked<T: Copy>(of: impl IntoIterator<Item = T>, pick: usize) -> Option<T> {
    let of: Vec<_> = of.into_iter().collect();
    of.get(pick.checked_rem(of.len())?).copied()
}

impl Run<'_> {
    fn step(&mut self, step: Step) {
        let waiting = (0..self.calls.len()).filter(|&at| self.script.is_waiting(Call(at)));
        let up = (0..self.flights.len()).filter(|&at| self.flights[at].end.is_none());
        let running = (0..self.tasks.spawned()).filter(|&at| self.tasks.is_running(at));
        let at = match step {
            Step::Poll(pick) | Step::Drop(pick) => picked(waiting, pick),
            Step::Say(pick, _) | Step::Wake(pick) => picked(up, pick),
            Step::PollTask(pick) | Step::DropTask(pick) => picked(running, pick),
            _ => Some(0),
        };
        // There is none: the step is none.
        let Some(at) = at else { return };
        match step {
            Step::Call(key) => self.call(None, key),
            Step::CallSince(pick, key) => self.call(picked(self.marks.iter().copied(), pick), key),
            Step::Join(key) => self.join(key),
            Step::Poll(_) => self.poll(at),
            Step::Drop(_) => self.drop_call(at),
            Step::Say(_, says) => self.say(at, says),
            Step::Wake(_) => self.wake(at),
            Step::PollTask(_) => self.poll_task(at),
            Step::DropTask(_) => self.drop_task(at),
            Step::Mark => self.mark(),
            Step::Forget(key) => self.forget(key, false),
            Step::ForgetUnshared(key) => self.forget(key, true),
            Step::Advance(ticks) => self.advance(ticks),
            Step::Close => self.close(),
            Step::CancelAll => self.cancel_all(),
        }
    }

    fn call(&mut self, mark: Option<(Mark, u64)>, key: &'static str) {
        self.words.push(match mark {
            None => format!("call {key} -> {}", self.calls.len()),
            Some((_, at)) => format!("call {key} since mark {at} -> {}", self.calls.len()),
        });
        let call = self.script.call_since(mark.map(|(mark, _)| mark), key);
        let there = self.table.get(key).copied();
        let joins = there.filter(|&at| {
            self.flights[at].born >= mark.map_or(0, |(_, at)| at) && !self.is_late(at)
        });
        if let Some(at) = joins {
            self.joined(at, call);
        } else if self.closed {
            self.calls.push(None);
            assert!(self.script.poll(call) && self.script.error(call).is_closed());
        } else {
            if let Some(old) = there {
                self.table.remove(key);
                if self.is_late(old) {
                    self.end(old, End::Overdue)
                } else {
                    self.count("forgotten")
                }
            }
            self.started(key, call);
        }
    }

    fn started(&mut self, key: &'static str, call: Call) {
        assert!(self.script.led(call), "it starts a flight");
        self.count("started");
        let at = self.flights.len();
        let run = self
            .flights
            .iter()
            .filter(|flight| flight.key == key)
            .count();
        let pilot = (self.piloting == Piloting::Detached).then(|| self.tasks.spawned() - 1);
        self.flights.push(Flight {
            key,
            run,
            born: self.epoch,
            deadline: self.limited.then(|| self.now + LIMIT),
            leader: call.0,
            callers: 1,
            live: [call.0].into(),
            pilot,
            woken: true,
            polled: false,
            sleeping: false,
            polls: 0,
            says: None,
            end: None,
        });
        self.table.insert(key, at);
        self.calls.push(Some(at));
    }

    fn join(&mut self, key: &'static str) {
        self.words
            .push(format!("join {key} -> {}", self.calls.len()));
        let there = self.table.get(key).copied().filter(|&at| !self.is_late(at));
        let call = self.script.join(key);
        assert_eq!(call.is_some(), there.is_some());
        call.zip(there)
            .into_iter()
            .for_each(|(call, at)| self.joined(at, call));
    }

    fn joined(&mut self, at: usize, call: Call) {
        assert!(!self.script.led(call), "it joins");
        self.count("joined");
        let spawned = self.tasks.spawned();
        let flight = &mut self.flights[at];
        flight.callers += 1;
        flight.live.insert(call.0);
        if self.piloting == Piloting::WhenJoined && flight.pilot.is_none() {
            flight.pilot = Some(spawned - 1);
        }
        self.calls.push(Some(at));
    }

    fn poll(&mut self, call: usize) {
        self.words.push(format!("poll {call}"));
        let at = self.calls[call].expect("refused calls are ready at once");
        self.drive(at);
        let ready = self.script.poll(Call(call));
        assert_eq!(
            ready,
            self.flights[at].end.is_some(),
            "call {call} is ready: {ready}"
        );
        if ready {
            self.compare(call, at);
        }
    }

    /// The answer of a call against the end of its flight.
    fn compare(&mut self, call: usize, at: usize) {
        match self.flights[at].end.expect("ended") {
            End::Value(value) => assert_eq!(self.script.value(Call(call)), Some(value)),
            End::Fails => assert!(self.script.error(Call(call)).is_work()),
            End::Panics => assert!(self.script.error(Call(call)).is_panic()),
            End::Overdue => assert!(self.script.error(Call(call)).is_overdue()),
            End::Cancelled => assert!(self.script.error(Call(call)).is_closed()),
            End::Abandoned => panic!("an abandoned flight has no callers"),
        }
    }

    /// What the poll of a waiter does to a flight.
    fn drive(&mut self, at: usize) {
        let late = self.is_late(at);
        let flight = &mut self.flights[at];
        if flight.end.is_some() || !std::mem::replace(&mut flight.woken, false) {
            return;
        }
        flight.polled = true;
        flight.polls += 1;
        match flight.says {
            Some(says) => self.end(at, says),
            None if late => self.end(at, End::Overdue),
            None => flight.sleeping = self.limited,
        }
    }

    fn end(&mut self, at: usize, end: End) {
        let flight = &mut self.flights[at];
        assert_eq!(flight.end.replace(end), None, "a flight ends once");
        if self.table.get(flight.key) == Some(&at) {
            self.table.remove(flight.key);
        }
        self.count(match end {
            End::Value(_) => "landed",
            End::Fails => "failed",
            End::Panics => "panicked",
            End::Overdue => "overdue",
            End::Cancelled => "cancelled",
            End::Abandoned => "abandoned",
        });
    }

    fn drop_call(&mut self, call: usize) {
        self.words.push(format!("drop {call}"));
        self.script.drop_call(Call(call));
        let at = self.calls[call].expect("it waits");
        self.flights[at].live.remove(&call);
        self.abandon_if_alone(at);
    }

    fn abandon_if_alone(&mut self, at: usize) {
        let flight = &self.flights[at];
        let kept = self.piloting == Piloting::Detached && flight.pilot.is_some();
        let empty = match self.mistake {
            Mistake::LeaderTakesAll => !flight.live.contains(&flight.leader),
            _ => flight.live.is_empty(),
        };
        if flight.end.is_none() && empty && !kept {
            self.end(at, End::Abandoned);
        }
    }

    fn say(&mut self, at: usize, says: Says) {
        let (key, run) = (self.flights[at].key, self.flights[at].run);
        let value = at as u64;
        let says = match says {
            Says::Fails => End::Fails,
            Says::Panics => End::Panics,
            Says::Value => End::Value(value),
        };
        self.words
            .push(format!("the work of flight {at} says {says:?}"));
        match says {
            End::Fails => self.script.fail_run(key, run, "fails"),
            End::Panics => self.script.panic_run(key, run, "panics"),
            _ => self.script.finish_run(key, run, value),
        }
        let flight = &mut self.flights[at];
        flight.says = Some(says);
        flight.woken |= flight.polled;
    }

    fn wake(&mut self, at: usize) {
        self.words.push(format!("wake flight {at}"));
        let flight = &mut self.flights[at];
        flight.woken |= flight.polled;
        self.script
            .wake_work(self.flights[at].key, self.flights[at].run);
    }

    fn poll_task(&mut self, task: usize) {
        self.words.push(format!("poll task {task}"));
        let at = self.flight_of(task);
        self.drive(at);
        assert_eq!(self.tasks.poll(task), self.flights[at].end.is_some());
    }

    fn drop_task(&mut self, task: usize) {
        self.words.push(format!("drop task {task}"));
        let at = self.flight_of(task);
        self.tasks.drop_task(task);
        self.flights[at].pilot = None;
        self.abandon_if_alone(at);
    }

    fn flight_of(&self, task: usize) -> usize {
        self.flights
            .iter()
            .position(|flight| flight.pilot == Some(task))
            .expect("a task has a flight")
    }

    fn mark(&mut self) {
        self.epoch += 1;
        self.marks.push((self.script.group.mark(), self.epoch));
        self.words.push(format!("mark {}", self.epoch));
    }

    fn forget(&mut self, key: &'static str, unshared: bool) {
        self.words.push(format!(
            "forget {key}{}",
            if unshared { ", if unshared" } else { "" }
        ));
        let there = self.table.get(key).copied();
        let goes = there.is_some_and(|at| !unshared || self.flights[at].callers == 1);
        let group = self.script.group;
        let went = if unshared {
            group.forget_unshared(key)
        } else {
            group.forget(key)
        };
        assert_eq!(went, goes);
        if goes && (unshared || self.mistake != Mistake::ForgetDoesNothing) {
            self.table.remove(key);
            self.count("forgotten");
        }
    }

    fn advance(&mut self, ticks: u64) {
        self.words.push(format!("advance {ticks}"));
        self.now += ticks;
        for flight in self
            .flights
            .iter_mut()
            .filter(|flight| flight.end.is_none())
        {
            flight.woken |= std::mem::replace(&mut flight.sleeping, false);
        }
        self.clock
            .advance(TICK * u32::try_from(ticks).expect("few"));
    }

    fn close(&mut self) {
        self.words.push("close".to_owned());
        self.closed = true;
        self.script.group.close();
    }

    fn cancel_all(&mut self) {
        self.words.push("cancel all".to_owned());
        self.script.group.cancel_all();
        for at in std::mem::take(&mut self.table).into_values() {
            self.end(at, End::Cancelled);
        }
    }

    fn is_late(&self, at: usize) -> bool {
        self.flights[at]
            .deadline
            .is_some_and(|deadline| deadline <= self.now)
    }

    fn count(&mut self, what: &'static str) {
        *self.stats.entry(what).or_default() += 1;
    }

    fn check(&self) {
        let group = self.script.group;
        assert_eq!(group.in_flight(), self.table.len());
        assert_eq!(numbers(group.stats()), self.stats);
        if let Some(books) = &self.books {
            let answered = (self.calls.iter().enumerate())
                .filter(|&(call, flight)| flight.is_some() && self.script.has_answer(Call(call)));
            books.check(group.stats(), answered.count());
        }
        for (at, flight) in self.flights.iter().enumerate() {
            let (dropped, ended) = (
                self.script.is_dropped(flight.key, flight.run),
                flight.end.is_some(),
            );
            assert_eq!(
                dropped, ended,
                "the work of flight {at} is dropped exactly when it ends"
            );
            assert_eq!(
                self.script.polls(flight.key, flight.run),
                flight.polls,
                "polls of flight {at}"
            );
            let due = |call: &usize| self.script.is_woken(Call(*call));
            let somebody = flight.live.iter().any(due)
                || flight.pilot.is_some_and(|task| self.tasks.is_woken(task));
            assert!(
                ended || !flight.woken || somebody,
                "S2: the wake of flight {at} is lost"
            );
            // Whoever waits for what has ended was woken for it.
            let asleep = flight
                .live
                .iter()
                .find(|&&call| self.script.is_waiting(Call(call)) && !due(&call));
            assert!(
                !ended || asleep.is_none(),
                "call {asleep:?} of flight {at} sleeps on"
            );
        }
        let known = KEYS
            .iter()
            .map(|key| self.script.starts(key))
            .sum::<usize>();
        assert_eq!(known, self.flights.len(), "one start a flight");
    }

    /// All works speak; polling whoever is woken must bring everybody home.
    fn bring_home(&mut self) {
        for at in 0..self.flights.len() {
            if self.flights[at].end.is_none() && self.flights[at].says.is_none() {
                self.say(at, Says::Value);
            }
        }
        loop {
            if let Some(call) = (0..self.calls.len()).find(|&at| self.script.is_woken(Call(at))) {
                self.poll(call);
            } else if let Some(task) = (0..self.tasks.spawned()).find(|&at| self.tasks.is_woken(at))
            {
                self.poll_task(task);
            } else {
                break;
            }
            self.check();
        }
        assert!(
            (0..self.calls.len()).all(|at| !self.script.is_waiting(Call(at))),
            "somebody hangs"
        );
        assert!(
            self.flights.iter().all(|flight| flight.end.is_some()),
            "a flight hangs"
        );
        let stats = self.script.group.stats();
        let ends = [
            stats.landed,
            stats.failed,
            stats.panicked,
            stats.overdue,
            stats.abandoned,
            stats.cancelled,
        ];
        assert_eq!(
            (stats.started, self.script.group.in_flight()),
            (ends.iter().sum(), 0)
        );
    }
}

fn numbers(stats: Stats) -> BTreeMap<&'static str, u64> {
    let all = [
        ("started", stats.started),
        ("joined", stats.joined),
        ("landed", stats.landed),
        ("failed", stats.failed),
        ("panicked", stats.panicked),
        ("overdue", stats.overdue),
        ("abandoned", stats.abandoned),
        ("cancelled", stats.cancelled),
        ("forgotten", stats.forgotten),
    ];
    all.into_iter().filter(|&(_, count)| count > 0).collect()
}
