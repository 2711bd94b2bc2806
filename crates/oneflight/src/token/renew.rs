//! A flight's work: from a token that will not do to one that does.
//!
//! ```text
//!   begin ─▶ lease ─▶ unsaved pair? ─▶ save                          ┌─▶ refused ─▶ store has a newer one? ─▶ again
//!                          └─▶ read the store ─▶ good? ─▶ done       │                     └─▶ Ended
//!                                     └─▶ send ──────────────────────┴─▶ granted ─▶ save ─▶ done
//!                                                                                     └─▶ another was first: read, again
//! ```
//!
//! M1. Whatever the flight comes to, and if it is dropped too, the state hears of it (`Airborne`).
//! M2. A pair that was granted is kept in the state until the store has it, or has a newer one: it is never asked for twice.

use super::event::Event;
use super::failure::Failure;
use super::pair::{Token, Version};
use super::schedule::pause;
use super::send::{Granted, send, within};
use super::slot::Slot;
use super::state::{Ask, Plan, Start, Unsaved};
use crate::sync::Arc;
use std::time::Duration;

/// How often a flight begins anew because others changed the store under it.
const ROUNDS: u32 = 4;

/// How long callers are kept waiting until a lease is back.
const RELEASE: Duration = Duration::from_secs(1);

/// Finds another token than `asked`.
pub(super) async fn fly<E>(slot: Arc<Slot<E>>, asked: Option<Token>) -> Result<Token, Failure<E>> {
    let now = slot.now();
    let start = slot.state.lock().begin(asked.as_ref(), now);
    match start {
        Start::Go => {}
        Start::Take(token) => return Ok(token),
        Start::Fail(why) => return Err(why),
    }
    let airborne = Airborne(Some(&slot));
    let result = lead(&slot, asked.as_ref()).await;
    airborne.land(result)
}

/// The obligation to say how a flight ended (M1).
struct Airborne<'s, E>(Option<&'s Slot<E>>);

impl<E> Airborne<'_, E> {
    fn land(mut self, result: Result<Token, Failure<E>>) -> Result<Token, Failure<E>> {
        match (self.0.take(), result) {
            (Some(slot), Ok(token)) => {
                let _old = slot.state.lock().landed();
                Ok(token)
            }
            (Some(slot), Err(failure)) => Err(failed(slot, failure)),
            (None, result) => result,
        }
    }
}

impl<E> Drop for Airborne<'_, E> {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            let _ = failed(slot, Failure::cut_off());
        }
    }
}

/// A flight has failed: it is told, and for a while none begins. The failure, and how long that is.
fn failed<E>(slot: &Slot<E>, failure: Failure<E>) -> Failure<E> {
    let (failures, version) = {
        let state = slot.state.lock();
        (state.failures(&failure), state.version())
    };
    let wait = failures.map(|failures| {
        let jitter = slot.jitter(version.unwrap_or_default(), failures);
        pause(failures, failure.wish(), jitter)
    });
    let failure = wait.map_or(failure.clone(), |wait| failure.again_in(wait));
    slot.hook.tell(&Event::Failed {
        failure: &failure,
        serving: slot.good(None).is_some(),
    });
    let now = slot.now();
    let _old = slot.state.lock().rest(&failure, now, wait);
    failure
}

/// Renews under the lease, if there is one.
async fn lead<E>(slot: &Slot<E>, asked: Option<&Token>) -> Result<Token, Failure<E>> {
    let lease = match &slot.lease {
        Some(lease) => Some(lease.acquire().await.map_err(Failure::lease)?),
        None => None,
    };
    let result = rounds(slot, asked).await;
    if let Some(lease) = lease {
        // A lease that is gone, or is not given back in time, is no reason to withhold a good token.
        let _ = within(slot.clock.as_ref(), RELEASE, lease.release()).await;
    }
    result
}

async fn rounds<E>(slot: &Slot<E>, asked: Option<&Token>) -> Result<Token, Failure<E>> {
    for _ in 0..ROUNDS {
        if let Some(token) = round(slot, asked).await? {
            return Ok(token);
        }
    }
    Err(Failure::overtaken())
}

