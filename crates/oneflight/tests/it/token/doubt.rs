//! A refresh token that was sent, and a process that died before it had the answer: what the next one does.

use super::authority::Fate;
use super::desk::{Call, Desk};
use super::rotation::{Local, told};
use super::store::Folder;
use oneflight::token::{FileStore, Stored};
use std::sync::Arc;
use std::time::Duration;

const GRACE: Duration = Duration::from_secs(10);

fn seconds(from: u64) -> Duration {
    Duration::from_secs(from)
}

fn stored(desk: &Desk) -> Stored {
    use futures_util::FutureExt;
    desk.store.load().now_or_never().unwrap().unwrap()
}

/// A desk under a lease, and what makes another one of the same store, lease and server.
fn leading() -> (Desk, impl Fn(&Desk) -> Desk) {
    let lease = Local::default();
    let first = lease.clone();
    let desk = Desk::with(move |builder| builder.lease(first));
    desk.server.grace(GRACE);
    let beside = move |desk: &Desk| {
        let lease = lease.clone();
        desk.beside_with(move |builder| builder.lease(lease))
    };
    (desk, beside)
}

/// Asks for a token, and dies while the server has the request and does not answer. What is left is the store.
fn die(mut desk: Desk) -> Desk {
    desk.server.next([Fate::Silent]);
    let before = desk.server.requests().len();
    desk.call();
    desk.settle();
    assert_eq!(desk.server.requests().len(), before + 1);
    let left = desk.beside();
    drop(desk);
    left
}

/// Waits for a call, a twentieth of a second after the other. How long that was.
fn wait(desk: &mut Desk, call: Call) -> Duration {
    let mut waited = Duration::ZERO;
    while desk.is_waiting(call) {
        desk.advance(Duration::from_millis(50));
        waited += Duration::from_millis(50);
    }
    waited
}

#[test]
fn e13_that_a_refresh_token_is_sent_is_in_the_store_before_it_is() {
    let (mut desk, store) = told();
    let old = desk.ask();
    store.hold();
    let call = desk.reject(&old);
    assert!(desk.is_waiting(call));
    assert_eq!(desk.server.requests().len(), 0);
    desk.server.hold();
    store.release();
    desk.settle();
    assert_eq!(desk.server.requests().len(), 1);
    let there = stored(&desk);
    assert_eq!(there.sent, Some(oneflight::token::Wall::now(&desk.wall)));
    assert_eq!(there.pair.unwrap().access().expose(), "access-1");
    desk.server.release();
    assert_eq!(desk.token(call).expose(), "access-2");
    assert_eq!(stored(&desk).sent, None);
}

#[test]
fn e13_nothing_is_sent_that_could_not_be_put_into_the_store_first() {
    let (mut desk, store) = told();
    let old = desk.ask();
    store.fail_swaps(4, false);
    let call = desk.reject(&old);
    assert!(wait(&mut desk, call) >= Duration::from_millis(700));
    assert!(desk.error(call).work().unwrap().is_store());
    assert_eq!(desk.server.requests().len(), 0);
    desk.advance_secs(2);
    assert_eq!(desk.ask().expose(), "access-2");
}

#[test]
fn e13_whoever_comes_after_a_process_that_died_sends_the_same_token_within_the_grace() {
    let (mut desk, beside) = leading();
    desk.advance_secs(3600);
    let mut next = beside(&die(desk));
    // At once: whoever has the lease knows that the other is gone.
    assert_eq!(next.ask().expose(), "access-3");
    assert_eq!(next.server.requests(), ["refresh-1"; 2]);
    assert_eq!(next.server.revoked(), 0);
    assert_eq!(stored(&next).sent, None);
}

#[test]
fn e13_it_asks_again_for_no_longer_than_is_left_of_the_grace() {
    let (mut desk, beside) = leading();
    desk.advance_secs(3600);
    let mut next = beside(&die(desk));
    next.advance_secs(7);
    next.server.next([Fate::RequestLost; 100]);
    let call = next.call();
    // At 7, 7.25, 7.75 and 8.75 seconds; the next would be at 10.75.
    assert!(wait(&mut next, call) < seconds(3));
    assert!(next.error(call).work().unwrap().is_lost());
    assert_eq!(next.server.requests().len(), 5);
}

