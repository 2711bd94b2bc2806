//! Rotation: a refresh token is spent once, whatever goes wrong around it.

use super::authority::{Authority, Fate};
use super::desk::{Desk, HandWall};
use super::stores::Told;
use crate::script::{HandClock, muted};
use oneflight::{Acquiring, Fence, Leading, Lease, LeaseError, Releasing};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

/// A desk whose store does as it is told, where somebody has logged in.
pub(crate) fn told() -> (Desk, Arc<Told>) {
    let store = Arc::new(Told::default());
    let clock = HandClock::new();
    let server = Authority::new(&clock);
    let mut desk = Desk::on(
        &clock,
        &HandWall::new(),
        &server,
        store.clone(),
        |builder| builder,
    );
    desk.login();
    (desk, store)
}

/// A lease in this process, handed on in the order of those who wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Local(Arc<Mutex<Turns>>);

#[derive(Debug, Default)]
struct Turns {
    taken: bool,
    fence: u64,
    waiting: Vec<Waker>,
    fails: bool,
}

#[derive(Debug)]
struct Turn(Local, Fence);

impl Lease for Local {
    fn acquire(&self) -> Acquiring<'_> {
        Box::pin(poll_fn(|context| {
            let mut turns = self.0.lock().unwrap();
            if turns.fails {
                return Poll::Ready(Err("no lease today".into()));
            }
            if turns.taken {
                turns.waiting.push(context.waker().clone());
                return Poll::Pending;
            }
            turns.taken = true;
            turns.fence += 1;
            let turn = Turn(self.clone(), Fence::new(turns.fence));
            Poll::Ready(Ok(Box::new(turn) as Box<dyn Leading>))
        }))
    }
}

impl Leading for Turn {
    fn fence(&self) -> Fence {
        self.1
    }

