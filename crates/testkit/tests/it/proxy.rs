//! The link that lags and breaks, in front of a server that echoes.

use std::time::{Duration, Instant};
use testkit::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Starts a server that sends back what it gets, and a proxy in front of it.
async fn echo() -> Proxy {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = client.split();
                tokio::io::copy(&mut from, &mut to).await
            });
        }
    });
    Proxy::start(&format!("echo://user:pass@{address}/name")).await
}

async fn connect(proxy: &Proxy) -> TcpStream {
    let address = proxy
        .url()
        .split('@')
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    TcpStream::connect(address).await.unwrap()
}

async fn call(client: &mut TcpStream, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    client.write_all(bytes).await?;
    let mut answer = vec![0; bytes.len()];
    client.read_exact(&mut answer).await?;
    Ok(answer)
}

/// Everything that still arrives, however the link ends.
async fn rest(client: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest).await;
    rest
}

#[tokio::test]
async fn the_url_leads_through_the_proxy_and_keeps_the_rest() {
    let proxy = echo().await;
    assert!(
        proxy.url().starts_with("echo://user:pass@127.0.0.1:") && proxy.url().ends_with("/name")
    );
    assert_eq!(
        call(&mut connect(&proxy).await, b"hello").await.unwrap(),
        b"hello"
    );
    assert_eq!((proxy.connections(), proxy.round_trips()), (1, 1));
}

#[tokio::test]
async fn a_delay_is_latency_and_not_bandwidth() {
    let proxy = echo().await;
    let mut client = connect(&proxy).await;
    call(&mut client, b"warm").await.unwrap();
    proxy.delay(Duration::from_millis(100));
    let start = Instant::now();
    for _ in 0..20 {
        client.write_all(b"x").await.unwrap();
        tokio::task::yield_now().await;
    }
    client.read_exact(&mut [0; 20]).await.unwrap();
    let took = start.elapsed();
    assert!(
        took >= Duration::from_millis(100) && took < Duration::from_millis(1_000),
        "{took:?}"
    );
}

#[tokio::test]
async fn a_cut_breaks_what_is_open_and_lets_the_next_through() {
    let proxy = echo().await;
    let mut client = connect(&proxy).await;
    call(&mut client, b"hello").await.unwrap();
    proxy.cut();
    assert_eq!(rest(&mut client).await, b"");
    assert_eq!(
        call(&mut connect(&proxy).await, b"again").await.unwrap(),
        b"again"
    );
}

#[tokio::test]
async fn a_cut_after_some_bytes_lets_exactly_those_through() {
    let proxy = echo().await;
    // Ten bytes to the server, and seven of the ten that come back.
    proxy.cut_after(17);
    let mut client = connect(&proxy).await;
    client.write_all(b"0123456789").await.unwrap();
    assert_eq!(rest(&mut client).await, b"0123456");
    assert!(!proxy.uncut(), "the cut has come to pass");
    // The cut may also fall between two writes.
    proxy.cut_after(10);
    let mut client = connect(&proxy).await;
    client.write_all(b"0123456789").await.unwrap();
    assert_eq!(rest(&mut client).await, b"");
    assert_eq!(
        call(&mut connect(&proxy).await, b"again").await.unwrap(),
        b"again"
    );
}

#[tokio::test]
async fn a_refused_connection_ends_at_once() {
    let proxy = echo().await;
    proxy.refuse(true);
    assert_eq!(rest(&mut connect(&proxy).await).await, b"");
    proxy.refuse(false);
    assert_eq!(
        call(&mut connect(&proxy).await, b"hello").await.unwrap(),
        b"hello"
    );
}
