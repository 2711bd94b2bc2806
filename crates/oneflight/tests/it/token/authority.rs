//! A server of tokens, in this process: it rotates, takes a refresh token again within its grace, revokes the family of one that is
//! used again after that, is slow, loses answers, and is down, as a test says.

use crate::script::HandClock;
use oneflight::Clock;
use oneflight::token::{Grant, RefreshError, Secret};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// What the server says no with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct No(pub(crate) &'static str);

impl fmt::Display for No {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for No {}

/// What becomes of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    /// It is served, and its answer is lost.
    AnswerLost,
    /// It is lost on its way there.
    RequestLost,
    /// It is served, and no answer ever comes.
    Silent,
    /// It is served, and the answer comes so much later.
    Late(Duration),
    /// The server has no time, and says when to come again.
    Busy(Option<Duration>),
    /// The server does not know this client.
    Refused,
    /// What sends it panics, after the server was asked.
    Panics,
}

/// The server.
#[derive(Clone)]
pub(crate) struct Authority {
    clock: HandClock,
    books: Arc<Mutex<Books>>,
}

struct Books {
    life: Option<Duration>,
    grace: Duration,
    rotates: bool,
    revokes: bool,
    fates: VecDeque<Fate>,
    held: bool,
    waiting: Vec<Waker>,
    /// Of each access token, its family and its end.
    access: HashMap<String, (u32, Option<Instant>)>,
    refresh: HashMap<String, Refresh>,
    revoked: Vec<u32>,
    families: u32,
    issued: u32,
    requests: Vec<String>,
    redeemed: u32,
}

struct Refresh {
    family: u32,
    used: Option<Instant>,
}

impl Authority {
    pub(crate) fn new(clock: &HandClock) -> Self {
        Self {
            clock: clock.clone(),
            books: Arc::new(Mutex::new(Books {
                life: Some(Duration::from_secs(3600)),
                grace: Duration::ZERO,
                rotates: true,
                revokes: true,
                fates: VecDeque::new(),
                held: false,
                waiting: Vec::new(),
                access: HashMap::new(),
                refresh: HashMap::new(),
                revoked: Vec::new(),
                families: 0,
                issued: 0,
                requests: Vec::new(),
                redeemed: 0,
            })),
        }
    }

    /// How long its access tokens live.
    pub(crate) fn life(&self, life: Option<Duration>) {
        self.books.lock().unwrap().life = life;
    }

    pub(crate) fn grace(&self, grace: Duration) {
        self.books.lock().unwrap().grace = grace;
    }

    pub(crate) fn rotates(&self, rotates: bool) {
        self.books.lock().unwrap().rotates = rotates;
    }

    /// Whether a refresh token that is used again ends its family, or is just refused.
    pub(crate) fn revokes(&self, revokes: bool) {
        self.books.lock().unwrap().revokes = revokes;
    }

    /// What becomes of the next requests; those after them are answered.
    pub(crate) fn next(&self, fates: impl IntoIterator<Item = Fate>) {
        self.books.lock().unwrap().fates.extend(fates);
    }

    pub(crate) fn forget_fates(&self) {
        self.books.lock().unwrap().fates.clear();
    }

    /// Requests wait for `release` before they are looked at.
    pub(crate) fn hold(&self) {
        self.books.lock().unwrap().held = true;
    }

    pub(crate) fn release(&self) {
        let waiting = {
            let mut books = self.books.lock().unwrap();
            books.held = false;
            std::mem::take(&mut books.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// A login: the first pair of a new family.
    pub(crate) fn login(&self) -> Grant {
        let now = self.clock.now();
        let mut books = self.books.lock().unwrap();
        books.families += 1;
        let family = books.families;
        books.issue(family, now, true)
    }

    /// True if the server takes this access token.
    pub(crate) fn takes(&self, access: &str) -> bool {
        let now = self.clock.now();
        let books = self.books.lock().unwrap();
        (books.access.get(access)).is_some_and(|(family, end)| {
            !books.revoked.contains(family) && end.is_none_or(|end| now < end)
        })
    }

    /// The refresh tokens that were sent, in order.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.books.lock().unwrap().requests.clone()
    }

    /// How many refresh tokens were redeemed.
    pub(crate) fn redeemed(&self) -> u32 {
        self.books.lock().unwrap().redeemed
    }

    /// How many families were revoked.
    pub(crate) fn revoked(&self) -> usize {
        self.books.lock().unwrap().revoked.len()
    }

    /// Ends the families that there are, as an administrator does.
    pub(crate) fn revoke_all(&self) {
        let mut books = self.books.lock().unwrap();
        books.revoked = (1..=books.families).collect();
    }

    /// A refresh, as a client sees it.
    pub(crate) async fn refresh(self, token: Secret) -> Result<Grant, RefreshError<No>> {
        self.books
            .lock()
            .unwrap()
            .requests
            .push(token.expose().to_owned());
        poll_fn(|context| {
            let mut books = self.books.lock().unwrap();
            if books.held {
                books.waiting.push(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
        let now = self.clock.now();
        let fate = self.books.lock().unwrap().fates.pop_front();
        let served = || self.books.lock().unwrap().redeem(token.expose(), now);
        match fate {
            None => served(),
            Some(Fate::AnswerLost) => {
                let _ = served();
                Err(RefreshError::lost(No("connection reset")))
            }
            Some(Fate::RequestLost) => Err(RefreshError::lost(No("connection reset"))),
            Some(Fate::Silent) => {
                let _ = served();
                std::future::pending().await
            }
            Some(Fate::Late(by)) => {
                let answer = served();
                // SLEEP: by the clock that the test moves.
                self.clock.sleep_until(now + by).await;
                answer
            }
            Some(Fate::Busy(wish)) => {
                let busy = RefreshError::transient(No("503"));
                Err(match wish {
                    Some(wish) => busy.retry_after(wish),
                    None => busy,
                })
            }
            Some(Fate::Refused) => Err(RefreshError::refused(No("invalid_client"))),
            Some(Fate::Panics) => {
                let _ = served();
                panic!("the client broke")
            }
        }
    }
}

impl Books {
    fn issue(&mut self, family: u32, now: Instant, rotates: bool) -> Grant {
        self.issued += 1;
        let (access, refresh) = (
            format!("access-{}", self.issued),
            format!("refresh-{}", self.issued),
        );
        let end = self.life.map(|life| now + life);
        self.access.insert(access.clone(), (family, end));
        let mut grant = Grant::new(access);
        if rotates {
            let used = None;
            self.refresh
                .insert(refresh.clone(), Refresh { family, used });
            grant = grant.refresh(refresh);
        }
        match self.life {
            Some(life) => grant.expires_in(life),
            None => grant,
        }
    }

    fn redeem(&mut self, token: &str, now: Instant) -> Result<Grant, RefreshError<No>> {
        let invalid = |why| Err(RefreshError::invalid_grant(No(why)));
        let (grace, rotates) = (self.grace, self.rotates);
        let Some(refresh) = self.refresh.get_mut(token) else {
            return invalid("unknown");
        };
        let family = refresh.family;
        if self.revoked.contains(&family) {
            return invalid("revoked");
        }
        if let Some(used) = refresh.used
            && now >= used + grace
        {
            if self.revokes {
                self.revoked.push(family);
            }
            return invalid("reused");
        }
        if rotates {
            refresh.used.get_or_insert(now);
        }
        self.redeemed += 1;
        Ok(self.issue(family, now, rotates))
    }
}
