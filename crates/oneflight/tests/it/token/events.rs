//! What is told, and when: before any caller gets to see it, and under no lock.

use super::authority::{Authority, Fate, No};
use super::desk::{Desk, HandWall};
use crate::script::{HandClock, HandSpawn, muted};
use futures_util::FutureExt;
use oneflight::token::{Event, MemoryStore, Pair, Store, Token, TokenSource};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a caller sees who asks in the moment in which something is told.
#[derive(Debug, PartialEq)]
enum Seen {
    /// It waits: for the flight that tells, if it has no better sense.
    Waits,
    Token(String),
    LoginNeeded,
    Failure(String),
}

type Asked = Arc<Mutex<Option<TokenSource<No>>>>;
type Log = Arc<Mutex<Vec<(&'static str, Seen)>>>;

/// A source, and what was seen whenever it told something.
struct Watched {
    source: TokenSource<No>,
    asked: Asked,
    log: Log,
}

impl Watched {
    fn new(server: &Authority, clock: &HandClock, store: impl Store) -> Self {
        let (asked, log) = (Asked::default(), Log::default());
        let (ask, told, refresher) = (asked.clone(), log.clone(), server.clone());
        let source = TokenSource::builder(clock.clone(), HandSpawn::default())
            .wall(HandWall::new())
            .store(store)
            .on_event(move |event: &Event<'_, No>| {
                let source = ask.lock().unwrap().clone().unwrap();
                told.lock().unwrap().push((name(event), see(&source)));
            })
            .build(move |token| refresher.clone().refresh(token));
        *asked.lock().unwrap() = Some(source.clone());
        Self { source, asked, log }
    }

    fn seen(&self) -> Vec<(&'static str, Seen)> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Or the source and what it tells would keep each other.
        let _source = self.asked.lock().unwrap().take();
    }
}

fn name(event: &Event<'_, No>) -> &'static str {
    match event {
        Event::Renewed { .. } => "renewed",
        Event::Found { .. } => "found",
        Event::Failed { .. } => "failed",
        Event::LoginNeeded { .. } => "login needed",
        _ => "something else",
    }
}

fn see(source: &TokenSource<No>) -> Seen {
    match source.token().now_or_never() {
        None => Seen::Waits,
        Some(Ok(token)) => Seen::Token(token.expose().to_owned()),
        Some(Err(error)) if error.is_reentrant() => Seen::Waits,
        Some(Err(error)) if error.needs_login() => Seen::LoginNeeded,
        Some(Err(error)) => Seen::Failure(error.to_string()),
    }
}

#[test]
fn no_caller_sees_anything_before_it_is_told() {
    let clock = HandClock::new();
    let server = Authority::new(&clock);
    let watched = Watched::new(&server, &clock, MemoryStore::new());
    let (source, seen) = (&watched.source, || watched.seen());
    let ask = || source.token().now_or_never().unwrap();
    assert!(ask().unwrap_err().needs_login());
    assert_eq!(
        seen(),
        [("login needed", Seen::Waits), ("failed", Seen::LoginNeeded)],
        "the first is the news, the second that the flight came to nothing"
    );

    let login = source.replace(server.login()).now_or_never().unwrap();
    let rejected = |token: &Token| source.rejected(token).now_or_never().unwrap();
    let new = rejected(&login.unwrap()).unwrap();
    assert_eq!(seen(), [("renewed", Seen::Waits)]);

    server.next([Fate::Busy(None)]);
    rejected(&new).unwrap_err();
    assert_eq!(seen(), [("failed", Seen::Waits)]);

    clock.advance(Duration::from_secs(2));
    server.revoke_all();
    assert!(ask().unwrap_err().needs_login());
    assert_eq!(
        seen(),
        [("login needed", Seen::Waits), ("failed", Seen::LoginNeeded)]
    );
}

#[test]
fn no_caller_sees_a_pair_before_it_is_told_that_it_was_found() {
    let clock = HandClock::new();
    let store = MemoryStore::with(Pair::new("there"));
    let watched = Watched::new(&Authority::new(&clock), &clock, store);
    let token = watched.source.token().now_or_never().unwrap().unwrap();
    assert_eq!(token.expose(), "there");
    assert_eq!(watched.seen(), [("found", Seen::Waits)]);
}

#[test]
fn a_hook_that_panics_changes_nothing() {
    let broken = |_: &Event<'_, No>| panic!("the hook broke");
    let mut desk = Desk::with(|builder| builder.on_event(broken));
    desk.advance_secs(3600);
    // It does so while the panic of the refresher is under way, too.
    desk.server.next([Fate::Panics]);
    assert_eq!(
        muted(|| assert!(desk.ask_for_error().is_panic())),
        Ok(()),
        "each ends where it began"
    );
    desk.server.grace(Duration::from_secs(10));
    desk.advance_secs(2);
    assert_eq!(
        muted(|| assert_eq!(desk.ask().expose(), "access-3")),
        Ok(())
    );
}
