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
//! Z3. `Held::rejected` and `Held::doubt` are of one pair, and go with it.

use super::event::Stats;
use super::failure::Failure;
use super::pair::{Pair, Stored, Token, Version};
use super::schedule::{Stage, Times};
use super::secret::Secret;
use std::time::{Duration, Instant};

/// For so long after a look into the store that found nothing better, a source that needs a login does not look again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// So soon a flight in the background that was called for, and has not begun, is called for again.
const CALL_AGAIN: Duration = Duration::from_secs(1);

/// The state of a source.
pub(super) struct State<E> {
    means: Means,
    phase: Phase<E>,
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
    Held(Held<E>),
}

struct Held<E> {
    token: Token,
    refresh: Option<Secret>,
    /// None if it never expires.
    times: Option<Times>,
    /// A server would not have it.
    rejected: bool,
    /// When its refresh token was first sent without an answer (R3).
    doubt: Option<Instant>,
    renewal: Renewal<E>,
}

enum Renewal<E> {
    Idle {
        not_before: Option<Instant>,
        failures: u32,
    },
    Flying {
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
        Stored {
            version: self.version,
            pair: Some(self.pair.clone()),
        }
    }
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
    /// There is nothing to be sent, and will not be: the version has ended.
    End(Version, Failure<E>),
}

