//! What is known, and how it comes to be so.

use super::held::Held;
use super::renewal::Renewal;
use crate::token::doubt::Doubt;
use crate::token::event::Stats;
use crate::token::failure::Failure;
use crate::token::pair::{Pair, Stored, Token, Version};
use crate::token::schedule::{Stage, Times};
use crate::token::slot::Moment;
use std::time::Instant;

/// The state of a source.
pub(in crate::token) struct State<E> {
    pub(super) means: Means,
    pub(super) phase: Phase<E>,
    pub(super) renewal: Renewal<E>,
    /// Why the last flight failed, while that counts. It is replaced only where it can be handed out (Z2).
    pub(super) last: Option<Failure<E>>,
    /// Raised with every change of what is known: to be had before the store is asked, and handed in with what came of that (Z1).
    epoch: u64,
    unsaved: Option<Unsaved>,
    pub(in crate::token) stats: Stats,
}

pub(super) enum Phase<E> {
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

/// A pair that the server gave, and that the store has yet to take (R2).
#[derive(Clone)]
pub(in crate::token) struct Unsaved {
    /// The version that it replaces.
    pub(in crate::token) expected: Version,
    pub(in crate::token) version: Version,
    pub(in crate::token) pair: Pair,
    pub(in crate::token) times: Option<Times>,
}

impl Unsaved {
    pub(in crate::token) fn stored(&self) -> Stored {
        Stored::new(self.version, Some(self.pair.clone()))
    }
}

/// What may be done for a source that has no refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::token) enum Means {
    /// Nothing.
    Refresh,
    /// Its refresher needs none.
    Mint,
}

/// What was there before, to be dropped under no lock (Z2).
#[must_use = "it is to be dropped when the lock is open"]
#[expect(dead_code, reason = "only to be dropped")]
pub(in crate::token) struct Old<E>(Option<(Phase<E>, Renewal<E>)>, Option<Failure<E>>);

impl<E> Old<E> {
    pub(super) fn nothing() -> Self {
        Self(None, None)
    }

    pub(super) fn failure(last: Option<Failure<E>>) -> Self {
        Self(None, last)
    }
}

/// What is new in what the store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::token) enum News {
    Nothing,
    /// A pair that was not known.
    Found,
    /// Nobody is logged in any more, or nobody was.
    LoginNeeded,
}

impl<E> State<E> {
    pub(in crate::token) fn new(means: Means) -> Self {
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

    /// A server would not have this token. Nothing happens if it has been replaced.
    pub(in crate::token) fn reject(&mut self, token: &Token) {
        if let Phase::Held(held) = &mut self.phase
            && held.token == *token
        {
            held.rejected = true;
        }
    }

    /// The present token, if it is good, though perhaps not for long.
    pub(in crate::token) fn good(&self, now: Instant) -> Option<Token> {
        let held = self.held()?;
        (held.stage(now) != Stage::Over).then(|| held.token.clone())
    }

    /// Another token than `asked` that a caller can be sent away with.
    pub(in crate::token) fn usable(&self, asked: Option<&Token>, now: Instant) -> Option<Token> {
        self.held()?.usable(asked, now)
    }

    /// To be handed in with what comes of the store, once it has come.
    pub(in crate::token) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What it would be to take what the store has: to be told before it is taken.
    pub(in crate::token) fn news(&self, stored: &Stored, epoch: u64) -> News {
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
    pub(in crate::token) fn adopt(
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
    pub(in crate::token) fn install(
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
    pub(in crate::token) fn leave(&mut self, version: Version, epoch: u64, now: Instant) -> Old<E> {
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
    pub(in crate::token) fn token(&self) -> Option<Token> {
        self.held().map(|held| held.token.clone())
    }

    /// The store has the pair that is held by another version now: with the mark that its refresh token is sent, or without. False if
    /// another pair has come meanwhile.
    pub(in crate::token) fn marked(
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
    pub(in crate::token) fn settled(&mut self, version: Version) {
        if let Phase::Held(held) = &mut self.phase
            && held.version == version
        {
            held.doubt = None;
        }
    }

    pub(in crate::token) fn unsaved(&self) -> Option<Unsaved> {
        self.unsaved.clone()
    }

    pub(in crate::token) fn keep_unsaved(&mut self, unsaved: Option<Unsaved>) {
        self.unsaved = unsaved;
    }

    /// The version that is known. None if the store has not been asked.
    pub(in crate::token) fn version(&self) -> Option<Version> {
        match &self.phase {
            Phase::Unknown => None,
            Phase::Out { version, .. } => Some(*version),
            Phase::Held(held) => Some(held.version),
        }
    }

    pub(super) fn held(&self) -> Option<&Held> {
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
