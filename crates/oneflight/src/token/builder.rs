//! How a source is made.

use super::event::{Event, Hook};
use super::failure::RefreshError;
use super::pair::Grant;
use super::schedule::Ahead;
use super::secret::Secret;
use super::send::first_pause;
use super::slot::{Chance, Limits, Name, Refresher, Slot};
use super::source::TokenSource;
use super::state::{Means, State};
use super::store::{MemoryStore, Store};
use super::wall::{SystemWall, Wall};
use crate::clock::{Clock, Spawn};
use crate::flight::Group;
use crate::hash::RandomState;
use crate::lease::Lease;
use crate::sync::{Arc, Mutex};
use std::fmt;
use std::future::Future;
use std::time::Duration;

/// Makes a [`TokenSource`]; from [`TokenSource::builder`].
///
/// # Examples
/// ```
/// use oneflight::Tokio;
/// use oneflight::token::{Event, Grant, MemoryStore, TokenSource};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
///     .name("billing api")
///     .store(MemoryStore::new())
///     .refresh_before(Duration::from_secs(120))
///     .grace(Duration::from_secs(30))
///     .on_event(|event: &Event<'_, std::io::Error>| {
///         if let Event::LoginNeeded { failure, .. } = event {
///             eprintln!("{failure}");
///         }
///     })
///     .build(|refresh| async move { Ok(Grant::new("access")) });
/// # }
/// ```
#[must_use = "a builder does nothing until it builds"]
pub struct Builder<E> {
    name: Arc<str>,
    clock: Arc<dyn Clock>,
    spawn: Arc<dyn Spawn>,
    wall: Arc<dyn Wall>,
    store: Arc<dyn Store>,
    lease: Option<Arc<dyn Lease>>,
    limits: Limits,
    /// None: what leaves room for another request within the grace.
    answer: Option<Duration>,
    hook: Hook<E>,
    seed: Option<u64>,
}

/// The longest that a request may take, unless it is told otherwise; and if there is no grace, so that nothing is gained by sending it
/// again.
const ANSWER: Duration = Duration::from_secs(4);
const ONLY_ANSWER: Duration = Duration::from_secs(10);

impl<E> TokenSource<E> {
    /// Makes a source. Ages are measured by the clock; refreshes are flown by tasks, which go on without their callers.
    ///
    /// Its store is an empty one in memory, unless [`store`](Builder::store) says otherwise.
    pub fn builder(clock: impl Clock, spawn: impl Spawn) -> Builder<E> {
        Builder {
            name: "token".into(),
            clock: Arc::new(clock),
            spawn: Arc::new(spawn),
            wall: Arc::new(SystemWall),
            store: Arc::new(MemoryStore::new()),
            lease: None,
            limits: Limits {
                ahead: Ahead {
                    before: Duration::from_secs(5 * 60),
                    skew: Duration::from_secs(10),
                },
                grace: Duration::from_secs(10),
                answer: ANSWER,
                flight: Duration::from_secs(60),
            },
            answer: None,
            hook: Hook(None),
            seed: None,
        }
    }
}

impl<E> Builder<E> {
    /// What errors and `Debug` call it. As usual, `token`.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Where its pair is kept. One store is for one identity.
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// The lease that its flights take first, so that of the processes that share its store one refreshes at a time.
    ///
    /// Who gets it looks into the store first, and refreshes only if the others have not. If it finds there that another has sent the
    /// refresh token, that one is gone, and it goes on at once; without a lease it would wait for as long as the other may have an
    /// answer. If the lease cannot be had, the flight fails ([`Failure::is_lease`](super::Failure::is_lease)).
    pub fn lease(mut self, lease: impl Lease) -> Self {
        self.lease = Some(Arc::new(lease));
        self
    }

    /// The wall clock by which stored pairs expire. As usual, [`SystemWall`].
    pub fn wall(mut self, wall: impl Wall) -> Self {
        self.wall = Arc::new(wall);
        self
    }

    /// So long before its end a token is renewed in the background, at most a quarter of its life; drawn out by up to a half at
    /// random. As usual, five minutes.
    ///
    /// It happens when somebody asks for the token: one that nobody uses is not renewed.
    pub fn refresh_before(mut self, time: Duration) -> Self {
        self.limits.ahead.before = time;
        self
    }

    /// So long before its end a token is not given out any more, at most a tenth of its life; drawn out by up to a half at random. It
    /// covers the way to the server, and clocks that differ. As usual, ten seconds.
    ///
    /// If no other can be had, it is given out all the same until its end.
    pub fn skew(mut self, time: Duration) -> Self {
        self.limits.ahead.skew = time;
        self
    }

    /// So long after a refresh token was redeemed the server takes it again, and gives the same pair or another: Supabase calls it
    /// reuse interval, Okta grace period, Auth0 leeway. A refresh whose answer was lost is repeated within this time: by this process,
    /// or by the next one at the same store, if this one has died. As usual, ten seconds; zero if the server has none: to one that
    /// ends the login when a token is used twice, the second request would be the end of it, even if the first was only slow.
    ///
    /// Past it the refresh token is in doubt: to send it again may end the login, with the access token that is still good. So it is
    /// sent again only when there is no good one left, and nothing to lose.
    pub fn grace(mut self, time: Duration) -> Self {
        self.limits.grace = time;
        self
    }

