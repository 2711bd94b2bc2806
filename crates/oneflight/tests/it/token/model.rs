//! Random scripts against a strict server: whatever happens, in whatever order, no refresh token is spent twice, and who is logged in
//! stays so.
//!
//! `ONEFLIGHT_SCRIPTS` is how many run, `ONEFLIGHT_SEED` the seed of the first; one that fails prints its seed and its steps.
//!
//! Two kinds: two processes with a lease, whose requests may be turned away but not lost; and one process whose store fails, and
//! whose requests and answers are lost, at a server that has a grace.

use super::authority::{Authority, Fate};
use super::desk::{Call, Desk, HandWall};
use super::rotation::Local;
use super::stores::Told;
use crate::script::HandClock;
use oneflight::token::Token;
use std::sync::Arc;
use std::time::Duration;

const STEPS: usize = 60;

/// No answer is waited for for so long.
const ANSWER: Duration = Duration::from_secs(10);

/// A generator of numbers: SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

/// What can happen.
#[derive(Clone, Copy, Debug)]
enum Step {
    Call(usize),
    /// A 401 for a token that was got, counted from the newest.
    Reject(usize, usize),
    Poll(usize, usize),
    Drop(usize, usize),
    Settle(usize),
    Login(usize),
    /// So many seconds pass.
    Pass(u64),
    Hold,
    Release,
    Fate(Fate),
    StoreFails(u32, bool),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Processes,
    Losses,
}

fn step(dice: &mut Dice, kind: Kind) -> Step {
    let at = match kind {
        Kind::Processes => usize::from(dice.below(2) == 1),
        Kind::Losses => 0,
    };
    let which = usize::try_from(dice.below(4)).unwrap_or_default();
    match (dice.below(24), kind) {
        (0..4, _) => Step::Call(at),
        (4..8, _) => Step::Reject(at, which),
        (8..11, _) => Step::Poll(at, which),
        (11, _) => Step::Drop(at, which),
        (12..14, _) => Step::Settle(at),
        (14, _) => Step::Login(at),
        (15..18, _) => Step::Pass([1, 2, 300, 3600][which]),
        (18, _) => Step::Hold,
        (19, _) => Step::Release,
        (20, _) => Step::Fate(Fate::Busy(None)),
        (21, _) => Step::Fate(Fate::Refused),
        (22, Kind::Losses) => Step::Fate([Fate::AnswerLost, Fate::RequestLost][which % 2]),
        (23, Kind::Losses) => Step::StoreFails(1 + 4 * u32::from(which > 1), which % 2 == 1),
        (_, _) => Step::Settle(at),
    }
}

/// One script, as it runs.
struct Run {
    desks: Vec<Desk>,
    store: Arc<Told>,
    server: Authority,
    calls: Vec<Vec<Call>>,
    tokens: Vec<Vec<Token>>,
    held_for: Option<Duration>,
}

