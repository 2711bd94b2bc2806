//! What a flight brings: a response that is given to all who wait, or one that is given to one of them (C3).

use super::key::Rules;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderMap, SET_COOKIE, VARY};
use http::{Extensions, StatusCode, Version};
use http_body::{Body as HttpBody, Frame, SizeHint};
use reqwest::{Body, Response, ResponseBuilderExt, Url};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

/// The part of a call in what it got, as an extension of the response.
///
/// # Examples
/// ```
/// use oneflight_reqwest::{Collapse, Part};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// # let url = format!("http://{}/", listener.local_addr()?);
/// # tokio::spawn(async move { axum::serve(listener, axum::Router::new()).await });
/// let client = Collapse::over(reqwest::Client::new()).into_client();
/// let response = client.get(url).send().await?;
/// assert_eq!(response.extensions().get(), Some(&Part::Led));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// It began the flight.
    Led,
    /// It joined a flight that was up.
    Joined,
    /// It sent a request of its own: there was no key for it, or the response of the flight could not be shared.
    Alone,
}

/// What a flight brings.
#[derive(Clone)]
pub(super) enum Answer {
    Whole(Arc<Whole>),
    /// For whoever comes first.
    Single(Arc<Mutex<Option<Response>>>),
}

/// A response that was read to its end.
pub(super) struct Whole {
    head: Head,
    body: Bytes,
}

/// What a response says before its body.
struct Head {
    status: StatusCode,
    version: Version,
    headers: HeaderMap,
    extensions: Extensions,
    url: Url,
}

impl Answer {
    /// For nobody: all go alone.
    pub(super) fn nothing() -> Self {
        Self::Single(Arc::default())
    }

    fn single(response: Response) -> Self {
        Self::Single(Arc::new(Mutex::new(Some(response))))
    }

    /// Reads a response, up to the bound.
    pub(super) async fn of(
        mut response: Response,
        max_body: usize,
        rules: &Rules,
    ) -> reqwest::Result<Self> {
        let longer = |length: u64| usize::try_from(length).map_or(true, |length| length > max_body);
        if !is_for_all(&response, rules) || response.content_length().is_some_and(longer) {
            return Ok(Self::single(response));
        }
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > max_body {
                return Ok(Self::single(put_back([body.freeze(), chunk], response)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Self::Whole(Arc::new(Whole {
            head: Head::of(&response),
            body: body.freeze(),
        })))
    }

    /// A response for one caller; none if it has to send a request of its own.
    pub(super) fn take(self, part: Part) -> Option<Response> {
        let mut response = match self {
            Self::Whole(whole) => whole.head.with(whole.body.clone()),
            // A panic leaves a response or none, and either is well.
            Self::Single(response) => {
                let mut response = response.lock().unwrap_or_else(PoisonError::into_inner);
                response.take()?
            }
        };
        response.extensions_mut().insert(part);
        Some(response)
    }
}

/// True if a response to one caller says the same to the others, and has an end.
fn is_for_all(response: &Response, rules: &Rules) -> bool {
    let headers = response.headers();
    let endless = headers.get(CONTENT_TYPE).is_some_and(|value| {
        let kind = value.as_bytes().to_ascii_lowercase();
        kind.starts_with(b"text/event-stream") || kind.starts_with(b"multipart/x-mixed-replace")
    });
    let varies = headers.get_all(VARY).iter().any(|value| {
        // What cannot be read may mean anything.
        value.to_str().map_or(true, |names| {
            let mut names = names.split(',').map(str::trim);
            names.any(|name| name == "*" || rules.passes_over(name))
        })
    });
    let switches = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    !(endless || varies || switches || headers.contains_key(SET_COOKIE))
}

impl Head {
    fn of(response: &Response) -> Self {
        Self {
            status: response.status(),
            version: response.version(),
            headers: response.headers().clone(),
            extensions: response.extensions().clone(),
            url: response.url().clone(),
        }
    }

    fn with(&self, body: impl Into<Body>) -> Response {
        let response = http::Response::builder().url(self.url.clone()).body(body);
        let mut response = response.expect("a status and a URL make no fault");
        *response.status_mut() = self.status;
        *response.version_mut() = self.version;
        *response.headers_mut() = self.headers.clone();
        response.extensions_mut().extend(self.extensions.clone());
        response.into()
    }
}

/// The response as it was before this was read of it.
fn put_back(read: [Bytes; 2], response: Response) -> Response {
    let head = Head::of(&response);
    let rest = http::Response::<Body>::from(response).into_body();
    head.with(Body::wrap(Resumed {
        read: read.into_iter(),
        rest,
    }))
}

/// A body of which some was read already.
struct Resumed {
    read: std::array::IntoIter<Bytes, 2>,
    rest: Body,
}

impl HttpBody for Resumed {
    type Data = Bytes;
    type Error = reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, reqwest::Error>>> {
        match self.read.find(|bytes| !bytes.is_empty()) {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None => Pin::new(&mut self.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.read.as_slice().iter().all(Bytes::is_empty) && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let read: usize = self.read.as_slice().iter().map(Bytes::len).sum();
        let (read, rest) = (read as u64, self.rest.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(read));
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(read)) {
            hint.set_upper(upper);
        }
        hint
    }
}