#[test]
fn e13_without_a_lease_it_waits_until_the_other_can_have_no_answer_any_more() {
    let mut desk = Desk::new();
    desk.server.grace(GRACE);
    desk.advance_secs(3600);
    let mut next = die(desk);
    let call = next.call();
    assert_eq!(wait(&mut next, call), seconds(4));
    assert_eq!(next.token(call).expose(), "access-3");
    assert_eq!(next.server.requests(), ["refresh-1"; 2]);
    assert_eq!(next.server.revoked(), 0);
}

#[test]
fn without_a_lease_it_waits_for_no_longer_than_a_flight_may_take() {
    let mut desk = Desk::new();
    desk.server.grace(seconds(60));
    desk.advance_secs(3600);
    let mut next = die(desk).beside_with(|builder| {
        let builder = builder.grace(Duration::ZERO).flight_limit(seconds(5));
        builder.answer_limit(Duration::MAX)
    });
    let call = next.call();
    assert!(wait(&mut next, call) <= seconds(5));
    next.advance_secs(2);
    assert_eq!(next.ask().expose(), "access-3");
    assert_eq!(next.server.requests(), ["refresh-1"; 2]);
}

#[test]
fn e2_of_two_processes_without_a_lease_one_sends_the_token_and_the_other_finds_the_pair() {
    let mut a = Desk::new();
    let mut b = a.beside();
    let (old_a, old_b) = (a.ask(), b.ask());
    // The server is strict: a second one would be the end.
    a.server.hold();
    let (call_a, call_b) = (a.reject(&old_a), b.reject(&old_b));
    assert!(a.is_waiting(call_a) && b.is_waiting(call_b));
    b.advance_secs(1);
    assert!(b.is_waiting(call_b));
    a.server.release();
    assert_eq!(a.token(call_a).expose(), "access-2");
    assert!(wait(&mut b, call_b) <= seconds(1));
    assert_eq!(b.token(call_b).expose(), "access-2");
    assert_eq!(a.server.requests(), ["refresh-1"]);
    assert_eq!(b.events(), ["found 1", "found 3"]);
}

#[test]
fn e13_past_the_grace_it_sends_nothing_while_there_is_something_to_lose() {
    let (mut desk, beside) = leading();
    desk.advance_secs(3300);
    let mut next = beside(&die(desk));
    next.advance(GRACE);
    for _ in 0..28 {
        assert_eq!(next.ask().expose(), "access-1");
        next.advance_secs(10);
    }
    assert_eq!(next.server.requests().len(), 1);
    assert!(
        next.events()
            .iter()
            .any(|event| event.contains("not tried again"))
    );
    next.advance_secs(10);
    assert!(next.ask_for_error().needs_login(), "the server is strict");
    assert_eq!(next.server.requests().len(), 2);
}

#[test]
fn e13_past_the_grace_a_request_of_a_dead_process_that_never_got_there_costs_no_login() {
    let (mut desk, beside) = leading();
    desk.advance_secs(3600);
    desk.server.hold();
    desk.call();
    desk.settle();
    let mut next = beside(&desk);
    drop(desk);
    next.server.release();
    next.advance_secs(60);
    assert_eq!(next.ask().expose(), "access-2");
}

#[test]
fn e13_a_token_that_the_server_has_turned_away_is_in_doubt_for_nobody() {
    for fate in [Fate::Busy(None), Fate::Refused] {
        let (mut desk, beside) = leading();
        desk.advance_secs(3300);
        desk.server.next([fate]);
        assert_eq!(desk.ask().expose(), "access-1");
        desk.settle();
        assert_eq!(stored(&desk).sent, None);
        let mut next = beside(&desk);
        drop(desk);
        next.advance_secs(60);
        // It finds the pair, then renews it.
        assert_eq!(
            [next.ask(), next.ask()].map(|token| token.version().get()),
            [3; 2]
        );
        assert_eq!(next.ask().expose(), "access-2");
    }
}

