//! The layer: a token for each request, and once more after a 401.

use super::challenge;
use super::whose::{Holder, Whose};
use crate::error::Error;
use futures_util::FutureExt;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Extensions, StatusCode};
use oneflight::token::Token;
use oneflight::{Clock, Tokio};
use reqwest::{Request, Response, Url};
use reqwest_middleware::{Middleware, Next};
use std::time::Duration;

/// See [`Bearer::pause`].
const PAUSE: Duration = Duration::from_secs(30);

/// A layer that sends a bearer token with each request, and renews it in one flight when the server will not have it any more.
///
/// | the response | what follows |
/// |---|---|
/// | 401, and `WWW-Authenticate` asks for a bearer, with the error `invalid_token` or none | the token is [rejected], and the request sent once more with another one |
/// | 401 without `WWW-Authenticate` | the same |
/// | 401 that asks for another scheme, or says `insufficient_scope` or `invalid_request` | it is returned: another token would not help |
/// | 401 to the second request | it is returned; and for a [while](Self::pause), so is each 401 for that token: it is the request that is at fault, or who asks |
/// | anything else | it is returned |
///
/// A thousand requests that get a 401 at the same moment wait for one refresh. One that comes late, for a token that has been replaced
/// already, is sent again at once.
///
/// * **A body that is a stream** cannot be sent again: the 401 is returned as it is, and the refresh goes on behind, so that the next
///   request has a good token. Of such 401s, one in a [while](Self::pause) has the token renewed.
/// * **Redirects.** reqwest takes the token off when it is led to another origin; a 401 from there says nothing about the token and is
///   returned. One from another URL of the origin that was asked may say nothing either, if the way there went elsewhere: it has the
///   token renewed once in a [while](Self::pause), and the new one is not held to be refused. A request that was led on
///   is sent again only if it changes nothing (`GET`, `HEAD`, `OPTIONS`, `TRACE`). A `POST` that was led **back to its own URL** (303)
///   looks like one that was not, and is sent again: where a server does so, [`never_repeat_unsafe`](Self::never_repeat_unsafe), or a
///   client that follows no redirects.
/// * **An `Authorization`** that a request has already is left as it is, and so is the answer. The same goes for requests marked with
///   [`NoBearer`].
/// * **The refresh** is best sent by a client without this layer. By a client that has it, it would wait for itself: that is found out,
///   and an error ([`oneflight::Error::is_reentrant`]); with the mark [`NoBearer`] it is well.
///
/// A refresh that fails is the error of all requests that needed it ([`Error`]). Attach this layer before
/// (outside of) those that retry, count or collapse requests: each attempt of theirs then has its token.
///
/// # Examples
/// ```
/// use oneflight::Tokio;
/// use oneflight::token::{Grant, MemoryStore, Pair, TokenSource};
/// use oneflight_reqwest::Bearer;
/// use reqwest_middleware::ClientBuilder;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
///     .store(MemoryStore::with(Pair::new("old").with_refresh("r1")))
///     .build(|refresh| async move { Ok(Grant::new("new").refresh("r2")) }); // POST grant_type=refresh_token …
///
/// let api = "https://api.example.com".parse().unwrap();
/// let client = ClientBuilder::new(reqwest::Client::new())
///     .with(Bearer::only_to(&api, source))
///     .build();
/// # drop(client);
/// # }
/// ```
///
/// [rejected]: oneflight::token::TokenSource::rejected
#[derive(Clone, Debug)]
pub struct Bearer {
    whose: Whose,
    /// None: to any origin.
    origins: Option<Vec<Url>>,
    pause: Duration,
    /// A request that may change something is sent once.
    unsafe_once: bool,
}

/// A mark for a request that is to be sent without a token, as an extension of it: the refresh itself, say.
///
/// # Examples
/// ```
/// # let client = reqwest_middleware::ClientWithMiddleware::default();
/// use oneflight_reqwest::NoBearer;
///
/// let request = client.get("https://api.example.com/health").with_extension(NoBearer);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoBearer;

impl Bearer {
    /// Sends the token to this origin (scheme, host and port of the URL) alone; other requests are left as they are.
    pub fn only_to(origin: &Url, whose: impl Into<Whose>) -> Self {
        Self::to(Some(vec![bare(origin)]), whose.into())
    }

    /// Sends the token to this origin, too.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::{Tokio, token::{Grant, TokenSource}};
    /// # use oneflight_reqwest::Bearer;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
    /// #     .build(|_| async { Ok(Grant::new("…")) });
    /// let api = "https://api.example.com".parse().unwrap();
    /// let files = "https://files.example.com".parse().unwrap();
    /// let bearer = Bearer::only_to(&api, source).and_to(&files);
    /// # }
    /// ```
    #[must_use]
    pub fn and_to(mut self, origin: &Url) -> Self {
        if let Some(origins) = &mut self.origins {
            origins.push(bare(origin));
        }
        self
    }

    /// Sends the token with every request, wherever it goes: for a client that asks one service, and follows no URL which somebody
    /// else has written.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::{Tokio, token::{Grant, TokenSource}};
    /// # use oneflight_reqwest::Bearer;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
    /// #     .build(|_| async { Ok(Grant::new("…")) });
    /// let bearer = Bearer::to_any_origin(source);
    /// # }
    /// ```
    pub fn to_any_origin(whose: impl Into<Whose>) -> Self {
        Self::to(None, whose.into())
    }

