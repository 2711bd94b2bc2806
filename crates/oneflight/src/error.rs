//! Why a caller got no value. What to do about it is told by predicates.
//!
//! E1. The error of the caller's own work comes back as it was: shared by all who waited, source chain and all.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// Why a call got no value. Cheap to clone: everybody who waited for a flight gets the same one.
///
/// # Examples
/// ```
/// use oneflight::Group;
///
/// # let wait = futures_util::FutureExt::now_or_never;
/// let group: Group<u32, String, std::num::ParseIntError> = Group::new();
/// let error = wait(group.run(&7, || async { "x7".parse::<u32>().map(|n| n.to_string()) })).unwrap().unwrap_err();
/// assert!(error.is_work());
/// assert_eq!(error.to_string(), "invalid digit found in string");
/// assert!(error.work().is_some());
/// ```
pub struct Error<E>(Kind<E>);

enum Kind<E> {
    Work(Arc<E>),
    Other(Arc<Other>),
}

/// What can go wrong with a flight itself.
#[derive(Debug)]
pub(crate) enum Other {
    /// The work panicked.
    Panicked {
        message: String,
        location: Option<String>,
    },
    /// The caller's own limit has passed; the flight goes on.
    TimedOut,
    /// The flight's limit has passed; it answers nobody any more.
    Overdue,
    /// The work waits for itself. The keys, each waiting for the next.
    Reentrant { keys: String },
    /// The group takes no new flights.
    Closed,
    /// As many wait for the flight as may.
    Full,
    /// What was asked for is not there.
    #[cfg(feature = "cache")]
    Absent,
    /// The work was dropped before it could end.
    Lost { why: &'static str },
}

impl<E> Error<E> {
    pub(crate) fn from_work(error: E) -> Self {
        Self(Kind::Work(Arc::new(error)))
    }

    pub(crate) fn from_other(other: Other) -> Self {
        Self(Kind::Other(Arc::new(other)))
    }

    pub(crate) fn lost(why: &'static str) -> Self {
        Self::from_other(Other::Lost { why })
    }

    fn other(&self) -> Option<&Other> {
        match &self.0 {
            Kind::Work(_) => None,
            Kind::Other(other) => Some(other),
        }
    }

    /// The error of the work, shared with all who waited; none if the work did not get so far as to have one.
    pub fn work(&self) -> Option<&Arc<E>> {
        match &self.0 {
            Kind::Work(error) => Some(error),
            Kind::Other(_) => None,
        }
    }

    /// True if the work ended with an error of its own.
    pub fn is_work(&self) -> bool {
        matches!(self.0, Kind::Work(_))
    }

    /// True if the work, or the function that makes it, panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self.other(), Some(Other::Panicked { .. }))
    }

    /// The message of the panic.
    pub fn panic_message(&self) -> Option<&str> {
        match self.other() {
            Some(Other::Panicked { message, .. }) => Some(message),
            _ => None,
        }
    }

    /// Where the panic was raised (`file:line:column`), if a panic hook that knows was in place; see
    /// [`record_panic_locations`](crate::record_panic_locations).
    pub fn panic_location(&self) -> Option<&str> {
        match self.other() {
            Some(Other::Panicked { location, .. }) => location.as_deref(),
            _ => None,
        }
    }

    /// True if a time limit passed: the caller's own, or the flight's ([`is_overdue`](Self::is_overdue)).
    pub fn is_timeout(&self) -> bool {
        matches!(self.other(), Some(Other::TimedOut | Other::Overdue))
    }

    /// True if the flight itself took longer than it may.
    pub fn is_overdue(&self) -> bool {
        matches!(self.other(), Some(Other::Overdue))
    }

    /// True if the work would have waited for itself: for its own key, or by way of other flights, whoever polls them. The message
    /// names the keys: `"a" waits for "b" waits for "a"`.
    ///
    /// Of the works in such a ring, the one that would have closed it gets this error; the others go on. A call counts as waited
    /// for by the flight whose work has polled it, until the call is ready or dropped, or polled elsewhere: in a `select!`, or with
    /// a limit of its own, too. What a work hands to another task is not seen, unless it follows a [`Trail`](crate::Trail); such a
    /// ring is bounded by [`max_flight`](crate::Builder::max_flight) alone.
    pub fn is_reentrant(&self) -> bool {
        matches!(self.other(), Some(Other::Reentrant { .. }))
    }

    /// True if the group is closed.
    pub fn is_closed(&self) -> bool {
        matches!(self.other(), Some(Other::Closed))
    }

    /// True if as many waited for the flight as a cache lets wait ([`max_waiters`](crate::cache::Builder::max_waiters)).
    #[cfg(feature = "cache")]
    pub fn is_full(&self) -> bool {
        matches!(self.other(), Some(Other::Full))
    }

    /// True if what was asked for is not there: a batch function left it out.
    #[cfg(feature = "cache")]
    pub fn is_absent(&self) -> bool {
        matches!(self.other(), Some(Other::Absent))
    }

    /// True if the work was dropped before it ended: its batch left it out, or its runtime shut down.
    pub fn is_lost(&self) -> bool {
        matches!(self.other(), Some(Other::Lost { .. }))
    }
}

#[cfg(feature = "cache")]
impl<E> Error<Error<E>> {
    /// The error of a work whose own error is one of these.
    pub(crate) fn flatten(self) -> Error<E> {
        match self.0 {
            Kind::Work(error) => Error::clone(&error),
            Kind::Other(other) => Error(Kind::Other(other)),
        }
    }
}

impl<E> Clone for Error<E> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Kind::Work(error) => Kind::Work(Arc::clone(error)),
            Kind::Other(other) => Kind::Other(Arc::clone(other)),
        })
    }
}

impl<E: fmt::Debug> fmt::Debug for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Work(error) => f.debug_tuple("Work").field(error).finish(),
            Kind::Other(other) => other.fmt(f),
        }
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Work(error) => error.fmt(f),
            Kind::Other(other) => other.fmt(f),
        }
    }
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked {
                message,
                location: None,
            } => write!(f, "the work panicked: {message}"),
            Self::Panicked {
                message,
                location: Some(at),
            } => write!(f, "the work panicked at {at}: {message}"),
            Self::TimedOut => f.write_str("timed out waiting for a flight"),
            Self::Overdue => f.write_str("the flight took longer than it may"),
            Self::Reentrant { keys } => write!(f, "the work for a key waits for itself: {keys}"),
            Self::Closed => f.write_str("the group is closed"),
            Self::Full => f.write_str("too many wait for the flight already"),
            #[cfg(feature = "cache")]
            Self::Absent => f.write_str("there is none"),
            Self::Lost { why } => f.write_str(why),
        }
    }
}

impl<E: StdError + 'static> StdError for Error<E> {
    // Displayed as the work's own error, so the cause is that error's cause (E1).
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0 {
            Kind::Work(error) => error.source(),
            Kind::Other(_) => None,
        }
    }
}
