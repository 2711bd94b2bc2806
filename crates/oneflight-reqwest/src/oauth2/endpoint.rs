//! Sending a request to the token endpoint, and reading its answer within bounds.

use ::oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use futures_util::future::BoxFuture;
use http::header::{HeaderMap, RETRY_AFTER};
use http::{Response, StatusCode};
use serde_json::Value;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The longest answer that is read: tokens are short.
const LONGEST: usize = 256 * 1024;

/// One request on its way to the token endpoint, and what is known of the answer beside what it says.
pub(super) struct Attempt {
    http: reqwest::Client,
    head: Mutex<Head>,
}

#[derive(Clone, Copy, Default)]
struct Head {
    status: Option<StatusCode>,
    retry_after: Option<Duration>,
}

impl Attempt {
    pub(super) fn by(http: &reqwest::Client) -> Self {
        Self {
            http: http.clone(),
            head: Mutex::default(),
        }
    }

    /// The status of the answer, if there was one.
    pub(super) fn status(&self) -> Option<StatusCode> {
        self.head().status
    }

    /// How long the server asks to be left in peace.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.head().retry_after
    }

    fn head(&self) -> MutexGuard<'_, Head> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    Request(reqwest::Error),
    TooLong,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(f),
            Self::TooLong => write!(f, "the answer is longer than {LONGEST} bytes"),
        }
    }
}

impl std::error::Error for Unanswered {}

impl<'a> AsyncHttpClient<'a> for Attempt {
    type Error = Unanswered;
    type Future = BoxFuture<'a, Result<HttpResponse, Unanswered>>;

    fn call(&'a self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

impl Attempt {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, Unanswered> {
        let request = request.try_into().map_err(Unanswered::Request)?;
        let response = self.http.execute(request).await;
        let response = response.map_err(Unanswered::Request)?;
        let (status, headers) = (response.status(), response.headers().clone());
        *self.head() = Head {
            status: Some(status),
            retry_after: retry_after(&headers, SystemTime::now()),
        };
        let text = match read(response).await {
            Ok(text) => text,
            Err(error) if status.is_success() => return Err(error),
            // What it would have said is of less matter than that it is a refusal.
            Err(_) => Vec::new(),
        };
        let mut response = Response::new(text);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        if status.is_success() && is_error(response.body()) {
            self.head().status = Some(StatusCode::BAD_REQUEST);
            *response.status_mut() = StatusCode::BAD_REQUEST;
        }
        Ok(response)
    }
}

async fn read(mut response: reqwest::Response) -> Result<Vec<u8>, Unanswered> {
    let mut text = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Unanswered::Request)? {
        if text.len() + chunk.len() > LONGEST {
            return Err(Unanswered::TooLong);
        }
        text.extend_from_slice(&chunk);
    }
    Ok(text)
}

/// True for what is an error, whatever its status says.
fn is_error(text: &[u8]) -> bool {
    serde_json::from_slice(text).is_ok_and(|answer: Value| {
        answer["error"].is_string() && answer.get("access_token").is_none()
    })
}

/// `Retry-After`: so many seconds, or until a time of day.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn retry_after_is_a_number_or_a_time() {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000); // Tue, 14 Nov 2023 22:13:20 GMT
        let cases = [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Tue, 14 Nov 2023 22:14:20 GMT", Some(60)),
            ("Tue, 14 Nov 2023 22:00:00 GMT", Some(0)),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("99999999999999999999", None),
        ];
        for (text, seconds) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            assert_eq!(
                retry_after(&headers, now),
                seconds.map(Duration::from_secs),
                "{text}"
            );
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    #[test]
    fn an_error_is_one_whatever_its_status() {
        assert!(is_error(br#"{"error":"bad_refresh_token"}"#));
        assert!(!is_error(br#"{"access_token":"a","token_type":"bearer"}"#));
        assert!(!is_error(br#"{"access_token":"a","error":"none"}"#));
        assert!(!is_error(br#"{"error":null}"#));
        assert!(!is_error(b"error"));
        assert!(!is_error(b""));
    }
}