/// A request to be sent.
pub(super) struct Ask {
    pub(super) version: Version,
    pub(super) refresh: Option<Secret>,
    /// When it was first sent without an answer.
    pub(super) doubt: Option<Instant>,
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
pub(super) struct Old<E>(#[expect(dead_code, reason = "only to be dropped")] Option<Phase<E>>);

/// A failure that is news: nothing but a login helps from now on.
pub(super) struct News<E>(pub(super) Failure<E>);

impl<E> State<E> {
    pub(super) fn new(means: Means) -> Self {
        Self {
            means,
            phase: Phase::Unknown,
            epoch: 0,
            unsaved: None,
            stats: Stats::default(),
        }
    }

    /// What a call finds. A flight that is to be started in the background is noted as called for.
    pub(super) fn look(&mut self, now: Instant) -> Look<E> {
        match &mut self.phase {
            Phase::Out { why, looked, .. }
                if self.means == Means::Refresh && is_within(now, *looked, LOOK_AGAIN) =>
            {
                Look::Fail(why.clone())
            }
            Phase::Unknown | Phase::Out { .. } => Look::Wait(None),
            Phase::Held(held) => held.look(now),
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

    /// A flight begins, to find another token than `asked`: it gets that, if it is there by now.
    pub(super) fn begin(&mut self, asked: Option<&Token>, now: Instant) -> Option<Token> {
        let Phase::Held(held) = &mut self.phase else {
            return None;
        };
        if let Some(token) = held.usable(asked, now) {
            return Some(token);
        }
        if let Renewal::Idle { failures, .. } = held.renewal {
            held.renewal = Renewal::Flying { failures };
        }
        None
    }

    /// Another token than `asked` that a caller can be sent away with.
    pub(super) fn usable(&self, asked: Option<&Token>, now: Instant) -> Option<Token> {
        self.held()?.usable(asked, now)
    }

    /// A flight is over, and did not renew what it began with; how many have failed in a row, to say when to try again.
    pub(super) fn failed(&mut self) -> u32 {
        self.stats.failed += 1;
        match &self.phase {
            Phase::Held(held) => match held.renewal {
                Renewal::Idle { failures, .. } | Renewal::Flying { failures } => failures + 1,
                Renewal::Ended { .. } => 0,
            },
            _ => 0,
        }
    }

    /// No flight begins in the background before this.
    pub(super) fn wait_until(&mut self, not_before: Option<Instant>, failures: u32) {
        if let Phase::Held(held) = &mut self.phase
            && !matches!(held.renewal, Renewal::Ended { .. })
        {
            held.renewal = Renewal::Idle {
                not_before,
                failures,
            };
        }
    }

    /// A flight is over, and has found a token.
    pub(super) fn landed(&mut self) {
        if let Phase::Held(held) = &mut self.phase
            && matches!(held.renewal, Renewal::Flying { .. })
        {
            held.renewal = Renewal::idle();
        }
    }

    /// To be handed in with what comes of the store, once it has come.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Takes what the store has, unless it is known, or older than what has come since (Z1). True if it is a pair that was not
    /// known.
    pub(super) fn adopt(
        &mut self,
        stored: &Stored,
        times: Option<Times>,
        epoch: u64,
        now: Instant,
    ) -> (Result<bool, News<E>>, Old<E>) {
        if !self.may_take(stored.version, epoch) {
            return (Ok(false), Old(None));
        }
        match (&stored.pair, &mut self.phase) {
            (Some(pair), Phase::Held(held)) if held.token.is_of(stored.version, pair) => {
                if let Renewal::Ended { looked, .. } = &mut held.renewal {
                    *looked = now;
                }
                (Ok(false), Old(None))
            }
            (Some(pair), phase) => {
                let held = Phase::held(stored.version, pair, times);
                self.epoch += 1;
                self.stats.found += 1;
                (Ok(true), Old(Some(std::mem::replace(phase, held))))
            }
            (
                None,
                Phase::Out {
                    version, looked, ..
                },
            ) => {
                (*version, *looked) = (stored.version, now);
                self.epoch += 1;
                (Ok(false), Old(None))
            }
            (None, phase) => {
                let why = Failure::logged_out();
                let out = Phase::Out {
                    version: stored.version,
                    why: why.clone(),
                    looked: now,
                };
                let old = Old(Some(std::mem::replace(phase, out)));
                self.epoch += 1;
                match self.means {
                    Means::Refresh => (Err(News(why)), old),
                    Means::Mint => (Ok(false), old),
                }
            }
        }
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
            return (None, Old(None));
        }
        self.epoch += 1;
        self.unsaved = None;
        let token = Token::new(version, pair);
        let held = Phase::Held(Held::new(token.clone(), pair, times));
        let old = std::mem::replace(&mut self.phase, held);
        (Some(token), Old(Some(old)))
    }

    /// The store, read at `epoch`, has been emptied since.
    pub(super) fn leave(&mut self, version: Version, epoch: u64, now: Instant) -> Old<E> {
        if !self.may_take(version, epoch) {
            return Old(None);
        }
        self.epoch += 1;
        self.unsaved = None;
        let out = Phase::Out {
            version,
            why: Failure::logged_out(),
            looked: now,
        };
        Old(Some(std::mem::replace(&mut self.phase, out)))
    }

    /// True if what came of the store, which was read at `epoch`, is not older than what is known (Z1).
    fn may_take(&self, version: Version, epoch: u64) -> bool {
        epoch == self.epoch || self.version().is_none_or(|known| version > known)
    }

    /// The token that is held, good or not.
    pub(super) fn token(&self) -> Option<Token> {
        self.held().map(|held| held.token.clone())
    }

    /// What a flight is to do with what is known now; past `grace` a token in doubt is sent only if there is nothing to lose (R3).
    pub(super) fn plan(&self, now: Instant, grace: Duration) -> Plan<E> {
        let held = match &self.phase {
            Phase::Held(held) => held,
            Phase::Out { version, why, .. } => {
                return match self.means {
                    Means::Refresh => Plan::Fail(why.clone()),
                    Means::Mint => Plan::Send(Ask {
                        version: *version,
                        refresh: None,
                        doubt: None,
                    }),
                };
            }
            Phase::Unknown => return Plan::Fail(Failure::logged_out()),
        };
        let in_doubt = held.doubt.is_some_and(|at| !is_within(now, at, grace));
        match (&held.renewal, &held.refresh) {
            (Renewal::Ended { why, .. }, _) => Plan::Fail(why.clone()),
            (_, None) if self.means == Means::Refresh => {
                Plan::End(held.token.version(), Failure::no_refresh_token())
            }
            _ if in_doubt && held.stage(now) != Stage::Over => Plan::Fail(Failure::in_doubt()),
            (_, refresh) => Plan::Send(Ask {
                version: held.token.version(),
                refresh: refresh.clone(),
                doubt: held.doubt,
            }),
        }
    }

    /// A request is sent, or its answer is there: its refresh token is in doubt since then, or is not (R3).
    pub(super) fn doubt(&mut self, version: Version, since: Option<Instant>) {
        if let Phase::Held(held) = &mut self.phase
            && held.token.version() == version
            && held.refresh.is_some()
        {
            held.doubt = since;
        }
    }

    /// The refresh token of this version is worth nothing (R4). Told if it is news.
    pub(super) fn end(
        &mut self,
        version: Version,
        why: &Failure<E>,
        now: Instant,
    ) -> Option<News<E>> {
        let Phase::Held(held) = &mut self.phase else {
            return None;
        };
        // What needs no refresh token may do so again: its refresher knows no login.
        let fresh = self.means == Means::Refresh
            && held.token.version() == version
            && !matches!(held.renewal, Renewal::Ended { .. });
        fresh.then(|| {
            held.renewal = Renewal::Ended {
                why: why.clone(),
                looked: now,
            };
            News(why.clone())
        })
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
            Phase::Held(held) => Some(held.token.version()),
        }
    }

    fn held(&self) -> Option<&Held<E>> {
        match &self.phase {
            Phase::Held(held) => Some(held),
            Phase::Unknown | Phase::Out { .. } => None,
        }
    }
}

impl<E> Phase<E> {
    fn held(version: Version, pair: &Pair, times: Option<Times>) -> Self {
        Self::Held(Held::new(Token::new(version, pair), pair, times))
    }
}

impl<E> Held<E> {
    fn new(token: Token, pair: &Pair, times: Option<Times>) -> Self {
        Self {
            token,
            refresh: pair.refresh().cloned(),
            times,
            rejected: false,
            doubt: None,
            renewal: Renewal::idle(),
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

    fn look(&mut self, now: Instant) -> Look<E> {
        let token = self.token.clone();
        let stage = self.stage(now);
        match (stage, &mut self.renewal) {
            (Stage::Fresh, _) => Look::Use(token),
            (Stage::Due | Stage::Edge, Renewal::Ended { .. }) => Look::Use(token),
            (Stage::Due | Stage::Edge, Renewal::Idle { not_before, .. })
                if not_before.is_some_and(|at| now < at) =>
            {
                Look::Use(token)
            }
            (Stage::Due, Renewal::Idle { not_before, .. }) => {
                *not_before = now.checked_add(CALL_AGAIN);
                Look::Renew(token)
            }
            (Stage::Due, Renewal::Flying { .. }) => Look::Use(token),
            (Stage::Over, Renewal::Ended { why, looked })
                if is_within(now, *looked, LOOK_AGAIN) =>
            {
                Look::Fail(why.clone())
            }
            (Stage::Edge | Stage::Over, _) => Look::Wait(Some(token)),
        }
    }
}

impl<E> Renewal<E> {
    fn idle() -> Self {
        Self::Idle {
            not_before: None,
            failures: 0,
        }
    }
}

/// True if no more than `span` has passed since `then`.
fn is_within(now: Instant, then: Instant, span: Duration) -> bool {
    now.saturating_duration_since(then) < span
}
