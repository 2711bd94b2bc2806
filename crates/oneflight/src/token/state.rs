//! What is known of one source, under its lock: the transitions, and nothing that waits.
//!
//! ```text
//!   Unknown ──the store has a pair──▶ Held ── Idle ⇄ Flying ──invalid_grant──▶ Ended
//!      │                               ▲ │                                       │
//!      └──it has none──▶ Out ──────────┘ └──◀── another pair, by whatever way ───┘
//! ```
//!
//! Z1. What came of the store (a pair, or that there is none) takes the place of what is known if its version is greater; or if the
//!     state is as it was when the store was read (`epoch`): then the store has gone back, and is right.
//! Z2. What has to go (`Old`) is handed out, to be dropped when the lock is open: in it may be the last of an error of the user's.
//! Z3. `Held::rejected` and `Held::doubt` are of one pair, and go with it; so does that it has ended, and that it rests.
//! Z4. After a flight that failed none begins for a while, whoever asks, whatever is known: who can't be served is told of that failure.

use super::doubt::Doubt;
use super::event::Stats;
use super::failure::Failure;
use super::pair::{Pair, Stored, Token, Version};
use super::schedule::{Stage, Times};
use super::slot::{Limits, Moment};
use std::time::{Duration, Instant};

/// For so long after a look into the store that found nothing better, a source that needs a login does not look again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// So soon a flight in the background that was called for, and has not begun, is called for again.
const CALL_AGAIN: Duration = Duration::from_secs(1);

/// The state of a source.
pub(super) struct State<E> {
    means: Means,
    phase: Phase<E>,
    renewal: Renewal<E>,
    /// Why the last flight failed, while that counts. It is replaced only where it can be handed out (Z2).
    last: Option<Failure<E>>,
    /// Raised with every change of what is known: to be had before the store is asked, and handed in with what came of that (Z1).
    epoch: u64,
    unsaved: Option<Unsaved>,
    pub(super) stats: Stats,
}

enum Phase<E> {
    /// The store has not been asked.
    Unknown,
    /// The store has no pair.
    Out {
        version: Version,
        why: Failure<E>,
        looked: Instant,
    },
    Held(Held),
}

struct Held {
    token: Token,
    /// What the store was last seen to have it by.
    version: Version,
    pair: Pair,
    /// None if it never expires.
    times: Option<Times>,
    /// A server would not have it.
    rejected: bool,
    /// Its refresh token was sent, and has no answer (R3).
    doubt: Option<Doubt>,
}

/// How it stands with the renewal of what is known. `failures` is how many flights have failed in a row.
enum Renewal<E> {
    Idle,
    /// A flight in the background was called for, and has not begun; after this it is called for again.
    Called {
        again: Instant,
        failures: u32,
    },
    Flying {
        failures: u32,
    },
    /// A flight has failed, and before this none begins (Z4).
    Resting {
        until: Instant,
        failures: u32,
    },
    /// The refresh token is worth nothing (R4).
    Ended {
        why: Failure<E>,
        looked: Instant,
    },
}

/// A pair that the server gave, and that the store has yet to take (R2).
#[derive(Clone)]
pub(super) struct Unsaved {
    /// The version that it replaces.
    pub(super) expected: Version,
    pub(super) version: Version,
    pub(super) pair: Pair,
    pub(super) times: Option<Times>,
}

impl Unsaved {
    pub(super) fn stored(&self) -> Stored {
        Stored::new(self.version, Some(self.pair.clone()))
    }
}

/// How a flight begins.
pub(super) enum Start<E> {
    Go,
    /// There is another token already.
    Take(Token),
    /// It is not time yet (Z4).
    Fail(Failure<E>),
}

/// What a call finds.
pub(super) enum Look<E> {
    Use(Token),
    /// Use it, and renew it in the background.
    Renew(Token),
    Fail(Failure<E>),
    /// Wait for a flight that brings another token than this one.
    Wait(Option<Token>),
}

