//! How the layer is made.

use super::key::Rules;
use super::layer::Collapse;
use http::header::HeaderName;
use oneflight::{Group, Tokio};
use reqwest_middleware::ClientWithMiddleware;
use std::fmt;
use std::hash::Hash;
use std::time::Duration;

/// As many bytes of a body are shared, unless it is told otherwise.
const BODY: usize = 1 << 20;

/// So long a flight may take, unless it is told otherwise.
const FLIGHT: Duration = Duration::from_secs(300);

/// Makes a [`Collapse`]; from [`Collapse::builder`].
///
/// # Examples
/// ```
/// use http::HeaderName;
/// use oneflight_reqwest::Collapse;
/// use std::time::Duration;
///
/// /// Which of our customers it is for; a layer of our own puts it into a header, below.
/// #[derive(Clone, Hash, PartialEq, Eq)]
/// struct Customer(u64);
///
/// let collapse = Collapse::builder(reqwest::Client::new())
///     .max_body(64 * 1024)
///     .max_flight(Duration::from_secs(30))
///     .pass_over_header(HeaderName::from_static("traceparent"))
///     .key_by::<Customer>()
///     .build();
/// ```
#[must_use = "a builder does nothing until it builds"]
pub struct Builder {
    client: ClientWithMiddleware,
    rules: Rules,
    max_body: usize,
    max_flight: Duration,
}

impl Builder {
    pub(super) fn new(client: ClientWithMiddleware) -> Self {
        Self {
            client,
            rules: Rules::new(),
            max_body: BODY,
            max_flight: FLIGHT,
        }
    }

    /// The longest body that is shared, in bytes. As usual, 1 MiB.
    ///
    /// A longer one goes to one caller as a stream, whatever its length, and the others send a request of their own, all at once. With
    /// a `Content-Length` that is known as soon as the head is there; else once so much of it has come.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// The longest that a flight may take, head and body. Past it, all who wait get an error
    /// ([`Error::is_timeout`](crate::Error::is_timeout)), and the next caller sends a new request. As usual, five minutes; what a
    /// request's own limit says comes before that.
    pub fn max_flight(mut self, time: Duration) -> Self {
        self.max_flight = time;
        self
    }

    /// Requests that differ in this header alone are the same: it must not bear on the answer. All other headers belong to the key.
    ///
    /// It is for what each request has of its own, such as `traceparent` or `x-request-id`: with one of those, no two are the same.
    pub fn pass_over_header(mut self, name: HeaderName) -> Self {
        self.rules.pass_over_header(name);
        self
    }

    /// An extension of this type belongs to the key. As usual, [`Identity`](oneflight::token::Identity) does, and the mark
    /// [`NoBearer`](crate::NoBearer); a request with an extension of any other type goes alone. What is said last of a type counts.
    pub fn key_by<T: Hash + Eq + Clone + Send + Sync + 'static>(mut self) -> Self {
        self.rules.key_by::<T>();
        self
    }

    /// Requests that differ in an extension of this type alone are the same: it must not bear on the answer.
    pub fn pass_over<T: Clone + Send + Sync + 'static>(mut self) -> Self {
        self.rules.pass_over::<T>();
        self
    }

    /// Makes the layer.
    pub fn build(self) -> Collapse {
        let flights = Group::builder()
            .clock(Tokio)
            .max_flight(self.max_flight)
            .autopilot(Tokio)
            .build();
        Collapse::of(self.client, flights, self.rules, self.max_body)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("max_body", &self.max_body)
            .field("max_flight", &self.max_flight)
            .finish_non_exhaustive()
    }
}
