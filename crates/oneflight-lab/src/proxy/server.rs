//! The proxy: where it listens, what its links share.

use super::link;
use super::valve::Valve;
use crate::url::address;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A proxy in front of one server. Dropping it cuts all links and refuses new ones.
///
/// # Examples
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// use oneflight_lab::proxy::Proxy;
/// use std::time::Duration;
/// # let server = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// # let port = server.local_addr()?.port();
///
/// let proxy = Proxy::start(&format!("postgres://ann@127.0.0.1:{port}/league")).await?;
/// proxy.delay(Duration::from_millis(40)); // 20 ms there, 20 ms back
/// assert!(proxy.url().starts_with("postgres://ann@127.0.0.1:") && proxy.url().ends_with("/league"));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Proxy {
    url: String,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

/// What the links share.
#[derive(Debug)]
pub(super) struct State {
    server: String,
    /// What each direction is late by.
    half: Mutex<Duration>,
    valve: Arc<dyn Valve>,
    /// Raised by every cut; a link lives in the epoch in which it was opened.
    epoch: watch::Sender<u64>,
    connections: AtomicU64,
    round_trips: AtomicU64,
}

impl Proxy {
    /// Starts a proxy on a free port, in front of the server of `url`, for as long as it and the runtime live. It delays
    /// nothing until it is told to.
    ///
    /// # Cancel safety
    /// Dropping the future starts nothing.
    ///
    /// # Errors
    /// `url` names no host, or no port is free.
    pub async fn start(url: &str) -> io::Result<Self> {
        Self::with_valve(url, Arc::new(())).await
    }

    /// The same, with somebody who decides what is let through.
    ///
    /// # Cancel safety
    /// Dropping the future starts nothing.
    ///
    /// # Errors
    /// `url` names no host, or no port is free.
    pub async fn with_valve(url: &str, valve: Arc<dyn Valve>) -> io::Result<Self> {
        let (before, server, after) = address(url).ok_or_else(|| {
            let message = "a proxy needs a URL that names a host";
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(State {
            server,
            half: Mutex::default(),
            valve,
            epoch: watch::Sender::new(0),
            connections: AtomicU64::new(0),
            round_trips: AtomicU64::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self {
            url: format!("{before}127.0.0.1:{port}{after}"),
            state,
            accepting,
        })
    }

    /// The server's URL, by way of the proxy.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Adds `round_trip` to every round trip from now on (X1).
    pub fn delay(&self, round_trip: Duration) {
        *self
            .state
            .half
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = round_trip / 2;
    }

    /// Breaks every link that is open (X2).
    pub fn cut(&self) {
        self.state.cut();
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
    pub(super) fn cut(&self) {
        self.epoch.send_modify(|epoch| *epoch += 1);
    }

    pub(super) fn half(&self) -> Duration {
        *self.half.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn valve(&self) -> &dyn Valve {
        &*self.valve
    }

    pub(super) fn answered(&self) {
        // ORDERING: Relaxed; a counter.
        self.round_trips.fetch_add(1, Ordering::Relaxed);
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((client, _)) = listener.accept().await {
        // ORDERING: Relaxed; a counter.
        state.connections.fetch_add(1, Ordering::Relaxed);
        if !state.valve.admits() {
            continue;
        }
        let cut = state.epoch.subscribe();
        tokio::spawn(open(client, Arc::clone(&state), cut));
    }
}

/// One connection, until either side ends it or it is cut.
async fn open(client: TcpStream, state: Arc<State>, mut cut: watch::Receiver<u64>) {
    let Ok(server) = TcpStream::connect(&state.server).await else {
        return;
    };
    // Nagle's algorithm would add delays of its own.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    tokio::select! {
        // LOCK: none; `changed` fails only when the state is gone, which is the end as well.
        _ = cut.changed() => {}
        () = link::relay(client.into_split(), server.into_split(), &state) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl State {
        /// The state of a proxy that listens nowhere.
        pub(in crate::proxy) fn late_by(half: Duration) -> Self {
            Self {
                server: String::new(),
                half: Mutex::new(half),
                valve: Arc::new(()),
                epoch: watch::Sender::new(0),
                connections: AtomicU64::new(0),
                round_trips: AtomicU64::new(0),
            }
        }

        pub(in crate::proxy) fn round_trips(&self) -> u64 {
            // ORDERING: Relaxed; a counter.
            self.round_trips.load(Ordering::Relaxed)
        }
    }
}
