//! Random scripts against what a cache must promise, whatever it does.
//!
//! ```text
//!   xorshift(seed) ─▶ options, steps ─▶ the cache, by a script ─▶ after each step, of each new answer:
//! ```
//!
//! A value is the number of the step at which its load began, or at which it was inserted. So what a caller got tells how old it is:
//!
//! M1. No older than the last write to its key that was over when the call began.        M2. No older than the mark of its caller.
//! M3. Fresh, stale and stale on error only as long as its windows say, and as old as it says.
//! M4. No older than what a call got that was over when this one began.
//! M5. One load a key at a time, but for those that were overtaken.       M6. Nobody hangs, and nothing is left.
//!
//! `ONEFLIGHT_SCRIPTS` is how many scripts run (10,000), `ONEFLIGHT_SEED` the seed of the first. A failure prints the seed and the
//! shortest script found that fails.

use super::script::{Desk, Part, Prepared, seconds};
use crate::model::Random;
use crate::script::{Call, Oops, Script, Work, muted};
use oneflight::Mark;
use oneflight::batch::Loader;
use oneflight::cache::Overflow;
use std::collections::BTreeMap;

type Rows = Loader<String, u64, Oops>;

const KEYS: [&str; 2] = ["a", "b"];
const TTL: u64 = 10;

/// Windows and limits of a script, in seconds; 0 is none.
#[derive(Clone, Copy, Debug)]
struct Options {
    behind: bool,
    stale: u64,
    error: u64,
    soft: u64,
    wait: u64,
    ahead: bool,
    backoff: bool,
    negative: bool,
    crowd: usize,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Call(usize),
    CallSince(usize),
    /// For both keys, by a loader.
    CallMany,
    CallManySince,
    Drop(usize),
    Finish(usize),
    Fail(usize, &'static str),
    Panic(usize),
    Insert(usize),
    Invalidate(usize),
    InvalidateAll,
    Expire(usize),
    Purge,
    Mark,
    Advance(u64),
    RunBehind,
}

/// A mistake of the model, to see that it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// It holds that what is expired is not served.
    ExpireIsInvalidate,
    /// It holds that what is stale is not served.
    NothingIsServedStale,
}

/// A call that has begun.
struct Asked {
    key: usize,
    began: u64,
    /// At this time.
    since: u64,
    /// No value that is older may be its answer.
    floor: u64,
    answered: bool,
    call: Call,
    /// Its place among the keys of a call for many.
    place: Option<usize>,
}

/// A load that has begun.
struct Load {
    key: usize,
    run: usize,
    began: u64,
    said: bool,
}

/// When a value landed, and when it ceased to be fresh.
#[derive(Clone, Copy)]
struct Life {
    fresh_until: u64,
    /// It was expired in this step, at this time.
    expired: Option<(u64, u64)>,
}

struct Run<'g> {
    options: Options,
    mistake: Mistake,
    script: Script<'g, Desk>,
    /// Brings each key by itself, when the script says so.
    loader: &'g Rows,
    step: u64,
    now: u64,
    asked: Vec<Asked>,
    loads: Vec<Load>,
    lives: BTreeMap<(usize, u64), Life>,
    /// The last write to a key (M1); the newest value of a call that is over (M4).
    floors: [u64; 2],
    /// The step and the time when a key was last expired.
    expired: [(u64, u64); 2],
    /// Since when there is one load at most (M5).
    overtaken: [u64; 2],
    mark: Option<(Mark, u64)>,
}

impl Options {
    fn random(random: &mut Random) -> Self {
        let mut pick = |choices: [u64; 3]| choices[random.below(3)];
        Self {
            behind: pick([0, 1, 1]) == 1,
            stale: pick([0, 3, 6]),
            error: pick([0, 4, 8]),
            soft: pick([0, 0, 2]),
            wait: pick([0, 0, 4]),
            ahead: pick([0, 0, 1]) == 1,
            backoff: pick([0, 0, 1]) == 1,
            negative: pick([0, 0, 1]) == 1,
            crowd: usize::try_from(pick([0, 1, 2])).expect("few") * random.below(3),
        }
    }

