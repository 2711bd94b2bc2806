//! A source of access tokens, as callers hold it.

use super::event::Stats;
use super::failure::Failure;
use super::pair::{Grant, Stored, Token, Version};
use super::renew;
use super::slot::{Name, Slot};
use super::state::{Look, Unsaved};
use crate::error::Error;
use crate::flight::{Group, Join};
use crate::hash::RandomState;
use crate::sync::Arc;
use std::fmt;

/// How often a login tries to get its pair in between refreshes of others.
const SWAPS: u32 = 16;

/// Gives valid access tokens, and renews them in one flight: for one identity.
///
/// * [`token`](Self::token) gives the present token while it is good. Shortly before its end it is renewed in the background; past
///   it, all callers wait for one refresh.
/// * [`rejected`](Self::rejected), after a 401, gives another token than that one. If it has been replaced already, no refresh is
///   needed.
/// * [`replace`](Self::replace) puts the pair of a login in place of what there is.
///
/// A refresh belongs to no caller: once it is sent, it goes on if all of them leave, since a new pair that nobody takes is lost.
/// Cloning is cheap and gives the same source. See [the guide](crate::guide::tokens).
///
/// # Examples
/// ```
/// use oneflight::Tokio;
/// use oneflight::token::{Grant, MemoryStore, Pair, RefreshError, TokenSource};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
///     .store(MemoryStore::with(Pair::new("old").with_refresh("r1")))
///     .build(|refresh| async move {
///         assert_eq!(refresh.expose(), "r1"); // POST grant_type=refresh_token …
///         Ok(Grant::new("new").refresh("r2").expires_in(Duration::from_secs(3600)))
///     });
///
/// let old = source.token().await.unwrap();
/// // Two requests get a 401 for it.
/// let (a, b) = tokio::join!(source.rejected(&old), source.rejected(&old));
/// assert_eq!((a.unwrap().expose(), b.unwrap().expose()), ("new", "new"));
/// // A third one comes late.
/// assert_eq!(source.rejected(&old).await.unwrap().expose(), "new");
/// assert_eq!(source.stats().sent, 1);
/// # }
/// ```
pub struct TokenSource<E> {
    slot: Arc<Slot<E>>,
    flights: Group<Name, Token, Failure<E>>,
}

/// A call for a token that waits.
type Call<'s, E> = Join<'s, Name, Token, Failure<E>, RandomState>;

impl<E> TokenSource<E> {
    pub(super) fn of(slot: Slot<E>, flights: Group<Name, Token, Failure<E>>) -> Self {
        Self {
            slot: Arc::new(slot),
            flights,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.slot.name.0
    }

    /// What it has done so far.
    pub fn stats(&self) -> Stats {
        self.slot.state.lock().stats
    }
}

impl<E: Send + Sync + 'static> TokenSource<E> {
    /// A valid access token: the present one, or that of the one refresh that is up.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing: a refresh that it waits for, or has started, goes on.
    ///
    /// # Errors
    /// Why there is no token, shared by all who waited: see [`Failure`], by way of [`Error::work`]. For a while
    /// ([`Failure::retry_after`]) no other refresh begins, and every call gets the same failure at once. That a login is needed
    /// ([`Error::needs_login`](Error::needs_login)) is told at once until there is another pair. While the present token is good, a
    /// failed refresh is no error.
    ///
    /// # Panics
    /// If a flight is to be started and the spawner panics, as [`Tokio`](crate::Tokio) does outside of its runtime.
    pub async fn token(&self) -> Result<Token, Error<Failure<E>>> {
        self.other_than(None).await
    }

    /// Another access token than this one, which a server would not have (401): the one that has replaced it by now, or that of the
    /// one refresh that is up.
    ///
    /// The answer may be refused again: then the request is at fault, or the identity, and calling this again would only ask for one
    /// token after the other. Try again once.
    ///
    /// # Cancel safety
    /// As [`token`](Self::token). The rejected token is not given out again.
    ///
    /// # Errors
    /// As [`token`](Self::token).
    ///
    /// # Panics
    /// As [`token`](Self::token).
    pub async fn rejected(&self, token: &Token) -> Result<Token, Error<Failure<E>>> {
        self.slot.state.lock().reject(token);
        self.other_than(Some(token)).await
    }

