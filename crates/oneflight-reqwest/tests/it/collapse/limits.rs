//! What is not shared, although it was asked for together.

use super::site::{Site, part};
use crate::server::{Asked, answer};
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderName};
use http::{HeaderValue, StatusCode};
use oneflight_reqwest::{Collapse, Part};
use reqwest_middleware::ClientWithMiddleware;

const MAX: usize = 10;

fn bounded() -> (Collapse, ClientWithMiddleware) {
    let collapse = Collapse::builder(reqwest::Client::new())
        .max_body(MAX)
        .pass_over_header(HeaderName::from_static("x-request-id"))
        .build();
    (collapse.clone(), collapse.into_client())
}

/// Sends three requests for what the site answers: true if one answered all, which must be right in any case.
async fn shared(text: &'static str, answer: fn(&Asked) -> Response) -> bool {
    let site = Site::start(answer).await;
    let (collapse, client) = bounded();
    let get = || client.get(site.at("/a"));
    let (came, answers) = site.visit(&collapse, [get(), get(), get()]).await;
    assert_eq!(came, 1, "they flew together");
    let parts: Vec<_> = answers.iter().map(part).collect();
    for answer in answers {
        assert_eq!(answer.url(), &site.at("/a"));
        assert_eq!(answer.headers()["x-own"], "1");
        assert_eq!(answer.text().await.unwrap(), text);
    }
    let alone = parts.iter().filter(|part| **part == Part::Alone).count();
    assert_eq!(site.seen().len(), 1 + alone);
    assert!(alone == 0 || alone == 2, "{parts:?}");
    alone == 0
}

/// An answer with a header of its own.
fn with(name: &'static str, value: &'static str, body: impl Into<Body>) -> Response {
    let mut response = answer(StatusCode::OK, body);
    let headers = response.headers_mut();
    headers.insert("x-own", HeaderValue::from_static("1"));
    headers.insert(name, HeaderValue::from_static(value));
    response
}

/// A body in pieces, whose length nobody says.
fn pieces(texts: &'static [&'static str]) -> Body {
    let texts = texts
        .iter()
        .map(|text| Ok::<_, std::io::Error>(Bytes::from(*text)));
    Body::from_stream(futures_util::stream::iter(texts))
}

#[tokio::test]
async fn a_body_up_to_the_bound_is_shared_and_a_longer_one_goes_to_one_caller() {
    assert!(shared("", |_| with("a", "b", "")).await);
    assert!(shared("0123456789", |_| with("a", "b", "0123456789")).await);
    assert!(!shared("0123456789x", |_| with("a", "b", "0123456789x")).await);
}

#[tokio::test]
async fn the_bound_holds_for_a_body_of_unknown_length_too_and_no_byte_of_it_is_lost() {
    assert!(
        shared("0123456789", |_| with(
            "a",
            "b",
            pieces(&["01234", "56789"])
        ))
        .await
    );
    let long = |_: &Asked| with("a", "b", pieces(&["01234", "56789", "abc", "def", "g"]));
    assert!(!shared("0123456789abcdefg", long).await);
    let at_once = |_: &Asked| with("a", "b", pieces(&["0123456789abcdefg", "h"]));
    assert!(!shared("0123456789abcdefgh", at_once).await);
}

#[tokio::test]
async fn d1_d6_d21_a_response_that_is_not_for_all_goes_to_one_caller() {
    assert!(!shared("a", |_| with("set-cookie", "session=1", "a")).await);
    assert!(!shared("a", |_| with("vary", "*", "a")).await);
    assert!(!shared("a", |_| with("vary", "accept, X-Request-Id", "a")).await);
    assert!(
        !shared("a", |_| with(
            "content-type",
            "text/event-stream; charset=utf-8",
            "a"
        ))
        .await
    );
    let mixed = "multipart/x-mixed-replace;boundary=a";
    let frames = |_: &Asked| with("content-type", "multipart/x-mixed-replace;boundary=a", "a");
    assert!(!shared("a", frames).await, "{mixed}");

    // These say nothing against it: the key has all headers, and nothing is kept.
    assert!(shared("a", |_| with("vary", "accept, cookie", "a")).await);
    assert!(shared("a", |_| with("cache-control", "private, no-store", "a")).await);
}

#[tokio::test]
async fn d8_a_head_has_no_body_and_the_length_of_one() {
    let site = Site::start(|_| with("a", "b", "0123456789 and more")).await;
    let (collapse, client) = bounded();
    let head = || client.head(site.at("/a"));
    let (came, answers) = site.visit(&collapse, [head(), head()]).await;
    assert_eq!((came, site.seen().len()), (1, 1));
    for answer in answers {
        assert_eq!(answer.headers()[CONTENT_LENGTH], "19");
        assert_eq!(answer.text().await.unwrap(), "");
    }
}