/// What a flight is to do, once it knows what the store has.
pub(super) enum Plan<E> {
    Send(Ask),
    Fail(Failure<E>),
    /// Another has sent the refresh token, and may be waiting for its answer for so long.
    Wait(Duration),
    /// There is nothing to be sent, and will not be: the version has ended.
    End(Version, Failure<E>),
}

/// A request to be sent.
pub(super) struct Ask {
    pub(super) version: Version,
    pub(super) pair: Option<Pair>,
    /// It was sent before, and has no answer.
    pub(super) doubt: Option<Doubt>,
}

/// What may be done for a source that has no refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// Nothing.
    Refresh,
    /// Its refresher needs none.
    Mint,
}

/// What was there before, to be dropped under no lock (Z2).
#[must_use = "it is to be dropped when the lock is open"]
#[expect(dead_code, reason = "only to be dropped")]
pub(super) struct Old<E>(Option<(Phase<E>, Renewal<E>)>, Option<Failure<E>>);

impl<E> Old<E> {
    fn nothing() -> Self {
        Self(None, None)
    }
}

/// What is new in what the store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    Nothing,
    /// A pair that was not known.
    Found,
    /// Nobody is logged in any more, or nobody was.
    LoginNeeded,
}

impl<E> State<E> {
    pub(super) fn new(means: Means) -> Self {
        Self {
            means,
            phase: Phase::Unknown,
            renewal: Renewal::Idle,
            last: None,
            epoch: 0,
            unsaved: None,
            stats: Stats::default(),
        }
    }

    /// What a call finds. A flight that is to be started in the background is noted as called for.
    pub(super) fn look(&mut self, now: Instant) -> Look<E> {
        let resting = self.resting(now);
        let held = match &self.phase {
            Phase::Out { why, looked, .. }
                if self.means == Means::Refresh && is_within(now, *looked, LOOK_AGAIN) =>
            {
                return Look::Fail(why.clone());
            }
            Phase::Unknown | Phase::Out { .. } => {
                return resting.map_or(Look::Wait(None), Look::Fail);
            }
            Phase::Held(held) => held,
        };
        let token = held.token.clone();
        match (held.stage(now), &self.renewal) {
            (Stage::Fresh, _) => Look::Use(token),
            (Stage::Due | Stage::Edge, Renewal::Ended { .. }) => Look::Use(token),
            (Stage::Due | Stage::Edge, _) if resting.is_some() => Look::Use(token),
            (Stage::Due, Renewal::Flying { .. }) => Look::Use(token),
            (Stage::Due, Renewal::Called { again, .. }) if now < *again => Look::Use(token),
            (Stage::Due, renewal) => {
                if let Some(again) = now.checked_add(CALL_AGAIN) {
                    let failures = renewal.failures();
                    self.renewal = Renewal::Called { again, failures };
                }
                Look::Renew(token)
            }
            (Stage::Over, Renewal::Ended { why, looked })
                if is_within(now, *looked, LOOK_AGAIN) =>
            {
                Look::Fail(why.clone())
            }
            (Stage::Edge | Stage::Over, _) => resting.map_or(Look::Wait(Some(token)), Look::Fail),
        }
    }

    /// A server would not have this token. Nothing happens if it has been replaced.
    pub(super) fn reject(&mut self, token: &Token) {
        if let Phase::Held(held) = &mut self.phase
            && held.token == *token
        {
            held.rejected = true;
        }
    }

    /// The present token, if it is good, though perhaps not for long.
    pub(super) fn good(&self, now: Instant) -> Option<Token> {
        let held = self.held()?;
        (held.stage(now) != Stage::Over).then(|| held.token.clone())
    }

