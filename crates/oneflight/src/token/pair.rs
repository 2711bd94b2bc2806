//! What a server grants, what a store keeps, and what a caller gets.

use super::secret::Secret;
use crate::sync::Arc;
use std::fmt;
use std::time::{Duration, SystemTime};

/// A store may round times by so much.
const ROUNDED: Duration = Duration::from_secs(1);

/// What a server answered: to a login, or to a refresh.
///
/// # Examples
/// ```
/// use oneflight::token::Grant;
/// use std::time::Duration;
///
/// let grant = Grant::new("access").refresh("refresh").expires_in(Duration::from_secs(3600));
/// assert!(!format!("{grant:?}").contains("access\""));
/// ```
#[derive(Clone, Debug)]
pub struct Grant {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) expires_in: Option<Duration>,
}

impl Grant {
    /// An access token, of which nothing else is known: it is used until it is [rejected](super::TokenSource::rejected).
    pub fn new(access: impl Into<Secret>) -> Self {
        Self {
            access: access.into(),
            refresh: None,
            expires_in: None,
        }
    }

    /// The refresh token that came along. Without one, the refresh token that was sent stays in use.
    pub fn refresh(mut self, token: impl Into<Secret>) -> Self {
        self.refresh = Some(token.into());
        self
    }

    /// How long the access token lives, as the server says. It is counted from before the request was sent.
    pub fn expires_in(mut self, life: Duration) -> Self {
        self.expires_in = Some(life);
        self
    }

    /// As a pair that was issued at this time.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::token::Grant;
    /// # use std::time::{Duration, SystemTime};
    /// let now = SystemTime::now();
    /// let pair = Grant::new("access").expires_in(Duration::from_secs(60)).into_pair(now);
    /// assert_eq!(pair.expires_at(), Some(now + Duration::from_secs(60)));
    /// ```
    pub fn into_pair(self, issued_at: SystemTime) -> Pair {
        Pair {
            access: self.access,
            refresh: self.refresh,
            issued_at: Some(issued_at),
            expires_at: (self.expires_in).and_then(|life| issued_at.checked_add(life)),
        }
    }
}

/// An access token and the refresh token that belongs to it, as a store keeps them.
///
/// # Examples
/// ```
/// use oneflight::token::Pair;
/// use std::time::{Duration, UNIX_EPOCH};
///
/// let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
/// let pair = Pair::new("access").with_refresh("refresh").with_issued_at(at(100)).with_expires_at(at(3700));
/// assert_eq!(pair.refresh().unwrap().expose(), "refresh");
/// ```
#[derive(Clone, Debug)]
pub struct Pair {
    access: Secret,
    refresh: Option<Secret>,
    issued_at: Option<SystemTime>,
    expires_at: Option<SystemTime>,
}

impl Pair {
    /// An access token of which nothing else is known.
    pub fn new(access: impl Into<Secret>) -> Self {
        Self {
            access: access.into(),
            refresh: None,
            issued_at: None,
            expires_at: None,
        }
    }

    /// With the refresh token that belongs to it.
    pub fn with_refresh(mut self, token: impl Into<Secret>) -> Self {
        self.refresh = Some(token.into());
        self
    }

    /// With the time at which the access token was issued.
    pub fn with_issued_at(mut self, time: SystemTime) -> Self {
        self.issued_at = Some(time);
        self
    }

    /// With the time at which the access token expires.
    pub fn with_expires_at(mut self, time: SystemTime) -> Self {
        self.expires_at = Some(time);
        self
    }

    /// The access token.
    pub fn access(&self) -> &Secret {
        &self.access
    }

    /// The refresh token, if there is one.
    pub fn refresh(&self) -> Option<&Secret> {
        self.refresh.as_ref()
    }

    /// When the access token was issued, if that is known.
    pub fn issued_at(&self) -> Option<SystemTime> {
        self.issued_at
    }

