//! The layer: a flight for each key, and a way around it.

use super::answer::{Answer, Part};
use super::built::Builder;
use super::key::{Key, Rules};
use crate::error::Error;
use http::Extensions;
use oneflight::{Group, Mark, Stats};
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A layer that sends one request for all who send the same at the same moment, and gives each of them its own [`Response`].
///
/// Two requests are the same if nothing distinguishes them: method (`GET` or `HEAD`), URL with its query, HTTP version, time limit,
/// **all headers**, and the identity in their extensions ([`Builder::key_by`]). So no `Authorization`, `Cookie`, `Accept`, `Range` or
/// `If-None-Match` is ever answered with the response to another one. What each request has of its own, such as a trace id, can be
/// [passed over](Builder::pass_over_header). Always sent by themselves are requests
///
/// * of other methods, with a body, with an `Upgrade`, or that accept `text/event-stream`;
/// * with the mark [`Alone`](super::Alone), or with an extension that the layer knows nothing of.
///
/// A response is shared if it was read to its end, and is no longer than [`max_body`](Builder::max_body). One that is longer, sets a
/// cookie, varies by something that is passed over, or is a stream of events, goes to one caller; the others then send their own
/// requests, all at once. [`Part`] tells, as an extension of the response.
///
/// * **Errors are shared, and not remembered**: [`Error::request`] has the client's own. A layer that retries belongs below this one:
///   it tries again once for all. Above, `reqwest-retry` takes each error for a fatal one, since it comes from a middleware.
/// * **A limit of time is the leader's.** Requests of another [`timeout`](reqwest::Request::timeout) are not the same; among the same, one
///   that joins late has what is left of the time of the one that began.
/// * **What was written is read.** After a `POST`, `PUT`, `PATCH` or `DELETE` by way of this layer, no request joins a flight that began
///   before its end. What others write is not known here: mark a request [`Alone`](super::Alone) that must see it.
/// * **The work belongs to the flight.** A caller that is dropped changes nothing for the others; with the last one, the request is
///   cancelled.
///
/// # It stands last
///
/// A flight outlives the caller that began it, so it cannot use the rest of that caller's chain: it is flown by the client that was
/// handed in here, and **so is every request that comes to this layer; layers that are attached after it are not asked**. It takes
/// copies of the leader's extensions along; what layers below put there stays with it. Requests are sent by that client with *its*
/// default headers, limits and proxies: those of the client that this layer is attached to are added when it sends, and it does not.
/// Initialisers are the other way round: they act where a request is made, so that those of that client are not run. What is to happen once for all belongs into that client:
///
/// ```
/// use oneflight_reqwest::Collapse;
/// # use oneflight::{Tokio, token::{Grant, TokenSource}};
/// # use oneflight_reqwest::Bearer;
/// use reqwest_middleware::ClientBuilder;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio).build(|_| async { Ok(Grant::new("…")) });
/// # let api = "https://api.example.com".parse().unwrap();
/// # let bearer = Bearer::only_to(&api, source);
/// let http = reqwest::Client::new();
/// let client = ClientBuilder::new(http.clone())
///     .with(bearer)
///     .with(Collapse::over(http))
///     .build();
/// # }
/// ```
///
/// A [`Bearer`](crate::Bearer) may stand above it, as here: then the token is part of the key. Or in the client below: then all share
/// its one source, or [`Builder::key_by`] names what chooses among many. Both are safe.
///
/// # Examples
/// ```
/// use oneflight_reqwest::Collapse;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let client = Collapse::over(reqwest::Client::new()).into_client();
/// # drop(client);
/// # }
/// ```
#[derive(Clone)]
pub struct Collapse(Arc<Inner>);

type Flights = Group<Key, Answer, reqwest_middleware::Error>;

struct Inner {
    client: ClientWithMiddleware,
    flights: Flights,
    rules: Rules,
    max_body: usize,
    /// When something was last written by way of the layer: flights that began before it may bring what was read before it (C5).
    written: Mutex<Option<Mark>>,
}

impl Collapse {
    /// A layer with the usual options that sends its requests by this client.
    pub fn over(client: impl Into<ClientWithMiddleware>) -> Self {
        Self::builder(client).build()
    }

    /// Makes a layer with other options.
    pub fn builder(client: impl Into<ClientWithMiddleware>) -> Builder {
        Builder::new(client.into())
    }

    pub(super) fn of(
        client: ClientWithMiddleware,
        flights: Flights,
        rules: Rules,
        max_body: usize,
    ) -> Self {
        Self(Arc::new(Inner {
            client,
            flights,
            rules,
            max_body,
            written: Mutex::default(),
        }))
    }

    /// A client that has this layer alone.
    pub fn into_client(self) -> ClientWithMiddleware {
        let http = self.0.client.as_ref().clone();
        ClientBuilder::new(http).with(self).build()
    }

    /// What its flights have done so far. Requests that went alone are not among them.
    pub fn stats(&self) -> Stats {
        self.0.flights.stats()
    }
}

#[async_trait::async_trait]
impl Middleware for Collapse {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        _next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        let inner = &self.0;
        let Some(key) = inner.rules.key(&request, extensions) else {
            let _write = (!request.method().is_safe()).then_some(Write(inner));
            return inner.alone(request, extensions).await;
        };
        let work = || {
            // It has no body, so there is always a copy.
            let copy = request.try_clone();
            fly(Arc::clone(inner), copy, extensions.clone())
        };
        let written = *inner.written();
        let flight = match written {
            Some(mark) => inner.flights.run_since(mark, &key, work),
            None => inner.flights.run_with_key(key, work),
        };
        let outcome = flight.outcome().await.map_err(Error::flight)?;
        let part = if outcome.led { Part::Led } else { Part::Joined };
        match outcome.value.take(part) {
            Some(response) => Ok(response),
            None => inner.alone(request, extensions).await,
        }
    }
}

impl Inner {
    fn written(&self) -> MutexGuard<'_, Option<Mark>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request for one caller.
    async fn alone(
        &self,
        request: Request,
        extensions: &mut Extensions,
    ) -> reqwest_middleware::Result<Response> {
        let sent = self.client.execute_with_extensions(request, extensions);
        let mut response = sent.await?;
        response.extensions_mut().insert(Part::Alone);
        Ok(response)
    }
}

/// A request that may write something. However it ends, it may have.
struct Write<'i>(&'i Inner);

impl Drop for Write<'_> {
    fn drop(&mut self) {
        let mark = Some(self.0.flights.mark());
        let mut written = self.0.written();
        *written = (*written).max(mark);
    }
}

async fn fly(
    inner: Arc<Inner>,
    request: Option<Request>,
    mut extensions: Extensions,
) -> reqwest_middleware::Result<Answer> {
    let Some(request) = request else {
        return Ok(Answer::nothing());
    };
    let sent = inner
        .client
        .execute_with_extensions(request, &mut extensions);
    let response = sent.await?;
    Ok(Answer::of(response, inner.max_body, &inner.rules).await?)
}

impl fmt::Debug for Collapse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collapse")
            .field("flights", &self.0.flights)
            .field("max_body", &self.0.max_body)
            .finish_non_exhaustive()
    }
}