    fn prepare(self, builder: Prepared) -> Prepared {
        let mut builder = builder
            .ttl(seconds(TTL))
            .stale_while_revalidate(seconds(self.stale))
            .stale_if_error(seconds(self.error))
            .max_flight(seconds(7));
        if self.soft > 0 && self.behind {
            builder = builder.soft_timeout(seconds(self.soft));
        }
        if self.wait > 0 {
            builder = builder.wait_timeout(seconds(self.wait));
        }
        if self.ahead {
            builder = builder.refresh_ahead(0.5);
        }
        if self.backoff {
            builder = builder.error_backoff(seconds(1), seconds(4));
        }
        if self.negative {
            builder = builder.negative_ttl(seconds(3));
        }
        match self.crowd {
            1 => builder.max_waiters(2, Overflow::Refuse),
            2 => builder.max_waiters(1, Overflow::Stale),
            4 => builder.max_waiters(1, Overflow::Load),
            _ => builder,
        }
    }
}

fn step(random: &mut Random) -> Step {
    let key = random.below(KEYS.len());
    let at = random.below(1 << 16);
    match random.below(44) {
        0..=11 => Step::Call(key),
        12 => Step::CallSince(key),
        13 => Step::Drop(at),
        14..=21 => Step::Finish(at),
        22 => Step::Fail(at, "outage"),
        23 => Step::Fail(at, "not found"),
        24 => Step::Fail(at, "forbidden"),
        25 => Step::Panic(at),
        26 => Step::Insert(key),
        27 | 28 => Step::Invalidate(key),
        29 => Step::InvalidateAll,
        30 => Step::Expire(key),
        31 => Step::Purge,
        32 => Step::Mark,
        33..=37 => Step::Advance(1 + random.below(5) as u64),
        38..=40 => Step::CallMany,
        41 => Step::CallManySince,
        _ => Step::RunBehind,
    }
}