    /// When the access token expires, if that is known.
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.expires_at
    }

    /// True if it is the same pair, perhaps as a store has kept it: with times that are rounded.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let refresh = match (&self.refresh, &other.refresh) {
            (Some(one), Some(two)) => one.expose() == two.expose(),
            (one, two) => one.is_none() && two.is_none(),
        };
        let near = match (self.expires_at, other.expires_at) {
            (Some(one), Some(two)) => apart(one, two) <= ROUNDED,
            (one, two) => one.is_none() && two.is_none(),
        };
        near && refresh && self.access.expose() == other.access.expose()
    }

    /// How long the access token still lives at `now`, and how long it does in all. None if it never expires.
    ///
    /// A wall clock that was set back makes no token live longer than it ever did.
    pub(super) fn life(&self, now: SystemTime) -> Option<(Duration, Duration)> {
        let expires = self.expires_at?;
        let left = expires.duration_since(now).unwrap_or_default();
        let life = (self.issued_at).and_then(|issued| expires.duration_since(issued).ok());
        Some(match life {
            Some(life) => (left.min(life), life),
            None => (left, left),
        })
    }
}

/// How far apart two times are, whichever is the first.
pub(super) fn apart(one: SystemTime, two: SystemTime) -> Duration {
    one.duration_since(two)
        .unwrap_or_else(|error| error.duration())
}

/// The number of what a store keeps: it grows by one whenever something is put there. Zero is a store that was never written to.
///
/// A refresh puts two things there: that the refresh token is on its way, and the new pair.
///
/// # Examples
/// ```
/// # use oneflight::token::Version;
/// assert!(Version::new(2) > Version::new(1));
/// assert_eq!(Version::default().get(), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u64);

impl Version {
    /// The version of this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u64 {
        self.0
    }

    pub(super) fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// What a store keeps: a version, the pair of that version, and whether its refresh token is on its way to the server.
///
/// # Examples
/// ```
/// use oneflight::token::{Pair, Stored, Version};
/// use std::time::SystemTime;
///
/// let first = Stored::new(Version::new(1), Some(Pair::new("access").with_refresh("refresh")));
/// assert!(first.sent.is_none());
/// let on_its_way = Stored::new(Version::new(2), first.pair).with_sent(SystemTime::now());
/// assert!(on_its_way.sent.is_some());
/// assert!(Stored::default().pair.is_none());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Stored {
    /// The version.
    pub version: Version,
    /// The pair; none if nobody has logged in, or somebody has logged out.
    pub pair: Option<Pair>,
    /// When the refresh token of the pair was first sent, if it is not known what came of that. It is put here before the request is
    /// sent, so that whoever comes after a process that died meanwhile knows.
    pub sent: Option<SystemTime>,
}

impl Stored {
    /// This pair, or that there is none. Nothing is on its way.
    pub fn new(version: Version, pair: Option<Pair>) -> Self {
        Self {
            version,
            pair,
            sent: None,
        }
    }

    /// With the time at which the refresh token was first sent.
    pub fn with_sent(mut self, time: SystemTime) -> Self {
        self.sent = Some(time);
        self
    }
}

/// An access token, as callers get it. Cheap to clone.
///
/// Two are equal if they are the same token of the same source.
///
/// # Examples
/// ```
/// # use oneflight::{Tokio, token::{Grant, TokenSource}};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
/// #     .build_minting(|| async { Ok(Grant::new("…")) });
/// let token = source.token().await.unwrap();
/// let header = format!("Bearer {}", token.expose());
/// assert_eq!(token, source.token().await.unwrap());
/// assert_eq!(token.version().get(), 1);
/// # }
/// ```
#[derive(Clone)]
pub struct Token(Arc<Access>);

struct Access {
    secret: Secret,
    version: Version,
    expires_at: Option<SystemTime>,
}

impl Token {
    pub(super) fn new(version: Version, pair: &Pair) -> Self {
        Self(Arc::new(Access {
            secret: pair.access.clone(),
            version,
            expires_at: pair.expires_at,
        }))
    }

    /// The token, for the one who sends it.
    pub fn expose(&self) -> &str {
        self.0.secret.expose()
    }

    /// The version of the store that its pair was first seen with.
    pub fn version(&self) -> Version {
        self.0.version
    }

    /// When it expires by the wall clock, if that is known.
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.0.expires_at
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("version", &self.0.version.0)
            .field("expires_at", &self.0.expires_at)
            .finish_non_exhaustive()
    }
}
