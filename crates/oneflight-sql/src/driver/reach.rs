//! Whether anybody is there. A name may have several addresses, and drivers try them one after the other; one that drops what it is
//! sent is given up by the system after two minutes. Here all are tried at once.

use super::error::{DriverError, Fault};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

/// A host and a port.
pub(super) type Place = (String, u16);

/// So long an address may take to accept a connection. A first packet that is lost is sent again after one second, and after three.
pub(super) const ACCEPT: Duration = Duration::from_secs(5);

/// How long an address may take to accept a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Accept {
    Within(Duration),
    /// No address is asked: somebody may be at a socket in the file system, which is tried in its turn.
    Unasked,
    /// As long as it likes.
    Endless,
}

/// Ends if nobody is at any of the places, and says what became of each; does not end if somebody is.
pub(super) async fn nobody(places: &[Place], accept: Duration) -> DriverError {
    let asking = places.iter().map(|(host, port)| async move {
        let found = timeout(accept, lookup_host((host.as_str(), *port))).await;
        match found.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(addresses) => none_of(addresses, accept).await,
            Err(error) => format!("{host}: {error}"),
        }
    });
    let mut asking: FuturesUnordered<_> = asking.collect();
    let mut why: Vec<String> = Vec::new();
    while let Some(said) = asking.next().await {
        why.push(said);
    }
    if why.is_empty() {
        // No host was named: the driver says so.
        std::future::pending::<()>().await;
    }
    DriverError::new(Fault::Lost, format!("nobody answers: {}", why.join(", ")))
}

/// Ends if none of the addresses accepts a connection.
async fn none_of(addresses: impl Iterator<Item = SocketAddr>, accept: Duration) -> String {
    let trying = addresses.map(|address| async move {
        let connected = timeout(accept, TcpStream::connect(address)).await;
        // Somebody is there; he need not keep a place for one who has nothing to say.
        let connected = connected.map(|connected| connected.map(drop));
        match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(()) => std::future::pending().await,
            Err(error) => format!("{address}: {error}"),
        }
    });
    let said: FuturesUnordered<_> = trying.collect();
    said.collect::<Vec<String>>().await.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::{Options, connect};
    use super::*;
    use tokio::net::TcpSocket;
    use tokio::time::Instant;

    /// A place that drops what it is sent: its queue is full, and nobody takes from it.
    struct Deaf {
        address: SocketAddr,
        _sockets: Vec<TcpStream>,
        _listener: tokio::net::TcpListener,
    }

    impl Deaf {
        async fn at(host: &str) -> Self {
            let socket = TcpSocket::new_v4().unwrap();
            socket
                .bind((host.parse::<std::net::Ipv4Addr>().unwrap(), 0).into())
                .unwrap();
            let listener = socket.listen(1).unwrap();
            let address = listener.local_addr().unwrap();
            let mut sockets = Vec::new();
            let soon = Duration::from_millis(1);
            while let Ok(socket) = timeout(soon, TcpStream::connect(address)).await {
                sockets.push(socket.unwrap());
            }
            Self {
                address,
                _sockets: sockets,
                _listener: listener,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_that_are_dead_take_no_longer_than_one() {
        let (one, other) = (Deaf::at("127.0.0.1").await, Deaf::at("127.0.0.2").await);
        let (a, b) = (one.address, other.address);
        for url in [
            format!("postgres://me@{a}/x"),
            format!("postgres://me@{a},{b}/x"),
            format!("mysql://me@{a}/x"),
        ] {
            let begun = Instant::now();
            let connecting = timeout(Duration::from_secs(600), connect(&url, Options::default()));
            let error = connecting.await.expect("an end").unwrap_err();
            assert_eq!(error.fault(), Fault::Lost);
            assert!(
                begun.elapsed() < Duration::from_secs(7),
                "{url}: {:?}",
                begun.elapsed()
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_address_is_told_of_and_one_that_answers_is_enough() {
        let (one, other) = (Deaf::at("127.0.0.1").await, Deaf::at("127.0.0.2").await);
        let place = |deaf: &Deaf| (deaf.address.ip().to_string(), deaf.address.port());
        let places = [place(&one), place(&other)];
        let asking = timeout(Duration::from_secs(60), nobody(&places, ACCEPT));
        let error = asking.await.expect("an end");
        for deaf in [&one, &other] {
            assert!(
                error.to_string().contains(&deaf.address.to_string()),
                "{error}"
            );
        }
        let alive = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let alive = ("127.0.0.1".to_owned(), alive.local_addr().unwrap().port());
        let places = [place(&one), alive];
        let asking = nobody(&places, ACCEPT);
        timeout(Duration::from_secs(60), asking).await.unwrap_err();
    }

    /// A port of this host at which nobody is.
    async fn closed_port() -> u16 {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    }

    #[cfg(unix)]
    #[tokio::test(start_paused = true)]
    async fn somebody_slow_at_a_socket_is_somebody() {
        let folder = tempfile::tempdir().unwrap();
        let _listener =
            tokio::net::UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let silent = folder.path().display().to_string().replace('/', "%2F");
        let closed = closed_port().await;
        let url = format!("postgres://me@{silent}:5432,127.0.0.1:{closed}/x");
        let connecting = connect(&url, Options::default());
        let ended = timeout(Duration::from_secs(20), connecting).await;
        assert!(ended.is_err(), "{ended:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_sets_no_time_waits_for_ever() {
        let deaf = Deaf::at("127.0.0.1").await;
        let url = format!("postgres://me@{}/x?connect_timeout=0", deaf.address);
        let connecting = connect(&url, Options::default());
        let ended = timeout(Duration::from_secs(100), connecting).await;
        assert!(ended.is_err(), "{ended:?}");
    }

    #[tokio::test]
    async fn who_is_asked_whether_he_is_there_is_left_at_once() {
        use tokio::io::AsyncReadExt as _;
        let alive = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let places = [("127.0.0.1".to_owned(), alive.local_addr().unwrap().port())];
        let mut asking = std::pin::pin!(nobody(&places, ACCEPT));
        let left = async {
            let (mut stream, _) = alive.accept().await.unwrap();
            stream.read(&mut [0]).await.unwrap()
        };
        let left = timeout(Duration::from_secs(60), async {
            tokio::select! {
                error = &mut asking => panic!("{error}"),
                left = left => left,
            }
        });
        assert_eq!(left.await.expect("he is left"), 0);
    }
}
