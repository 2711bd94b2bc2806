//! The refresher that speaks OAuth 2.0, against a server that rotates, is slow, and loses answers.

use crate::authority::{Authority, Fault, field};
use crate::clients::{causes, client};
use ::oauth2::basic::BasicClient;
use ::oauth2::{AuthType, ClientId, ClientSecret, EndpointNotSet, EndpointSet, TokenUrl};
use http::StatusCode;
use http::header::AUTHORIZATION;
use oneflight::Tokio;
use oneflight::token::{Failure, Grant, Secret, TokenSource};
use oneflight_reqwest::oauth2::{Error, OAuth2};
use reqwest::redirect::Policy;
use std::time::Duration;

type App = BasicClient<EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

fn app(server: &Authority) -> App {
    BasicClient::new(ClientId::new("app".to_owned()))
        .set_client_secret(ClientSecret::new("of-the-app".to_owned()))
        .set_token_uri(TokenUrl::new(server.at("/token").to_string()).unwrap())
}

fn oauth2(server: &Authority) -> OAuth2 {
    OAuth2::new(app(server), reqwest::Client::builder()).unwrap()
}

async fn source(server: &Authority) -> TokenSource<Error> {
    let source = TokenSource::builder(Tokio, Tokio).build(oauth2(server).refresher());
    source.replace(server.login()).await.unwrap();
    source
}

/// What one refresh comes to, for a source that takes no second one by itself.
async fn failure(server: &Authority) -> Failure<Error> {
    let source = TokenSource::builder(Tokio, Tokio)
        .grace(Duration::ZERO)
        .build(oauth2(server).refresher());
    source.replace(server.login()).await.unwrap();
    let old = source.token().await.unwrap();
    let error = source.rejected(&old).await.unwrap_err();
    let failure = Failure::clone(error.work().unwrap());
    // O1: wherever it may be written.
    let text = format!("{error:?} {} {failure:?}", causes(&error));
    for secret in ["refresh-", "access-", "of-the-app", "token\":"] {
        assert!(!text.contains(secret), "{text}");
    }
    failure
}

#[tokio::test]
async fn a_refresh_says_who_asks_and_what_for() {
    let server = Authority::start().await;
    let oauth2 = oauth2(&server)
        .scopes(["read", "write all"])
        .parameter("audience", "api&more");
    let grant = oauth2.refresh(Secret::from("refresh-0")).await.unwrap();
    let pair = grant.into_pair(std::time::UNIX_EPOCH);
    assert_eq!(pair.access().expose(), "access-1");
    assert_eq!(pair.refresh().unwrap().expose(), "refresh-1");
    let hour = std::time::UNIX_EPOCH + Duration::from_secs(3600);
    assert_eq!(pair.expires_at(), Some(hour));

    let asked = &server.redemptions()[0];
    assert_eq!(field(asked, "grant_type").unwrap(), "refresh_token");
    assert_eq!(field(asked, "refresh_token").unwrap(), "refresh-0");
    assert_eq!(field(asked, "scope").unwrap(), "read write all");
    assert_eq!(field(asked, "audience").unwrap(), "api&more");
    // app:of-the-app
    assert_eq!(
        asked.header(AUTHORIZATION),
        Some("Basic YXBwOm9mLXRoZS1hcHA=")
    );
    assert!(!format!("{oauth2:?}").contains("of-the-app"), "{oauth2:?}");

    let in_body = app(&server).set_auth_type(AuthType::RequestBody);
    let oauth2 = OAuth2::new(in_body, reqwest::Client::builder()).unwrap();
    oauth2.refresh(Secret::from("refresh-1")).await.unwrap();
    let asked = &server.redemptions()[1];
    assert_eq!(field(asked, "client_secret").unwrap(), "of-the-app");
    assert_eq!(field(asked, "scope"), None);
}

#[tokio::test]
async fn a_refresh_token_that_is_not_replaced_stays() {
    let server = Authority::start().await;
    server.keep_refresh_tokens();
    let client = client(&server.url, source(&server).await);
    for round in 1..=3 {
        server.expire();
        let response = client.get(server.at("/a")).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(server.redemptions().len(), round);
    }
    let sent = server.redemptions();
    let sent: Vec<_> = sent
        .iter()
        .filter_map(|asked| field(asked, "refresh_token"))
        .collect();
    assert_eq!(sent, ["refresh-1"; 3]);
}

