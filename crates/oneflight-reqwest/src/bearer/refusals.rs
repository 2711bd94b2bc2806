//! What the 401s have told of one holder's tokens, so that no resource has them renewed again and again (A4).

use oneflight::token::Token;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The refusals that one holder has met with.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<Marks>);

#[derive(Debug, Default)]
struct Marks {
    /// The token that was refused when it was new, and when that was.
    useless: Option<Mark>,
    /// The token that was last renewed for a 401 which proves little.
    doubted: Option<Mark>,
}

type Mark = (Token, Instant);

impl Refusals {
    /// This token came from a refresh, and was refused.
    pub(super) fn note(&self, token: &Token, now: Instant) {
        self.marks().useless = Some((token.clone(), now));
    }

    /// True if this token was refused when it was new, not longer ago than this.
    pub(super) fn have(&self, token: &Token, now: Instant, pause: Duration) -> bool {
        let marks = self.marks();
        within(&marks.useless, now, pause).is_some_and(|useless| useless == token)
    }

    /// True if this token may be renewed for a 401 that is not put to the test: the request is not sent again with the new token, or
    /// it was led on, and who knows whether the token went along. Such ones renew one token in this time.
    pub(super) fn doubt(&self, token: &Token, now: Instant, pause: Duration) -> bool {
        let mut marks = self.marks();
        match within(&marks.doubted, now, pause) {
            Some(doubted) => doubted == token,
            None => {
                marks.doubted = Some((token.clone(), now));
                true
            }
        }
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        // No step of those above leaves anything half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The token of a mark that is not older than this.
fn within(mark: &Option<Mark>, now: Instant, pause: Duration) -> Option<&Token> {
    let (token, at) = mark.as_ref()?;
    (now.saturating_duration_since(*at) < pause).then_some(token)
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
    }

    #[tokio::test]
    async fn one_token_is_renewed_on_a_doubt_in_a_while() {
        let tokens = tokens(2).await;
        let (refusals, now) = (Refusals::default(), Tokio.now());
        let pause = Duration::from_secs(30);
        assert!(refusals.doubt(&tokens[0], now, pause));
        // All who doubt the same one wait for the same refresh.
        assert!(refusals.doubt(&tokens[0], now + pause / 2, pause));
        assert!(!refusals.doubt(&tokens[1], now + pause / 2, pause));
        assert!(!refusals.have(&tokens[0], now, pause));
        assert!(refusals.doubt(&tokens[1], now + pause, pause));
    }
}
