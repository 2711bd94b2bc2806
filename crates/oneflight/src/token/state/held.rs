//! A pair that is held, and how good its access token is.

use crate::token::doubt::Doubt;
use crate::token::pair::{Pair, Token, Version};
use crate::token::schedule::{Stage, Times};
use std::time::Instant;

pub(super) struct Held {
    pub(super) token: Token,
    /// What the store was last seen to have it by.
    pub(super) version: Version,
    pub(super) pair: Pair,
    /// None if it never expires.
    pub(super) times: Option<Times>,
    /// A server would not have it.
    pub(super) rejected: bool,
    /// Its refresh token was sent, and has no answer (R3).
    pub(super) doubt: Option<Doubt>,
}

impl Held {
    pub(super) fn new(
        token: Token,
        pair: &Pair,
        times: Option<Times>,
        doubt: Option<Doubt>,
    ) -> Self {
        Self {
            version: token.version(),
            token,
            pair: pair.clone(),
            times,
            rejected: false,
            doubt,
        }
    }

    /// How old its token is; one that was rejected is over.
    pub(super) fn stage(&self, now: Instant) -> Stage {
        match (self.rejected, &self.times) {
            (true, _) => Stage::Over,
            (false, None) => Stage::Fresh,
            (false, Some(times)) => times.stage(now),
        }
    }

    /// Its token, if it is another than `asked` and good for a while.
    pub(super) fn usable(&self, asked: Option<&Token>, now: Instant) -> Option<Token> {
        let good = matches!(self.stage(now), Stage::Fresh | Stage::Due);
        (good && asked != Some(&self.token)).then(|| self.token.clone())
    }
}
