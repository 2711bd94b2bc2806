//! Whose token a request is sent with.

use crate::error::Error;
use futures_util::future::BoxFuture;
use http::Extensions;
use oneflight::token::{Token, TokenSource, Tokens};
use std::any::type_name;
use std::error::Error as StdError;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

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
        Self(Arc::new(One(Arc::new(source))))
    }
}

impl<I, E> From<Tokens<I, E>> for Whose
where
    I: Hash + Eq + Clone + Send + Sync + 'static,
    E: StdError + Send + Sync + 'static,
{
    fn from(tokens: Tokens<I, E>) -> Self {
        Self(Arc::new(Many(tokens)))
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
}

impl<E: StdError + Send + Sync + 'static> Holder for TokenSource<E> {
    fn token(&self) -> BoxFuture<'_, Result<Token, Error>> {
        Box::pin(async { TokenSource::token(self).await.map_err(Error::token) })
    }

    fn rejected<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Token, Error>> {
        Box::pin(async {
            let other = TokenSource::rejected(self, token).await;
            other.map_err(Error::token)
        })
    }
}

/// Chooses a holder.
trait Select: fmt::Debug + Send + Sync {
    fn select(&self, extensions: &Extensions) -> Result<Arc<dyn Holder>, Error>;
}

/// The same one always.
struct One<E>(Arc<TokenSource<E>>);

impl<E: StdError + Send + Sync + 'static> Select for One<E> {
    fn select(&self, _extensions: &Extensions) -> Result<Arc<dyn Holder>, Error> {
        Ok(Arc::clone(&self.0) as Arc<dyn Holder>)
    }
}

impl<E> fmt::Debug for One<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One for each identity.
struct Many<I, E>(Tokens<I, E>);

impl<I, E> Select for Many<I, E>
where
    I: Hash + Eq + Clone + Send + Sync + 'static,
    E: StdError + Send + Sync + 'static,
{
    fn select(&self, extensions: &Extensions) -> Result<Arc<dyn Holder>, Error> {
        let identity = extensions.get::<I>().ok_or_else(Error::nobody::<I>)?;
        let source = self.0.source(identity).map_err(Error::full)?;
        Ok(Arc::new(source))
    }
}

impl<I, E> fmt::Debug for Many<I, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("by", &type_name::<I>())
            .finish_non_exhaustive()
    }
}
