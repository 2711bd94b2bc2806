//! When a token is refreshed, and what callers get meanwhile.

use super::authority::Fate;
use super::authority::No;
use super::desk::Desk;
use crate::script::{HandClock, HandSpawn};
use futures_util::FutureExt;
use oneflight::token::{Builder, Grant, MemoryStore, Pair, RefreshError, TokenSource};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Requests may take a quarter of an hour, and are not sent again.
fn patient(builder: Builder<No>) -> Builder<No> {
    let limit = Duration::from_secs(900);
    let builder = builder.grace(Duration::ZERO);
    builder.answer_limit(limit).flight_limit(limit)
}

#[test]
fn e1_fifty_calls_for_an_expired_token_are_one_refresh() {
    let mut desk = Desk::new();
    desk.advance_secs(3600);
    desk.server.hold();
    let calls: Vec<_> = (0..50).map(|_| desk.call()).collect();
    assert!(calls.iter().all(|&call| desk.is_waiting(call)));
    desk.server.release();
    for call in calls {
        assert_eq!(desk.token(call).expose(), "access-2");
    }
    assert_eq!(desk.server.requests(), ["refresh-1"]);
}

#[test]
fn e1_fifty_calls_after_a_401_are_one_refresh() {
    let mut desk = Desk::new();
    let old = desk.ask();
    let calls: Vec<_> = (0..50).map(|_| desk.reject(&old)).collect();
    for call in calls {
        assert_eq!(desk.token(call).expose(), "access-2");
    }
    assert_eq!(desk.server.requests(), ["refresh-1"]);
}

#[test]
fn e3_a_401_for_a_token_that_was_replaced_refreshes_nothing() {
    let mut desk = Desk::new();
    let old = desk.ask();
    let first = desk.reject(&old);
    let new = desk.token(first);
    let late = desk.reject(&old);
    assert_eq!(desk.token(late), new);
    assert_eq!(desk.server.requests().len(), 1);
}

#[test]
fn e3_a_401_while_the_refresh_is_up_joins_it() {
    let mut desk = Desk::new();
    let old = desk.ask();
    desk.advance_secs(3400);
    desk.server.hold();
    assert_eq!(desk.ask(), old);
    assert_eq!(
        desk.server.requests().len(),
        1,
        "it began in the background"
    );
    let call = desk.reject(&old);
    assert!(desk.is_waiting(call));
    desk.server.release();
    assert_eq!(desk.token(call).expose(), "access-2");
    assert_eq!(desk.server.requests().len(), 1);
}

#[test]
fn a_rejected_token_is_given_to_nobody_else() {
    let mut desk = Desk::new();
    let old = desk.ask();
    desk.server.hold();
    let rejecting = desk.reject(&old);
    let other = desk.call();
    assert!(desk.is_waiting(rejecting) && desk.is_waiting(other));
    desk.drop_call(rejecting);
    desk.server.release();
    assert_eq!(desk.token(other).expose(), "access-2");
}

#[test]
fn a_rejected_token_is_not_served_when_the_refresh_fails() {
    let mut desk = Desk::new();
    let old = desk.ask();
    desk.server.next([Fate::Busy(None)]);
    let call = desk.reject(&old);
    assert!(desk.error(call).work().unwrap().is_transient());
    // Nor later: once it is time, the next call tries again.
    assert!(desk.ask_for_error().work().unwrap().is_transient());
    desk.advance_secs(2);
    assert_eq!(desk.ask().expose(), "access-2");
}

#[test]
fn e6_calls_during_a_refresh_use_the_old_token_while_it_is_good_and_wait_after() {
    let mut desk = Desk::with(patient);
    let old = desk.ask();
    desk.advance_secs(3400);
    desk.server.hold();
    assert_eq!(desk.ask(), old);
    assert_eq!(desk.ask(), old);
    // Shortly before its end it is not given out any more.
    desk.advance_secs(195);
    let waits = desk.call();
    assert!(desk.is_waiting(waits));
    desk.server.release();
    assert_eq!(desk.token(waits).expose(), "access-2");
    assert_eq!(desk.server.requests(), ["refresh-1"]);
}

#[test]
fn a_token_is_renewed_in_the_background_once_somebody_asks_for_it() {
    let mut desk = Desk::new();
    desk.advance_secs(3000);
    assert_eq!(desk.ask().expose(), "access-1");
    assert_eq!(desk.server.requests().len(), 0);
    desk.advance_secs(400);
    assert_eq!(desk.server.requests().len(), 0, "nobody uses it");
    assert_eq!(desk.ask().expose(), "access-1");
    assert_eq!(desk.ask().expose(), "access-2");
    assert_eq!(desk.server.requests().len(), 1);
    assert_eq!(desk.events(), ["renewed 3"]);
}

