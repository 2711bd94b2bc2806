//! Which requests are the same.

use super::site::{Site, part, usual};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, AUTHORIZATION, COOKIE, HOST, HeaderName,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, RANGE,
};
use http::{Method, Version};
use oneflight::token::Identity;
use oneflight_reqwest::{Alone, Collapse, NoBearer, Part};
use reqwest_middleware::{ClientWithMiddleware, RequestBuilder};
use std::time::Duration;

/// Sends two requests, one of which is changed: true if one answered both.
async fn shared(
    collapse: &Collapse,
    client: &ClientWithMiddleware,
    change: impl Fn(RequestBuilder) -> RequestBuilder,
) -> bool {
    let site = Site::plain().await;
    let get = || client.get(site.at("/a?q=1")).header("x-always", "1");
    let (came, answers) = site.visit(collapse, [get(), change(get())]).await;
    assert_eq!(answers.len(), 2);
    came == 1
}

/// The same, for a layer with the usual options.
async fn usually_shared(change: impl Fn(RequestBuilder) -> RequestBuilder) -> bool {
    let (collapse, client) = usual();
    shared(&collapse, &client, change).await
}

#[tokio::test]
async fn requests_that_nothing_distinguishes_are_one_and_each_has_its_own_response() {
    let site = Site::plain().await;
    let (collapse, client) = usual();
    let get = || client.get(site.at("/a?q=1"));
    let (came, answers) = site.visit(&collapse, [get(), get(), get()]).await;
    assert_eq!(came, 1);
    let parts: Vec<_> = answers.iter().map(part).collect();
    assert_eq!(parts, [Part::Led, Part::Joined, Part::Joined]);
    for answer in answers {
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.version(), Version::HTTP_11);
        assert_eq!(answer.url(), &site.at("/a?q=1"));
        assert_eq!(answer.headers()["content-length"], "6");
        assert_eq!(answer.content_length(), Some(6));
        assert_eq!(
            answer.remote_addr().unwrap().port(),
            site.at("/").port().unwrap()
        );
        assert_eq!(answer.text().await.unwrap(), "/a?q=1");
    }
}

#[tokio::test]
async fn d3_d9_d10_requests_that_differ_in_any_header_are_two() {
    assert!(usually_shared(|request| request).await);
    for name in [
        ACCEPT,
        ACCEPT_ENCODING,
        ACCEPT_LANGUAGE,
        AUTHORIZATION,
        COOKIE,
        HOST,
        IF_MODIFIED_SINCE,
        IF_NONE_MATCH,
        RANGE,
        HeaderName::from_static("x-tenant-that-nobody-has-told-us-of"),
    ] {
        let two = usually_shared(|request| request.header(&name, "bytes=0-1")).await;
        assert!(!two, "{name}");
    }
    // A second value of the same name.
    assert!(!usually_shared(|request| request.header("x-always", "1")).await);
}

#[tokio::test]
async fn d7_d8_requests_that_differ_in_what_is_asked_for_or_how_are_two() {
    let site = Site::plain().await;
    let (collapse, client) = usual();
    let mut other_host = site.at("/a?q=1");
    other_host.set_host(Some("localhost")).unwrap();
    let requests = [
        client.get(site.at("/a?q=1")),
        client.get(site.at("/a?q=2")),
        client.get(site.at("/a")),
        client.get(site.at("/A?q=1")),
        client.get(other_host),
        client.head(site.at("/a?q=1")),
        client
            .get(site.at("/a?q=1"))
            .timeout(Duration::from_secs(60)),
        client
            .get(site.at("/a?q=1"))
            .timeout(Duration::from_secs(61)),
        client.get(site.at("/a?q=1")).version(Version::HTTP_10),
    ];
    let (came, answers) = site.visit(&collapse, requests).await;
    assert_eq!(came, 9);
    assert_eq!(collapse.stats().started, 9);
    let mut texts = Vec::new();
    for answer in answers {
        texts.push(answer.text().await.unwrap());
    }
    let q1 = "/a?q=1";
    assert_eq!(texts, [q1, "/a?q=2", "/a", "/A?q=1", q1, "", q1, q1, q1]);
}

#[tokio::test]
async fn d11_d25_requests_that_change_something_or_have_a_body_go_alone() {
    let site = Site::plain().await;
    let (collapse, client) = usual();
    let methods = [
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    for method in methods {
        let ask = || client.request(method.clone(), site.at("/a"));
        site.visit(&collapse, [ask(), ask()]).await;
        site.gate.shut();
    }
    let fat = || client.get(site.at("/a")).body("which");
    let (came, answers) = site.visit(&collapse, [fat(), fat()]).await;
    assert_eq!((came, collapse.stats().started), (12, 0));
    assert!(answers.iter().all(|answer| part(answer) == Part::Alone));
}

#[tokio::test]
async fn d21_requests_for_a_line_that_stays_open_go_alone() {
    let site = Site::plain().await;
    let (collapse, client) = usual();
    let upgrade = || client.get(site.at("/a")).header("upgrade", "websocket");
    let accept = "text/html, Text/Event-Stream;q=0.9";
    let events = || client.get(site.at("/a")).header(ACCEPT, accept);
    let (came, _) = site
        .visit(&collapse, [upgrade(), upgrade(), events(), events()])
        .await;
    assert_eq!((came, collapse.stats().started), (4, 0));
}

#[tokio::test]
async fn what_marks_a_request_belongs_to_its_key_or_sends_it_alone() {
    #[derive(Clone, Hash, PartialEq, Eq)]
    struct Customer(u32);

    let identity = |name: &str| Identity::new().user(name);
    assert!(!usually_shared(|request| request.with_extension(identity("ada"))).await);
    assert!(!usually_shared(|request| request.with_extension(NoBearer)).await);
    assert!(!usually_shared(|request| request.with_extension(Alone)).await);
    // Unknown: not even two of the same are.
    assert!(!usually_shared(|request| request.with_extension(Customer(1))).await);

    let collapse = || Collapse::builder(reqwest::Client::new());
    let passing = collapse().pass_over::<Customer>().build();
    let client = passing.clone().into_client();
    assert!(
        shared(&passing, &client, |request| request
            .with_extension(Customer(1)))
        .await
    );

    let keyed = collapse().key_by::<Customer>().build();
    let client = keyed.clone().into_client();
    let site = Site::plain().await;
    let get = |customer| client.get(site.at("/a")).with_extension(Customer(customer));
    let (came, _) = site.visit(&keyed, [get(1), get(2), get(1)]).await;
    assert_eq!((came, keyed.stats().joined), (2, 1));
}

#[tokio::test]
async fn a_header_that_is_passed_over_does_not_distinguish() {
    let trace = HeaderName::from_static("traceparent");
    let collapse = Collapse::builder(reqwest::Client::new())
        .pass_over_header(trace)
        .build();
    let client = collapse.clone().into_client();
    let traced = |request: RequestBuilder| request.header("Traceparent", "00-2-2-01");
    assert!(shared(&collapse, &client, traced).await);
}