#[test]
fn a_token_that_was_turned_away_is_in_no_doubt_though_the_store_would_not_hear_of_it() {
    let (desk, store) = told();
    let mut desk = desk.beside_with(|builder| builder.grace(Duration::ZERO));
    desk.ask();
    desk.advance_secs(3300);
    desk.server.hold();
    desk.server.next([Fate::Busy(None)]);
    assert_eq!(desk.ask().expose(), "access-1");
    store.fail_swaps(1, false);
    desk.server.release();
    desk.settle();
    assert!(stored(&desk).sent.is_some());
    desk.advance_secs(10);
    assert_eq!(desk.ask().expose(), "access-1");
    assert_eq!(desk.ask().expose(), "access-2");
}

#[test]
fn a_mark_of_another_process_changes_nothing_about_the_token() {
    let mut desk = Desk::new();
    let mut other = desk.beside();
    let (old, same) = (desk.ask(), other.ask());
    desk.server.next([Fate::Busy(None)]);
    let call = desk.reject(&old);
    desk.error(call);
    assert!(stored(&desk).version > same.version());
    // The other has rejected it, too, and looks into the store.
    other.server.next([Fate::Busy(None)]);
    let call = other.reject(&same);
    assert!(other.error(call).work().unwrap().is_transient());
    assert_eq!(
        other
            .events()
            .iter()
            .filter(|event| event.starts_with("found"))
            .count(),
        1
    );
    other.advance_secs(2);
    assert_eq!(other.ask().expose(), "access-2");
}

#[test]
fn a_mark_of_the_future_is_as_old_as_the_clocks_are_apart() {
    for (back, sent) in [(5, 2), (30, 1)] {
        let (mut desk, beside) = leading();
        desk.advance_secs(3500);
        let mut next = beside(&die(desk));
        next.wall.set(|time| time - seconds(back));
        // It finds the pair, then renews it.
        assert_eq!(
            [next.ask(), next.ask()].map(|token| token.version().get()),
            [2; 2]
        );
        // It may have been sent as long ago as that: the grace is over.
        assert_eq!(next.server.requests().len(), sent, "{back} s back");
    }
}

#[test]
fn e13_a_pair_is_saved_again_before_the_lease_is_given_back() {
    let lease = Local::default();
    let (desk, store) = told();
    let with = || {
        let lease = lease.clone();
        desk.beside_with(move |builder| builder.lease(lease))
    };
    let (mut a, mut b) = (with(), with());
    let (old_a, old_b) = (a.ask(), b.ask());
    store.fail_swaps_of("access-2", 3);
    let (call_a, call_b) = (a.reject(&old_a), b.reject(&old_b));
    assert!(a.is_waiting(call_a) && b.is_waiting(call_b));
    for _ in 0..8 {
        a.advance(Duration::from_millis(100));
        b.settle();
    }
    assert_eq!(a.token(call_a).expose(), "access-2");
    assert_eq!(b.token(call_b).expose(), "access-2");
    assert_eq!(a.server.requests(), ["refresh-1"]);
}

#[test]
fn e13_a_file_tells_the_next_process_and_an_old_file_is_read() {
    let folder = Folder::new();
    let path = folder.join("tokens");
    let mut desk = Desk::new();
    desk.server.grace(GRACE);
    let pair = stored(&desk).pair.unwrap();
    let expires = pair.expires_at().unwrap();
    let expires = expires.duration_since(std::time::UNIX_EPOCH).unwrap();
    let text = format!(
        "oneflight token 1\nversion 1\nexpires {}\naccess access-1\nrefresh refresh-1\n",
        expires.as_millis()
    );
    std::fs::write(&path, text).unwrap();
    let on = |desk: &Desk| {
        let store = FileStore::new(&path);
        let lease = store.lease(desk.clock.clone());
        Desk::on(
            &desk.clock,
            &desk.wall,
            &desk.server,
            Arc::new(store),
            |builder| builder.lease(lease),
        )
    };
    let first = on(&desk);
    desk.advance_secs(3600);
    drop(die(first));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("oneflight token 2\n"), "{text}");
    assert!(text.contains("\nsent "), "{text}");
    let mut next = on(&desk);
    next.advance_secs(5);
    assert_eq!(next.ask().expose(), "access-3");
    assert_eq!(next.server.requests(), ["refresh-1"; 2]);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("\nsent "), "{text}");
}
