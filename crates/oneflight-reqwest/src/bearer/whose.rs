//! Whose token a request is sent with.

use super::refusals::Refusals;
use crate::error::Error;
use futures_util::future::BoxFuture;
use http::Extensions;
use oneflight::token::{Token, TokenSource, Tokens};
use std::any::type_name;
use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// So many identities are remembered beyond twice those that there are.
const SPARE: usize = 64;

/// Whose token a request is sent with: that of one [`TokenSource`], or of the source that [`Tokens`] has for the identity which stands
/// in the request's extensions.
///
/// # Examples
/// ```
/// use oneflight::Tokio;
/// use oneflight::token::{Grant, Identity, TokenSource, Tokens};
/// use oneflight_reqwest::{Bearer, Whose};
/// use reqwest_middleware::ClientBuilder;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let tokens: Tokens<Identity, std::io::Error> = Tokens::new(|identity: &Identity| {
///     // A store and a refresher of this identity alone …
///     TokenSource::builder(Tokio, Tokio).build(|_refresh| async { Ok(Grant::new("…")) })
/// });
/// let api = "https://api.example.com".parse().unwrap();
/// let client = ClientBuilder::new(reqwest::Client::new()).with(Bearer::only_to(&api, tokens)).build();
///
/// let ada = Identity::new().tenant("acme").user("ada");
/// let request = client.get(api).with_extension(ada);
/// # drop(request);
/// # }
/// ```
#[derive(Clone)]
pub struct Whose(Arc<dyn Select>);

impl Whose {
    /// Who has the token for a request with these extensions.
    pub(super) fn of(&self, extensions: &Extensions) -> Result<Arc<dyn Holder>, Error> {
        self.0.select(extensions)
    }
}

impl<E: StdError + Send + Sync + 'static> From<TokenSource<E>> for Whose {
    fn from(source: TokenSource<E>) -> Self {
        Self(Arc::new(One(Arc::new(Held {
            source,
            refusals: Arc::default(),
        }))))
    }
}

impl<I, E> From<Tokens<I, E>> for Whose
where
    I: Hash + Eq + Clone + Send + Sync + 'static,
    E: StdError + Send + Sync + 'static,
{
    fn from(tokens: Tokens<I, E>) -> Self {
        Self(Arc::new(Many {
            tokens,
            refusals: Mutex::default(),
        }))
    }
}

impl fmt::Debug for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Whose").field(&self.0).finish()
    }
}

/// Has a token, of whatever error type.
pub(super) trait Holder: Send + Sync {
    fn token(&self) -> BoxFuture<'_, Result<Token, Error>>;

    fn rejected<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Token, Error>>;

    fn refusals(&self) -> &Refusals;
}

/// A source, and what is remembered of its tokens.
struct Held<E> {
    source: TokenSource<E>,
    refusals: Arc<Refusals>,
}

impl<E: StdError + Send + Sync + 'static> Holder for Held<E> {
    fn token(&self) -> BoxFuture<'_, Result<Token, Error>> {
        Box::pin(async { self.source.token().await.map_err(Error::token) })
    }

    fn rejected<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Token, Error>> {
        Box::pin(async { self.source.rejected(token).await.map_err(Error::token) })
    }

    fn refusals(&self) -> &Refusals {
        &self.refusals
    }
}

/// Chooses a holder.
trait Select: fmt::Debug + Send + Sync {
    fn select(&self, extensions: &Extensions) -> Result<Arc<dyn Holder>, Error>;
}

/// The same one always.
struct One<E>(Arc<Held<E>>);

impl<E: StdError + Send + Sync + 'static> Select for One<E> {
    fn select(&self, _extensions: &Extensions) -> Result<Arc<dyn Holder>, Error> {
        Ok(Arc::clone(&self.0) as Arc<dyn Holder>)
    }
}

impl<E> fmt::Debug for One<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.source.fmt(f)
    }
}

/// One for each identity.
struct Many<I, E> {
    tokens: Tokens<I, E>,
    refusals: Mutex<HashMap<I, Arc<Refusals>>>,
}

impl<I: Hash + Eq + Clone, E> Many<I, E> {
    /// What is remembered of the tokens of this identity.
    fn refusals(&self, identity: &I) -> Arc<Refusals> {
        // Nothing that panics leaves an entry half made.
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = refusals.get(identity) {
            return Arc::clone(known);
        }
        // Some of them were removed from `Tokens`, which nobody tells us. What is forgotten costs a refresh at the most.
        if refusals.len() > 2 * self.tokens.len() + SPARE {
            refusals.retain(|_, refusals| Arc::strong_count(refusals) > 1);
        }
        Arc::clone(refusals.entry(identity.clone()).or_default())
    }
}

impl<I, E> Select for Many<I, E>
where
    I: Hash + Eq + Clone + Send + Sync + 'static,
    E: StdError + Send + Sync + 'static,
{
    fn select(&self, extensions: &Extensions) -> Result<Arc<dyn Holder>, Error> {
        let identity = extensions.get::<I>().ok_or_else(Error::nobody::<I>)?;
        let source = self.tokens.source(identity).map_err(Error::full)?;
        let refusals = self.refusals(identity);
        Ok(Arc::new(Held { source, refusals }))
    }
}

impl<I, E> fmt::Debug for Many<I, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("by", &type_name::<I>())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oneflight::Tokio;
    use oneflight::token::Grant;

    #[tokio::test]
    async fn who_was_removed_is_not_remembered_for_ever() {
        let tokens: Tokens<usize, std::io::Error> = Tokens::new(|_: &usize| {
            TokenSource::builder(Tokio, Tokio).build(|_| async { Ok(Grant::new("never")) })
        });
        let many = Many {
            tokens: tokens.clone(),
            refusals: Mutex::default(),
        };
        let in_use = many.refusals(&0);
        for number in 1..10 * SPARE {
            let mut extensions = Extensions::new();
            extensions.insert(number);
            many.select(&extensions).unwrap();
            tokens.remove(&number);
        }
        // At each of those requests there was one identity.
        assert!(many.refusals.lock().unwrap().len() <= SPARE + 3);
        assert!(Arc::ptr_eq(&in_use, &many.refusals(&0)));
    }
}
