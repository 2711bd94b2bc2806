//! After a refresh that failed: nobody asks the server for a while, and all who can't be served are told why.

use super::authority::{Fate, No};
use super::desk::Desk;
use super::rotation::told;
use crate::script::{HandClock, HandSpawn, muted};
use futures_util::FutureExt;
use oneflight::token::{Builder, RefreshError, TokenSource};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// For how long no refresh begins, as a call is told that gets no token now.
fn told_to_wait(desk: &mut Desk) -> Duration {
    let error = desk.ask_for_error();
    error.work().unwrap().retry_after().unwrap()
}

#[test]
fn e9_a_thousand_calls_after_a_failed_refresh_are_one_request() {
    let mut desk = Desk::new();
    desk.advance_secs(3600);
    desk.server.next([Fate::Busy(None)]);
    for _ in 0..1000 {
        let error = desk.ask_for_error();
        let failure = error.work().unwrap();
        assert!(failure.is_transient());
        assert_eq!(failure.refresher(), Some(&No("503")));
        let wait = failure.retry_after().unwrap();
        assert!((1000..=1500).contains(&wait.as_millis()), "{wait:?}");
    }
    assert_eq!(desk.server.requests().len(), 1);
    let wait = told_to_wait(&mut desk);
    desk.advance(wait);
    assert_eq!(desk.ask().expose(), "access-2");
}

#[test]
fn e9_a_thousand_calls_after_a_401_and_a_failed_refresh_are_one_request() {
    let mut desk = Desk::new();
    let old = desk.ask();
    desk.server.next([Fate::Busy(None)]);
    for _ in 0..1000 {
        let call = desk.reject(&old);
        assert!(desk.error(call).work().unwrap().is_transient());
    }
    assert_eq!(desk.server.requests().len(), 1);
}

#[test]
fn a_token_that_is_over_is_asked_for_ever_more_rarely() {
    let mut desk = Desk::new();
    desk.advance_secs(3600);
    desk.server.next([Fate::Busy(None); 100]);
    for _ in 0..4000 {
        desk.ask_for_error();
        desk.advance(Duration::from_millis(100));
    }
    let tries = desk.server.requests().len();
    // Pauses of 1, 2, 4 … 60 seconds, drawn out by up to a half.
    assert!((8..=13).contains(&tries), "{tries} tries");
    desk.server.forget_fates();
    let wait = told_to_wait(&mut desk);
    desk.advance(wait);
    let call = desk.call();
    let new = desk.token(call);
    // One that has come counts for all: the next failure is the first one.
    desk.server.next([Fate::Busy(None)]);
    let call = desk.reject(&new);
    desk.error(call);
    assert!(told_to_wait(&mut desk) <= Duration::from_millis(1500));
}

#[test]
fn the_time_that_the_server_asks_for_is_heeded_when_there_is_nothing_to_serve() {
    let mut desk = Desk::new();
    desk.advance_secs(3600);
    let wish = Duration::from_secs(90);
    desk.server.next([Fate::Busy(Some(wish))]);
    for second in 0..90 {
        let left = Duration::from_secs(90 - second);
        assert_eq!(told_to_wait(&mut desk), left);
        desk.advance_secs(1);
    }
    assert_eq!(desk.server.requests().len(), 1);
    assert_eq!(desk.ask().expose(), "access-2");
}

#[test]
fn a_server_that_asks_for_ever_is_left_in_peace_for_an_hour() {
    for wish in [Duration::MAX, Duration::from_secs(u64::MAX / 2), 2 * HOUR] {
        let mut desk = Desk::new();
        desk.advance_secs(3300);
        desk.server.next([Fate::Busy(Some(wish))]);
        // In the background, then with nothing to serve.
        for _ in 0..300 {
            desk.ask();
            desk.advance_secs(1);
        }
        assert_eq!(told_to_wait(&mut desk), HOUR - Duration::from_secs(300));
        assert_eq!(desk.server.requests().len(), 1, "{wish:?}");
        desk.advance_secs(3300);
        assert_eq!(desk.ask().expose(), "access-2");
    }
}