    fn to(origins: Option<Vec<Url>>, whose: Whose) -> Self {
        Self {
            whose,
            origins,
            pause: PAUSE,
            unsafe_once: false,
        }
    }

    /// So long no 401 has a token renewed that was refused when it was new. As usual, thirty seconds.
    ///
    /// A resource that answers 401 whoever asks, and is asked again and again, would else have a refresh each time.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::{Tokio, token::{Grant, TokenSource}};
    /// # use oneflight_reqwest::Bearer;
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
    /// #     .build(|_| async { Ok(Grant::new("…")) });
    /// # let api = "https://api.example.com".parse().unwrap();
    /// let bearer = Bearer::only_to(&api, source).pause(Duration::from_secs(5));
    /// # }
    /// ```
    #[must_use]
    pub fn pause(mut self, time: Duration) -> Self {
        self.pause = time;
        self
    }

    /// Never sends a request a second time that may change something: all but `GET`, `HEAD`, `OPTIONS` and `TRACE`. Its 401 is returned,
    /// and the token renewed behind, so that the next request has a good one.
    ///
    /// It is for a server that answers a `POST` with a redirect (303) to the very URL that it came to, and a client that follows: a 401
    /// to the `GET` that comes of it cannot be told from one to the `POST`, so that an order would be placed twice.
    ///
    /// # Examples
    /// ```
    /// # use oneflight::{Tokio, token::{Grant, TokenSource}};
    /// # use oneflight_reqwest::Bearer;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
    /// #     .build(|_| async { Ok(Grant::new("…")) });
    /// # let api = "https://api.example.com".parse().unwrap();
    /// let bearer = Bearer::only_to(&api, source).never_repeat_unsafe();
    /// # }
    /// ```
    #[must_use]
    pub fn never_repeat_unsafe(mut self) -> Self {
        self.unsafe_once = true;
        self
    }

    /// True if a token belongs into this request (A1, A3).
    fn concerns(&self, request: &Request, extensions: &Extensions) -> bool {
        let origin = request.url().origin();
        let meant = (self.origins.as_ref())
            .is_none_or(|origins| origins.iter().any(|url| url.origin() == origin));
        meant
            && !request.headers().contains_key(AUTHORIZATION)
            && extensions.get::<NoBearer>().is_none()
    }
}

#[async_trait::async_trait]
impl Middleware for Bearer {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        if !self.concerns(&request, extensions) {
            return next.run(request, extensions).await;
        }
        let holder = self.whose.of(extensions)?;
        let token = holder.token().await?;
        let (sent, spare) = (Sent::of(&request), request.try_clone());
        let request = with_bearer(request, &token)?;
        let response = next.clone().run(request, extensions).await?;
        let (refusals, now) = (holder.refusals(), Tokio.now());
        if !sent.was_refused_by(&response) || refusals.have(&token, now, self.pause) {
            return Ok(response);
        }
        let led_on = sent.was_led_on(&response);
        let again = sent.safe || !(led_on || self.unsafe_once);
        let spare = spare.filter(|_| again);
        if (led_on || spare.is_none()) && !refusals.doubt(&token, now, self.pause) {
            return Ok(response);
        }
        let Some(spare) = spare else {
            renew_behind(&*holder, &token);
            return Ok(response);
        };
        // Its connection is free while this waits.
        drop(response);
        let token = holder.rejected(&token).await?;
        let again = with_bearer(spare, &token)?;
        let response = next.run(again, extensions).await?;
        if sent.was_refused_by(&response) && !sent.was_led_on(&response) {
            refusals.note(&token, Tokio.now());
        }
        Ok(response)
    }
}

/// Lets the refresh begin. It is detached: dropped after its first step, it goes on.
fn renew_behind(holder: &dyn Holder, token: &Token) {
    let _begun = holder.rejected(token).now_or_never();
}

fn with_bearer(mut request: Request, token: &Token) -> Result<Request, Error> {
    let value = HeaderValue::try_from(format!("Bearer {}", token.expose()));
    let mut value = value.map_err(Error::header)?;
    value.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, value);
    Ok(request)
}

/// What was sent, as far as it matters for the response.
struct Sent {
    url: Url,
    /// Sent twice, it does no more than sent once, and that is nothing.
    safe: bool,
}

impl Sent {
    fn of(request: &Request) -> Self {
        Self {
            url: without_fragment(request.url()),
            safe: request.method().is_safe(),
        }
    }

    /// True if the response says that the token is not good; of one that was led on, that it may not be (A1).
    fn was_refused_by(&self, response: &Response) -> bool {
        response.status() == StatusCode::UNAUTHORIZED
            && response.url().origin() == self.url.origin()
            && challenge::asks_for_another_token(response.headers())
    }

    /// True if it went on to another URL. A `POST` may have been carried out before the 401 then (A2), and the token may have been taken
    /// off on the way (A1).
    fn was_led_on(&self, response: &Response) -> bool {
        without_fragment(response.url()) != self.url
    }
}

/// The origin of a URL, and no more: the rest may hold secrets, and stands in `Debug`.
fn bare(url: &Url) -> Url {
    let mut url = url.clone();
    // A URL that cannot have a user has none.
    let _none = url.set_username("");
    let _none = url.set_password(None);
    url.set_path("");
    url.set_query(None);
    url.set_fragment(None);
    url
}

fn without_fragment(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    url
}
