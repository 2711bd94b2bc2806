//! A source for each identity.

use super::authority::{Authority, No};
use super::desk::Desk;
use crate::script::{HandClock, HandSpawn};
use futures_util::FutureExt;
use oneflight::token::{Identity, MemoryStore, TokenSource, Tokens};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

fn tokens(server: &Authority, clock: &HandClock, most: usize) -> Tokens<Identity, No> {
    let (server, clock) = (server.clone(), clock.clone());
    Tokens::at_most(most, move |_: &Identity| {
        let server = server.clone();
        TokenSource::builder(clock.clone(), HandSpawn::default())
            .store(MemoryStore::new())
            .build(move |token| server.clone().refresh(token))
    })
}

#[test]
fn e17_identities_tenants_scopes_and_audiences_share_nothing() {
    let clock = HandClock::new();
    let server = Authority::new(&clock);
    let tokens = tokens(&server, &clock, 100);
    let ada = Identity::new().tenant("acme").user("ada").scopes(["read"]);
    let identities = [
        ada.clone(),
        ada.clone().user("bob"),
        ada.clone().tenant("evil"),
        ada.clone().scopes(["read", "write"]),
        ada.clone().scopes::<&str>([]),
        ada.clone().audience("https://api"),
        // Parts that would be the same if they were only written one after the other.
        Identity::new().tenant("ac").user("meada").scopes(["read"]),
        Identity::new().user("acmeada").scopes(["read"]),
    ];
    let mut first = HashMap::new();
    for identity in &identities {
        let source = tokens.source(identity).unwrap();
        assert!(
            source
                .token()
                .now_or_never()
                .unwrap()
                .unwrap_err()
                .needs_login()
        );
        let token = source
            .replace(server.login())
            .now_or_never()
            .unwrap()
            .unwrap();
        first.insert(identity.clone(), token);
    }
    let all: HashSet<_> = first
        .values()
        .map(|token| token.expose().to_owned())
        .collect();
    assert_eq!(all.len(), identities.len());

    // One is refreshed, the others stay as they are.
    let source = tokens.source(&ada).unwrap();
    let new = source
        .rejected(&first[&ada])
        .now_or_never()
        .unwrap()
        .unwrap();
    assert!(!all.contains(new.expose()));
    for identity in &identities[1..] {
        let source = tokens.source(identity).unwrap();
        assert_eq!(
            source.token().now_or_never().unwrap().unwrap(),
            first[identity]
        );
    }
    assert_eq!(server.requests().len(), 1);

    // A token of one is no news to another.
    let bob = tokens.source(&identities[1]).unwrap();
    let same = bob.rejected(&new).now_or_never().unwrap().unwrap();
    assert_eq!(same, first[&identities[1]]);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn e17_the_refresh_of_one_identity_waits_for_no_other() {
    let (mut slow, mut quick) = (Desk::new(), Desk::new());
    let (a, b) = (slow.ask(), quick.ask());
    slow.server.hold();
    let waits = slow.reject(&a);
    assert!(slow.is_waiting(waits));
    let call = quick.reject(&b);
    assert_eq!(quick.token(call).expose(), "access-2");
}

#[test]
fn there_are_no_more_identities_than_there_may_be_and_who_is_there_stays() {
    let clock = HandClock::new();
    let server = Authority::new(&clock);
    let tokens = tokens(&server, &clock, 2);
    let user = |name: &str| Identity::new().user(name);
    tokens.source(&user("ada")).unwrap();
    tokens.source(&user("bob")).unwrap();
    let full = tokens.source(&user("eve")).unwrap_err();
    assert!(full.to_string().contains("2 identities"), "{full}");
    assert!(tokens.source(&user("ada")).is_ok());
    assert!(tokens.remove(&user("bob")).is_some());
    assert!(tokens.source(&user("eve")).is_ok());
    assert_eq!((tokens.len(), tokens.is_empty()), (2, false));
}

#[test]
fn a_source_is_made_once_however_many_ask_for_it_at_once() {
    let made = Arc::new(Mutex::new(Vec::new()));
    let tokens: Tokens<u32, No> = Tokens::new({
        let made = made.clone();
        move |identity: &u32| {
            made.lock().unwrap().push(*identity);
            TokenSource::builder(HandClock::new(), HandSpawn::default())
                .name(identity.to_string())
                .build(|_| async { Err(No("nobody asks").into()) })
        }
    });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for identity in 0..100 {
                    let source = tokens.source(&identity).unwrap();
                    assert_eq!(source.name(), identity.to_string());
                }
            });
        }
    });
    assert_eq!(tokens.len(), 100);
}
