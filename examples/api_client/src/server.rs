//! The API, and the authorization server that it trusts: both on one port of this machine, each a little slow.

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use reqwest::Url;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;

const API_TAKES: Duration = Duration::from_millis(10);
const REFRESH_TAKES: Duration = Duration::from_millis(10);

/// An access token, and the refresh token that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) access: String,
    pub(crate) refresh: String,
}

/// What the server was asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Requests for orders.
    pub(crate) api: u32,
    /// Requests for a new token.
    pub(crate) refreshes: u32,
    /// Logins that were ended since a refresh token came twice.
    pub(crate) revoked: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Server {
    books: Arc<Mutex<Books>>,
    pub(crate) url: Url,
}

#[derive(Debug, Default)]
struct Books {
    issued: u32,
    /// The access token that is good.
    good: Option<String>,
    spent: HashSet<String>,
    logged_in: bool,
    counts: Counts,
}

impl Server {
    pub(crate) async fn start() -> Result<Self, crate::Fault> {
        let books = Arc::<Mutex<Books>>::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?).parse()?;
        let router = Router::new().fallback(answer).with_state(books.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { books, url })
    }

    /// A person logs in.
    pub(crate) fn login(&self) -> Pair {
        let mut books = lock(&self.books);
        books.logged_in = true;
        books.spent.clear();
        books.issue()
    }

    /// False once a login is needed.
    pub(crate) fn is_logged_in(&self) -> bool {
        lock(&self.books).logged_in
    }

    /// The access token that is there is good no more.
    pub(crate) fn expire(&self) {
        lock(&self.books).good = None;
    }

    pub(crate) fn counts(&self) -> Counts {
        lock(&self.books).counts
    }
}

fn lock(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(State(books): State<Arc<Mutex<Books>>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if head.uri.path() == "/token" {
        let form = to_bytes(body, 1 << 16).await.unwrap_or_default();
        tokio::time::sleep(REFRESH_TAKES).await;
        return lock(&books).redeem(&form);
    }
    tokio::time::sleep(API_TAKES).await;
    let sent = head.headers.get(AUTHORIZATION);
    let sent = sent.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let mut books = lock(&books);
    books.counts.api += 1;
    if sent.is_some() && sent == books.good.as_deref() {
        return format!("the order {}", head.uri.path()).into_response();
    }
    let mut refusal = StatusCode::UNAUTHORIZED.into_response();
    let challenge = HeaderValue::from_static("Bearer error=\"invalid_token\"");
    refusal.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    refusal
}

impl Books {
    fn issue(&mut self) -> Pair {
        self.issued += 1;
        let number = self.issued;
        let access = format!("access-{number}");
        self.good = Some(access.clone());
        Pair {
            access,
            refresh: format!("refresh-{number}"),
        }
    }

    /// Spends a refresh token for the next pair. One that comes twice is taken for stolen.
    fn redeem(&mut self, form: &Bytes) -> Response {
        self.counts.refreshes += 1;
        let form = String::from_utf8_lossy(form);
        let mut fields = form.split('&');
        let token = fields.find_map(|field| field.strip_prefix("refresh_token="));
        let token = token.unwrap_or_default().to_owned();
        if self.logged_in && !self.spent.insert(token) {
            self.logged_in = false;
            self.good = None;
            self.counts.revoked += 1;
        }
        if !self.logged_in {
            let error = r#"{"error":"invalid_grant"}"#;
            return (StatusCode::BAD_REQUEST, error).into_response();
        }
        let pair = self.issue();
        let granted = serde_json::json!({
            "access_token": pair.access,
            "refresh_token": pair.refresh,
            "token_type": "Bearer",
            "expires_in": 3600,
        });
        let json = [(CONTENT_TYPE, "application/json")];
        (json, granted.to_string()).into_response()
    }
}