    /// A flight begins, to find another token than `asked`: if that is not there by now, and if it is time.
    pub(super) fn begin(&mut self, asked: Option<&Token>, now: Instant) -> Start<E> {
        if let Some(token) = self.usable(asked, now) {
            return Start::Take(token);
        }
        if let Some(why) = self.resting(now) {
            return Start::Fail(why);
        }
        if !matches!(self.renewal, Renewal::Ended { .. }) {
            let failures = self.renewal.failures();
            self.renewal = Renewal::Flying { failures };
        }
        Start::Go
    }

    /// Another token than `asked` that a caller can be sent away with.
    pub(super) fn usable(&self, asked: Option<&Token>, now: Instant) -> Option<Token> {
        self.held()?.usable(asked, now)
    }

    /// How many flights have failed in a row, with the one that is up and fails for this reason. None if there is nothing to wait for:
    /// when a login is looked for again is another's to say.
    pub(super) fn failures(&self, why: &Failure<E>) -> Option<u32> {
        let waits = self.means == Means::Mint || !why.needs_login();
        waits.then(|| self.renewal.failures().saturating_add(1))
    }

    /// The flight that is up has failed: none begins for a while, if that is told. If another pair has come meanwhile from elsewhere,
    /// or this one has ended, that counts (Z3).
    pub(super) fn rest(
        &mut self,
        why: &Failure<E>,
        now: Instant,
        wait: Option<Duration>,
    ) -> Old<E> {
        self.stats.failed += 1;
        let failures = match &mut self.renewal {
            Renewal::Flying { failures } => failures.saturating_add(1),
            Renewal::Ended { looked, .. } => {
                *looked = now;
                return Old::nothing();
            }
            _ => return Old::nothing(),
        };
        let until = wait.and_then(|wait| now.checked_add(wait));
        self.renewal = until.map_or(Renewal::Idle, |until| Renewal::Resting { until, failures });
        Old(None, self.last.replace(why.clone()))
    }

    /// A flight is over, and has found a token.
    pub(super) fn landed(&mut self) -> Old<E> {
        if let Renewal::Flying { .. } = self.renewal {
            self.renewal = Renewal::Idle;
        }
        Old(None, self.last.take())
    }

    /// Why no flight begins now, and for how long that is so (Z4). What is only not tried while there is something to lose (R3) is
    /// tried once there is not.
    fn resting(&self, now: Instant) -> Option<Failure<E>> {
        let over = self
            .held()
            .is_some_and(|held| held.stage(now) == Stage::Over);
        match (&self.renewal, &self.last) {
            (_, Some(why)) if over && why.is_in_doubt() => None,
            (Renewal::Resting { until, .. }, Some(why)) if now < *until => {
                Some(why.again_in(until.saturating_duration_since(now)))
            }
            _ => None,
        }
    }

    /// To be handed in with what comes of the store, once it has come.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What it would be to take what the store has: to be told before it is taken.
    pub(super) fn news(&self, stored: &Stored, epoch: u64) -> News {
        if !self.may_take(stored.version, epoch) {
            return News::Nothing;
        }
        match (&stored.pair, &self.phase) {
            (Some(pair), Phase::Held(held)) if held.pair.is_same(pair) => News::Nothing,
            (Some(_), _) => News::Found,
            (None, Phase::Unknown | Phase::Held(_)) if self.means == Means::Refresh => {
                News::LoginNeeded
            }
            (None, _) => News::Nothing,
        }
    }