#[tokio::test]
async fn e15_invalid_grant_is_told_once_and_never_sent_again() {
    let server = Authority::start().await;
    let source = source(&server).await;
    let client = client(&server.url, source.clone());
    source
        .replace(Grant::new("over").refresh("revoked by the user"))
        .await
        .unwrap();
    for _ in 0..5 {
        let error = client.get(server.at("/a")).send().await.unwrap_err();
        let error = oneflight_reqwest::Error::of(&error).unwrap();
        assert!(error.needs_login());
        assert!(causes(error).contains("invalid_grant"), "{}", causes(error));
    }
    assert_eq!(server.redemptions().len(), 1);

    let github = r#"{"error":"bad_refresh_token","error_description":"no refresh-2 here"}"#;
    server.fail(Fault::Instead(StatusCode::OK, &[], github));
    let failure = failure(&server).await;
    assert!(failure.needs_login());
    let error = failure.refresher().unwrap();
    assert_eq!(error.code(), Some("bad_refresh_token"));
    // It repeats the token.
    assert_eq!(error.description(), None);
}

#[tokio::test]
async fn e13_an_answer_that_was_lost_is_asked_for_again_with_the_same_token() {
    let server = Authority::start().await;
    server.be_lenient();
    let client = client(&server.url, source(&server).await);
    server.expire();
    server.fail(Fault::Lost);
    let response = client.get(server.at("/a")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let sent = server.redemptions();
    let sent: Vec<_> = sent
        .iter()
        .filter_map(|asked| field(asked, "refresh_token"))
        .collect();
    assert_eq!(sent, ["refresh-1"; 2]);
    assert_eq!((server.redeemed(), server.revoked()), (1, 0));
}

#[tokio::test]
async fn what_was_redeemed_perhaps_is_lost() {
    let server = Authority::start().await;
    let lost = [
        Fault::Lost,
        Fault::Garbled(StatusCode::OK, "<html>"),
        Fault::Garbled(StatusCode::OK, r#"{"access_token":"access-9"}"#),
        Fault::Garbled(StatusCode::OK, ""),
        Fault::Garbled(StatusCode::CREATED, r#"{"access_token":"access-9"}"#),
        Fault::Instead(
            StatusCode::INTERNAL_SERVER_ERROR,
            &[],
            r#"{"error":"invalid_grant"}"#,
        ),
        Fault::Instead(StatusCode::BAD_GATEWAY, &[], ""),
        // As a proxy says whose server had the request, and broke.
        Fault::Instead(StatusCode::SERVICE_UNAVAILABLE, &[], ""),
        Fault::Instead(StatusCode::SERVICE_UNAVAILABLE, &[], "upstream reset"),
        Fault::Instead(
            StatusCode::SERVICE_UNAVAILABLE,
            &[("retry-after", "soon")],
            "",
        ),
        Fault::Instead(
            StatusCode::SERVICE_UNAVAILABLE,
            &[],
            r#"{"error":"server_error"}"#,
        ),
    ];
    for fault in lost {
        server.fail(fault.clone());
        let failure = failure(&server).await;
        assert!(failure.is_lost(), "{fault:?}: {failure:?}");
        assert!(!failure.needs_login());
    }
}

#[tokio::test]
async fn what_was_turned_away_for_now_is_transient_and_says_for_how_long() {
    let server = Authority::start().await;
    let busy = StatusCode::SERVICE_UNAVAILABLE;
    let away = r#"{"error":"temporarily_unavailable"}"#;
    let bad = StatusCode::BAD_REQUEST;
    let cases = [
        (
            Fault::Instead(busy, &[("retry-after", "120")], "<html>"),
            Some(120),
        ),
        (
            Fault::Instead(StatusCode::TOO_MANY_REQUESTS, &[("retry-after", "7")], ""),
            Some(7),
        ),
        (Fault::Instead(bad, &[], away), None),
        (Fault::Instead(busy, &[], away), None),
    ];
    for (fault, seconds) in cases {
        server.fail(fault.clone());
        let failure = failure(&server).await;
        assert!(failure.is_transient(), "{fault:?}: {failure:?}");
        let wait = failure.retry_after().unwrap();
        match seconds {
            Some(seconds) => assert_eq!(wait, Duration::from_secs(seconds)),
            // The pause of the source itself.
            None => assert!(wait < Duration::from_secs(2), "{wait:?}"),
        }
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_transient() {
    let server = Authority::start().await;
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = format!("http://{}/token", listener.local_addr().unwrap());
    drop(listener);
    let app = app(&server).set_token_uri(TokenUrl::new(nowhere).unwrap());
    let oauth2 = OAuth2::by_client(app, reqwest::Client::new());
    let source = TokenSource::builder(Tokio, Tokio).build(oauth2.refresher());
    source.replace(server.login()).await.unwrap();
    let old = source.token().await.unwrap();
    let error = source.rejected(&old).await.unwrap_err();
    assert!(error.work().unwrap().is_transient(), "{error:?}");
    assert_eq!(
        causes(&error).matches("http://").count(),
        0,
        "{}",
        causes(&error)
    );
}

#[tokio::test]
async fn what_is_refused_for_another_reason_is_no_matter_of_the_token() {
    let server = Authority::start().await;
    let refused: [(StatusCode, &'static str, Option<&str>); 4] = [
        (
            StatusCode::UNAUTHORIZED,
            r#"{"error":"invalid_client"}"#,
            Some("invalid_client"),
        ),
        (
            StatusCode::BAD_REQUEST,
            r#"{"error":"invalid_scope"}"#,
            Some("invalid_scope"),
        ),
        (StatusCode::FORBIDDEN, "<html>", None),
        (StatusCode::NOT_FOUND, "", None),
    ];
    for (status, text, code) in refused {
        server.fail(Fault::Instead(status, &[], text));
        let failure = failure(&server).await;
        assert!(failure.is_refused(), "{status}: {failure:?}");
        let error = failure.refresher().unwrap();
        assert_eq!((error.status(), error.code()), (Some(status), code));
    }
}

#[tokio::test]
async fn an_error_code_that_is_none_is_not_shown() {
    let server = Authority::start().await;
    let long = format!(r#"{{"error":"{}"}}"#, "x".repeat(65));
    let long: &'static str = long.leak();
    let most = format!(r#"{{"error":"{}"}}"#, "x".repeat(64));
    let most: &'static str = most.leak();
    let bad = StatusCode::BAD_REQUEST;
    let hidden = [
        long,
        r#"{"error":""}"#,
        r#"{"error":"a\nforged line of a log"}"#,
        r#"{"error":"fehlgeschlagen für immer"}"#,
    ];
    for text in hidden {
        server.fail(Fault::Instead(bad, &[], text));
        let failure = failure(&server).await;
        assert!(failure.is_refused(), "{text}: {failure:?}");
        let error = failure.refresher().unwrap();
        assert_eq!((error.code(), error.status()), (None, Some(bad)));
        let shown = error.to_string();
        assert_eq!(shown, "the token endpoint answered 400 Bad Request");
    }
    server.fail(Fault::Instead(bad, &[], most));
    let failure = failure(&server).await;
    assert_eq!(failure.refresher().unwrap().code().unwrap().len(), 64);
}

#[tokio::test]
async fn a_refresh_token_goes_nowhere_else_by_way_of_a_redirect() {
    let (server, thief) = (Authority::start().await, Authority::start().await);
    let away = server.at(&format!("/led-on-with-all?{}", thief.at("/token")));
    let app = app(&server).set_token_uri(TokenUrl::new(away.to_string()).unwrap());
    let eager = Policy::limited(10);
    let http = reqwest::Client::builder().redirect(eager);
    let oauth2 = OAuth2::new(app, http).unwrap();
    let refused = oauth2.refresh(Secret::from("refresh-0")).await.unwrap_err();
    assert_eq!(
        refused.error().status(),
        Some(StatusCode::TEMPORARY_REDIRECT)
    );
    assert_eq!(thief.redemptions().len(), 0);
}

#[tokio::test]
async fn a_slow_answer_is_lost_at_the_limit_of_the_client() {
    let server = Authority::start().await;
    server.desk.shut();
    let limit = Duration::from_millis(50);
    let http = reqwest::Client::builder().timeout(limit);
    let oauth2 = OAuth2::new(app(&server), http).unwrap();
    let source = TokenSource::builder(Tokio, Tokio)
        .grace(Duration::ZERO)
        .build(oauth2.refresher());
    source.replace(server.login()).await.unwrap();
    let old = source.token().await.unwrap();
    let error = source.rejected(&old).await.unwrap_err();
    assert!(error.work().unwrap().is_lost(), "{error:?}");
}

#[tokio::test]
async fn a_client_mints_by_its_own_credentials() {
    let server = Authority::start().await;
    let minted = r#"{"access_token":"minted","token_type":"bearer"}"#;
    server.fail(Fault::Instead(StatusCode::OK, &[], minted));
    let source = TokenSource::builder(Tokio, Tokio).build_minting(oauth2(&server).minter());
    assert_eq!(source.token().await.unwrap().expose(), "minted");
    let asked = &server.redemptions()[0];
    assert_eq!(field(asked, "grant_type").unwrap(), "client_credentials");
}
