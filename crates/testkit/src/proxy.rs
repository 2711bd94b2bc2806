//! A TCP link that lags, breaks, or is not there: the proxy of the lab, and somebody at its valve.
//!
//! Y1. `cut_after(n)` lets exactly `n` more bytes through, counted over both directions and all links, and cuts once.
//! Y2. What is refused is closed at once, as by a server that is down or full.

use oneflight_lab::proxy::{self, Passage, Valve};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

/// A proxy in front of one server. Dropping it cuts all links and refuses new ones.
#[derive(Debug)]
pub struct Proxy {
    link: proxy::Proxy,
    faults: Arc<Faults>,
}

/// What is to go wrong.
#[derive(Debug)]
struct Faults {
    refuses: AtomicBool,
    /// Bytes that may still pass before a cut; negative: no cut is planned.
    allowance: AtomicI64,
}

impl Proxy {
    /// Starts a proxy on a free port, in front of the server of `url`, for as long as it and the runtime live.
    ///
    /// # Cancel safety
    /// Dropping the future starts nothing.
    ///
    /// # Panics
    /// When `url` names no host and port, or no port is free.
    pub async fn start(url: &str) -> Self {
        let faults = Arc::new(Faults {
            refuses: AtomicBool::new(false),
            allowance: AtomicI64::new(-1),
        });
        let link = proxy::Proxy::with_valve(url, faults.clone()).await;
        Self {
            link: link.expect("a URL with a host and a port, and a free port"),
            faults,
        }
    }

    /// The server's URL, by way of the proxy.
    #[must_use]
    pub fn url(&self) -> &str {
        self.link.url()
    }

    /// Adds `round_trip` to every round trip from now on: latency, not bandwidth.
    pub fn delay(&self, round_trip: Duration) {
        self.link.delay(round_trip);
    }

    /// Breaks every link that is open; the next connection is let through.
    pub fn cut(&self) {
        self.link.cut();
    }

    /// Breaks every link once `bytes` more have passed (Y1).
    pub fn cut_after(&self, bytes: u32) {
        // ORDERING: Relaxed; the count is all there is to agree on.
        self.faults
            .allowance
            .store(i64::from(bytes), Ordering::Relaxed);
    }

    /// Takes back a [`cut_after`](Self::cut_after) that has not come to pass; true if there was one.
    pub fn uncut(&self) -> bool {
        // ORDERING: Relaxed; the count is all there is to agree on.
        self.faults.allowance.swap(-1, Ordering::Relaxed) >= 0
    }

    /// Closes new connections at once (Y2), or lets them through again.
    pub fn refuse(&self, refuse: bool) {
        // ORDERING: Relaxed; whoever connects after this has returned is told by the listener's own synchronisation.
        self.faults.refuses.store(refuse, Ordering::Relaxed);
    }

    /// How many connections there have been, refused ones too.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.link.connections()
    }

    /// How many times a server has answered: stretches of bytes from a server that come after bytes from its client.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.link.round_trips()
    }
}

impl Valve for Faults {
    fn admits(&self) -> bool {
        // ORDERING: Relaxed; see `Proxy::refuse`.
        !self.refuses.load(Ordering::Relaxed)
    }

    fn pass(&self, bytes: usize) -> Passage {
        let wanted = i64::try_from(bytes).unwrap_or(i64::MAX);
        // ORDERING: Relaxed; the count is all there is to agree on.
        let before = self
            .allowance
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| match left {
                ..0 => None,
                left if left <= wanted => Some(-1),
                left => Some(left - wanted),
            });
        match before {
            Ok(left) if left <= wanted => Passage::Cut(usize::try_from(left).unwrap_or(0)),
            _ => Passage::All,
        }
    }
}
