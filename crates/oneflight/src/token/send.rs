//! Sending a refresh: a time limit for each request, the same refresh token again while that is allowed (R3).

use super::event::Event;
use super::failure::Failure;
use super::pair::{Grant, Version};
use super::slot::{Moment, Slot};
use super::state::Ask;
use crate::clock::{Clock, sleep};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

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

/// Sends a request until there is an answer, or the grace is over. Once an answer is lost, a server that has no time now is asked
/// again, too: the grace runs, and nobody else may ask in time.
pub(super) async fn send<E>(slot: &Slot<E>, ask: &Ask) -> Result<Granted, Failure<E>> {
    let mut pause = first_pause(slot.limits.grace);
    let first = ask.doubt.unwrap_or_else(|| slot.now());
    let mut lost = ask.doubt.is_some();
    // A flight that only waits is of no use to anybody: it is not kept up for longer than it may take.
    let ends = slot.now().checked_add(slot.limits.flight.min(FOREVER));
    let last = first.checked_add(slot.limits.grace.min(FOREVER));
    let last = last.into_iter().chain(ends).min().unwrap_or(first);
    loop {
        let sent = slot.moment();
        let failure = match attempt(slot, ask, first, lost).await {
            Ok(grant) => return Ok(Granted { grant, sent }),
            Err(failure) if failure.is_lost() || (lost && failure.is_transient()) => failure,
            Err(failure) => return Err(failure),
        };
        lost |= failure.is_lost();
        pause = pause.max(failure.wish().unwrap_or_default());
        let again = slot.now().checked_add(pause);
        // A token that is no refresh token is not spent: there is no hurry to send it again.
        let allowed = ask.refresh.is_some() && again.is_some_and(|again| again < last);
        if !allowed {
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

/// Sends one request. Its refresh token is in doubt until the answer is there, however this ends.
async fn attempt<E>(
    slot: &Slot<E>,
    ask: &Ask,
    first: Instant,
    lost: bool,
) -> Result<Grant, Failure<E>> {
    let doubt = lost.then_some(first);
    {
        let mut state = slot.state.lock();
        state.stats.sent += 1;
        state.doubt(ask.version, Some(first));
    }
    let limit = slot.limits.answer;
    let request = (slot.refresher)(ask.refresh.clone());
    let result = match within(slot.clock.as_ref(), limit, request).await {
        Some(result) => result.map_err(Failure::refresh),
        None => Err(Failure::silent(limit)),
    };
    if !matches!(&result, Err(failure) if failure.is_lost()) {
        settled(slot, ask.version, doubt);
    }
    result
}

/// There is an answer: the token is in doubt only if it was before.
fn settled<E>(slot: &Slot<E>, version: Version, before: Option<Instant>) {
    slot.state.lock().doubt(version, before);
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
