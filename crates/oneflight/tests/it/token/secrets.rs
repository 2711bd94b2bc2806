//! No secret is shown: not by `Debug`, not by an error, not by an event.

use super::authority::Fate;
use super::desk::Desk;
use oneflight::token::{
    Grant, Identity, MemoryStore, Pair, Secret, Store, Stored, Tokens, Version,
};
use std::fmt::Debug;
use std::sync::Arc;

/// What must never be seen.
const SECRETS: [&str; 2] = ["access-", "refresh-"];

fn hidden(shown: impl Debug) {
    for text in [format!("{shown:?}"), format!("{shown:#?}")] {
        let seen = SECRETS.iter().find(|secret| text.contains(**secret));
        assert_eq!(seen, None, "{text}");
    }
}

#[test]
fn nothing_that_holds_a_secret_shows_it() {
    let mut desk = Desk::new();
    let token = desk.ask();
    hidden(Secret::from("access-1"));
    hidden(Grant::new("access-1").refresh("refresh-1"));
    let pair = Pair::new("access-1").with_refresh("refresh-1");
    hidden(&pair);
    hidden(MemoryStore::with(pair.clone()));
    hidden(Stored::new(Version::new(1), Some(pair)));
    hidden(&token);
    hidden(&desk.source);
    hidden(&desk.store);
    let source = desk.source.clone();
    hidden(Tokens::new(move |_: &Identity| source.clone()));
}

#[test]
fn no_error_and_no_event_shows_a_secret() {
    let mut desk = Desk::new();
    let mut errors = Vec::new();
    for fate in [Fate::AnswerLost, Fate::Busy(None), Fate::Refused] {
        desk.advance_secs(7200);
        desk.server.next([fate]);
        let call = desk.call();
        desk.advance_secs(1);
        if desk.is_waiting(call) {
            desk.advance_secs(60);
        }
        desk.settle();
    }
    desk.server.revoke_all();
    desk.advance_secs(7200);
    errors.push(desk.ask_for_error());
    for error in errors {
        hidden(&error);
        hidden(error.to_string());
        let mut cause = std::error::Error::source(&error);
        while let Some(next) = cause {
            hidden(next);
            hidden(next.to_string());
            cause = next.source();
        }
    }
    let events = desk.events();
    assert!(events.len() > 3);
    hidden(events);
}

#[test]
fn a_store_that_is_shared_shows_no_secret() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::with(Pair::new("access-1")));
    hidden(store);
}