    /// So long a request may take; past it, its answer counts as lost, and it is sent again if there is still [`grace`](Self::grace);
    /// an answer that comes all the same counts.
    /// As usual, four seconds, and two fifths of a shorter grace; ten seconds without a grace, where nothing is sent again.
    ///
    /// It has to leave room for that second request: see the panics of [`build`](Self::build).
    pub fn answer_limit(mut self, time: Duration) -> Self {
        self.answer = Some(time);
        self
    }

    /// So long a whole flight may take, with the lease, the store and all requests; past it, those who wait get an error
    /// ([`Error::is_overdue`](crate::Error::is_overdue)). As usual, a minute.
    pub fn flight_limit(mut self, time: Duration) -> Self {
        self.limits.flight = time;
        self
    }

    /// The seed of what is done at random, so that it repeats itself.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Is told what becomes of the source, by whoever does it, and before any caller gets to see it: what is told is true of the store
    /// or of the server, and is taken over once this has returned. No lock is held meanwhile; a panic ends there.
    pub fn on_event(mut self, told: impl Fn(&Event<'_, E>) + Send + Sync + 'static) -> Self {
        self.hook = Hook(Some(Arc::new(told)));
        self
    }

    /// Makes the source. `refresh` is called with the refresh token, in one flight at a time; it says what a failure means for that
    /// token ([`RefreshError`]), and need not limit its time.
    ///
    /// It must not ask the source for a token: that would wait for itself, and gets an error
    /// ([`Error::is_reentrant`](crate::Error::is_reentrant)). It may be polled by any of the callers; what only works in one runtime
    /// needs all of them there.
    ///
    /// # Panics
    /// If there is a [`grace`](Self::grace), and an [`answer_limit`](Self::answer_limit) that leaves no time to send a request again
    /// within it: an answer that is lost in silence would cost the login. A server that takes longer than that needs a longer grace, or
    /// one of zero, if it has none.
    pub fn build<F, R>(self, refresh: F) -> TokenSource<E>
    where
        F: Fn(Secret) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Grant, RefreshError<E>>> + Send + 'static,
        E: Send + Sync + 'static,
    {
        let refresher: Refresher<E> = Box::new(move |token| match token {
            Some(token) => Box::pin(refresh(token)),
            // Never sent without one: see `State::plan`.
            None => Box::pin(std::future::pending()),
        });
        self.make(Means::Refresh, refresher)
    }

    /// Makes a source that needs no refresh token: `mint` is called for each access token, with client credentials, say, or at a
    /// metadata server.
    ///
    /// # Panics
    /// As [`build`](Self::build).
    ///
    /// # Examples
    /// ```
    /// # use oneflight::{Tokio, token::{Grant, TokenSource}};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
    ///     .build_minting(|| async { Ok(Grant::new("minted")) });
    /// assert_eq!(source.token().await.unwrap().expose(), "minted");
    /// # }
    /// ```
    pub fn build_minting<F, R>(self, mint: F) -> TokenSource<E>
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<Grant, RefreshError<E>>> + Send + 'static,
        E: Send + Sync + 'static,
    {
        self.make(Means::Mint, Box::new(move |_| Box::pin(mint())))
    }

    fn make(mut self, means: Means, refresher: Refresher<E>) -> TokenSource<E>
    where
        E: Send + Sync + 'static,
    {
        self.limits.answer = answer(self.answer, self.limits.grace);
        let flights = Group::builder()
            .clock(Arc::clone(&self.clock))
            .max_flight(self.limits.flight)
            .detached(self.spawn)
            .shards(1)
            .build();
        let slot = Slot {
            name: Name(self.name),
            clock: self.clock,
            wall: self.wall,
            store: self.store,
            lease: self.lease,
            refresher,
            limits: self.limits,
            hook: self.hook,
            chance: Chance(self.seed, RandomState::default()),
            state: Mutex::new(State::new(means)),
        };
        TokenSource::of(slot, flights)
    }
}

/// How long a request may take, so that there is time to send it again within the grace.
fn answer(told: Option<Duration>, grace: Duration) -> Duration {
    match told {
        _ if grace.is_zero() => told.unwrap_or(ONLY_ANSWER),
        None => ANSWER.min(grace / 5 * 2),
        Some(limit) => {
            assert!(
                limit.saturating_add(first_pause(grace)) < grace,
                "an answer limit of {limit:?} leaves no time to send a refresh again within the grace of {grace:?}"
            );
            limit
        }
    }
}

impl<E> fmt::Debug for Builder<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("store", &self.store)
            .field("lease", &self.lease)
            .field("limits", &self.limits)
            .field("answer", &self.answer)
            .field("on_event", &self.hook)
            .finish_non_exhaustive()
    }
}