impl Run {
    fn new(kind: Kind, seed: u64) -> Self {
        let clock = HandClock::new();
        let (wall, server) = (HandWall::new(), Authority::new(&clock));
        let (store, lease) = (Arc::new(Told::default()), Local::default());
        if kind == Kind::Losses {
            // What a strict server does with a token whose answer was lost is not the client's to decide.
            server.grace(Duration::from_secs(1_000_000_000));
        }
        let desks = match kind {
            Kind::Processes => 2,
            Kind::Losses => 1,
        };
        let desk = |number: u64| {
            let lease = lease.clone();
            Desk::on(&clock, &wall, &server, store.clone(), move |builder| {
                builder
                    .lease(lease)
                    .seed(seed + number)
                    .grace(2 * ANSWER)
                    .answer_limit(ANSWER)
            })
        };
        let mut run = Self {
            desks: (0..desks).map(desk).collect(),
            store,
            server,
            calls: vec![Vec::new(); 2],
            tokens: vec![Vec::new(); 2],
            held_for: None,
        };
        let token = run.desks[0].login();
        run.tokens[0].push(token);
        run
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Call(at) => {
                let call = self.desks[at].call();
                self.calls[at].push(call);
            }
            Step::Reject(at, which) => {
                if let Some(token) = self.tokens[at].iter().rev().nth(which) {
                    let call = self.desks[at].reject(token);
                    self.calls[at].push(call);
                }
            }
            Step::Poll(at, which) => {
                if let Some(&call) = self.calls[at].iter().rev().nth(which) {
                    self.desks[at].poll(call);
                }
            }
            Step::Drop(at, which) => {
                if let Some(&call) = self.calls[at].iter().rev().nth(which) {
                    self.desks[at].drop_call(call);
                }
            }
            Step::Settle(at) => self.desks[at].settle(),
            Step::Login(at) => self.login(at),
            Step::Pass(seconds) => self.pass(Duration::from_secs(seconds)),
            Step::Hold => {
                self.server.hold();
                self.held_for.get_or_insert_default();
            }
            Step::Release => {
                self.server.release();
                self.held_for = None;
            }
            Step::Fate(fate) => self.server.next([fate]),
            Step::StoreFails(times, done) => self.store.fail_swaps(times, done),
        }
        self.gather();
    }

    fn login(&mut self, at: usize) {
        let grant = self.server.login();
        let source = self.desks[at].source.clone();
        let call = self.desks[at].seat(async move { source.replace(grant).await });
        self.calls[at].push(call);
        self.desks[at].settle();
    }

    /// Time passes for all, but not so much that a request which is held has no answer in time.
    fn pass(&mut self, by: Duration) {
        if let Some(held) = &mut self.held_for {
            *held += by;
            if *held >= ANSWER {
                self.take(Step::Release);
                self.settle_all();
            }
        }
        self.desks[0].advance(by);
        self.settle_all();
    }

    fn settle_all(&mut self) {
        for _ in 0..4 {
            self.desks.iter_mut().for_each(Desk::settle);
        }
    }

    /// Notes the tokens that came.
    fn gather(&mut self) {
        for at in 0..self.desks.len() {
            for &call in &self.calls[at] {
                if let Some(token) = self.desks[at].has(call)
                    && !self.tokens[at].contains(&token)
                {
                    self.tokens[at].push(token);
                }
            }
        }
    }

    /// What must be true at any time.
    fn check(&self) {
        assert_eq!(self.server.revoked(), 0, "a refresh token was spent twice");
        for desk in &self.desks {
            let needed = |event: &String| event.starts_with("login needed: the");
            assert!(!desk.events().iter().any(needed), "a login was lost");
        }
    }

    /// Everything comes to rest, and everybody asks once more, as a client does: with one more try after a 401.
    fn end(&mut self) {
        self.take(Step::Release);
        self.store.fail_swaps(0, false);
        self.server.forget_fates();
        // Time for the pauses after lost answers.
        (0..40).for_each(|_| self.pass(Duration::from_secs(1)));
        // And for that after many flights that failed.
        self.pass(Duration::from_secs(120));
        for at in 0..self.desks.len() {
            for &call in &self.calls[at] {
                assert!(!self.desks[at].is_waiting(call), "a call waits for ever");
            }
            let mut token = self.desks[at].ask();
            if !self.server.takes(token.expose()) {
                let call = self.desks[at].reject(&token);
                token = self.desks[at].token(call);
            }
            assert!(self.server.takes(token.expose()), "a second 401");
        }
        self.check();
    }
}

fn scripts(kind: Kind) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let scripts = number("ONEFLIGHT_SCRIPTS").unwrap_or(2_000);
    let first = number("ONEFLIGHT_SEED").unwrap_or(1);
    let (mut redeemed, mut superseded) = (0, 0);
    for seed in first..first + scripts {
        let mut dice = Dice(seed);
        let steps: Vec<_> = (0..STEPS).map(|_| step(&mut dice, kind)).collect();
        let told = format!("seed {seed}: {steps:?}");
        let mut run = Run::new(kind, seed);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for &step in &steps {
                run.take(step);
                run.check();
            }
            run.end();
        }));
        if let Err(panic) = result {
            eprintln!("{told}");
            std::panic::resume_unwind(panic);
        }
        redeemed += u64::from(run.server.redeemed());
        let stats = run.desks.iter().map(|desk| desk.source.stats());
        superseded += stats.map(|stats| stats.superseded).sum::<u64>();
    }
    assert!(redeemed > scripts, "the scripts hardly refresh: {redeemed}");
    assert!(superseded > 0, "no login ever overtakes a refresh");
    println!("{scripts} scripts from seed {first}, {redeemed} refreshes, {superseded} superseded");
}

#[test]
fn e2_random_scripts_of_two_processes_spend_no_refresh_token_twice() {
    scripts(Kind::Processes);
}

#[test]
fn e13_random_scripts_with_losses_lose_no_login() {
    scripts(Kind::Losses);
}
