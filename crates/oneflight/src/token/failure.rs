//! Why there is no token: what a refresher says, and what a caller gets.

use super::store::StoreError;
use crate::error::Error;
use crate::lease::LeaseError;
use crate::sync::Arc;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// Why a refresh failed, as the refresher says: its own error, and what that means for the refresh token.
///
/// | | was the refresh token spent? | what follows |
/// |---|---|---|
/// | [`transient`](Self::transient) | no: the request never got there, or was turned away (429, 503 with `Retry-After`) | all who wait are told, and after a pause the next call tries again |
/// | [`refused`](Self::refused) | no: the server will not have this request (`invalid_client`, `invalid_scope`) | the same |
/// | [`lost`](Self::lost) | perhaps: it was sent, and no answer came, or one of a proxy (a bare 503) | the same token is sent again, within the grace |
/// | [`invalid_grant`](Self::invalid_grant) | it is worth nothing any more | a new login, unless the store has a newer pair |
///
/// An error that is turned into one by `?` counts as a lost answer: that is the careful reading.
///
/// # Examples
/// ```
/// use oneflight::token::RefreshError;
/// use std::time::Duration;
///
/// let busy = RefreshError::transient("503").retry_after(Duration::from_secs(30));
/// assert_eq!(busy.error(), &"503");
/// ```
#[derive(Clone, Debug)]
pub struct RefreshError<E> {
    kind: Kind,
    error: E,
    retry_after: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Transient,
    Refused,
    Lost,
    InvalidGrant,
}

impl<E> RefreshError<E> {
    fn new(kind: Kind, error: E) -> Self {
        Self {
            kind,
            error,
            retry_after: None,
        }
    }

    /// The server did not get to it: no connection, too many requests, down for now. The refresh token is as good as before. A 503 is
    /// only that if the server itself says so: a proxy says it, too, of a request that the server had.
    pub fn transient(error: E) -> Self {
        Self::new(Kind::Transient, error)
    }

    /// The server refuses the request, but says nothing against the refresh token.
    pub fn refused(error: E) -> Self {
        Self::new(Kind::Refused, error)
    }

    /// The request was sent, and no answer can be had: the server may have redeemed the refresh token.
    pub fn lost(error: E) -> Self {
        Self::new(Kind::Lost, error)
    }

    /// The server says that the refresh token is expired, revoked, redeemed or not its own.
    pub fn invalid_grant(error: E) -> Self {
        Self::new(Kind::InvalidGrant, error)
    }

    /// With the time that the server asks to be left in peace: no refresh begins before that, though after an hour one may all the
    /// same.
    pub fn retry_after(mut self, time: Duration) -> Self {
        self.retry_after = Some(time);
        self
    }

    /// The refresher's own error.
    pub fn error(&self) -> &E {
        &self.error
    }
}

impl<E> From<E> for RefreshError<E> {
    fn from(error: E) -> Self {
        Self::lost(error)
    }
}

/// Why there is no token. Cheap to clone; what to do about it is told by predicates.
///
/// It never holds a token. It does hold the refresher's own error, which should not either.
///
/// # Examples
/// ```
/// use oneflight::token::{Failure, MemoryStore, RefreshError, TokenSource};
/// use oneflight::{Error, Tokio};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let source = TokenSource::builder(Tokio, Tokio)
///     .store(MemoryStore::new())
///     .build(|_refresh| async { Err(RefreshError::transient(std::fmt::Error)) });
/// let error: Error<Failure<std::fmt::Error>> = source.token().await.unwrap_err();
/// assert!(error.needs_login());
/// assert_eq!(error.to_string(), "nobody is logged in");
/// # }
/// ```
pub struct Failure<E> {
    why: Arc<Why<E>>,
    /// Before that no flight begins.
    again_in: Option<Duration>,
}

#[derive(Debug)]
enum Why<E> {
    Refresh(RefreshError<E>),
    /// No answer came in this time.
    Silent(Duration),
    /// The grace is over, and the access token is still good: see R3.
    InDoubt,
    /// The store has no pair.
    LoggedOut,
    /// The pair has no refresh token, and its access token is over.
    NoRefreshToken,
    Store(&'static str, StoreError),
    /// Others changed the store again and again.
    Overtaken,
    Lease(LeaseError),
    /// The flight was ended before it had an end: it was overdue, or what it called panicked.
    CutOff,
}

impl<E> Failure<E> {
    fn new(why: Why<E>) -> Self {
        Self {
            why: Arc::new(why),
            again_in: None,
        }
    }

    pub(super) fn refresh(error: RefreshError<E>) -> Self {
        Self::new(Why::Refresh(error))
    }

    pub(super) fn silent(limit: Duration) -> Self {
        Self::new(Why::Silent(limit))
    }

    pub(super) fn in_doubt() -> Self {
        Self::new(Why::InDoubt)
    }

    /// True if it is not tried because the access token is still good.
    pub(super) fn is_in_doubt(&self) -> bool {
        matches!(&*self.why, Why::InDoubt)
    }

    pub(super) fn logged_out() -> Self {
        Self::new(Why::LoggedOut)
    }

    pub(super) fn no_refresh_token() -> Self {
        Self::new(Why::NoRefreshToken)
    }

    pub(super) fn store(tried: &'static str, error: StoreError) -> Self {
        Self::new(Why::Store(tried, error))
    }

