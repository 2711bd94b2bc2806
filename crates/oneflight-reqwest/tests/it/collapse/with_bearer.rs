//! Both layers, in both orders: nobody gets what was asked for with the token of another.

use super::site::{Site, part};
use crate::authority::Authority;
use crate::clients::source;
use axum::response::Response;
use futures_util::future::join_all;
use oneflight::Tokio;
use oneflight::token::{Grant, Identity, TokenSource, Tokens};
use oneflight_reqwest::{Alone, Bearer, Collapse, Error, NoBearer, Part};
use reqwest::Client;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

/// A site that says whose token it got.
async fn site() -> Site {
    Site::start(|asked| {
        let whose = asked.bearer().unwrap_or("nobody").to_owned();
        Response::new(whose.into())
    })
    .await
}

fn tokens() -> Tokens<Identity, crate::clients::No> {
    Tokens::new(|identity: &Identity| {
        let name = if *identity == user("ada") {
            "ada"
        } else {
            "bob"
        };
        TokenSource::builder(Tokio, Tokio)
            .build_minting(move || async move { Ok(Grant::new(name)) })
    })
}

fn user(name: &str) -> Identity {
    Identity::new().user(name)
}

async fn nobody_gets_what_is_anothers(
    collapse: &Collapse,
    client: &ClientWithMiddleware,
    site: Site,
) {
    let get = || client.get(site.at("/me"));
    let of = |name: &str| get().with_extension(user(name));
    let requests = [
        of("ada"),
        of("bob"),
        of("ada"),
        get().with_extension(NoBearer),
        of("bob"),
    ];
    let (came, answers) = site.visit(collapse, requests).await;
    assert_eq!(came, 3);
    let mut texts = Vec::new();
    for answer in answers {
        texts.push(answer.text().await.unwrap());
    }
    assert_eq!(texts, ["ada", "bob", "ada", "nobody", "bob"]);
}

#[tokio::test]
async fn e17_with_the_bearer_above_each_identity_has_its_own_flight() {
    let site = site().await;
    let collapse = Collapse::over(Client::new());
    let client = ClientBuilder::new(Client::new())
        .with(Bearer::only_to(&site.at("/"), tokens()))
        .with(collapse.clone())
        .build();
    nobody_gets_what_is_anothers(&collapse, &client, site).await;
}

#[tokio::test]
async fn e17_with_the_bearer_below_each_identity_has_its_own_flight() {
    let site = site().await;
    let below = ClientBuilder::new(Client::new())
        .with(Bearer::only_to(&site.at("/"), tokens()))
        .build();
    let collapse = Collapse::over(below);
    let client = collapse.clone().into_client();
    nobody_gets_what_is_anothers(&collapse, &client, site).await;
}

#[tokio::test]
async fn a_layer_that_two_clients_share_keeps_their_tokens_apart() {
    let site = site().await;
    let collapse = Collapse::over(Client::new());
    let of = |name: &'static str| {
        let source: TokenSource<crate::clients::No> = TokenSource::builder(Tokio, Tokio)
            .build_minting(move || async move { Ok(Grant::new(name)) });
        ClientBuilder::new(Client::new())
            .with(Bearer::only_to(&site.at("/"), source))
            .with(collapse.clone())
            .build()
    };
    let (ada, bob) = (of("ada"), of("bob"));
    let requests = [ada.get(site.at("/me")), bob.get(site.at("/me"))];
    let (came, answers) = site.visit(&collapse, requests).await;
    assert_eq!(came, 2);
    for (answer, name) in answers.into_iter().zip(["ada", "bob"]) {
        assert_eq!(answer.text().await.unwrap(), name);
    }
}

#[tokio::test]
async fn a_layer_that_follows_is_not_asked_whether_requests_share_or_go_alone() {
    let site = site().await;
    let collapse = Collapse::over(Client::new());
    let client = ClientBuilder::new(Client::new())
        .with(collapse.clone())
        .with(Bearer::only_to(&site.at("/"), tokens()))
        .build();
    let get = || client.get(site.at("/me")).with_extension(user("ada"));
    let requests = [get(), get(), get().with_extension(Alone)];
    let (came, answers) = site.visit(&collapse, requests).await;
    assert_eq!(came, 2);
    for answer in answers {
        assert_eq!(answer.text().await.unwrap(), "nobody");
    }
}

#[tokio::test]
async fn a_burst_of_401s_is_shared_and_so_is_what_follows_the_refresh() {
    for above in [true, false] {
        let server = Authority::start().await;
        let bearer = Bearer::only_to(&server.url, source(&server).await);
        let http = ClientBuilder::new(Client::new());
        let (collapse, client) = if above {
            let collapse = Collapse::over(Client::new());
            (collapse.clone(), http.with(bearer).with(collapse).build())
        } else {
            let collapse = Collapse::over(http.with(bearer).build());
            (collapse.clone(), collapse.into_client())
        };
        server.late.shut();
        let calls = (0..50).map(|_| tokio::spawn(client.get(server.at("/late")).send()));
        let calls: Vec<_> = calls.collect();
        while collapse.stats().joined < 49 {
            tokio::task::yield_now().await;
        }
        server.late.came(1).await;
        server.expire();
        server.late.let_through();
        for answer in join_all(calls).await {
            let answer = answer.unwrap().unwrap();
            assert_eq!(answer.status(), 200);
            assert_ne!(part(&answer), Part::Alone);
        }
        assert_eq!((server.redeemed(), server.revoked()), (1, 0));
        // Above, those that come late to the second flight may need a third one.
        let sent = server.seen("/late").len();
        assert!((2..25).contains(&sent), "{sent} requests, above: {above}");
    }
}

#[tokio::test]
async fn e9_an_error_of_the_bearer_below_is_told_as_it_is_above() {
    let server = Authority::start().await;
    let bearer = Bearer::only_to(&server.url, crate::clients::logged_out(&server));
    let below = ClientBuilder::new(Client::new()).with(bearer).build();
    let client = Collapse::over(below).into_client();
    let error = client.get(server.at("/a")).send().await.unwrap_err();
    let error = Error::of(&error).unwrap();
    assert!(error.needs_login() && error.is_token());
    assert!(error.request().is_some());
}
