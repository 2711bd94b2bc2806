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
        // A socket in the file system: there is nothing to be tried.
        std::future::pending::<()>().await;
    }
    DriverError::new(Fault::Lost, format!("nobody answers: {}", why.join(", ")))
}

/// Ends if none of the addresses accepts a connection.
async fn none_of(addresses: impl Iterator<Item = SocketAddr>, accept: Duration) -> String {
    let trying = addresses.map(|address| async move {
        let connected = timeout(accept, TcpStream::connect(address)).await;
        match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(_) => std::future::pending().await,
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
            let error = connect(&url, Options::default()).await.unwrap_err();
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
        let error = nobody(&[place(&one), place(&other)], ACCEPT).await;
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
}
