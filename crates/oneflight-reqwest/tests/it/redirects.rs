//! Where a token goes, and where it does not.

use crate::authority::Authority;
use crate::clients::{client, source};
use http::StatusCode;
use http::header::AUTHORIZATION;
use oneflight_reqwest::Bearer;
use reqwest_middleware::ClientBuilder;

#[tokio::test]
async fn another_origin_gets_no_token_by_way_of_a_redirect_and_its_401_is_returned() {
    let (server, other) = (Authority::start().await, Authority::start().await);
    // Even a layer that sends it anywhere asks for no second one.
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(Bearer::to_any_origin(source(&server).await))
        .build();
    let away = server.at(&format!("/led-on?{}", other.at("/a")));
    let response = client.get(away.clone()).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(response.url(), &other.at("/a"));

    let seen = other.seen("/a");
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].header(AUTHORIZATION), None);
    let path = format!("/led-on?{}", other.at("/a"));
    assert_eq!(server.seen(&path)[0].bearer(), Some("access-1"));
    assert_eq!(server.redemptions().len(), 0);
}

#[tokio::test]
async fn the_token_stays_on_within_its_origin_and_a_get_is_sent_again_from_the_start() {
    let server = Authority::start().await;
    let client = client(&server.url, source(&server).await);
    let there = server.at(&format!("/led-on?{}", server.at("/a")));
    let response = client.get(there.clone()).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(server.seen("/a")[0].bearer(), Some("access-1"));

    server.expire();
    let response = client.get(there).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(server.seen("/a").len(), 3);
    assert_eq!(server.redemptions().len(), 1);
}

#[tokio::test]
async fn e16_a_post_that_was_led_on_is_not_sent_again_for_it_may_have_been_carried_out() {
    let server = Authority::start().await;
    let client = client(&server.url, source(&server).await);
    server.expire();
    let path = format!("/led-on?{}", server.at("/receipt"));
    let request = client.post(server.at(&path)).body("an order");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(response.url(), &server.at("/receipt"));
    assert_eq!(server.seen(&path).len(), 1);
    assert_eq!(server.seen("/receipt").len(), 1);
}

#[tokio::test]
async fn only_the_origins_that_were_named_get_the_token() {
    let (server, friend) = (Authority::start().await, Authority::start().await);
    let stranger = Authority::start().await;
    let bearer = Bearer::only_to(&server.url, source(&server).await).and_to(&friend.url);
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(bearer)
        .build();
    for there in [&server, &friend, &stranger] {
        // A 401 of the friend's would have the token renewed; this is about what it gets.
        there.challenge(&["Basic realm=\"a\""]);
        client.get(there.at("/a")).send().await.unwrap();
    }
    assert_eq!(server.seen("/a")[0].bearer(), Some("access-1"));
    assert_eq!(friend.seen("/a")[0].bearer(), Some("access-1"));
    assert_eq!(stranger.seen("/a")[0].header(AUTHORIZATION), None);

    // The same host at the same port, said in another way, is another origin: it is not known to be the same.
    let mut named = server.at("/b");
    named.set_host(Some("localhost")).unwrap();
    client.get(named).send().await.unwrap();
    assert_eq!(server.seen("/b")[0].header(AUTHORIZATION), None);
}