#[test]
fn e9_all_who_wait_for_a_failed_refresh_are_told_and_the_next_call_after_a_pause_tries_again() {
    let mut desk = Desk::new();
    desk.advance_secs(3600);
    desk.server.hold();
    desk.server.next([Fate::Busy(None)]);
    let calls: Vec<_> = (0..50).map(|_| desk.call()).collect();
    desk.settle();
    desk.server.release();
    let first = desk.error(calls[0]);
    for call in calls {
        let error = desk.error(call);
        assert!(Arc::ptr_eq(error.work().unwrap(), first.work().unwrap()));
    }
    assert_eq!(first.work().unwrap().refresher().unwrap().0, "503");
    assert!(!first.needs_login());
    assert_eq!(desk.server.requests().len(), 1);
    desk.advance_secs(2);
    assert_eq!(desk.ask().expose(), "access-2");
}

#[test]
fn e9_a_refused_request_is_told_as_such() {
    let mut desk = Desk::new();
    desk.advance_secs(3600);
    desk.server.next([Fate::Refused]);
    let error = desk.ask_for_error();
    assert!(error.work().unwrap().is_refused() && !error.needs_login());
    desk.advance_secs(2);
    assert_eq!(desk.ask().expose(), "access-2");
}

#[test]
fn e10_a_token_that_lives_for_seconds_is_not_refreshed_on_every_call() {
    let desk = Desk::new();
    desk.server.life(Some(Duration::from_secs(8)));
    let mut desk = desk.beside();
    let first = desk.login();
    for _ in 0..5 {
        assert_eq!(desk.ask(), first);
        desk.advance_secs(1);
    }
    assert_eq!(desk.server.requests().len(), 0);
    desk.advance_secs(1);
    assert_eq!(desk.ask(), first);
    assert_eq!(desk.ask().expose(), "access-3");
    assert_eq!(desk.server.requests().len(), 1);
}

#[test]
fn e11_a_token_is_not_given_out_shortly_before_its_end() {
    let mut desk = Desk::new();
    let old = desk.ask();
    desk.advance_secs(3592);
    assert!(desk.server.takes(old.expose()), "it is good");
    assert_eq!(desk.ask().expose(), "access-2", "but for how long");
}

#[test]
fn e12_a_failed_refresh_serves_the_old_token_and_backs_off() {
    let mut desk = Desk::new();
    let old = desk.ask();
    desk.advance_secs(3200);
    desk.server.next([Fate::Busy(None); 100]);
    // A call each second, for as long as the token is good.
    for _ in 0..395 {
        assert_eq!(desk.ask(), old);
        desk.advance_secs(1);
    }
    let tries = desk.server.requests().len();
    // Pauses of 1, 2, 4 … 60 seconds, drawn out by up to a half.
    assert!((8..=13).contains(&tries), "{tries} tries");
    let events = desk.events();
    let told = "failed, serving true: the server could not refresh the token now";
    assert!(events.iter().all(|event| event == told), "{events:?}");
    // Past its end there is nothing to serve.
    desk.advance_secs(60);
    assert!(desk.ask_for_error().work().unwrap().is_transient());
}

#[test]
fn e12_a_call_that_waits_at_the_very_end_gets_the_old_token_if_the_refresh_fails() {
    let mut desk = Desk::new();
    let old = desk.ask();
    desk.advance_secs(3595);
    desk.server.hold();
    desk.server.next([Fate::Busy(None)]);
    let call = desk.call();
    assert!(desk.is_waiting(call));
    desk.server.release();
    assert_eq!(desk.token(call), old);
}

#[test]
fn e12_the_time_that_the_server_asks_for_is_heeded() {
    let mut desk = Desk::new();
    desk.advance_secs(3300);
    desk.server
        .next([Fate::Busy(Some(Duration::from_secs(90)))]);
    desk.ask();
    for _ in 0..89 {
        desk.advance_secs(1);
        desk.ask();
    }
    assert_eq!(desk.server.requests().len(), 1);
    desk.advance_secs(1);
    desk.ask();
    assert_eq!(desk.ask().expose(), "access-2");
}

#[test]
fn a_token_of_which_no_end_is_known_is_used_until_it_is_rejected() {
    let desk = Desk::new();
    desk.server.life(None);
    let mut desk = desk.beside();
    let token = desk.login();
    desk.advance_secs(100_000_000);
    assert_eq!(desk.ask(), token);
    let call = desk.reject(&token);
    assert_eq!(desk.token(call).expose(), "access-3");
}

