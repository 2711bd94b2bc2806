//! The layer that sends a token along: what it adds, and what it does about a 401.

use crate::authority::{Authority, PATIENCE};
use crate::clients::{No, Source, causes, client, logged_out, refresh, source};
use bytes::Bytes;
use futures_util::future::join_all;
use http::StatusCode;
use http::header::AUTHORIZATION;
use http_body_util::Full;
use oneflight::Tokio;
use oneflight::token::{Failure, TokenSource};
use oneflight_reqwest::{Bearer, Error, NoBearer};
use reqwest::Body;
use reqwest_middleware::ClientBuilder;
use std::error::Error as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A body that can be read once.
fn stream(text: &'static str) -> Body {
    Body::wrap(Full::new(Bytes::from_static(text.as_bytes())))
}

#[tokio::test]
async fn a_request_has_the_token() {
    let server = Authority::start().await;
    let client = client(&server.url, source(&server).await);
    let response = client.get(server.at("/a")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(server.seen("/a")[0].bearer(), Some("access-1"));
}

#[tokio::test]
async fn a_token_that_expired_is_renewed_and_the_request_sent_again() {
    let server = Authority::start().await;
    let client = client(&server.url, source(&server).await);
    server.expire();
    let request = client.post(server.at("/a")).body("the whole of it");
    let response = request.header("x-own", "kept").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);

    let seen = server.seen("/a");
    let bearers: Vec<_> = seen.iter().map(|asked| asked.bearer().unwrap()).collect();
    assert_eq!(bearers, ["access-1", "access-2"]);
    for asked in &seen {
        assert_eq!(asked.body, "the whole of it");
        assert_eq!(asked.header("x-own"), Some("kept"));
    }
    assert_eq!(server.redemptions().len(), 1);
}

#[tokio::test]
async fn e7_a_401_to_the_second_request_is_returned() {
    let server = Authority::start().await;
    let client = client(&server.url, source(&server).await);
    let response = client.get(server.at("/never")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(response.text().await.unwrap(), "who are you?");
    assert_eq!(server.seen("/never").len(), 2);
    assert_eq!(server.redemptions().len(), 1);
}

#[tokio::test]
async fn e7_a_resource_that_refuses_every_token_is_not_one_refresh_for_each_request() {
    let server = Authority::start().await;
    let client = client(&server.url, source(&server).await);
    for _ in 0..5 {
        let calls = (0..10).map(|_| client.get(server.at("/never")).send());
        for response in join_all(calls).await {
            assert_eq!(response.unwrap().status(), StatusCode::UNAUTHORIZED);
        }
    }
    assert_eq!(server.redemptions().len(), 1);
    assert_eq!(server.seen("/never").len(), 5 * 10 + 10);
    let response = client.get(server.at("/a")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test]
async fn e7_past_the_pause_it_is_tried_again() {
    let server = Authority::start().await;
    let bearer = Bearer::only_to(&server.url, source(&server).await).pause(Duration::ZERO);
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(bearer)
        .build();
    for round in 1..=3 {
        client.get(server.at("/never")).send().await.unwrap();
        assert_eq!(server.redemptions().len(), round);
    }
}

#[tokio::test]
async fn e16_a_body_that_is_a_stream_is_not_sent_again_and_the_next_request_has_a_good_token() {
    let server = Authority::start().await;
    let client = client(&server.url, source(&server).await);
    server.expire();
    let response = client.post(server.at("/a")).body(stream("once")).send();
    let response = response.await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(response.text().await.unwrap(), "who are you?");
    let seen = server.seen("/a");
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].body, "once");

    // The refresh has begun by itself: nothing else would ever end the 401s of a caller who sends streams.
    let response = client.post(server.at("/b")).body(stream("twice")).send();
    assert_eq!(response.await.unwrap().status(), StatusCode::OK);
    assert_eq!(server.seen("/b").len(), 1);
    assert_eq!(server.redemptions().len(), 1);
}

