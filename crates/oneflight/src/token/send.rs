//! Sending a refresh: a time limit for each request, the same refresh token again while that is allowed (R3).

use super::doubt::Doubt;
use super::event::Event;
use super::failure::Failure;
use super::pair::{Grant, Pair, Stored, Version};
use super::secret::Secret;
use super::slot::{Moment, Slot};
use crate::clock::{Clock, sleep};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// After a lost answer the first pause is this long, at most; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// More than anybody waits, and within what clocks can tell.
const FOREVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// How long the first pause is, so that even in a short grace there is time for another request.
pub(super) fn first_pause(grace: Duration) -> Duration {
    FIRST_PAUSE.min(grace / 5)
}

/// What the server gave, and when it was asked for it.
pub(super) struct Granted {
    pub(super) grant: Grant,
    pub(super) sent: Moment,
}

/// A request to the server, which stands in the store (R3).
pub(super) struct Request {
    pub(super) version: Version,
    pub(super) pair: Option<Pair>,
    /// It was first sent then.
    pub(super) since: Doubt,
    /// An answer to it was lost.
    pub(super) lost: bool,
}

impl Request {
    pub(super) fn refresh(&self) -> Option<&Secret> {
        self.pair.as_ref().and_then(Pair::refresh)
    }
}

/// Sends a request until there is an answer, or the grace is over. Once an answer is lost, a server that has no time now is asked
/// again, too: the grace runs, and nobody else may ask in time.
///
/// An answer that says nothing about the refresh token takes it out of doubt, if it was not before.
pub(super) async fn send<E>(slot: &Slot<E>, request: &mut Request) -> Result<Granted, Failure<E>> {
    let mut pause = first_pause(slot.limits.grace);
    // A flight that only waits is of no use to anybody: it is not kept up for longer than it may take.
    let left = request.since.left(slot.limits.grace, slot.now());
    let last = slot
        .now()
        .checked_add(left.min(slot.limits.flight).min(FOREVER));
    loop {
        let sent = slot.moment();
        let failure = match attempt(slot, request).await {
            Ok(grant) => return Ok(Granted { grant, sent }),
            Err(failure) => failure,
        };
        request.lost |= failure.is_lost();
        if !request.lost {
            unmark(slot, request, &failure).await;
            return Err(failure);
        }
        pause = pause.max(failure.wish().unwrap_or_default());
        let again = slot.now().checked_add(pause);
        // A token that is no refresh token is not spent: there is no hurry to send it again.
        let allowed = request.refresh().is_some() && again.is_some() && again < last;
        if !allowed || !(failure.is_lost() || failure.is_transient()) {
            return Err(failure);
        }
        slot.hook.tell(&Event::Failed {
            failure: &failure,
            serving: slot.good(None).is_some(),
        });
        sleep(slot.clock.as_ref(), pause).await;
        pause = pause.saturating_mul(2);
    }
}

/// Sends one request.
async fn attempt<E>(slot: &Slot<E>, request: &Request) -> Result<Grant, Failure<E>> {
    slot.state.lock().stats.sent += 1;
    let limit = slot.limits.answer;
    let answer = (slot.refresher)(request.refresh().cloned());
    match within(slot.clock.as_ref(), limit, answer).await {
        Some(result) => result.map_err(Failure::refresh),
        None => Err(Failure::silent(limit)),
    }
}

/// The server has answered, and has not redeemed the refresh token: so it is in doubt no longer, for nobody.
async fn unmark<E>(slot: &Slot<E>, request: &mut Request, answer: &Failure<E>) {
    slot.state.lock().settled(request.version);
    // One that is worth nothing any more is in no doubt either, and is not sent again.
    if request.refresh().is_none() || answer.needs_login() {
        return;
    }
    let stored = Stored::new(request.version.next(), request.pair.clone());
    // If it fails, the others have it in doubt for longer than it is.
    let swap = slot.store.compare_and_swap(request.version, &stored);
    if matches!(swap.await, Ok(true)) {
        let mut state = slot.state.lock();
        state.marked(request.version, stored.version, None);
        request.version = stored.version;
    }
}

/// What a future comes to, if it does so within a limit. What comes in time is never refused for being late.
pub(super) async fn within<F: Future>(
    clock: &dyn Clock,
    limit: Duration,
    future: F,
) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut limit = sleep(clock, limit);
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        limit.as_mut().poll(context).map(|()| None)
    })
    .await
}