/// One round. None if others changed the store meanwhile, and what they put there does not do.
async fn round<E>(slot: &Slot<E>, asked: Option<&Token>) -> Result<Option<Token>, Failure<E>> {
    let unsaved = slot.state.lock().unsaved();
    if let Some(unsaved) = unsaved {
        save(slot, asked, unsaved).await?;
        let now = slot.now();
        // It may have waited for longer than it lives.
        return Ok(slot.state.lock().usable(asked, now));
    }
    slot.read().await?;
    let now = slot.now();
    let plan = {
        let state = slot.state.lock();
        if let Some(token) = state.usable(asked, now) {
            return Ok(Some(token));
        }
        state.plan(now, slot.limits.grace)
    };
    let ask = match plan {
        Plan::Send(ask) => ask,
        Plan::Fail(failure) => return Err(failure),
        Plan::End(version, failure) => return Err(end(slot, version, failure)),
    };
    match send(slot, &ask).await {
        Ok(granted) => save(slot, asked, made(slot, &ask, granted)).await,
        Err(failure) if failure.needs_login() => refused(slot, asked, &ask, failure).await,
        Err(failure) => Err(failure),
    }
}

/// The pair that came of a request.
fn made<E>(slot: &Slot<E>, ask: &Ask, granted: Granted) -> Unsaved {
    let Granted { mut grant, sent } = granted;
    grant.refresh = grant.refresh.take().or_else(|| ask.refresh.clone());
    let version = ask.version.next();
    let pair = grant.into_pair(sent.wall);
    let times = slot.times(version, &pair, sent);
    Unsaved {
        expected: ask.version,
        version,
        pair,
        times,
    }
}

/// Puts a pair into the store, then into the state (R2).
async fn save<E>(
    slot: &Slot<E>,
    asked: Option<&Token>,
    unsaved: Unsaved,
) -> Result<Option<Token>, Failure<E>> {
    let epoch = {
        let mut state = slot.state.lock();
        state.keep_unsaved(Some(unsaved.clone()));
        state.epoch()
    };
    let stored = unsaved.stored();
    let swapped = slot.store.compare_and_swap(unsaved.expected, &stored).await;
    let swapped = swapped.map_err(|error| Failure::store("save", error))?;
    // It may be there all the same: by an attempt whose answer was an error.
    if swapped || is_there(slot, &unsaved).await? {
        let (version, pair) = (unsaved.version, &unsaved.pair);
        slot.hook.tell(&Event::Renewed { version });
        let (token, _old) = {
            let mut state = slot.state.lock();
            state.keep_unsaved(None);
            state.stats.renewed += 1;
            state.install(version, pair, unsaved.times, epoch)
        };
        // If it was overtaken on its way back, what overtook it is what counts.
        let now = slot.now();
        return Ok(token.or_else(|| slot.state.lock().usable(asked, now)));
    }
    {
        let mut state = slot.state.lock();
        state.keep_unsaved(None);
        state.stats.superseded += 1;
    }
    slot.read().await?;
    let now = slot.now();
    Ok(slot.state.lock().usable(asked, now))
}

/// True if the store has this very pair.
async fn is_there<E>(slot: &Slot<E>, unsaved: &Unsaved) -> Result<bool, Failure<E>> {
    let there = slot.store.load().await;
    let there = there.map_err(|error| Failure::store("load", error))?;
    let same = |secret: &str| secret == unsaved.pair.access().expose();
    Ok(there.version == unsaved.version
        && there.pair.is_some_and(|pair| same(pair.access().expose())))
}

/// The refresh token is refused. If the store has another by now, somebody else has rotated it, or has logged in; else it has ended.
async fn refused<E>(
    slot: &Slot<E>,
    asked: Option<&Token>,
    ask: &Ask,
    failure: Failure<E>,
) -> Result<Option<Token>, Failure<E>> {
    // A store that fails now is asked again before long: see `Look`.
    let there = slot.read().await.unwrap_or(ask.version);
    if there != ask.version || is_newer(slot, ask.version) {
        let now = slot.now();
        return Ok(slot.state.lock().usable(asked, now));
    }
    Err(end(slot, ask.version, failure))
}

/// A version has ended, for this reason: that is told if it is news (R4).
fn end<E>(slot: &Slot<E>, version: Version, failure: Failure<E>) -> Failure<E> {
    let news = slot.state.lock().may_end(version);
    if news {
        slot.hook.tell(&Event::LoginNeeded { failure: &failure });
    }
    let now = slot.now();
    slot.state.lock().end(version, &failure, now);
    failure
}

/// True if a pair has come by another way than from the store: by a login in this process.
fn is_newer<E>(slot: &Slot<E>, version: Version) -> bool {
    slot.state.lock().version() != Some(version)
}
