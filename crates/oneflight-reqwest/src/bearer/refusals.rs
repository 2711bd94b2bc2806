//! Tokens that were refused when they were new: another one would be, too (A4).

use oneflight::token::Token;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So many are kept in mind; past it, the oldest is forgotten.
const KEPT: usize = 64;

/// What was refused, and when; the oldest first.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<VecDeque<(Token, Instant)>>);

impl Refusals {
    /// This token came from a refresh, and was refused.
    pub(super) fn note(&self, token: &Token, now: Instant) {
        let mut refused = self.refused();
        refused.retain(|(other, _)| other != token);
        if refused.len() == KEPT {
            refused.pop_front();
        }
        refused.push_back((token.clone(), now));
    }

    /// True if this token was refused when it was new, not longer ago than this.
    pub(super) fn have(&self, token: &Token, now: Instant, pause: Duration) -> bool {
        let mut refused = self.refused();
        refused.retain(|(_, at)| now.saturating_duration_since(*at) < pause);
        refused.iter().any(|(other, _)| other == token)
    }

    fn refused(&self) -> MutexGuard<'_, VecDeque<(Token, Instant)>> {
        // No step of those above leaves anything half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oneflight::token::{Grant, TokenSource};
    use oneflight::{Clock, Tokio};
    use std::io::Error;

    async fn tokens(many: usize) -> Vec<Token> {
        let source: TokenSource<Error> =
            TokenSource::builder(Tokio, Tokio).build(|_| async { Ok(Grant::new("never")) });
        let mut tokens = Vec::new();
        for number in 0..many {
            let grant = Grant::new(number.to_string());
            tokens.push(source.replace(grant).await.unwrap());
        }
        tokens
    }

    #[tokio::test]
    async fn a_refusal_is_kept_in_mind_for_a_while() {
        let tokens = tokens(2).await;
        let (refusals, now) = (Refusals::default(), Tokio.now());
        let pause = Duration::from_secs(30);
        refusals.note(&tokens[0], now);
        assert!(refusals.have(&tokens[0], now + pause / 2, pause));
        assert!(!refusals.have(&tokens[1], now, pause));
        assert!(!refusals.have(&tokens[0], now + pause, pause));
        assert_eq!(refusals.refused().len(), 0);
    }

    #[tokio::test]
    async fn as_many_are_kept_as_may_be() {
        let tokens = tokens(KEPT + 1).await;
        let (refusals, now) = (Refusals::default(), Tokio.now());
        for token in &tokens {
            refusals.note(token, now);
            refusals.note(token, now);
        }
        let had = |token| refusals.have(token, now, Duration::from_secs(1));
        assert_eq!(refusals.refused().len(), KEPT);
        assert!(!had(&tokens[0]) && had(&tokens[1]) && had(&tokens[KEPT]));
    }
}