#[test]
fn a_jump_of_the_wall_clock_moves_no_age() {
    let mut desk = Desk::new();
    let token = desk.ask();
    let hour = Duration::from_secs(3600);
    desk.wall.set(|time| time + 2 * hour);
    assert_eq!(desk.ask(), token);
    desk.wall.set(|time| time - 4 * hour);
    assert_eq!(desk.ask(), token);
    assert_eq!(desk.server.requests().len(), 0);
    desk.advance_secs(3600);
    assert_eq!(desk.ask().expose(), "access-2");
}

#[test]
fn a_stored_token_is_as_old_as_the_wall_clock_says_and_never_younger_than_it_was() {
    let mut desk = Desk::new();
    desk.advance_secs(3590);
    let mut late = desk.beside();
    assert_eq!(late.ask().expose(), "access-2", "ten seconds were left");

    // A wall clock that was set back by a day makes no token live for a day.
    let mut back = desk.beside();
    back.wall.set(|time| time - Duration::from_secs(86_400));
    assert_eq!(back.ask().expose(), "access-2");
    back.advance_secs(3601);
    assert_eq!(back.ask().expose(), "access-3");
}

#[test]
fn the_life_is_counted_from_before_the_request_was_sent() {
    let mut desk = Desk::with(patient);
    desk.advance_secs(3600);
    desk.server.hold();
    let call = desk.call();
    desk.settle();
    desk.advance_secs(40);
    desk.server.release();
    let token = desk.token(call);
    desk.server.next([Fate::Busy(None); 100]);
    desk.advance_secs(3559);
    assert_eq!(desk.ask(), token);
    desk.advance_secs(1);
    assert!(desk.ask_for_error().work().unwrap().is_transient());
    assert!(
        desk.server.takes(token.expose()),
        "for what the request took"
    );
}

#[test]
fn a_refresh_goes_on_when_all_who_wanted_it_have_left() {
    let mut desk = Desk::new();
    desk.advance_secs(3600);
    desk.server.hold();
    let call = desk.call();
    assert!(desk.is_waiting(call));
    desk.drop_call(call);
    desk.server.release();
    desk.settle();
    assert_eq!(desk.events(), ["renewed 3"]);
    assert_eq!(desk.ask().expose(), "access-2");
    assert_eq!(desk.server.requests(), ["refresh-1"]);
}

#[test]
fn a_refresher_that_asks_its_own_source_is_told_so() {
    let inner: Arc<Mutex<Option<TokenSource<String>>>> = Arc::default();
    let asks = inner.clone();
    let source: TokenSource<String> = TokenSource::builder(HandClock::new(), HandSpawn::default())
        .name("billing")
        .store(MemoryStore::with(Pair::new("a").with_refresh("r")))
        .build(move |_| {
            let source = asks.lock().unwrap().clone().unwrap();
            async move {
                let token = source.token().await;
                let token = token.map_err(|error| RefreshError::refused(error.to_string()))?;
                Ok(Grant::new(token.expose()))
            }
        });
    *inner.lock().unwrap() = Some(source.clone());
    let token = source.token().now_or_never().unwrap().unwrap();
    let error = source.rejected(&token).now_or_never().unwrap().unwrap_err();
    let said = error.work().unwrap().refresher().unwrap().clone();
    assert_eq!(said, "the work for a key waits for itself: \"billing\"");
    // Or the two would keep each other.
    *inner.lock().unwrap() = None;
}

#[test]
fn a_source_that_needs_no_refresh_token_mints_when_it_must() {
    let clock = HandClock::new();
    let spawn = HandSpawn::default();
    let minted = Arc::new(Mutex::new(0));
    let fails = Arc::new(Mutex::new(false));
    let (count, fail) = (minted.clone(), fails.clone());
    let source: TokenSource<&str> =
        TokenSource::builder(clock.clone(), spawn).build_minting(move || {
            *count.lock().unwrap() += 1;
            let (number, fails) = (*count.lock().unwrap(), *fail.lock().unwrap());
            async move {
                match fails {
                    false => {
                        Ok(Grant::new(format!("minted {number}"))
                            .expires_in(Duration::from_secs(60)))
                    }
                    true => Err(RefreshError::invalid_grant("not now")),
                }
            }
        });
    let ask = || source.token().now_or_never().unwrap();
    assert_eq!(ask().unwrap().expose(), "minted 1");
    assert_eq!(ask().unwrap().expose(), "minted 1");
    clock.advance(Duration::from_secs(60));
    *fails.lock().unwrap() = true;
    assert!(ask().unwrap_err().needs_login());
    // It has no login that could have ended.
    *fails.lock().unwrap() = false;
    clock.advance(Duration::from_secs(2));
    assert_eq!(ask().unwrap().expose(), "minted 3");
}
