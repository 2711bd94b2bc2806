//! No secret stays in memory that was given back: the allocator looks at every block.

use super::authority::No;
use super::store::Folder;
use crate::script::{HandClock, HandSpawn};
use crate::sizes::given_back_with;
use futures_util::FutureExt;
use oneflight::token::{FileStore, Grant, MemoryStore, RefreshError, Store, TokenSource};
use std::time::Duration;

/// What every secret of this test has in it.
const MARK: &str = "to be wiped";

/// A secret, so long that a text which grows with it would move.
fn secret() -> String {
    MARK.repeat(100)
}

/// A grant whose secrets are in exactly one place each.
fn grant() -> Grant {
    Grant::new(secret())
        .refresh(secret())
        .expires_in(Duration::from_secs(60))
}

/// A source's life: a login, refreshes, a lost answer, a restart, a second login, a log out.
fn live(store: impl Store + Clone) {
    let clock = HandClock::new();
    let source = |clock: &HandClock| {
        TokenSource::<No>::builder(clock.clone(), HandSpawn::default())
            .store(store.clone())
            .grace(Duration::ZERO)
            .build(|refresh| async move {
                assert!(refresh.expose().starts_with(MARK));
                Ok(grant())
            })
    };
    let first = source(&clock);
    let mut token = first.replace(grant()).now_or_never().unwrap().unwrap();
    for _ in 0..3 {
        token = first.rejected(&token).now_or_never().unwrap().unwrap();
    }
    let second = source(&clock);
    token = second.token().now_or_never().unwrap().unwrap();
    clock.advance(Duration::from_secs(60));
    assert_ne!(second.token().now_or_never().unwrap().unwrap(), token);
    drop(first);
    let third = TokenSource::<No>::builder(clock, HandSpawn::default())
        .store(store.clone())
        .build(|_| async { Err(RefreshError::invalid_grant(No("revoked"))) });
    let token = third.token().now_or_never().unwrap().unwrap();
    let error = third.rejected(&token).now_or_never().unwrap().unwrap_err();
    assert!(error.needs_login());
    third.replace(grant()).now_or_never().unwrap().unwrap();
    third.log_out().now_or_never().unwrap().unwrap();
}

#[test]
fn what_is_not_wiped_is_seen() {
    let seen = given_back_with(MARK.as_bytes(), || drop(String::from(MARK)));
    assert_eq!(seen, 1);
    let mut grows = String::with_capacity(MARK.len());
    let seen = given_back_with(MARK.as_bytes(), || {
        grows = String::from(MARK);
        grows.push('!');
    });
    assert_eq!(seen, 1, "it left a copy behind when it grew");
}

#[test]
fn no_secret_stays_in_memory_that_was_given_back() {
    let seen = given_back_with(MARK.as_bytes(), || {
        live(std::sync::Arc::new(MemoryStore::new()));
    });
    assert_eq!(seen, 0);
}

#[test]
fn no_secret_of_a_file_stays_in_memory_that_was_given_back() {
    let folder = Folder::new();
    let path = folder.join("tokens");
    let seen = given_back_with(MARK.as_bytes(), || live(FileStore::new(&path)));
    assert_eq!(seen, 0);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with("oneflight token 2\nversion ") && !text.contains(MARK),
        "{text}"
    );
}