#[test]
fn a_server_that_asks_for_ever_after_an_answer_was_lost_keeps_no_flight_up() {
    let mut desk = Desk::with(|builder| builder.grace(Duration::MAX).flight_limit(Duration::MAX));
    desk.advance_secs(3600);
    let busy = Fate::Busy(Some(Duration::MAX));
    desk.server.next([Fate::AnswerLost, busy]);
    let call = desk.call();
    desk.settle();
    desk.advance_secs(1);
    assert!(desk.error(call).work().unwrap().is_transient());
    assert_eq!(told_to_wait(&mut desk), HOUR);
}

#[test]
fn a_source_that_never_had_a_token_asks_no_more_often() {
    let minted = Arc::new(Mutex::new(0));
    let count = minted.clone();
    let clock = HandClock::new();
    let source: TokenSource<No> = TokenSource::builder(clock.clone(), HandSpawn::default())
        .build_minting(move || {
            *count.lock().unwrap() += 1;
            async { Err(RefreshError::invalid_grant(No("not yet"))) }
        });
    for requests in 1..=2 {
        for _ in 0..1000 {
            source.token().now_or_never().unwrap().unwrap_err();
        }
        assert_eq!(*minted.lock().unwrap(), requests);
        clock.advance(Duration::from_secs(2));
    }
}

#[test]
fn a_store_that_fails_is_asked_no_more_often() {
    let (desk, store) = told();
    // One that does not know what is there, and one whose login has ended.
    let (mut fresh, mut ended) = (desk.beside(), desk.beside());
    let old = ended.ask();
    desk.server.revoke_all();
    let call = ended.reject(&old);
    assert!(ended.error(call).needs_login());
    ended.advance_secs(1);
    for desk in [&mut fresh, &mut ended] {
        store.fail_loads(1000);
        (0..1000).for_each(|_| drop(desk.ask_for_error()));
        assert_eq!(store.loads_to_fail(), 999);
    }
}

#[test]
fn a_refresh_that_was_cut_off_counts_as_one_that_failed() {
    let late = |builder: Builder<No>| builder.flight_limit(Duration::from_secs(1));
    for (fate, wait) in [(Fate::Silent, 1), (Fate::Panics, 0)] {
        let mut desk = Desk::with(late);
        desk.advance_secs(3600);
        desk.server.next([fate]);
        let first = desk.call();
        assert_eq!(muted(|| desk.settle()), Ok(()));
        desk.advance_secs(wait);
        let error = desk.error(first);
        assert!(error.is_overdue() || error.is_panic());
        for _ in 0..1000 {
            assert!(desk.ask_for_error().work().unwrap().is_cut_off());
        }
        assert_eq!(desk.server.requests().len(), 1);
        assert_eq!(
            desk.events(),
            ["failed, serving false: the last refresh was cut off before its end"]
        );
    }
}

#[test]
fn the_first_failure_with_a_pair_that_was_found_is_the_first() {
    let mut desk = Desk::new();
    let mut other = desk.beside();
    desk.advance_secs(3600);
    desk.server.next([Fate::Busy(None); 4]);
    for _ in 0..4 {
        let wait = told_to_wait(&mut desk);
        desk.advance(wait);
    }
    other.ask();
    desk.advance_secs(3600);
    // It finds what the other has renewed, which is over by now.
    desk.server.next([Fate::Busy(None)]);
    assert!(told_to_wait(&mut desk) <= Duration::from_millis(1500));
    assert_eq!(
        desk.events().last().unwrap(),
        "failed, serving false: the server could not refresh the token now"
    );
    assert_eq!(
        desk.server.requests(),
        [
            "refresh-1",
            "refresh-1",
            "refresh-1",
            "refresh-1",
            "refresh-1",
            "refresh-2"
        ]
    );
}

#[test]
fn a_login_ends_the_pause() {
    let mut desk = Desk::new();
    desk.advance_secs(3600);
    desk.server.next([Fate::Busy(Some(HOUR))]);
    desk.ask_for_error();
    let new = desk.login();
    assert_eq!(desk.ask(), new);
    // And its refresh does not wait for the other one's time.
    let call = desk.reject(&new);
    assert_eq!(desk.token(call).expose(), "access-3");
}