impl Run<'_> {
    fn take(&mut self, step: Step) {
        self.step += 1;
        match step {
            Step::Call(key) => self.call(key, None),
            Step::CallSince(key) => self.call(key, self.mark),
            Step::CallMany => self.call_many(None),
            Step::CallManySince => self.call_many(self.mark),
            Step::Drop(at) => {
                if let Some(&mut Asked { call, .. }) = pick(&mut self.asked, at) {
                    let dropped = self.asked.iter_mut().filter(|asked| asked.call == call);
                    dropped.for_each(|asked| asked.answered = true);
                    self.script.drop_call(call);
                }
            }
            Step::Finish(at) => self.end(at, None),
            Step::Fail(at, why) => self.end(at, Some(why)),
            Step::Panic(at) => self.end(at, Some("")),
            Step::Insert(key) => {
                self.script
                    .group
                    .cache
                    .insert(KEYS[key].to_owned(), self.step);
                self.land(key, self.step);
                self.write(key);
            }
            Step::Invalidate(key) => {
                self.script.group.cache.invalidate(KEYS[key]);
                self.write(key);
            }
            Step::InvalidateAll => {
                self.script.group.cache.invalidate_all();
                (0..KEYS.len()).for_each(|key| self.write(key));
            }
            Step::Expire(key) => self.expire(key),
            Step::Purge => self.script.group.cache.purge(),
            Step::Mark => self.mark = Some((self.script.group.cache.mark(), self.step)),
            Step::Advance(by) => {
                self.now += by;
                self.script.group.clock.advance(seconds(by));
            }
            Step::RunBehind => self.script.group.run_behind(),
        }
        self.look();
    }

    fn call(&mut self, key: usize, mark: Option<(Mark, u64)>) {
        let work = self.script.work(KEYS[key]);
        let since = mark.map(|(mark, _)| mark);
        let call = self.script.group.ask(KEYS[key], since, None, work);
        let call = self.script.seat(call);
        self.asks(key, mark, call, None);
        self.script.poll(call);
    }

    fn call_many(&mut self, mark: Option<(Mark, u64)>) {
        let since = mark.map(|(mark, _)| mark);
        let call = self.script.group.ask_many(&KEYS, since, self.loader);
        let call = self.script.seat(call);
        for key in 0..KEYS.len() {
            self.asks(key, mark, call, Some(key));
        }
        self.script.poll(call);
        // A loader begins a load when it is polled, and not when it is asked: so that it begins in this step.
        self.script.group.run_behind();
    }

    fn asks(&mut self, key: usize, mark: Option<(Mark, u64)>, call: Call, place: Option<usize>) {
        let floor = self.floors[key].max(mark.map_or(0, |(_, step)| step));
        self.asked.push(Asked {
            key,
            began: self.step,
            since: self.now,
            floor,
            answered: false,
            call,
            place,
        });
        if mark.is_some() {
            self.overtaken[key] = self.step;
        }
    }

    fn write(&mut self, key: usize) {
        self.floors[key] = self.step;
        self.overtaken[key] = self.step;
    }

    fn expire(&mut self, key: usize) {
        self.script.group.cache.expire(KEYS[key]);
        self.overtaken[key] = self.step;
        for ((_, _), life) in self.lives.iter_mut().filter(|((of, _), _)| *of == key) {
            life.expired = life.expired.or(Some((self.step, self.now)));
        }
        self.expired[key] = (self.step, self.now);
        if self.mistake == Mistake::ExpireIsInvalidate {
            self.floors[key] = self.step;
        }
    }

    fn land(&mut self, key: usize, value: u64) {
        let fresh_until = self.now + TTL;
        // What began before its key was expired is stale since then.
        let expired = Some(self.expired[key]).filter(|(step, _)| *step > value);
        let life = Life {
            fresh_until,
            expired,
        };
        self.lives.insert((key, value), life);
    }

    /// Ends a load, and lets those who are woken see it.
    fn end(&mut self, at: usize, fails: Option<&'static str>) {
        let Some(load) = pick(&mut self.loads, at) else {
            return;
        };
        if std::mem::replace(&mut load.said, true)
            || self.script.is_dropped(KEYS[load.key], load.run)
        {
            return;
        }
        let (key, run, began) = (load.key, load.run, load.began);
        match fails {
            None => {
                self.land(key, began);
                self.script.finish_run(KEYS[key], run, began);
            }
            Some("") => self.script.panic_run(KEYS[key], run, "boom"),
            Some(why) => self.script.fail_run(KEYS[key], run, why),
        }
        self.settle();
    }

    fn settle(&mut self) {
        // Who is woken by a task may wake one.
        for _ in 0..4 {
            self.script.group.run_behind();
            self.script.settle();
        }
    }

    /// Notes what has begun, and holds every new answer to the promises.
    fn look(&mut self) {
        self.script.settle();
        for (key, name) in KEYS.iter().enumerate() {
            let known = self.loads.iter().filter(|load| load.key == key).count();
            for run in known..self.script.starts(name) {
                self.loads.push(Load {
                    key,
                    run,
                    began: self.step,
                    said: false,
                });
            }
            let alone = self.options.crowd != 4;
            let up = self.loads.iter().filter(|load| {
                let is_up = load.key == key && !self.script.is_dropped(name, load.run);
                is_up && load.began > self.overtaken[key]
            });
            assert!(!alone || up.count() <= 1, "M5: two loads of {name} at once");
        }
        for at in 0..self.asked.len() {
            let Asked { answered, call, .. } = self.asked[at];
            if answered || !self.script.has_answer(call) {
                continue;
            }
            self.asked[at].answered = true;
            let got = match self.asked[at].place {
                None => {
                    (self.script.value(call)).map(|value| (value, self.script.group.part(call)))
                }
                Some(place) => self.script.group.rows(call).swap_remove(place),
            };
            if let Some((value, part)) = got {
                self.judge(at, value, &part);
            }
        }
    }

    fn judge(&mut self, at: usize, value: u64, part: &Part) {
        let Asked {
            key,
            began,
            since,
            floor,
            ..
        } = self.asked[at];
        let name = KEYS[key];
        assert!(
            value >= floor,
            "M1, M2, M4: {value} of {name} is older than {floor}"
        );
        let life = self.lives[&(key, value)];
        // Who asked before it was expired may still think it fresh.
        let expired = life.expired.filter(|(step, _)| *step <= began);
        let fresh_until = expired.map_or(life.fresh_until, |(_, at)| at.min(life.fresh_until));
        // A key of a call for many may have had its answer before the others.
        let age = part.age.expect("there is a clock").as_secs();
        let then = life.fresh_until - TTL + age;
        assert!(
            (since..=self.now).contains(&then),
            "M3: {value} of {name} is {part:?} at {then}"
        );
        let stale = then.saturating_sub(fresh_until);
        let is_fresh = then < fresh_until;
        let Options {
            stale: window,
            error,
            ..
        } = self.options;
        let holds = match part.source {
            "fresh" => is_fresh,
            "stale" => stale < window.max(error) && self.mistake != Mistake::NothingIsServedStale,
            // A caller that backs off while its value serves as stale gets it, and the error.
            "stale on error" => stale < error.max(window),
            _ => true,
        };
        assert!(holds, "M3: {value} of {name} is {part:?}");
        self.floors[key] = self.floors[key].max(value);
    }

    /// All that is up ends; nobody may be left.
    fn bring_home(&mut self) {
        for turn in 0..100 {
            self.step += 1;
            self.now += 1;
            self.script.group.clock.advance(seconds(1));
            (0..self.loads.len()).for_each(|at| self.end(at, None));
            self.settle();
            self.look();
            if turn > 8 && self.asked.iter().all(|asked| asked.answered) {
                break;
            }
        }
        let stats = self.script.group.cache.stats();
        assert!(
            self.asked.iter().all(|asked| asked.answered),
            "M6: somebody hangs"
        );
        assert_eq!(
            (stats.loading, stats.behind),
            (0, 0),
            "M6: something is left"
        );
        assert!(stats.landed + stats.failed <= stats.loads, "{stats:?}");
        let starts: usize = KEYS.iter().map(|key| self.script.starts(key)).sum();
        assert_eq!(stats.loads, starts as u64, "every load is counted");
    }
}

