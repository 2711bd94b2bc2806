//! A TCP link that lags, breaks, or is not there: a proxy in front of a server.
//!
//! ```text
//!   client ──▶ Proxy ──(delay)──▶ server        each direction: read, stamp, queue ──▶ wait until due, write
//!          ◀──(delay)──        ◀──
//! ```
//!
//! X1. A delay is latency, not bandwidth: bytes that are sent one after another arrive one after another, as late as
//!     the first. Each direction has half of it.
//! X2. A cut breaks every link that is open and keeps none of what is under way; the next connection is let through.
//! X3. `cut_after(n)` lets exactly `n` more bytes through, counted over both directions and all links, and cuts once.

use std::io;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A proxy in front of one server. Dropping it cuts all links and refuses new ones.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

/// What the links share.
#[derive(Debug)]
struct State {
    server: String,
    delay: Mutex<Duration>,
    refuses: Mutex<bool>,
    /// Bytes that may still pass before a cut; negative: no cut is planned.
    allowance: AtomicI64,
    /// Raised by every cut; a link lives in the epoch in which it was opened.
    epoch: watch::Sender<u64>,
    connections: AtomicU64,
    round_trips: AtomicU64,
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
        let host = url.find("://").map_or(0, |at| at + 3);
        let end = url[host..]
            .find(['/', '?'])
            .map_or(url.len(), |at| host + at);
        let host = url[host..end].rfind('@').map_or(host, |at| host + at + 1);
        let server = url[host..end].to_owned();
        assert!(
            server.contains(':'),
            "a URL with a host and a port: {server}"
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener
            .local_addr()
            .expect("the port of a listener")
            .port();
        let state = Arc::new(State {
            server,
            delay: Mutex::default(),
            refuses: Mutex::default(),
            allowance: AtomicI64::new(-1),
            epoch: watch::Sender::new(0),
            connections: AtomicU64::new(0),
            round_trips: AtomicU64::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Self {
            url: format!("{}127.0.0.1:{port}{}", &url[..host], &url[end..]),
            state,
            accepting,
        }
    }

    /// The server's URL, by way of the proxy.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Adds `round_trip` to every round trip from now on (X1).
    pub fn delay(&self, round_trip: Duration) {
        *lock(&self.state.delay) = round_trip / 2;
    }

    /// Breaks every link that is open (X2).
    pub fn cut(&self) {
        self.state.cut();
    }

    /// Breaks every link once `bytes` more have passed (X3).
    pub fn cut_after(&self, bytes: u32) {
        // ORDERING: Relaxed; the count is all there is to agree on.
        self.state
            .allowance
            .store(i64::from(bytes), Ordering::Relaxed);
    }

    /// Takes back a [`cut_after`](Self::cut_after) that has not come to pass; true if there was one.
    pub fn uncut(&self) -> bool {
        // ORDERING: Relaxed; the count is all there is to agree on.
        self.state.allowance.swap(-1, Ordering::Relaxed) >= 0
    }

    /// Closes new connections at once, as a server that is down or full does, or lets them through again.
    pub fn refuse(&self, refuse: bool) {
        *lock(&self.state.refuses) = refuse;
    }

    /// How many connections there have been, refused ones too.
    #[must_use]
    pub fn connections(&self) -> u64 {
        // ORDERING: Relaxed; a counter.
        self.state.connections.load(Ordering::Relaxed)
    }

    /// How many times a server has answered: stretches of bytes from a server that come after bytes from its client.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        // ORDERING: Relaxed; a counter.
        self.state.round_trips.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

impl State {
    fn cut(&self) {
        self.epoch.send_modify(|epoch| *epoch += 1);
    }

    /// How many of `n` bytes may pass, and whether the cut comes after them (X3).
    fn admit(&self, n: usize) -> (usize, bool) {
        let wanted = i64::try_from(n).unwrap_or(i64::MAX);
        // ORDERING: Relaxed; the count is all there is to agree on.
        let before = self
            .allowance
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| match left {
                ..0 => None,
                left if left <= wanted => Some(-1),
                left => Some(left - wanted),
            });
        match before {
            Ok(left) if left <= wanted => (usize::try_from(left).unwrap_or(0), true),
            _ => (n, false),
        }
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((client, _)) = listener.accept().await {
        // ORDERING: Relaxed; a counter.
        state.connections.fetch_add(1, Ordering::Relaxed);
        if *lock(&state.refuses) {
            continue;
        }
        let cut = state.epoch.subscribe();
        tokio::spawn(link(client, Arc::clone(&state), cut));
    }
}

/// One connection, until either side ends it or it is cut.
async fn link(client: TcpStream, state: Arc<State>, mut cut: watch::Receiver<u64>) {
    let Ok(server) = TcpStream::connect(&state.server).await else {
        return;
    };
    // Nagle's algorithm would add delays of its own.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    let turn = AtomicU8::new(SERVER);
    tokio::select! {
        // LOCK: none; `changed` fails only when the state is gone, which is the end as well.
        _ = cut.changed() => {}
        _ = async {
            tokio::join!(
                pump(from_client, to_server, CLIENT, &turn, &state),
                pump(from_server, to_client, SERVER, &turn, &state),
            )
        } => {}
    }
}

const CLIENT: u8 = 0;
const SERVER: u8 = 1;

/// Carries bytes one way until they end.
async fn pump(
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    side: u8,
    turn: &AtomicU8,
    state: &State,
) -> io::Result<()> {
    let (queue, queued) = mpsc::channel(1_024);
    let (read, written) = tokio::join!(
        read(from, queue, side, turn, state),
        write(to, queued, state)
    );
    read.and(written)
}

async fn read(
    mut from: OwnedReadHalf,
    queue: mpsc::Sender<(Instant, Vec<u8>)>,
    side: u8,
    turn: &AtomicU8,
    state: &State,
) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1_024];
    loop {
        let n = from.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        // ORDERING: Relaxed; both directions of a link are polled by one task.
        if turn.swap(side, Ordering::Relaxed) == CLIENT && side == SERVER {
            state.round_trips.fetch_add(1, Ordering::Relaxed);
        }
        let due = Instant::now() + *lock(&state.delay);
        if queue.send((due, buffer[..n].to_vec())).await.is_err() {
            return Ok(());
        }
    }
}

async fn write(
    mut to: OwnedWriteHalf,
    mut queue: mpsc::Receiver<(Instant, Vec<u8>)>,
    state: &State,
) -> io::Result<()> {
    while let Some((due, bytes)) = queue.recv().await {
        tokio::time::sleep_until(due).await;
        let (admitted, cut) = state.admit(bytes.len());
        to.write_all(&bytes[..admitted]).await?;
        if cut {
            state.cut();
        }
    }
    // One side may close its half and still read: pass that on, no more.
    to.shutdown().await
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
