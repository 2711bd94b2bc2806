//! Why a layer got no response. What to do about it is told by predicates.

use oneflight::token::{Failure, Full};
use std::any::type_name;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why a layer of this crate got no response, as a [`reqwest_middleware::Error`] holds it. Cheap to clone.
///
/// No message has a token in it.
///
/// # Examples
/// ```
/// use oneflight::Tokio;
/// use oneflight::token::{Grant, TokenSource};
/// use oneflight_reqwest::{Bearer, Error};
/// use reqwest_middleware::ClientBuilder;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// // Nobody has logged in.
/// let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
///     .build(|_refresh| async { Ok(Grant::new("never")) });
/// let api = "http://127.0.0.1:1".parse().unwrap();
/// let client = ClientBuilder::new(reqwest::Client::new()).with(Bearer::only_to(&api, source)).build();
///
/// let error = client.get(api).send().await.unwrap_err();
/// assert!(Error::of(&error).unwrap().needs_login());
/// # }
/// ```
#[derive(Clone)]
pub struct Error(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    /// The source of tokens has none.
    Token {
        needs_login: bool,
        retry_after: Option<Duration>,
        error: Box<dyn StdError + Send + Sync>,
    },
    /// The request says nothing about whose token it wants.
    Nobody { wanted: &'static str },
    /// There are too many identities.
    Full(Full),
    /// The token has characters that no header may have.
    Header(http::header::InvalidHeaderValue),
    /// The flight that was joined, or begun, brought none.
    Flight(oneflight::Error<reqwest_middleware::Error>),
}

impl Error {
    fn new(kind: Kind) -> Self {
        Self(Arc::new(kind))
    }

    pub(crate) fn token<E: StdError + Send + Sync + 'static>(
        error: oneflight::Error<Failure<E>>,
    ) -> Self {
        Self::new(Kind::Token {
            needs_login: error.needs_login(),
            retry_after: error.work().and_then(|failure| failure.retry_after()),
            error: Box::new(error),
        })
    }

    /// For a request without an extension of the type `I`.
    pub(crate) fn nobody<I>() -> Self {
        let wanted = type_name::<I>();
        Self::new(Kind::Nobody { wanted })
    }

    pub(crate) fn full(full: Full) -> Self {
        Self::new(Kind::Full(full))
    }

    pub(crate) fn header(error: http::header::InvalidHeaderValue) -> Self {
        Self::new(Kind::Header(error))
    }

    pub(crate) fn flight(error: oneflight::Error<reqwest_middleware::Error>) -> Self {
        Self::new(Kind::Flight(error))
    }

    /// What went wrong in the end: the error of a layer below a flight is that of the flight.
    fn kind(&self) -> &Kind {
        match &*self.0 {
            Kind::Flight(error) => match error.work().and_then(|error| Self::of(error)) {
                Some(error) => error.kind(),
                None => &self.0,
            },
            kind => kind,
        }
    }

    /// The error of this crate that is in an error of a client, if one is.
    pub fn of(error: &reqwest_middleware::Error) -> Option<&Self> {
        match error {
            reqwest_middleware::Error::Middleware(error) => error.downcast_ref(),
            reqwest_middleware::Error::Reqwest(_) => None,
        }
    }

    /// True if there was no token to send: the cause is the source's, an
    /// [`oneflight::Error`]`<`[`Failure`](oneflight::token::Failure)`<E>>`.
    pub fn is_token(&self) -> bool {
        matches!(self.kind(), Kind::Token { .. })
    }

    /// True if only a new login helps.
    pub fn needs_login(&self) -> bool {
        matches!(
            self.kind(),
            Kind::Token {
                needs_login: true,
                ..
            }
        )
    }

    /// How long no other refresh begins: a pause that grows with each failure, or as long as the server asked; see
    /// [`Failure::retry_after`](oneflight::token::Failure::retry_after). None where there is nothing to wait for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.kind() {
            Kind::Token { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// True if there is a source for each identity, and the request names none, or one too many.
    pub fn is_identity(&self) -> bool {
        matches!(self.kind(), Kind::Nobody { .. } | Kind::Full(_))
    }

    /// The error of the client that [`Collapse`](crate::Collapse) sent a request by, shared with all who waited for the response.
    ///
    /// # Examples
    /// ```
    /// use oneflight_reqwest::{Collapse, Error};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let client = Collapse::over(reqwest::Client::new()).into_client();
    /// // Nobody listens there.
    /// let error = client.get("http://127.0.0.1:1").send().await.unwrap_err();
    /// let error = Error::of(&error).unwrap();
    /// assert!(error.request().unwrap().is_connect());
    /// # }
    /// ```
    pub fn request(&self) -> Option<&reqwest_middleware::Error> {
        match &*self.0 {
            Kind::Flight(error) => error.work().map(|error| &**error),
            _ => None,
        }
    }

    /// True if a request took longer than it may: by its own limit, or by that of flights.
    pub fn is_timeout(&self) -> bool {
        match self.kind() {
            Kind::Flight(error) => {
                error.is_timeout() || error.work().is_some_and(|error| error.is_timeout())
            }
            _ => false,
        }
    }
}

impl From<Error> for reqwest_middleware::Error {
    fn from(error: Error) -> Self {
        Self::middleware(error)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Token { .. } => f.write_str("there is no token to send the request with"),
            Kind::Nobody { wanted } => write!(
                f,
                "the request does not say whose token to send: it has no extension of the type {wanted}"
            ),
            Kind::Full(_) => f.write_str("there is no room for the identity of the request"),
            Kind::Header(_) => f.write_str("the token cannot stand in a header"),
            Kind::Flight(_) => f.write_str("the request that was sent for all brought no response"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.0 {
            Kind::Token { error, .. } => Some(&**error),
            Kind::Nobody { .. } => None,
            Kind::Full(full) => Some(full),
            Kind::Header(error) => Some(error),
            Kind::Flight(error) => Some(error),
        }
    }
}