/// One of those, if there are any.
fn pick<T>(of: &mut [T], at: usize) -> Option<&mut T> {
    let count = of.len();
    (count > 0).then(|| &mut of[at % count])
}

fn run(options: Options, steps: &[Step], mistake: Mistake) -> Result<(), String> {
    muted(|| {
        let desk = match options.behind {
            true => Desk::behind(|it| options.prepare(it)),
            false => Desk::new(|it| options.prepare(it)),
        };
        let script = desk.script();
        let loader = rows(script.works());
        let mut run = Run {
            options,
            mistake,
            script,
            loader: &loader,
            step: 0,
            now: 0,
            asked: Vec::new(),
            loads: Vec::new(),
            lives: BTreeMap::new(),
            floors: [0; 2],
            expired: [(0, 0); 2],
            overtaken: [0; 2],
            mark: None,
        };
        steps.iter().for_each(|step| run.take(*step));
        run.bring_home();
    })
}

/// A loader that asks for each key by itself: then what lands together does not depend on the model.
fn rows(works: impl Fn(String) -> Work + Send + Sync + 'static) -> Rows {
    let loader = Loader::builder().max_batch(1).max_in_flight(1 << 10);
    loader.build(move |keys: Vec<String>| {
        let works: Vec<_> = keys
            .into_iter()
            .map(|key| (key.clone(), works(key)))
            .collect();
        async move {
            let mut rows = Vec::new();
            for (key, work) in works {
                rows.push((key, work.await));
            }
            rows
        }
    })
}

fn script(seed: u64) -> (Options, Vec<Step>) {
    let mut random = Random::new(seed);
    let options = Options::random(&mut random);
    let count = 10 + random.below(50);
    (options, (0..count).map(|_| step(&mut random)).collect())
}

/// The first script that fails, as short as it gets.
fn search(seeds: std::ops::Range<u64>, mistake: Mistake) -> Option<String> {
    for seed in seeds {
        let (options, mut steps) = script(seed);
        let Err(mut why) = run(options, &steps, mistake) else {
            continue;
        };
        let mut at = 0;
        while at < steps.len() {
            let mut fewer = steps.clone();
            fewer.remove(at);
            match run(options, &fewer, mistake) {
                Err(reason) => (steps, why) = (fewer, reason),
                Ok(()) => at += 1,
            }
        }
        return Some(format!("seed {seed}: {why}\n{options:?}\n{steps:#?}"));
    }
    None
}

fn number(name: &str, usual: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(usual, |set| set.parse().expect("a number"))
}

#[test]
fn a14_random_scripts_keep_every_promise() {
    let seed = number("ONEFLIGHT_SEED", 1);
    let count = number("ONEFLIGHT_SCRIPTS", 10_000);
    if let Some(failure) = search(seed..seed + count, Mistake::None) {
        panic!("{failure}");
    }
}

#[test]
fn a_model_with_a_mistake_is_found_out() {
    for mistake in [Mistake::ExpireIsInvalidate, Mistake::NothingIsServedStale] {
        assert!(search(1..2000, mistake).is_some(), "{mistake:?}");
    }
}
