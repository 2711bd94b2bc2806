//! Places on lines, with a server that lets in whom the script says.

use super::FOR_GOOD;
use super::fake::{Fake, Told};
use super::line::{Line, Place};
use super::pool::Lines;
use crate::driver::DriverError;
use futures_util::FutureExt as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{advance, timeout};

/// A place for what is written in one go: its pen is put down at once.
async fn place(lines: &Arc<Lines>, weight: usize) -> Result<Place, DriverError> {
    let (place, _pen) = lines.place(weight).await?;
    Ok(place)
}

/// A place, or none if nothing else happens before time passes.
async fn place_at_once(lines: &Arc<Lines>, weight: usize) -> Option<Place> {
    let placed = timeout(Duration::from_millis(1), place(lines, weight)).await;
    placed.ok().map(Result::unwrap)
}

fn same(a: &Place, b: &Place) -> bool {
    Arc::ptr_eq(&a.line, &b.line)
}

fn line(place: &Place) -> Arc<Line> {
    place.line.clone()
}

/// A5, at the first connection too: the one that is there may be another than the one that was asked for first.
#[tokio::test(start_paused = true)]
async fn a_server_with_room_for_one_is_worked_with_over_one() {
    for welcome in 0..4 {
        let told = |nth| {
            if nth == welcome {
                Told::Welcome
            } else {
                Told::Full
            }
        };
        let fake = Fake::start((0..40).map(told)).await;
        let lines = Lines::connect(fake.config.clone(), 7).await.unwrap();
        lines.settled().await;
        let first = place(&lines, 1).await.unwrap();
        for _ in 0..20 {
            let behind = place(&lines, 1).await.unwrap();
            assert!(same(&first, &behind));
        }
        assert_eq!(
            fake.seen().came,
            4,
            "it was refused just now: nobody asks again"
        );
        advance(Duration::from_secs(1)).await;
        place(&lines, 1).await.unwrap();
        fake.until(|seen| seen.came > 4).await;
    }
}

