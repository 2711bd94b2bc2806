//! How flights end, and who has what of it.

use super::site::{Site, part, usual};
use crate::authority::PATIENCE;
use crate::server::{answer, broken_off};
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::{FutureExt, stream};
use http::header::RETRY_AFTER;
use http::{Method, StatusCode};
use http_body::Frame;
use oneflight_reqwest::{Collapse, Error, Part};
use reqwest::Body;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Waits for what another task does.
async fn until(so: impl Fn() -> bool) {
    let waiting = async {
        while !so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .expect("it never comes to that");
}

#[tokio::test]
async fn a7_a_caller_that_is_dropped_changes_nothing_for_the_others_the_first_one_neither() {
    let site = Site::plain().await;
    let (collapse, client) = usual();
    let get = || client.get(site.at("/a"));
    let leader = site.send(&collapse, get()).await;
    let waiter = site.send(&collapse, get()).await;
    let last = site.send(&collapse, get()).await;
    for dropped in [leader, waiter] {
        dropped.abort();
        assert!(dropped.await.unwrap_err().is_cancelled());
    }
    site.gate.let_through();
    let answer = last.await.unwrap().unwrap();
    assert_eq!(part(&answer), Part::Joined);
    assert_eq!(answer.text().await.unwrap(), "/a");
    assert_eq!(site.seen().len(), 1);
}

#[tokio::test]
async fn a10_with_the_last_caller_the_request_is_cancelled() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counted = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
        .with(Watched(dropped.clone()))
        .build();
    let collapse = Collapse::over(counted);
    let client = collapse.clone().into_client();
    let site = Site::plain().await;
    let calls = [
        site.send(&collapse, client.get(site.at("/a"))).await,
        site.send(&collapse, client.get(site.at("/a"))).await,
    ];
    for call in &calls {
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        call.abort();
    }
    until(|| dropped.load(Ordering::Relaxed) == 1).await;
    assert_eq!(collapse.stats().abandoned, 1);

    let next = site.send(&collapse, client.get(site.at("/a"))).await;
    site.gate.let_through();
    assert_eq!(part(&next.await.unwrap().unwrap()), Part::Led);
    assert_eq!(site.seen().len(), 2);
}

/// Counts the requests that were dropped on their way.
struct Watched(Arc<AtomicUsize>);

struct OnItsWay(Arc<AtomicUsize>);

impl Drop for OnItsWay {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[async_trait::async_trait]
impl reqwest_middleware::Middleware for Watched {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut http::Extensions,
        next: reqwest_middleware::Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let way = OnItsWay(self.0.clone());
        let response = next.run(request, extensions).await;
        std::mem::forget(way);
        response
    }
}

#[tokio::test]
async fn a17_who_has_written_something_joins_no_request_that_was_sent_before() {
    let site = Site::plain().await;
    let (collapse, client) = usual();
    let get = || client.get(site.at("/a"));
    let before = site.send(&collapse, get()).await;
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let (seen, joined) = (site.seen().len(), collapse.stats().joined);
        let write = client.request(method.clone(), site.at("/a"));
        write.send().await.unwrap();
        let after = site.send(&collapse, get()).await;
        assert_eq!(site.seen().len(), seen + 2, "{method}");
        // Those who come after it share, as ever.
        let later = site.send(&collapse, get()).await;
        assert_eq!(collapse.stats().joined, joined + 1, "{method}");
        drop((after, later));
    }
    site.gate.let_through();
    assert_eq!(before.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn a17_a_write_that_is_given_up_may_have_been_carried_out() {
    let site = Site::plain().await;
    let (collapse, client) = usual();
    let get = || client.get(site.at("/a"));
    let before = site.send(&collapse, get()).await;
    let slow = Body::wrap(http_body_util::StreamBody::new(stream::pending::<
        Result<Frame<Bytes>, Infallible>,
    >()));
    let mut write = Box::pin(client.post(site.at("/a")).body(slow).send());
    assert!((&mut write).now_or_never().is_none());
    drop(write);
    let after = site.send(&collapse, get()).await;
    assert_eq!((site.seen().len(), collapse.stats().joined), (2, 0));
    site.gate.let_through();
    for answer in [before, after] {
        assert_eq!(answer.await.unwrap().unwrap().status(), 200);
    }
}

#[tokio::test]
async fn d16_a_response_that_is_broken_off_is_an_error_for_all_and_not_remembered() {
    let left = Arc::new(AtomicUsize::new(1));
    let broken = left.clone();
    let site = Site::start(move |_| match broken.swap(0, Ordering::Relaxed) {
        0 => Response::new("whole".into()),
        _ => broken_off(),
    })
    .await;
    let (collapse, client) = usual();
    let get = || client.get(site.at("/a"));
    let calls = [
        site.send(&collapse, get()).await,
        site.send(&collapse, get()).await,
        site.send(&collapse, get()).await,
    ];
    site.gate.let_through();
    for answer in join_all(calls).await {
        let error = answer.unwrap().unwrap_err();
        let error = Error::of(&error).expect("an error of the layer");
        assert!(error.request().unwrap().is_decode() || error.request().unwrap().is_body());
        assert!(!error.is_timeout() && !error.is_token());
    }
    assert_eq!(site.seen().len(), 1);

    let answer = get().send().await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "whole");
    assert_eq!(collapse.stats().failed, 1);
}

#[tokio::test]
async fn d20_a_503_is_for_all_who_wait_with_its_headers_and_for_nobody_after() {
    let site = Site::start(|_| {
        let mut response = answer(StatusCode::SERVICE_UNAVAILABLE, "busy");
        response.headers_mut().insert(RETRY_AFTER, 7.into());
        response
    })
    .await;
    let (collapse, client) = usual();
    let get = || client.get(site.at("/a"));
    let (came, answers) = site.visit(&collapse, [get(), get()]).await;
    assert_eq!(came, 1);
    for answer in answers {
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.headers()[RETRY_AFTER], "7");
    }
    get().send().await.unwrap();
    assert_eq!(site.seen().len(), 2);
}

#[tokio::test]
async fn a29_a_flight_that_takes_too_long_ends_and_its_key_is_free() {
    let collapse = Collapse::builder(reqwest::Client::new())
        .max_flight(Duration::from_secs(1))
        .build();
    let client = collapse.clone().into_client();
    let site = Site::plain().await;
    let calls = [
        site.send(&collapse, client.get(site.at("/a"))).await,
        site.send(&collapse, client.get(site.at("/a"))).await,
    ];
    // SLEEP: it takes the second of the limit; the server and its sockets are on the real clock.
    for answer in join_all(calls).await {
        let error = answer.unwrap().unwrap_err();
        assert!(Error::of(&error).unwrap().is_timeout());
    }
    site.gate.let_through();
    assert_eq!(
        client.get(site.at("/a")).send().await.unwrap().status(),
        200
    );
}

#[tokio::test]
async fn a8_a_short_limit_of_one_caller_is_no_limit_for_another() {
    let site = Site::plain().await;
    let (collapse, client) = usual();
    let hurried = client.get(site.at("/a")).timeout(Duration::from_secs(1));
    let hurried = site.send(&collapse, hurried).await;
    let patient = site.send(&collapse, client.get(site.at("/a"))).await;
    // SLEEP: it takes the second of the limit; the server and its sockets are on the real clock.
    let error = hurried.await.unwrap().unwrap_err();
    assert!(Error::of(&error).unwrap().is_timeout());
    site.gate.let_through();
    assert_eq!(patient.await.unwrap().unwrap().status(), 200);
}
