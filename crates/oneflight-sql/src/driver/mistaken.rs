//! A URL that leads to another database's port. A MySQL server speaks first, a PostgreSQL server never does: so a client of the one
//! and a server of the other would wait for each other.

use super::error::{DriverError, Fault};
use super::reach::{self, Accept, Place};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// So long a server may be silent before it is asked what it is.
const SILENCE: Duration = Duration::from_secs(1);
/// So long it may take to answer that.
const ANSWER: Duration = Duration::from_secs(2);
/// A PostgreSQL server says nothing more until it is spoken to. A MySQL server may begin with the same byte, and goes on.
const MORE: Duration = Duration::from_millis(100);
/// So long connecting may take, for each place, where somebody is.
const PATIENCE: Duration = Duration::from_secs(30);

/// PostgreSQL's request for an encrypted connection, which its servers answer with one byte.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
/// The version of the protocol: the fifth byte of what a MySQL server says first.
const PROTOCOL: u8 = 10;

/// Connects to a MySQL server; fails soon if PostgreSQL answers there.
pub(super) async fn mysql<T>(
    connecting: impl Future<Output = Result<T, DriverError>>,
    host: &str,
    port: u16,
) -> Result<T, DriverError> {
    let mistake = async {
        let is_postgres = is_postgres(host, port).await.unwrap_or(false);
        is_postgres.then(|| other("a PostgreSQL server answers there: expected postgres://"))
    };
    let places = [(host.to_owned(), port)];
    unless(mistake, connecting, &places, Accept::Within(reach::ACCEPT)).await
}

/// Connects to a PostgreSQL server; fails soon if MySQL answers at one of its places. An address may take so long to `accept`.
pub(super) async fn postgres<T>(
    connecting: impl Future<Output = Result<T, DriverError>>,
    places: &[Place],
    accept: Accept,
) -> Result<T, DriverError> {
    let mistake = async {
        for (host, port) in places {
            if is_mysql(host, *port).await.unwrap_or(false) {
                return Some(other(
                    "a MySQL or MariaDB server answers there: expected mysql://",
                ));
            }
        }
        None
    };
    unless(mistake, connecting, places, accept).await
}

/// Connects; where that fails for a reason that is not the server's, or takes long, the mistake is the error. Where it takes long and
/// nobody is there at all, that is.
async fn unless<T>(
    mistake: impl Future<Output = Option<DriverError>>,
    connecting: impl Future<Output = Result<T, DriverError>>,
    places: &[Place],
    accept: Accept,
) -> Result<T, DriverError> {
    let patience = match accept {
        Accept::Endless => Duration::MAX,
        _ => PATIENCE * u32::try_from(places.len().max(1)).unwrap_or(u32::MAX),
    };
    let nobody = async {
        match accept {
            Accept::Within(accept) => reach::nobody(places, accept).await,
            Accept::Unasked | Accept::Endless => std::future::pending().await,
        }
    };
    let connecting = async {
        let silent = || DriverError::new(Fault::Lost, "the server took too long to answer");
        let connected = timeout(patience, connecting).await;
        connected.map_err(|_| silent()).flatten()
    };
    let (mut connecting, mut mistake) = (pin!(connecting), pin!(mistake));
    let connected = tokio::select! {
        biased;
        connected = &mut connecting => Some(connected),
        () = sleep(SILENCE) => None,
    };
    let connected = match connected {
        Some(connected) => connected,
        None => tokio::select! {
            biased;
            connected = &mut connecting => return connected,
            Some(mistake) = &mut mistake => return Err(mistake),
            nobody = nobody => return Err(nobody),
        },
    };
    match connected {
        // An error with a code was said by a server of the right kind.
        Err(error) if error.code().is_none() => Err(mistake.await.unwrap_or(error)),
        connected => connected,
    }
}

/// True if what listens there answers as PostgreSQL does.
async fn is_postgres(host: &str, port: u16) -> io::Result<bool> {
    let asked = async {
        let mut stream = TcpStream::connect((host, port)).await?;
        stream.write_all(&SSL_REQUEST).await?;
        let answer = stream.read_u8().await?;
        let is_all = timeout(MORE, stream.read_u8()).await.is_err();
        Ok::<_, io::Error>(is_all && matches!(answer, b'S' | b'N'))
    };
    timeout(ANSWER, asked).await?
}

/// True if what listens there speaks first, and as MySQL does.
async fn is_mysql(host: &str, port: u16) -> io::Result<bool> {
    let heard = async {
        let mut stream = TcpStream::connect((host, port)).await?;
        let mut first = [0; 5];
        stream.read_exact(&mut first).await?;
        Ok::<_, io::Error>(first)
    };
    // The length of a packet, the number of the packet, and the version.
    let [_, _, _, number, version] = timeout(ANSWER, heard).await??;
    Ok((number, version) == (0, PROTOCOL))
}

fn other(message: &str) -> DriverError {
    DriverError::new(Fault::Other, message)
}