/// A5.
#[tokio::test(start_paused = true)]
async fn who_has_no_line_is_told_why() {
    let fake = Fake::start([]).await;
    let lines = Lines::connect(fake.config.clone(), 1).await.unwrap();
    fake.tell([Told::Full, Told::Welcome]);
    place(&lines, 1).await.unwrap().line.retire();
    let error = place(&lines, 1).await.unwrap_err();
    assert_eq!(error.code(), Some("53300"));
    // The next one is no heir to it.
    place(&lines, 1).await.unwrap();
    assert_eq!(fake.seen().came, 3);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_connection_that_is_slow_to_come() {
    let fake = Fake::start([Told::Welcome, Told::Nothing]).await;
    let lines = Lines::connect(fake.config.clone(), 2).await.unwrap();
    let first = place(&lines, 1).await.unwrap();
    let behind = place_at_once(&lines, 1).await.expect("a place behind it");
    assert!(same(&first, &behind));
    // What has been unanswered for long is not gone behind, while something better is to come.
    advance(Duration::from_secs(1)).await;
    assert!(place_at_once(&lines, 1).await.is_none());
    fake.speak();
    let other = place(&lines, 1).await.unwrap();
    assert!(!same(&first, &other));
    assert_eq!(fake.seen().at_once, 2);
}

/// Those who come at once: the first has not even put down the pen.
#[tokio::test(start_paused = true)]
async fn who_is_just_writing_is_no_reason_to_wait_for_a_connection() {
    let fake = Fake::start([Told::Welcome, Told::Nothing]).await;
    let lines = Lines::connect(fake.config.clone(), 2).await.unwrap();
    let (first, pen) = lines.place(1).await.unwrap();
    let mut second = pin!(place(&lines, 1));
    assert!(second.as_mut().now_or_never().is_none(), "A2");
    drop(pen);
    let second = second.now_or_never().expect("a place behind it").unwrap();
    assert!(same(&first, &second));
}

#[tokio::test(start_paused = true)]
async fn nobody_goes_behind_what_waits_for_long_if_there_is_another_line() {
    let fake = Fake::start([]).await;
    let lines = Lines::connect(fake.config.clone(), 2).await.unwrap();
    lines.settled().await;
    let blocked = place(&lines, 1).await.unwrap();
    advance(Duration::from_secs(10)).await;
    let busy = place(&lines, 100_000).await.unwrap();
    assert!(!same(&blocked, &busy));
    let behind = place(&lines, 1).await.unwrap();
    assert!(same(&busy, &behind));
    // Who gives up behind it does not make it any younger; an answer does.
    let blocked_too = (0..2).map(|_| place(&lines, 10_000_000));
    let blocked_too = futures_util::future::join_all(blocked_too).await;
    assert!(
        blocked_too
            .iter()
            .flatten()
            .any(|place| same(&blocked, place))
    );
    drop(blocked_too);
    assert!(same(&busy, &place(&lines, 1).await.unwrap()));
    let answered = line(&blocked);
    drop(blocked);
    let next = place(&lines, 1).await.unwrap();
    assert!(Arc::ptr_eq(&answered, &next.line));
}

/// A6.
#[tokio::test(start_paused = true)]
async fn what_is_held_for_good_is_no_line_to_go_behind() {
    let fake = Fake::start([Told::Welcome, Told::Full, Told::Full]).await;
    let lines = Lines::connect(fake.config.clone(), 2).await.unwrap();
    lines.settled().await;
    let held = lines.place(FOR_GOOD).await.unwrap();
    let error = place(&lines, 1).await.unwrap_err();
    assert_eq!(error.code(), Some("53300"));
    let other = place(&lines, 1).await.unwrap();
    assert!(!same(&held.0, &other));
}

/// A6: he has not asked for the pen yet, and would wait for the end of all that is rehearsed.
#[tokio::test(start_paused = true)]
async fn what_somebody_is_on_is_not_held_for_good() {
    let fake = Fake::start([]).await;
    let lines = Lines::connect(fake.config.clone(), 1).await.unwrap();
    let on_it = place(&lines, 1).await.unwrap();
    let soon = Duration::from_secs(1);
    let held = timeout(soon, lines.place(FOR_GOOD)).await;
    assert!(held.is_err(), "it waits until the line is idle");
    let behind = place(&lines, 1).await.unwrap();
    drop(on_it);
    assert!(timeout(soon, lines.place(FOR_GOOD)).await.is_err());
    drop(behind);
    lines.place(FOR_GOOD).await.unwrap();
}

/// A1: others may still hold the line, and be about to see that it is retired.
#[tokio::test(start_paused = true)]
async fn a_retired_line_keeps_its_seat_until_it_is_closed() {
    let fake = Fake::start([]).await;
    let lines = Lines::connect(fake.config.clone(), 1).await.unwrap();
    let first = place(&lines, 1).await.unwrap();
    let held = line(&first);
    held.retire();
    drop(first);
    assert!(place_at_once(&lines, 1).await.is_none());
    assert_eq!(fake.seen().came, 1);
    drop(held);
    place(&lines, 1).await.unwrap();
    let seen = fake.seen();
    assert_eq!((seen.came, seen.at_once), (2, 1));
}

/// A1: nobody waits for the answer any more, and the server will never give it.
#[tokio::test(start_paused = true)]
async fn a_retired_line_that_its_server_does_not_let_go_is_cut() {
    let fake = Fake::start([]).await;
    let lines = Lines::connect(fake.config.clone(), 1).await.unwrap();
    let first = place(&lines, 1).await.unwrap();
    let asking = first.line.client.simple_query("SELECT 1");
    timeout(Duration::from_millis(1), asking).await.unwrap_err();
    first.line.retire();
    drop(first);
    place(&lines, 1).await.unwrap();
    assert_eq!(fake.seen().came, 2);
}

#[tokio::test(start_paused = true)]
async fn connections_on_their_way_are_given_up_with_the_driver() {
    let fake = Fake::start([Told::Welcome, Told::Nothing, Told::Nothing]).await;
    let lines = Lines::connect(fake.config.clone(), 3).await.unwrap();
    fake.until(|seen| seen.open == 3).await;
    drop(lines);
    fake.until(|seen| seen.open == 0).await;
}
