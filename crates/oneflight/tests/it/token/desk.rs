//! A desk: a source, its clocks, its tasks, its server, and the calls that were put to it, all moved by hand.

use super::authority::{Authority, No};
use crate::script::{Bell, HandClock, HandSpawn, hush};
use oneflight::Error;
use oneflight::token::{
    Builder, Event, Failure, Grant, MemoryStore, Store, Token, TokenSource, Wall,
};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) type Answer = Result<Token, Error<Failure<No>>>;

/// A call, by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call(usize);

/// The time of day, which a test sets.
#[derive(Clone, Debug)]
pub(crate) struct HandWall(Arc<Mutex<SystemTime>>);

impl HandWall {
    pub(crate) fn new() -> Self {
        let noon = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        Self(Arc::new(Mutex::new(noon)))
    }

    pub(crate) fn set(&self, change: impl FnOnce(SystemTime) -> SystemTime) {
        let mut time = self.0.lock().unwrap();
        *time = change(*time);
    }
}

impl Wall for HandWall {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap()
    }
}

struct Seat {
    call: Option<Pin<Box<dyn Future<Output = Answer> + Send>>>,
    bell: Arc<Bell>,
    answer: Option<Answer>,
}

/// The desk.
pub(crate) struct Desk {
    pub(crate) source: TokenSource<No>,
    pub(crate) clock: HandClock,
    pub(crate) wall: HandWall,
    pub(crate) spawn: HandSpawn,
    pub(crate) server: Authority,
    pub(crate) store: Arc<dyn Store>,
    events: Arc<Mutex<Vec<String>>>,
    calls: Vec<Seat>,
}

impl Desk {
    /// A desk where somebody has logged in; no jitter to speak of.
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    /// The same, with a source that is made in this way.
    pub(crate) fn with(make: impl FnOnce(Builder<No>) -> Builder<No>) -> Self {
        let clock = HandClock::new();
        let server = Authority::new(&clock);
        let store = Arc::new(MemoryStore::new());
        let mut desk = Self::on(&clock, &HandWall::new(), &server, store, make);
        desk.login();
        desk
    }

    /// A desk of this server and this store, where nobody has logged in yet: as another process has it.
    pub(crate) fn on(
        clock: &HandClock,
        wall: &HandWall,
        server: &Authority,
        store: Arc<dyn Store>,
        make: impl FnOnce(Builder<No>) -> Builder<No>,
    ) -> Self {
        hush();
        let spawn = HandSpawn::default();
        let events = Arc::new(Mutex::new(Vec::new()));
        let (told, refresher) = (events.clone(), server.clone());
        let builder = TokenSource::builder(clock.clone(), spawn.clone())
            .wall(wall.clone())
            .seed(0)
            .store(store.clone())
            .on_event(move |event: &Event<'_, No>| told.lock().unwrap().push(line(event)));
        let source = make(builder).build(move |token| refresher.clone().refresh(token));
        Self {
            source,
            clock: clock.clone(),
            wall: wall.clone(),
            spawn,
            server: server.clone(),
            store,
            events,
            calls: Vec::new(),
        }
    }

    /// Another process at the same store and server.
    pub(crate) fn beside(&self) -> Self {
        self.beside_with(|builder| builder)
    }

    pub(crate) fn beside_with(&self, make: impl FnOnce(Builder<No>) -> Builder<No>) -> Self {
        let store = self.store.clone();
        Self::on(&self.clock, &self.wall, &self.server, store, make)
    }

    /// Logs in, and puts the pair there.
    pub(crate) fn login(&mut self) -> Token {
        let grant = self.server.login();
        self.replace(grant)
    }

    pub(crate) fn replace(&mut self, grant: Grant) -> Token {
        let source = self.source.clone();
        let call = self.seat(async move { source.replace(grant).await });
        self.token(call)
    }

    /// A call for a token, not polled yet.
    pub(crate) fn call(&mut self) -> Call {
        let source = self.source.clone();
        self.seat(async move { source.token().await })
    }

    /// A call after a 401 for this token.
    pub(crate) fn reject(&mut self, token: &Token) -> Call {
        let (source, token) = (self.source.clone(), token.clone());
        self.seat(async move { source.rejected(&token).await })
    }

    pub(crate) fn seat(&mut self, call: impl Future<Output = Answer> + Send + 'static) -> Call {
        self.calls.push(Seat {
            call: Some(Box::pin(call)),
            bell: Bell::rung(&Arc::default()),
            answer: None,
        });
        Call(self.calls.len() - 1)
    }

    pub(crate) fn drop_call(&mut self, call: Call) {
        self.calls[call.0].call = None;
    }

    /// Polls a call once.
    pub(crate) fn poll(&mut self, call: Call) {
        let seat = &mut self.calls[call.0];
        let Some(future) = &mut seat.call else { return };
        seat.bell = Bell::fresh(&Arc::default());
        let waker = Waker::from(seat.bell.clone());
        if let Poll::Ready(answer) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            seat.answer = Some(answer);
            seat.call = None;
        }
    }

    /// As an executor: polls calls and tasks until none is woken.
    pub(crate) fn settle(&mut self) {
        loop {
            self.spawn.settle();
            let woken = |seat: &Seat| seat.call.is_some() && seat.bell.has_rung();
            let Some(at) = self.calls.iter().position(woken) else {
                return;
            };
            self.poll(Call(at));
        }
    }

    /// Moves both clocks, and everybody who was waiting for that.
    pub(crate) fn advance(&mut self, by: Duration) {
        self.clock.advance(by);
        self.wall.set(|time| time + by);
        self.settle();
    }

    pub(crate) fn advance_secs(&mut self, seconds: u64) {
        self.advance(Duration::from_secs(seconds));
    }

    pub(crate) fn is_waiting(&mut self, call: Call) -> bool {
        self.settle();
        self.calls[call.0].call.is_some()
    }

    /// The token that a call has got, without polling anybody.
    pub(crate) fn has(&self, call: Call) -> Option<Token> {
        let answer = self.calls[call.0].answer.as_ref()?;
        answer.as_ref().ok().cloned()
    }

    pub(crate) fn token(&mut self, call: Call) -> Token {
        self.settle();
        match &self.calls[call.0].answer {
            Some(Ok(token)) => token.clone(),
            other => panic!("no token but {other:?}"),
        }
    }

    pub(crate) fn error(&mut self, call: Call) -> Error<Failure<No>> {
        self.settle();
        match &self.calls[call.0].answer {
            Some(Err(error)) => error.clone(),
            other => panic!("no error but {other:?}"),
        }
    }

    /// The token that a call gets now.
    pub(crate) fn ask(&mut self) -> Token {
        let call = self.call();
        self.token(call)
    }

    pub(crate) fn ask_for_error(&mut self) -> Error<Failure<No>> {
        let call = self.call();
        self.error(call)
    }

    /// What was told since this was asked last.
    pub(crate) fn events(&self) -> Vec<String> {
        std::mem::take(&mut self.events.lock().unwrap())
    }
}

fn line(event: &Event<'_, No>) -> String {
    match event {
        Event::Renewed { version, .. } => format!("renewed {}", version.get()),
        Event::Found { version, .. } => format!("found {}", version.get()),
        Event::Failed {
            failure, serving, ..
        } => format!("failed, serving {serving}: {failure}"),
        Event::LoginNeeded { failure, .. } => format!("login needed: {failure}"),
        other => format!("{other:?}"),
    }
}