    fn release(self: Box<Self>) -> Releasing {
        // That it is late is no matter to whoever has a good token.
        Box::pin(async { Err(LeaseError::from("the term had ended")) })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let waiting = {
            let mut turns = self.0.0.lock().unwrap();
            turns.taken = false;
            std::mem::take(&mut turns.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

#[test]
fn e2_two_processes_with_a_lease_refresh_once() {
    let lease = Local::default();
    let mut a = Desk::with({
        let lease = lease.clone();
        |builder| builder.lease(lease)
    });
    let mut b = a.beside_with(|builder| builder.lease(lease));
    let (old_a, old_b) = (a.ask(), b.ask());
    a.server.hold();
    let (call_a, call_b) = (a.reject(&old_a), b.reject(&old_b));
    assert!(a.is_waiting(call_a) && b.is_waiting(call_b));
    a.server.release();
    assert_eq!(a.token(call_a).expose(), "access-2");
    assert_eq!(b.token(call_b).expose(), "access-2");
    assert_eq!(a.server.requests(), ["refresh-1"]);
    assert_eq!(b.events(), ["found 1", "found 3"]);
}

#[test]
fn e2_what_another_process_has_rotated_is_found_in_the_store() {
    let mut a = Desk::new();
    let mut b = a.beside();
    let (old_a, old_b) = (a.ask(), b.ask());
    let first = a.reject(&old_a);
    a.token(first);
    let second = b.reject(&old_b);
    assert_eq!(b.token(second).expose(), "access-2");
    assert_eq!(a.server.requests().len(), 1);
}

#[test]
fn e2_a_refused_refresh_token_that_was_rotated_meanwhile_is_no_error() {
    // One of the two has more patience than the other knows of.
    let mut a = Desk::with(|builder| {
        let builder = builder.grace(Duration::from_secs(60));
        builder.answer_limit(Duration::from_secs(30))
    });
    let mut b = a.beside();
    let (old_a, old_b) = (a.ask(), b.ask());
    // Neither has a lease, and the server is strict.
    a.server.hold();
    let (call_a, call_b) = (a.reject(&old_a), b.reject(&old_b));
    assert!(a.is_waiting(call_a) && b.is_waiting(call_b));
    (0..4).for_each(|_| b.advance_secs(1));
    a.server.release();
    a.token(call_a);
    assert_eq!(
        b.token(call_b).expose(),
        "access-2",
        "and it is the server's affair to revoke it"
    );
    assert_eq!(a.server.requests(), ["refresh-1", "refresh-1"]);
    assert_eq!(b.events(), ["found 1", "found 3"]);
}

#[test]
fn a_lease_that_cannot_be_had_fails_the_refresh_and_not_the_good_token() {
    let lease = Local::default();
    let mut desk = Desk::with({
        let lease = lease.clone();
        |builder| builder.lease(lease)
    });
    lease.0.lock().unwrap().fails = true;
    desk.advance_secs(3300);
    assert_eq!(desk.ask().expose(), "access-1");
    assert_eq!(desk.ask().expose(), "access-1");
    desk.advance_secs(300);
    let error = desk.ask_for_error();
    assert!(error.work().unwrap().is_lease());
    assert_eq!(desk.server.requests().len(), 0);
    lease.0.lock().unwrap().fails = false;
    desk.advance_secs(5);
    assert_eq!(desk.ask().expose(), "access-2");
}

#[test]
fn a_lease_is_given_back_by_a_flight_that_takes_too_long() {
    let lease = Local::default();
    let mut desk = Desk::with({
        let lease = lease.clone();
        |builder| {
            let builder = builder.lease(lease).grace(Duration::ZERO);
            builder.answer_limit(Duration::MAX)
        }
    });
    desk.advance_secs(3600);
    desk.server.next([Fate::Silent]);
    let call = desk.call();
    desk.settle();
    assert!(lease.0.lock().unwrap().taken);
    desk.advance_secs(60);
    assert!(desk.error(call).is_overdue());
    assert!(!lease.0.lock().unwrap().taken);
}

#[test]
fn e13_the_new_pair_is_in_the_store_before_anybody_has_its_token() {
    let (mut desk, store) = told();
    let old = desk.ask();
    store.swap_late("access-2");
    let calls = [desk.reject(&old), desk.call()];
    assert!(calls.iter().all(|&call| desk.is_waiting(call)));
    assert_eq!(desk.server.redeemed(), 1, "the server has answered");
    store.answer_now();
    for call in calls {
        assert_eq!(desk.token(call).expose(), "access-2");
    }
}

#[test]
fn e13_a_pair_that_could_not_be_stored_is_stored_by_the_next_call_and_not_asked_for_again() {
    let (mut desk, store) = told();
    let old = desk.ask();
    // Of one flight four times, with pauses of 100, 200 and 400 ms.
    store.fail_swaps_of("access-2", 8);
    for _ in 0..2 {
        let call = desk.reject(&old);
        (0..8).for_each(|_| desk.advance(Duration::from_millis(100)));
        let error = desk.error(call);
        assert!(error.work().unwrap().is_store());
        assert_eq!(error.to_string(), "the token store failed to save");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, "the disk is full");
        desk.advance_secs(5);
    }
    assert_eq!(desk.ask().expose(), "access-2");
    assert_eq!(desk.server.requests().len(), 1);
    assert_eq!(desk.beside().ask().expose(), "access-2");
}

#[test]
fn e13_a_swap_that_was_done_though_it_failed_is_recognized() {
    let (mut desk, store) = told();
    let old = desk.ask();
    desk.server.hold();
    let call = desk.reject(&old);
    desk.settle();
    store.fail_swaps(1, true);
    desk.server.release();
    (0..8).for_each(|_| desk.advance(Duration::from_millis(100)));
    assert_eq!(desk.token(call).expose(), "access-2");
    assert_eq!(desk.source.stats().superseded, 0);
    // A login, that the token is sent, the pair, and the pair again.
    assert_eq!((desk.server.requests().len(), store.swaps()), (1, 4));
}

#[test]
fn a_pair_that_waited_for_the_store_for_longer_than_it_lives_is_refreshed() {
    let (mut desk, store) = told();
    let old = desk.ask();
    store.fail_swaps_of("access-2", 4);
    let call = desk.reject(&old);
    (0..8).for_each(|_| desk.advance(Duration::from_millis(100)));
    desk.error(call);
    desk.advance_secs(4000);
    assert_eq!(desk.ask().expose(), "access-3");
    assert_eq!(desk.server.requests(), ["refresh-1", "refresh-2"]);
}

#[test]
fn a_store_that_cannot_be_read_fails_the_refresh_and_nothing_is_sent() {
    let (mut desk, store) = told();
    let old = desk.ask();
    store.fail_loads(1);
    let call = desk.reject(&old);
    assert_eq!(
        desk.error(call).to_string(),
        "the token store failed to load"
    );
    assert_eq!(desk.server.requests().len(), 0);
    desk.advance_secs(2);
    assert_eq!(desk.ask().expose(), "access-2");
}

#[test]
fn e13_a_lost_answer_is_retried_with_the_same_token_within_the_grace() {
    let mut desk = Desk::new();
    desk.server.grace(Duration::from_secs(10));
    desk.advance_secs(3600);
    desk.server
        .next([Fate::AnswerLost, Fate::RequestLost, Fate::AnswerLost]);
    let call = desk.call();
    for _ in 0..40 {
        desk.advance(Duration::from_millis(50));
    }
    // After 250, 500 and 1,000 ms.
    assert_eq!(desk.token(call).expose(), "access-4");
    assert_eq!(desk.server.requests(), ["refresh-1"; 4]);
    assert_eq!(desk.server.revoked(), 0);
}

#[test]
fn e13_a_server_that_has_no_time_after_an_answer_was_lost_is_asked_again_within_the_grace() {
    let mut desk = Desk::new();
    desk.server.grace(Duration::from_secs(10));
    desk.advance_secs(3600);
    let busy = Fate::Busy(Some(Duration::from_secs(2)));
    desk.server.next([Fate::AnswerLost, busy]);
    let call = desk.call();
    desk.settle();
    (0..3).for_each(|_| desk.advance_secs(1));
    assert_eq!(desk.token(call).expose(), "access-3");
    assert_eq!(
        (desk.server.requests().len(), desk.server.revoked()),
        (3, 0)
    );
}

#[test]
fn e13_a_request_without_an_answer_is_lost_after_its_limit() {
    let limit = Duration::from_secs(3);
    let mut desk = Desk::with(|builder| builder.answer_limit(limit));
    desk.server.grace(Duration::from_secs(10));
    desk.advance_secs(3600);
    desk.server.next([Fate::Silent]);
    let call = desk.call();
    desk.settle();
    desk.advance_secs(3);
    desk.advance_secs(1);
    assert_eq!(desk.token(call).expose(), "access-3");
    assert_eq!(desk.server.revoked(), 0);
}

#[test]
fn e13_as_usual_an_answer_lost_in_silence_is_asked_for_again_within_the_grace() {
    let mut desk = Desk::new();
    desk.server.grace(Duration::from_secs(10));
    desk.advance_secs(3600);
    desk.server.next([Fate::Silent, Fate::Silent]);
    let call = desk.call();
    for _ in 0..100 {
        desk.advance(Duration::from_millis(100));
    }
    // Four seconds each, and pauses of 250 and 500 ms.
    assert_eq!(desk.token(call).expose(), "access-4");
    assert_eq!(desk.server.requests(), ["refresh-1"; 3]);
    assert_eq!(desk.server.revoked(), 0);
}

#[test]
fn e13_a_late_answer_counts_beside_the_request_that_was_sent_after_it() {
    let late = Fate::Late(Duration::from_secs(5));
    // The second is refused at once, or would be after the first is granted.
    for fates in [vec![late], vec![late, late]] {
        let mut desk = Desk::new();
        desk.server.revokes(false);
        desk.advance_secs(3600);
        desk.server.next(fates);
        let start = oneflight::token::Wall::now(&desk.wall);
        let call = desk.call();
        desk.settle();
        (0..49).for_each(|_| desk.advance(Duration::from_millis(100)));
        assert!(desk.is_waiting(call));
        assert_eq!(desk.server.requests(), ["refresh-1"; 2]);
        desk.advance(Duration::from_millis(100));
        let token = desk.token(call);
        assert_eq!(token.expose(), "access-2");
        assert!(desk.server.takes("access-2"));
        let end = start + Duration::from_secs(3600);
        assert_eq!(token.expires_at(), Some(end));
        let told = desk.events();
        assert!(!told.iter().any(|line| line.contains("login")), "{told:?}");
        // The new refresh token is kept.
        desk.advance_secs(3600);
        assert_eq!(desk.ask().expose(), "access-3");
    }
}

#[test]
fn e13_a_late_answer_counts_in_the_pause_before_the_next_request() {
    let mut desk = Desk::new();
    desk.advance_secs(3600);
    desk.server.next([Fate::Late(Duration::from_millis(4100))]);
    let call = desk.call();
    desk.settle();
    (0..41).for_each(|_| desk.advance(Duration::from_millis(100)));
    assert_eq!(desk.token(call).expose(), "access-2");
    assert_eq!(desk.server.requests(), ["refresh-1"]);
}

#[test]
fn e13_a_refusal_beside_a_request_without_an_answer_is_believed_at_the_end_of_the_grace() {
    let mut desk = Desk::new();
    desk.server.revokes(false);
    desk.advance_secs(3600);
    desk.server.next([Fate::Silent]);
    let call = desk.call();
    desk.settle();
    (0..99).for_each(|_| desk.advance(Duration::from_millis(100)));
    assert!(desk.is_waiting(call));
    assert_eq!(desk.server.requests(), ["refresh-1"; 2]);
    desk.advance(Duration::from_millis(100));
    assert!(desk.error(call).needs_login());
    assert_eq!(desk.server.requests(), ["refresh-1"; 2]);
}

#[test]
fn e13_in_any_grace_there_is_time_to_send_a_request_again() {
    for millis in [1, 10, 100, 1000, 3000, 10_000, 60_000] {
        let grace = Duration::from_millis(millis);
        let mut desk = Desk::with(|builder| builder.grace(grace));
        desk.server.grace(grace);
        desk.advance_secs(3600);
        desk.server.next([Fate::Silent]);
        let call = desk.call();
        desk.settle();
        (0..200).for_each(|_| desk.advance(grace / 200));
        assert_eq!(desk.token(call).expose(), "access-3", "{grace:?}");
        assert_eq!(desk.server.revoked(), 0);
    }
}

#[test]
fn e13_a_limit_that_leaves_no_time_to_send_a_request_again_is_refused() {
    let with = |answer: u64, grace: u64| {
        muted(|| {
            Desk::with(|builder| {
                let builder = builder.grace(Duration::from_secs(grace));
                builder.answer_limit(Duration::from_secs(answer))
            });
        })
    };
    assert_eq!(with(9, 10), Ok(()));
    assert_eq!(with(900, 0), Ok(()), "nothing is sent again");
    assert_eq!(
        with(10, 10),
        Err(
            "an answer limit of 10s leaves no time to send a refresh again within the grace of 10s"
                .to_owned()
        )
    );
    assert!(with(u64::MAX, 1).is_err());
}

#[test]
fn past_the_grace_a_token_in_doubt_is_not_sent_while_there_is_something_to_lose() {
    let mut desk = Desk::new();
    // This server revokes a family whose refresh token comes twice.
    let mut source = desk.beside_with(|builder| builder.grace(Duration::ZERO));
    desk.advance_secs(3300);
    desk.server.next([Fate::AnswerLost]);
    for _ in 0..290 {
        assert_eq!(source.ask().expose(), "access-1");
        source.advance_secs(1);
    }
    assert_eq!(source.server.requests().len(), 1);
    assert_eq!(source.server.revoked(), 0);
    // There is nothing to lose any more: that it rests for a while counts no more either.
    source.advance_secs(10);
    let error = source.ask_for_error();
    assert!(error.needs_login());
    assert_eq!(source.server.requests().len(), 2);
}

#[test]
fn a_token_stays_in_doubt_whatever_the_server_says_after_the_lost_answer() {
    let mut desk = Desk::new();
    desk.advance_secs(3300);
    let busy = Fate::Busy(Some(Duration::from_secs(60)));
    desk.server.next([Fate::AnswerLost, busy]);
    for _ in 0..290 {
        assert_eq!(desk.ask().expose(), "access-1");
        desk.advance_secs(1);
    }
    assert_eq!(
        (desk.server.requests().len(), desk.server.revoked()),
        (2, 0)
    );
}

#[test]
fn past_the_grace_a_request_that_never_got_there_costs_no_login() {
    let mut desk = Desk::with(|builder| builder.grace(Duration::ZERO));
    desk.advance_secs(3600);
    desk.server.next([Fate::RequestLost; 2]);
    for _ in 0..2 {
        assert!(desk.ask_for_error().work().unwrap().is_lost());
        desk.advance_secs(60);
    }
    assert_eq!(desk.ask().expose(), "access-2");
}

#[test]
fn a_token_is_in_doubt_when_what_sent_it_panics() {
    let mut desk = Desk::with(|builder| builder.grace(Duration::ZERO));
    desk.advance_secs(3300);
    desk.server.next([Fate::Panics]);
    let quiet = muted(|| {
        assert_eq!(desk.ask().expose(), "access-1");
        desk.settle();
    });
    assert_eq!(quiet, Ok(()));
    desk.advance_secs(100);
    assert_eq!(desk.ask().expose(), "access-1");
    assert_eq!(desk.server.requests().len(), 1);
    let events = desk.events();
    assert!(events[0].contains("cut off"), "{events:?}");
    assert!(events[1].contains("not tried again"), "{events:?}");
}

#[test]
fn a_server_that_does_not_rotate_is_sent_the_same_refresh_token() {
    let mut desk = Desk::new();
    desk.server.rotates(false);
    for _ in 0..3 {
        let token = desk.ask();
        let call = desk.reject(&token);
        desk.token(call);
    }
    assert_eq!(desk.server.requests(), ["refresh-1"; 3]);
}
