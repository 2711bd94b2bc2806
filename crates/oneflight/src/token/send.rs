//! Sending a refresh: a time limit for each request, the same refresh token again while that is allowed (R3).

use super::doubt::Doubt;
use super::event::Event;
use super::failure::Failure;
use super::pair::{Grant, Pair, Stored, Version};
use super::secret::Secret;
use super::slot::{Moment, Refreshing, Slot};
use crate::clock::{Clock, sleep};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll};
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
/// What has no answer in time is still listened to beside what is sent after it: whichever is granted first counts. That the token is
/// refused is believed once the others have had their time: one of them may have redeemed it.
///
/// An answer that says nothing about the refresh token takes it out of doubt, if it was not before.
pub(super) async fn send<E>(slot: &Slot<E>, request: &mut Request) -> Result<Granted, Failure<E>> {
    let mut pause = first_pause(slot.limits.grace);
    let mut late = Late(Vec::new());
    // A flight that only waits is of no use to anybody: it is not kept up for longer than it may take.
    let left = request.since.left(slot.limits.grace, slot.now());
    let last = slot
        .now()
        .checked_add(left.min(slot.limits.flight).min(FOREVER));
    loop {
        let failure = match attempt(slot, request, &mut late).await {
            Ok(granted) => return Ok(granted),
            Err(failure) => failure,
        };
        request.lost |= failure.is_lost();
        if !request.lost {
            unmark(slot, request, &failure).await;
            return Err(failure);
        }
        if !(failure.is_lost() || failure.is_transient()) {
            return late.granted_until(last, slot).await.ok_or(failure);
        }
        pause = pause.max(failure.wish().unwrap_or_default());
        let again = slot.now().checked_add(pause);
        // A token that is no refresh token is not spent: there is no hurry to send it again.
        let allowed = request.refresh().is_some() && again.is_some() && again < last;
        if !allowed {
            return Err(failure);
        }
        slot.hook.tell(&Event::Failed {
            failure: &failure,
            serving: slot.good(None).is_some(),
        });
        let pausing = sleep(slot.clock.as_ref(), pause);
        if let Err(granted) = late.beside(pausing).await {
            return Ok(granted);
        }
        pause = pause.saturating_mul(2);
    }
}

/// Sends one request, beside those that are late.
async fn attempt<E>(
    slot: &Slot<E>,
    request: &Request,
    late: &mut Late<E>,
) -> Result<Granted, Failure<E>> {
    slot.state.lock().stats.sent += 1;
    let (sent, limit) = (slot.moment(), slot.limits.answer);
    let mut answer = (slot.refresher)(request.refresh().cloned());
    let in_time = within(slot.clock.as_ref(), limit, answer.as_mut());
    let answered = late.beside(in_time).await;
    match answered {
        Err(granted) => Ok(granted),
        Ok(Some(Ok(grant))) => Ok(Granted { grant, sent }),
        Ok(Some(Err(error))) => Err(Failure::refresh(error)),
        Ok(None) => {
            late.0.push((sent, answer));
            Err(Failure::silent(limit))
        }
    }
}

/// Requests that had no answer in time, and when they were sent. Pauses double, so that there are few.
struct Late<E>(Vec<(Moment, Refreshing<E>)>);

impl<E> Late<E> {
    /// What a future comes to; or what one of these is granted, if that is first.
    async fn beside<F: Future>(&mut self, future: F) -> Result<F::Output, Granted> {
        let mut future = pin!(future);
        poll_fn(|context| {
            if let Some(granted) = self.poll(context) {
                return Poll::Ready(Err(granted));
            }
            future.as_mut().poll(context).map(Ok)
        })
        .await
    }

    /// What one of these is granted, if one is by then.
    async fn granted_until(mut self, last: Option<Instant>, slot: &Slot<E>) -> Option<Granted> {
        let left = last.map(|last| last.saturating_duration_since(slot.now()));
        let granted = poll_fn(|context| match self.poll(context) {
            None if !self.0.is_empty() => Poll::Pending,
            granted => Poll::Ready(granted),
        });
        let granted = within(slot.clock.as_ref(), left.unwrap_or_default(), granted);
        granted.await.flatten()
    }

    /// Polls each. One that fails is heard no more: what was sent after it says what that means.
    fn poll(&mut self, context: &mut Context<'_>) -> Option<Granted> {
        let mut granted = None;
        self.0.retain_mut(|(sent, answer)| {
            if granted.is_some() {
                return true;
            }
            match answer.as_mut().poll(context) {
                Poll::Pending => true,
                Poll::Ready(result) => {
                    granted = result.ok().map(|grant| Granted { grant, sent: *sent });
                    false
                }
            }
        });
        granted
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
