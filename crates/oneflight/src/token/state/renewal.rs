//! When a flight begins: what a call finds, and how flights follow each other.

use super::known::{Means, Old, Phase, State};
use crate::token::failure::Failure;
use crate::token::pair::{Token, Version};
use crate::token::schedule::Stage;
use std::time::{Duration, Instant};

/// For so long after a look into the store that found nothing better, a source that needs a login does not look again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// So soon a flight in the background that was called for, and has not begun, is called for again.
const CALL_AGAIN: Duration = Duration::from_secs(1);

/// How it stands with the renewal of what is known. `failures` is how many flights have failed in a row.
pub(super) enum Renewal<E> {
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

/// How a flight begins.
pub(in crate::token) enum Start<E> {
    Go,
    /// There is another token already.
    Take(Token),
    /// It is not time yet (Z4).
    Fail(Failure<E>),
}

/// What a call finds.
pub(in crate::token) enum Look<E> {
    Use(Token),
    /// Use it, and renew it in the background.
    Renew(Token),
    Fail(Failure<E>),
    /// Wait for a flight that brings another token than this one.
    Wait(Option<Token>),
}

impl<E> State<E> {
    /// What a call finds. A flight that is to be started in the background is noted as called for.
    pub(in crate::token) fn look(&mut self, now: Instant) -> Look<E> {
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

    /// A flight begins, to find another token than `asked`: if that is not there by now, and if it is time.
    pub(in crate::token) fn begin(&mut self, asked: Option<&Token>, now: Instant) -> Start<E> {
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

    /// How many flights have failed in a row, with the one that is up and fails for this reason. None if there is nothing to wait for:
    /// when a login is looked for again is another's to say.
    pub(in crate::token) fn failures(&self, why: &Failure<E>) -> Option<u32> {
        let waits = self.means == Means::Mint || !why.needs_login();
        waits.then(|| self.renewal.failures().saturating_add(1))
    }

    /// The flight that is up has failed: none begins for a while, if that is told. If another pair has come meanwhile from elsewhere,
    /// or this one has ended, that counts (Z3).
    pub(in crate::token) fn rest(
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
        Old::failure(self.last.replace(why.clone()))
    }

    /// A flight is over, and has found a token.
    pub(in crate::token) fn landed(&mut self) -> Old<E> {
        if let Renewal::Flying { .. } = self.renewal {
            self.renewal = Renewal::Idle;
        }
        Old::failure(self.last.take())
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

    /// True if it is news that the refresh token of this version is worth nothing (R4): to be told before it is so.
    pub(in crate::token) fn may_end(&self, version: Version) -> bool {
        // What needs no refresh token may do so again: its refresher knows no login.
        self.means == Means::Refresh
            && self.held().is_some_and(|held| held.version == version)
            && !matches!(self.renewal, Renewal::Ended { .. })
    }

    /// The refresh token of this version is worth nothing (R4).
    pub(in crate::token) fn end(&mut self, version: Version, why: &Failure<E>, now: Instant) {
        if self.may_end(version) {
            // A flight is up: no failure goes with what is replaced (Z2).
            self.renewal = Renewal::Ended {
                why: why.clone(),
                looked: now,
            };
        }
    }
}

impl<E> Renewal<E> {
    pub(super) fn failures(&self) -> u32 {
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