#[tokio::test]
async fn e7_e16_a_resource_that_refuses_every_stream_is_not_one_refresh_for_each() {
    let server = Authority::start().await;
    let source = source(&server).await;
    let client = client(&server.url, source.clone());
    for _ in 0..10 {
        let request = client.post(server.at("/never")).body(stream("a")).send();
        assert_eq!(request.await.unwrap().status(), StatusCode::UNAUTHORIZED);
        // Others have no trouble, and that is no reason to begin anew.
        let response = client.get(server.at("/a")).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
    }
    assert_eq!(server.redemptions().len(), 1);

    // A request that can be sent again is no worse off for it.
    server.expire();
    let response = client.get(server.at("/a")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(server.redemptions().len(), 2);
}

#[tokio::test]
async fn e7_past_the_pause_a_stream_has_the_token_renewed_again() {
    let server = Authority::start().await;
    let bearer = Bearer::only_to(&server.url, source(&server).await).pause(Duration::ZERO);
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(bearer)
        .build();
    for round in 1..=3 {
        let request = client.post(server.at("/never")).body(stream("a")).send();
        request.await.unwrap();
        // It waits for what began behind.
        client.get(server.at("/a")).send().await.unwrap();
        assert_eq!(server.redemptions().len(), round);
    }
}

#[tokio::test]
async fn e3_a_late_401_for_a_token_that_was_replaced_starts_no_refresh() {
    let server = Authority::start().await;
    let client = client(&server.url, source(&server).await);
    server.late.shut();
    let late = tokio::spawn(client.get(server.at("/late")).send());
    server.late.came(1).await;
    server.expire();
    let response = client.get(server.at("/a")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);

    server.late.let_through();
    assert_eq!(late.await.unwrap().unwrap().status(), StatusCode::OK);
    let seen = server.seen("/late");
    let bearers: Vec<_> = seen.iter().map(|asked| asked.bearer().unwrap()).collect();
    assert_eq!(bearers, ["access-1", "access-2"]);
    assert_eq!(server.redemptions().len(), 1);
}

#[tokio::test]
async fn e9_a_refresh_that_fails_is_the_error_of_all_who_needed_it() {
    let server = Authority::start().await;
    let client = client(&server.url, source(&server).await);
    server.expire();
    // Somebody else has used the refresh token.
    let thief = reqwest::Client::new();
    let form = "grant_type=refresh_token&refresh_token=refresh-1";
    thief
        .post(server.at("/token"))
        .body(form)
        .send()
        .await
        .unwrap();
    server.expire();

    let calls = (0..20).map(|_| client.get(server.at("/a")).send());
    for error in join_all(calls).await.into_iter().map(Result::unwrap_err) {
        let error = Error::of(&error).expect("an error of the layer");
        assert!(error.is_token() && error.needs_login());
        let cause = error.source().unwrap();
        let cause = cause.downcast_ref::<oneflight::Error<Failure<No>>>();
        assert!(cause.unwrap().needs_login());
        assert!(!format!("{error:?} {}", causes(error)).contains("refresh-1"));
    }
    assert_eq!(server.redemptions().len(), 2);
}

/// A source that refreshes by the very client that it serves, and that client.
fn of_one_client(
    server: &Authority,
    marked: bool,
) -> (Source, reqwest_middleware::ClientWithMiddleware) {
    let itself = Arc::new(OnceLock::<reqwest_middleware::ClientWithMiddleware>::new());
    let (it, url) = (itself.clone(), server.at("/token"));
    let source = TokenSource::builder(Tokio, Tokio).build(move |token| {
        let request = it.get().unwrap().post(url.clone());
        let request = if marked {
            request.with_extension(NoBearer)
        } else {
            request
        };
        refresh(request, token)
    });
    let client = client(&server.url, source.clone());
    itself.set(client.clone()).unwrap();
    (source, client)
}

#[tokio::test]
async fn e8_a_refresh_that_is_marked_goes_through_the_layer_untouched() {
    let server = Authority::start().await;
    let (source, client) = of_one_client(&server, true);
    source.replace(server.login()).await.unwrap();
    server.expire();
    let response = tokio::time::timeout(PATIENCE, client.get(server.at("/a")).send());
    assert_eq!(response.await.unwrap().unwrap().status(), StatusCode::OK);
    let redemptions = server.redemptions();
    assert_eq!(redemptions.len(), 1);
    assert_eq!(redemptions[0].header(AUTHORIZATION), None);
}

#[tokio::test]
async fn e8_a_refresh_that_is_not_marked_is_an_error_and_neither_hangs_nor_recurs() {
    let server = Authority::start().await;
    let (source, client) = of_one_client(&server, false);
    source.replace(server.login()).await.unwrap();
    server.expire();
    let answer = tokio::time::timeout(PATIENCE, client.get(server.at("/a")).send());
    let error = answer.await.expect("it waits for itself").unwrap_err();
    assert!(Error::of(&error).unwrap().is_token());
    assert!(
        causes(&error).contains("waits for itself"),
        "{}",
        causes(&error)
    );
    assert_eq!(server.redemptions().len(), 0);
}

#[tokio::test]
async fn e8_a_refresh_by_a_client_of_its_own_is_not_intercepted() {
    let server = Authority::start().await;
    // Where the refresh goes to is where the token goes to, too.
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(Bearer::to_any_origin(source(&server).await))
        .build();
    server.expire();
    let response = client.get(server.at("/a")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(server.redemptions()[0].header(AUTHORIZATION), None);
}

#[tokio::test]
async fn an_authorization_of_the_caller_stays_and_its_401_is_returned() {
    let server = Authority::start().await;
    let client = client(&server.url, source(&server).await);
    let request = client
        .get(server.at("/a"))
        .basic_auth("ada", Some("lovelace"));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    let seen = server.seen("/a");
    assert_eq!(seen.len(), 1);
    assert!(seen[0].header(AUTHORIZATION).unwrap().starts_with("Basic "));
    assert_eq!(server.redemptions().len(), 0);
}

#[tokio::test]
async fn a_401_is_returned_at_once_if_no_other_token_would_help() {
    let server = Authority::start().await;
    let client = client(&server.url, source(&server).await);
    server.expire();
    let useless: [&[&'static str]; 3] = [
        &["Bearer error=\"insufficient_scope\", scope=\"write\""],
        &["Basic realm=\"Bearer\"", "Digest realm=\"api\""],
        &["Basic realm=\"a\", Bearer realm=\"b\", error=\"invalid_request\""],
    ];
    for (number, challenges) in useless.into_iter().enumerate() {
        server.challenge(challenges);
        let path = format!("/{number}");
        let response = client.get(server.at(&path)).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(server.seen(&path).len(), 1);
    }
    assert_eq!(server.redemptions().len(), 0);

    server.challenge(&["Basic realm=\"a, Bearer error=x\"", "Bearer realm=\"b\""]);
    let response = client.get(server.at("/b")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    server.expire();
    server.challenge(&[]);
    let response = client.get(server.at("/c")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(server.redemptions().len(), 2);
}

#[tokio::test]
async fn a_request_that_is_dropped_while_its_token_is_renewed_leaves_the_refresh_alone() {
    let server = Authority::start().await;
    let desk = server.desk.clone();
    let client = client(&server.url, source(&server).await);
    server.expire();
    desk.shut();
    let request = client.get(server.at("/a")).send();
    let waiting = tokio::spawn(request);
    desk.came(1).await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    desk.let_through();
    let response = client.get(server.at("/b")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!((server.redeemed(), server.revoked()), (1, 0));
}

#[tokio::test]
async fn without_a_login_nothing_is_sent() {
    let server = Authority::start().await;
    let client = client(&server.url, logged_out(&server));
    let error = client.get(server.at("/a")).send().await.unwrap_err();
    assert!(Error::of(&error).unwrap().needs_login());
    assert_eq!(server.seen("/a").len(), 0);
}

#[tokio::test]
async fn a_token_that_no_header_may_hold_is_an_error_without_it() {
    let server = Authority::start().await;
    let source = logged_out(&server);
    let grant = oneflight::token::Grant::new("secret\nX-Other: 1");
    source.replace(grant).await.unwrap();
    let client = client(&server.url, source);
    let error = client.get(server.at("/a")).send().await.unwrap_err();
    let text = format!("{error:?} {}", causes(&error));
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(server.seen("/a").len(), 0);
}

#[tokio::test]
async fn a_token_is_in_no_debug_of_a_request() {
    let server = Authority::start().await;
    let seen = Arc::new(OnceLock::new());
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(Bearer::only_to(&server.url, source(&server).await))
        .with(Look(seen.clone()))
        .build();
    client.get(server.at("/a")).send().await.unwrap();
    let debug: &String = seen.get().unwrap();
    assert!(
        debug.contains("authorization") && !debug.contains("access-1"),
        "{debug}"
    );
}

/// Keeps what a request looks like below the layer.
struct Look(Arc<OnceLock<String>>);

#[async_trait::async_trait]
impl reqwest_middleware::Middleware for Look {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut http::Extensions,
        next: reqwest_middleware::Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        self.0.set(format!("{request:?}")).unwrap();
        next.run(request, extensions).await
    }
}
