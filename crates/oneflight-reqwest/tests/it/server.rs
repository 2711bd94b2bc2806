//! A real HTTP server on a port of this machine, which answers as a function says. It ends with the runtime of the test.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, StatusCode};
use reqwest::Url;
use std::future::Future;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A request, as the server got it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// With its query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn header(&self, name: impl http::header::AsHeaderName) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn bearer(&self) -> Option<&str> {
        self.header(AUTHORIZATION)?.strip_prefix("Bearer ")
    }
}

/// Starts a server; returns where it is.
pub(crate) async fn serve<H, F>(handle: H) -> Url
where
    H: Fn(Asked) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(move |request: Request| {
        let handle = handle.clone();
        async move { handle(asked(request).await).await }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/").parse().unwrap()
}

async fn asked(request: Request) -> Asked {
    let (parts, body) = request.into_parts();
    Asked {
        method: parts.method,
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: to_bytes(body, 1 << 20).await.unwrap_or_default(),
    }
}

pub(crate) fn answer(status: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response
}

/// An answer whose head comes, and whose connection is closed in the midst of its body.
pub(crate) fn broken_off() -> Response {
    let begun = stream::iter([Ok(Bytes::from_static(b"{\"access_token\":"))]);
    let cut = stream::once(async {
        // So that what was begun is on its way.
        tokio::task::yield_now().await;
        Err(std::io::Error::other("the line is cut"))
    });
    let body = begun.chain(cut);
    Response::new(Body::from_stream(body))
}

/// Holds up what passes while it is closed, and counts it.
#[derive(Clone, Debug)]
pub(crate) struct Gate(watch::Sender<(bool, usize)>);

impl Gate {
    pub(crate) fn open() -> Self {
        Self(watch::Sender::new((true, 0)))
    }

    pub(crate) fn shut(&self) {
        self.0.send_modify(|(open, _)| *open = false);
    }

    pub(crate) fn let_through(&self) {
        self.0.send_modify(|(open, _)| *open = true);
    }

    pub(crate) async fn pass(&self) {
        self.0.send_modify(|(_, came)| *came += 1);
        let mut seen = self.0.subscribe();
        seen.wait_for(|(open, _)| *open).await.unwrap();
    }

    pub(crate) fn count(&self) -> usize {
        self.0.borrow().1
    }

    /// Waits until so many have come.
    pub(crate) async fn came(&self, many: usize) {
        let mut seen = self.0.subscribe();
        seen.wait_for(|(_, came)| *came >= many).await.unwrap();
    }
}