    /// Takes what the store has, unless it is known, or older than what has come since (Z1).
    pub(super) fn adopt(
        &mut self,
        stored: &Stored,
        times: Option<Times>,
        epoch: u64,
        at: Moment,
    ) -> Old<E> {
        if !self.may_take(stored.version, epoch) {
            return Old::nothing();
        }
        let (now, doubt) = (at.clock, stored.sent.map(|sent| Doubt::of_others(sent, at)));
        match (&stored.pair, &mut self.phase) {
            (Some(pair), Phase::Held(held)) if held.pair.is_same(pair) => {
                if held.version != stored.version {
                    (held.version, held.doubt) = (stored.version, doubt);
                    self.epoch += 1;
                }
                if let Renewal::Ended { looked, .. } = &mut self.renewal {
                    *looked = now;
                }
                Old::nothing()
            }
            (Some(pair), _) => {
                self.stats.found += 1;
                let token = Token::new(stored.version, pair);
                let held = Held::new(token, pair, times, doubt);
                self.put(Phase::Held(held), true)
            }
            (
                None,
                Phase::Out {
                    version, looked, ..
                },
            ) => {
                (*version, *looked) = (stored.version, now);
                self.epoch += 1;
                Old::nothing()
            }
            (None, _) => self.put(Phase::out(stored.version, now), true),
        }
    }

    /// Puts what is known in the place of what was. A flight that has found it goes on, and has not failed so far; one that is up when
    /// it comes from elsewhere has nothing more to say (Z3).
    fn put(&mut self, phase: Phase<E>, found: bool) -> Old<E> {
        self.epoch += 1;
        let renewal = match (&self.renewal, found) {
            (Renewal::Flying { .. }, true) => Renewal::Flying { failures: 0 },
            _ => Renewal::Idle,
        };
        let phase = std::mem::replace(&mut self.phase, phase);
        let renewal = std::mem::replace(&mut self.renewal, renewal);
        Old(Some((phase, renewal)), self.last.take())
    }

    /// Takes a pair that the store, read at `epoch`, has been given since: by a flight, or by a login. Its token; none if something
    /// newer has come since, be it that there is no pair any more (Z1).
    pub(super) fn install(
        &mut self,
        version: Version,
        pair: &Pair,
        times: Option<Times>,
        epoch: u64,
    ) -> (Option<Token>, Old<E>) {
        if !self.may_take(version, epoch) {
            return (None, Old::nothing());
        }
        self.unsaved = None;
        let token = Token::new(version, pair);
        let held = Phase::Held(Held::new(token.clone(), pair, times, None));
        (Some(token), self.put(held, false))
    }

    /// The store, read at `epoch`, has been emptied since.
    pub(super) fn leave(&mut self, version: Version, epoch: u64, now: Instant) -> Old<E> {
        if !self.may_take(version, epoch) {
            return Old::nothing();
        }
        self.unsaved = None;
        self.put(Phase::out(version, now), false)
    }

    /// True if what came of the store, which was read at `epoch`, is not older than what is known (Z1).
    fn may_take(&self, version: Version, epoch: u64) -> bool {
        epoch == self.epoch || self.version().is_none_or(|known| version > known)
    }

    /// The token that is held, good or not.
    pub(super) fn token(&self) -> Option<Token> {
        self.held().map(|held| held.token.clone())
    }

    /// What a flight is to do with what is known now. Past the grace a token in doubt is sent only if there is nothing to lose (R3);
    /// and one that others have sent is not while they may get their answer, unless this flight `leads` and they are gone.
    pub(super) fn plan(&self, now: Instant, limits: &Limits, leads: bool) -> Plan<E> {
        let held = match &self.phase {
            Phase::Held(held) => held,
            Phase::Out { version, why, .. } => {
                return match self.means {
                    Means::Refresh => Plan::Fail(why.clone()),
                    Means::Mint => Plan::Send(Ask {
                        version: *version,
                        pair: None,
                        doubt: None,
                    }),
                };
            }
            Phase::Unknown => return Plan::Fail(Failure::logged_out()),
        };
        if let Renewal::Ended { why, .. } = &self.renewal {
            return Plan::Fail(why.clone());
        }
        if held.pair.refresh().is_none() && self.means == Means::Refresh {
            return Plan::End(held.version, Failure::no_refresh_token());
        }
        if let Some(doubt) = &held.doubt {
            let up = doubt.left(limits.answer, now);
            if doubt.is_of_others() && !leads && !up.is_zero() {
                return Plan::Wait(up);
            }
            if doubt.left(limits.grace, now).is_zero() && held.stage(now) != Stage::Over {
                return Plan::Fail(Failure::in_doubt());
            }
        }
        Plan::Send(Ask {
            version: held.version,
            pair: Some(held.pair.clone()),
            doubt: held.doubt,
        })
    }

