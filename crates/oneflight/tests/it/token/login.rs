//! When nothing but a login helps: it is told once, and no server is asked.

use super::desk::Desk;
use oneflight::token::{MemoryStore, Pair};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn e15_invalid_grant_is_told_once_and_the_token_never_sent_again() {
    let mut desk = Desk::new();
    desk.advance_secs(3600);
    desk.server.revoke_all();
    let calls: Vec<_> = (0..50).map(|_| desk.call()).collect();
    for call in calls {
        assert!(desk.error(call).needs_login());
    }
    for _ in 0..1000 {
        assert!(desk.ask_for_error().needs_login());
        desk.advance(Duration::from_millis(100));
    }
    assert_eq!(desk.server.requests().len(), 1);
    let events = desk.events();
    let needed = events
        .iter()
        .filter(|event| event.starts_with("login needed"));
    assert_eq!(needed.count(), 1);
    assert_eq!(
        events[0],
        "login needed: the refresh token is no longer valid: a new login is needed"
    );
}

#[test]
fn e15_a_login_ends_the_need_of_one() {
    let mut desk = Desk::new();
    let old = desk.ask();
    desk.server.revoke_all();
    let call = desk.reject(&old);
    assert!(desk.error(call).needs_login());
    let new = desk.login();
    assert_eq!(desk.ask(), new);
    let call = desk.reject(&new);
    assert_eq!(desk.token(call).expose(), "access-3");
}

#[test]
fn e15_a_login_in_another_process_ends_the_need_of_one() {
    let mut desk = Desk::new();
    let old = desk.ask();
    desk.server.revoke_all();
    let call = desk.reject(&old);
    assert!(desk.error(call).needs_login());
    let mut other = desk.beside();
    let new = other.login();
    // The store was looked into just now.
    assert!(desk.ask_for_error().needs_login());
    desk.advance_secs(1);
    assert_eq!(desk.ask().expose(), new.expose());
}

#[test]
fn invalid_grant_in_the_background_is_told_and_the_good_token_is_served_to_its_end() {
    let mut desk = Desk::new();
    let old = desk.ask();
    desk.advance_secs(3300);
    desk.server.revoke_all();
    assert_eq!(desk.ask(), old);
    assert!(desk.events()[0].starts_with("login needed"));
    desk.advance_secs(299);
    assert_eq!(desk.ask(), old);
    desk.advance_secs(1);
    assert!(desk.ask_for_error().needs_login());
    assert_eq!(desk.server.requests().len(), 1);
}

#[test]
fn a_source_that_nobody_has_logged_in_to_says_so_once() {
    let desk = Desk::new();
    let store = Arc::new(MemoryStore::new());
    let mut empty = Desk::on(&desk.clock, &desk.wall, &desk.server, store, |builder| {
        builder
    });
    for _ in 0..100 {
        let error = empty.ask_for_error();
        assert!(error.needs_login());
        assert_eq!(error.to_string(), "nobody is logged in");
        empty.advance_secs(1);
    }
    let events = empty.events();
    let needed = events
        .iter()
        .filter(|event| event.starts_with("login needed"));
    assert_eq!(needed.count(), 1);
    let new = empty.login();
    assert_eq!(empty.ask(), new);
}

#[test]
fn a_pair_without_a_refresh_token_is_served_to_its_end_and_then_needs_a_login() {
    let desk = Desk::new();
    let now = oneflight::token::Wall::now(&desk.wall);
    let pair = Pair::new("lone").with_expires_at(now + Duration::from_secs(100));
    let store = Arc::new(MemoryStore::with(pair));
    let mut lone = Desk::on(&desk.clock, &desk.wall, &desk.server, store, |builder| {
        builder
    });
    for _ in 0..100 {
        assert_eq!(lone.ask().expose(), "lone");
        lone.advance_secs(1);
    }
    assert!(lone.ask_for_error().needs_login());
    let events = lone.events();
    let needed = events
        .iter()
        .filter(|event| event.starts_with("login needed"));
    assert_eq!(needed.count(), 1, "{events:?}");
}
