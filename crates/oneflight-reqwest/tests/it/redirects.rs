//! Where a token goes, and where it does not.

use crate::authority::Authority;
use crate::clients::{client, source};
use futures_util::future::join_all;
use http::header::AUTHORIZATION;
use http::{Method, StatusCode};
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
async fn a_401_behind_another_origin_is_no_word_on_the_token() {
    let (server, other) = (Authority::start().await, Authority::start().await);
    let client = client(&server.url, source(&server).await);
    // There and back: reqwest has taken the token off on the way.
    let back = other.at(&format!("/led-on?{}", server.at("/a")));
    let there = server.at(&format!("/led-on?{back}"));
    for _ in 0..10 {
        let response = client.get(there.clone()).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(response.url(), &server.at("/a"));
    }
    let seen = server.seen("/a");
    assert!(seen.iter().all(|asked| asked.bearer().is_none()));
    assert_eq!(server.redemptions().len(), 1);

    // The token was not held to be refused: where it is, it is renewed.
    server.expire();
    let response = client.get(server.at("/b")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(server.redemptions().len(), 2);
}

#[tokio::test]
async fn all_who_were_led_on_with_the_token_that_expired_wait_for_one_refresh() {
    let server = Authority::start().await;
    let client = client(&server.url, source(&server).await);
    server.expire();
    let there = server.at(&format!("/led-on?{}", server.at("/a")));
    let calls = (0..20).map(|_| client.get(there.clone()).send());
    for response in join_all(calls).await {
        assert_eq!(response.unwrap().status(), StatusCode::OK);
    }
    assert_eq!(server.redemptions().len(), 1);
}

#[tokio::test]
async fn e16_a_post_that_was_led_back_to_where_it_went_looks_like_one_that_was_not() {
    let server = Authority::start().await;
    for (careful, orders) in [(false, 2), (true, 1)] {
        server.expire();
        let bearer = Bearer::only_to(&server.url, source(&server).await);
        let bearer = if careful {
            bearer.never_repeat_unsafe()
        } else {
            bearer
        };
        let client = ClientBuilder::new(reqwest::Client::new())
            .with(bearer)
            .build();
        server.expire();
        let path = format!("/orders?{orders}");
        let request = client.post(server.at(&path)).body("an order");
        request.send().await.unwrap();
        let seen = server.seen(&path);
        let posts = seen.iter().filter(|asked| asked.method == Method::POST);
        assert_eq!(posts.count(), orders);

        // What changes nothing is sent again all the same.
        server.expire();
        let response = client.get(server.at("/a")).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
    }
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

#[tokio::test]
async fn a_debug_of_the_layer_shows_the_origins_and_no_secret_of_their_urls() {
    let server = Authority::start().await;
    let source = source(&server).await;
    let [api, files] = ["api", "files"].map(|host| {
        let url = format!("https://ada:pw-1@{host}.example.com:8443/pw-2?pw-3#pw-4");
        url.parse().unwrap()
    });
    let debug = format!("{:?}", Bearer::only_to(&api, source).and_to(&files));
    assert!(debug.contains("api.example.com") && debug.contains("files.example.com"));
    assert!(!debug.contains("pw-") && !debug.contains("ada"), "{debug}");
}