    /// The store has the pair that is held by another version now: with the mark that its refresh token is sent, or without. False if
    /// another pair has come meanwhile.
    pub(super) fn marked(
        &mut self,
        before: Version,
        version: Version,
        doubt: Option<Doubt>,
    ) -> bool {
        match &mut self.phase {
            Phase::Held(held) if held.version == before => {
                (held.version, held.doubt) = (version, doubt);
                self.epoch += 1;
                true
            }
            _ => false,
        }
    }

    /// The answer to a request is there: the refresh token is in doubt no longer.
    pub(super) fn settled(&mut self, version: Version) {
        if let Phase::Held(held) = &mut self.phase
            && held.version == version
        {
            held.doubt = None;
        }
    }

    /// True if it is news that the refresh token of this version is worth nothing (R4): to be told before it is so.
    pub(super) fn may_end(&self, version: Version) -> bool {
        // What needs no refresh token may do so again: its refresher knows no login.
        self.means == Means::Refresh
            && self.held().is_some_and(|held| held.version == version)
            && !matches!(self.renewal, Renewal::Ended { .. })
    }

    /// The refresh token of this version is worth nothing (R4).
    pub(super) fn end(&mut self, version: Version, why: &Failure<E>, now: Instant) {
        if self.may_end(version) {
            // A flight is up: no failure goes with what is replaced (Z2).
            self.renewal = Renewal::Ended {
                why: why.clone(),
                looked: now,
            };
        }
    }

    pub(super) fn unsaved(&self) -> Option<Unsaved> {
        self.unsaved.clone()
    }

    pub(super) fn keep_unsaved(&mut self, unsaved: Option<Unsaved>) {
        self.unsaved = unsaved;
    }

    /// The version that is known. None if the store has not been asked.
    pub(super) fn version(&self) -> Option<Version> {
        match &self.phase {
            Phase::Unknown => None,
            Phase::Out { version, .. } => Some(*version),
            Phase::Held(held) => Some(held.version),
        }
    }

    fn held(&self) -> Option<&Held> {
        match &self.phase {
            Phase::Held(held) => Some(held),
            Phase::Unknown | Phase::Out { .. } => None,
        }
    }
}

impl<E> Phase<E> {
    fn out(version: Version, now: Instant) -> Self {
        Self::Out {
            version,
            why: Failure::logged_out(),
            looked: now,
        }
    }
}

impl Held {
    fn new(token: Token, pair: &Pair, times: Option<Times>, doubt: Option<Doubt>) -> Self {
        Self {
            version: token.version(),
            token,
            pair: pair.clone(),
            times,
            rejected: false,
            doubt,
        }
    }

    fn stage(&self, now: Instant) -> Stage {
        match (self.rejected, &self.times) {
            (true, _) => Stage::Over,
            (false, None) => Stage::Fresh,
            (false, Some(times)) => times.stage(now),
        }
    }

    fn usable(&self, asked: Option<&Token>, now: Instant) -> Option<Token> {
        let good = matches!(self.stage(now), Stage::Fresh | Stage::Due);
        (good && asked != Some(&self.token)).then(|| self.token.clone())
    }
}

impl<E> Renewal<E> {
    fn failures(&self) -> u32 {
        match self {
            Self::Idle | Self::Ended { .. } => 0,
            Self::Called { failures, .. }
            | Self::Flying { failures }
            | Self::Resting { failures, .. } => *failures,
        }
    }
}

/// True if no more than `span` has passed since `then`.
fn is_within(now: Instant, then: Instant, span: Duration) -> bool {
    now.saturating_duration_since(then) < span
}