    /// Puts what a login was granted in place of what there is: in the store, then here. It also ends the state in which a login is
    /// needed. A refresh that is up for the old pair finds this one, and gives it to those who wait.
    ///
    /// It gives the token of that grant; or that of a newer pair, should one have come before the store had answered.
    ///
    /// # Cancel safety
    /// If it is dropped, the store may have the pair; this source then finds it with its next flight.
    ///
    /// # Errors
    /// The store's ([`Failure::is_store`]); and that a login is needed, if somebody has logged out meanwhile.
    pub async fn replace(&self, grant: Grant) -> Result<Token, Error<Failure<E>>> {
        let slot = &self.slot;
        let at = slot.moment();
        let pair = grant.into_pair(at.wall);
        for _ in 0..SWAPS {
            let there = self.peek().await?;
            let version = there.version.next();
            let times = slot.times(version, &pair, at);
            let unsaved = Unsaved {
                expected: there.version,
                version,
                pair: pair.clone(),
                times,
            };
            if self.swap(&unsaved.stored(), &there).await? {
                let pair = &unsaved.pair;
                let installed = slot.state.lock().install(version, pair, times, there.epoch);
                let (token, _old) = installed;
                let newer = || slot.state.lock().token();
                let overtaken = || Error::from_work(Failure::logged_out());
                return token.or_else(newer).ok_or_else(overtaken);
            }
        }
        Err(Error::from_work(Failure::overtaken()))
    }

    /// Takes the pair out of the store: from now on a login is needed. What the server knows of it is not ended: revoke it there.
    ///
    /// A refresh that is up changes nothing about that: a pair that it has put into the store just before is taken out, too, one that
    /// it brings later is dropped, and those who wait for it are told that a login is needed.
    ///
    /// # Cancel safety
    /// As [`replace`](Self::replace).
    ///
    /// # Errors
    /// The store's ([`Failure::is_store`]).
    ///
    /// # Examples
    /// ```
    /// # use oneflight::{Tokio, token::{Grant, MemoryStore, Pair, TokenSource}};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
    ///     .store(MemoryStore::with(Pair::new("access")))
    ///     .build(|_refresh| async { Ok(Grant::new("another")) });
    /// source.log_out().await.unwrap();
    /// assert!(source.token().await.unwrap_err().needs_login());
    /// # }
    /// ```
    pub async fn log_out(&self) -> Result<(), Error<Failure<E>>> {
        let slot = &self.slot;
        for _ in 0..SWAPS {
            let there = self.peek().await?;
            let empty = Stored::new(there.version.next(), None);
            if self.swap(&empty, &there).await? {
                let now = slot.now();
                let _old = slot.state.lock().leave(empty.version, there.epoch, now);
                return Ok(());
            }
        }
        Err(Error::from_work(Failure::overtaken()))
    }

    async fn other_than(&self, rejected: Option<&Token>) -> Result<Token, Error<Failure<E>>> {
        loop {
            let asked = match self.slot.look() {
                Look::Use(token) => return Ok(token),
                Look::Renew(token) => {
                    // Detached: it goes on without this call.
                    drop(self.fly(Some(token.clone())));
                    return Ok(token);
                }
                Look::Fail(failure) => return Err(Error::from_work(failure)),
                Look::Wait(asked) => asked,
            };
            match self.fly(asked).await {
                // It joined the flight that brought just that one, in the moment of its end. The next one brings another.
                Ok(token) if Some(&token) == rejected => {}
                Ok(token) => return Ok(token),
                Err(error) => return self.slot.good(rejected).ok_or(error),
            }
        }
    }

    /// Joins the flight that is up, or starts one that finds another token than `asked`.
    fn fly(&self, asked: Option<Token>) -> Call<'_, E> {
        let slot = &self.slot;
        self.flights
            .run(&slot.name, || renew::fly(Arc::clone(slot), asked))
    }

    /// What the store has, not taken for more than that.
    async fn peek(&self) -> Result<There, Error<Failure<E>>> {
        let epoch = self.slot.state.lock().epoch();
        let loaded = self.slot.store.load().await;
        let stored = loaded.map_err(|error| Error::from_work(Failure::store("load", error)))?;
        Ok(There {
            version: stored.version,
            epoch,
        })
    }

    async fn swap(&self, stored: &Stored, there: &There) -> Result<bool, Error<Failure<E>>> {
        let swapped = self.slot.store.compare_and_swap(there.version, stored);
        let failed = |error| Error::from_work(Failure::store("save", error));
        swapped.await.map_err(failed)
    }
}

/// What the store has.
struct There {
    version: Version,
    /// When it was read.
    epoch: u64,
}

impl<E> Clone for TokenSource<E> {
    fn clone(&self) -> Self {
        Self {
            slot: Arc::clone(&self.slot),
            flights: self.flights.clone(),
        }
    }
}

impl<E> fmt::Debug for TokenSource<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.slot.state.lock().version();
        f.debug_struct("TokenSource")
            .field("name", &self.slot.name)
            .field("version", &version)
            .finish_non_exhaustive()
    }
}
