//! A token for each identity, which the request names.

use crate::authority::Authority;
use crate::clients::{client, source};
use futures_util::future::join_all;
use http::StatusCode;
use oneflight::token::{Identity, Tokens};
use oneflight_reqwest::{Error, NoBearer};
use std::collections::HashMap;

#[tokio::test]
async fn e17_each_identity_has_a_token_and_a_refresh_of_its_own() {
    let server = Authority::start().await;
    let identity = |name: &str| Identity::new().tenant("acme").user(name);
    let mut sources = HashMap::new();
    // The server takes the token that it has issued last: that of Bob.
    for name in ["ada", "bob"] {
        sources.insert(identity(name), source(&server).await);
    }
    let tokens = Tokens::at_most(2, move |whose: &Identity| sources[whose].clone());
    let client = client(&server.url, tokens);
    let get = async |name: &'static str| {
        let request = client.get(server.at("/a")).with_extension(identity(name));
        request.send().await.unwrap().status()
    };

    assert_eq!(get("bob").await, StatusCode::OK);
    assert_eq!(server.seen("/a")[0].bearer(), Some("access-2"));
    assert_eq!(get("ada").await, StatusCode::OK);
    let redemptions = server.redemptions();
    assert_eq!(redemptions.len(), 1);
    assert_eq!(
        redemptions[0].body,
        "grant_type=refresh_token&refresh_token=refresh-1"
    );

    // Now it is Bob's that is over.
    let statuses = join_all((0..10).map(|_| get("bob"))).await;
    assert_eq!(statuses, [StatusCode::OK; 10]);
    assert_eq!(server.redemptions().len(), 2);
    assert_eq!(server.revoked(), 0);
}

#[tokio::test]
async fn e7_e17_a_resource_that_refuses_everybody_is_one_refresh_for_each_of_them() {
    const MANY: usize = 100;
    let server = Authority::start().await;
    let mut sources = HashMap::new();
    for number in 0..MANY {
        sources.insert(number, source(&server).await);
    }
    let client = client(
        &server.url,
        Tokens::new(move |number: &usize| sources[number].clone()),
    );
    for _round in 0..3 {
        for number in 0..MANY {
            let request = client.get(server.at("/never")).with_extension(number);
            request.send().await.unwrap();
        }
        assert_eq!(server.redemptions().len(), MANY);
    }
    assert_eq!(server.revoked(), 0);
}

#[tokio::test]
async fn a_request_that_names_nobody_is_not_sent() {
    let server = Authority::start().await;
    let one = source(&server).await;
    let tokens = Tokens::at_most(1, move |_: &Identity| one.clone());
    let client = client(&server.url, tokens);
    let error = client.get(server.at("/a")).send().await.unwrap_err();
    let error = Error::of(&error).unwrap();
    assert!(error.is_identity() && !error.is_token());
    assert!(error.to_string().contains("Identity"), "{error}");

    let named = |name: &str| {
        let identity = Identity::new().user(name);
        client.get(server.at("/a")).with_extension(identity)
    };
    named("ada").send().await.unwrap();
    let error = named("bob").send().await.unwrap_err();
    assert!(Error::of(&error).unwrap().is_identity());
    assert_eq!(server.seen("/a").len(), 1);

    // One that wants no token needs no identity.
    let request = client.get(server.at("/b")).with_extension(NoBearer);
    assert_eq!(
        request.send().await.unwrap().status(),
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(server.seen("/b").len(), 1);
}
