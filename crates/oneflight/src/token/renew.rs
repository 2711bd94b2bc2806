//! A flight's work: from a token that will not do to one that does.
//!
//! ```text
//!   begin ─▶ lease ─▶ unsaved pair? ─▶ save                          ┌─▶ refused ─▶ store has a newer one? ─▶ again
//!                          └─▶ read the store ─▶ good? ─▶ done       │                     └─▶ Ended
//!                                     └─▶ mark ─▶ send ──────────────┼─▶ granted ─▶ save ─▶ done
//!                                                                    │               └─▶ another was first: read, again
//!                                                                    └─▶ not redeemed ─▶ unmark
//! ```
//!
//! M1. Whatever the flight comes to, and if it is dropped too, the state hears of it (`Airborne`).
//! M2. A pair that was granted is kept in the state until the store has it, or has a newer one: it is never asked for twice.
//! M3. Nothing is sent that does not stand in the store as sent.

use super::doubt::Doubt;
use super::event::Event;
use super::failure::Failure;
use super::pair::{Stored, Token, Version};
use super::schedule::pause;
use super::send::{Granted, Request, send, within};
use super::slot::Slot;
use super::state::{Ask, Plan, Start, Unsaved};
use crate::clock::sleep;
use crate::sync::Arc;
use std::time::Duration;

/// How often a flight begins anew because others changed the store under it.
const ROUNDS: u32 = 4;

/// Who waits for what another has sent looks into the store after this time, and after twice the time each time, up to the other.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// A store that fails is asked again after this time, and after twice the time each time, and no more after the other.
const FIRST_TRY: Duration = Duration::from_millis(100);
const LAST_TRY: Duration = Duration::from_millis(400);

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
    let (mut left, mut pause) = (ROUNDS, FIRST_LOOK);
    while left > 0 {
        match round(slot, asked).await? {
            Round::Over(token) => return Ok(token),
            Round::Again => left -= 1,
            // It does not count: nobody has changed the store. The flight's limit ends it, whatever others do.
            Round::Wait(most) => {
                sleep(slot.clock.as_ref(), pause.min(most)).await;
                pause = (pause * 2).min(LONGEST_LOOK);
            }
        }
    }
    Err(Failure::overtaken())
}

/// How a round ended.
enum Round {
    Over(Token),
    /// Others changed the store meanwhile, and what they put there does not do.
    Again,
    /// Another has sent the refresh token, and may put a pair into the store within this time.
    Wait(Duration),
}

impl From<Option<Token>> for Round {
    fn from(token: Option<Token>) -> Self {
        token.map_or(Self::Again, Self::Over)
    }
}

async fn round<E>(slot: &Slot<E>, asked: Option<&Token>) -> Result<Round, Failure<E>> {
    let unsaved = slot.state.lock().unsaved();
    if let Some(unsaved) = unsaved {
        save(slot, asked, unsaved).await?;
        let now = slot.now();
        // It may have waited for longer than it lives.
        return Ok(slot.state.lock().usable(asked, now).into());
    }
    slot.read().await?;
    let now = slot.now();
    let plan = {
        let state = slot.state.lock();
        if let Some(token) = state.usable(asked, now) {
            return Ok(Round::Over(token));
        }
        state.plan(now, &slot.limits, slot.lease.is_some())
    };
    let ask = match plan {
        Plan::Send(ask) => ask,
        Plan::Wait(most) => return Ok(Round::Wait(most)),
        Plan::Fail(failure) => return Err(failure),
        Plan::End(version, failure) => return Err(end(slot, version, failure)),
    };
    let Some(mut request) = mark(slot, ask).await? else {
        return Ok(Round::Again);
    };
    let token = match send(slot, &mut request).await {
        Ok(granted) => save(slot, asked, made(slot, &request, granted)).await?,
        Err(failure) if failure.needs_login() => refused(slot, asked, &request, failure).await?,
        Err(failure) => return Err(failure),
    };
    Ok(token.into())
}

/// Puts into the store that the refresh token is about to be sent, so that whoever comes after this process knows (R3). None if another
/// has changed the store first: then it is not sent (R1).
async fn mark<E>(slot: &Slot<E>, ask: Ask) -> Result<Option<Request>, Failure<E>> {
    let at = slot.moment();
    let mut request = Request {
        version: ask.version,
        pair: ask.pair,
        since: ask.doubt.unwrap_or(Doubt::ours(at.clock)),
        lost: ask.doubt.is_some(),
    };
    if request.lost || request.refresh().is_none() {
        return Ok(Some(request));
    }
    let before = request.version;
    request.version = before.next();
    let stored = Stored::new(request.version, request.pair.clone()).with_sent(at.wall);
    // If it fails though it is done, we find it as one of others, and are careful.
    let marked = put(slot, before, &stored).await?
        && (slot.state.lock()).marked(before, request.version, Some(request.since));
    Ok(marked.then_some(request))
}

/// The pair that came of a request.
fn made<E>(slot: &Slot<E>, request: &Request, granted: Granted) -> Unsaved {
    let Granted { mut grant, sent } = granted;
    grant.refresh = grant.refresh.take().or_else(|| request.refresh().cloned());
    let version = request.version.next();
    let pair = grant.into_pair(sent.wall);
    let times = slot.times(version, &pair, sent);
    Unsaved {
        expected: request.version,
        version,
        pair,
        times,
    }
}

/// Puts something into the store in the place of this version; again after a pause, if the store fails. False if there is another
/// version: it may be this very one, by an attempt that failed and was done all the same.
async fn put<E>(slot: &Slot<E>, expected: Version, stored: &Stored) -> Result<bool, Failure<E>> {
    let mut pause = FIRST_TRY;
    loop {
        match slot.store.compare_and_swap(expected, stored).await {
            Ok(swapped) => return Ok(swapped),
            Err(error) if pause > LAST_TRY => return Err(Failure::store("save", error)),
            Err(_) => sleep(slot.clock.as_ref(), pause).await,
        }
        pause *= 2;
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
    // The lease is still held, if there is one: nobody else sends the old refresh token while the store is asked again.
    let swapped = put(slot, unsaved.expected, &stored).await?;
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
    request: &Request,
    failure: Failure<E>,
) -> Result<Option<Token>, Failure<E>> {
    // A store that fails now is asked again before long: see `Look`.
    let there = slot.read().await.unwrap_or(request.version);
    if there != request.version || is_newer(slot, request.version) {
        let now = slot.now();
        return Ok(slot.state.lock().usable(asked, now));
    }
    Err(end(slot, request.version, failure))
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