    pub(super) fn overtaken() -> Self {
        Self::new(Why::Overtaken)
    }

    pub(super) fn lease(error: LeaseError) -> Self {
        Self::new(Why::Lease(error))
    }

    pub(super) fn cut_off() -> Self {
        Self::new(Why::CutOff)
    }

    /// The same, and that no flight begins before that.
    pub(super) fn again_in(&self, time: Duration) -> Self {
        Self {
            why: Arc::clone(&self.why),
            again_in: Some(time),
        }
    }

    /// How long the server asked to be left in peace.
    pub(super) fn wish(&self) -> Option<Duration> {
        match &*self.why {
            Why::Refresh(error) => error.retry_after,
            _ => None,
        }
    }

    /// True if only a new login helps: the refresh token is refused, or there is none. Then
    /// [`replace`](super::TokenSource::replace) the pair.
    pub fn needs_login(&self) -> bool {
        match &*self.why {
            Why::LoggedOut | Why::NoRefreshToken => true,
            Why::Refresh(error) => error.kind == Kind::InvalidGrant,
            _ => false,
        }
    }

    /// True if the server was not reached, or turned the request away for now.
    pub fn is_transient(&self) -> bool {
        matches!(&*self.why, Why::Refresh(error) if error.kind == Kind::Transient)
    }

    /// True if the server refuses the request for a reason other than the refresh token.
    pub fn is_refused(&self) -> bool {
        matches!(&*self.why, Why::Refresh(error) if error.kind == Kind::Refused)
    }

    /// True if a refresh was sent and not answered, now or before, so that the refresh token is in doubt.
    pub fn is_lost(&self) -> bool {
        match &*self.why {
            Why::Silent(_) | Why::InDoubt => true,
            Why::Refresh(error) => error.kind == Kind::Lost,
            _ => false,
        }
    }

    /// True if the store failed, or was changed by others all the time. A pair that could not be kept is not lost: the next call
    /// keeps it first.
    pub fn is_store(&self) -> bool {
        matches!(&*self.why, Why::Store(..) | Why::Overtaken)
    }

    /// True if the lease could not be had.
    pub fn is_lease(&self) -> bool {
        matches!(&*self.why, Why::Lease(_))
    }

    /// True if the refresh before was cut off: it took longer than it [may](super::Builder::flight_limit), or something that it calls
    /// panicked. Those who waited for it were told so ([`Error::is_overdue`], [`Error::is_panic`]); this is for those who come after.
    pub fn is_cut_off(&self) -> bool {
        matches!(&*self.why, Why::CutOff)
    }

    /// The refresher's own error, if it is what failed.
    pub fn refresher(&self) -> Option<&E> {
        match &*self.why {
            Why::Refresh(error) => Some(&error.error),
            _ => None,
        }
    }

    /// How long no other refresh begins: a pause that grows with each failure, or as long as the server asked, an hour at most. Until
    /// then every call that can't be served gets this failure at once. None where there is nothing to wait for: a login is needed.
    ///
    /// # Examples
    /// ```
    /// use oneflight::Tokio;
    /// use oneflight::token::{RefreshError, TokenSource};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let busy = || RefreshError::transient("503").retry_after(Duration::from_secs(30));
    /// let source = TokenSource::builder(Tokio, Tokio).build_minting(move || async move { Err(busy()) });
    /// for _ in 0..100 {
    ///     let error = source.token().await.unwrap_err();
    ///     assert!(error.work().unwrap().retry_after().unwrap() <= Duration::from_secs(30));
    /// }
    /// assert_eq!(source.stats().sent, 1);
    /// # }
    /// ```
    pub fn retry_after(&self) -> Option<Duration> {
        self.again_in.or_else(|| self.wish())
    }
}

impl<E> Error<Failure<E>> {
    /// True if only a new login helps; see [`Failure::needs_login`].
    pub fn needs_login(&self) -> bool {
        self.work().is_some_and(|failure| failure.needs_login())
    }
}

impl<E> Clone for Failure<E> {
    fn clone(&self) -> Self {
        Self {
            why: Arc::clone(&self.why),
            again_in: self.again_in,
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl<E> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.why {
            Why::Refresh(error) => f.write_str(match error.kind {
                Kind::Transient => "the server could not refresh the token now",
                Kind::Refused => "the server refused to refresh the token",
                Kind::Lost => "a refresh was sent, and its answer was lost",
                Kind::InvalidGrant => "the refresh token is no longer valid: a new login is needed",
            }),
            Why::Silent(limit) => write!(f, "a refresh got no answer within {limit:?}"),
            Why::InDoubt => f.write_str(
                "the answer to a refresh was lost, and it is not tried again while the access token is good",
            ),
            Why::LoggedOut => f.write_str("nobody is logged in"),
            Why::NoRefreshToken => {
                f.write_str("the access token is over and has no refresh token: a new login is needed")
            }
            Why::Store(tried, _) => write!(f, "the token store failed to {tried}"),
            Why::Overtaken => f.write_str("others changed the token store all the time"),
            Why::Lease(_) => f.write_str("the lease for the refresh could not be had"),
            Why::CutOff => f.write_str("the last refresh was cut off before its end"),
        }
    }
}

impl<E: StdError + 'static> StdError for Failure<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.why {
            Why::Refresh(error) => Some(&error.error),
            Why::Store(_, error) | Why::Lease(error) => Some(&**error),
            _ => None,
        }
    }
}
