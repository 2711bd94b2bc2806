//! A thousand calls in flight when the token expires, again and again.

use super::authority::{Authority, No};
use super::store::Folder;
use crate::script::HandClock;
use futures_util::future::join_all;
use oneflight::Tokio;
use oneflight::token::{FileStore, MemoryStore, Store, Token, TokenSource};
use std::sync::Arc;
use std::time::Duration;

const CALLS: usize = 1000;
const ROUNDS: u32 = 100;

/// A call of an API: with one retry after a 401, as a client does it.
async fn call(server: &Authority, source: &TokenSource<No>) -> Token {
    let token = source.token().await.unwrap();
    // On its way.
    tokio::task::yield_now().await;
    if server.takes(token.expose()) {
        return token;
    }
    let token = source.rejected(&token).await.unwrap();
    tokio::task::yield_now().await;
    assert!(server.takes(token.expose()), "a second 401");
    token
}

fn source(server: &Authority, store: impl Store) -> TokenSource<No> {
    let server = server.clone();
    TokenSource::builder(Tokio, Tokio)
        .store(store)
        .build(move |token| {
            let server = server.clone();
            async move {
                // It takes the server a moment, while others come.
                tokio::task::yield_now().await;
                server.refresh(token).await
            }
        })
}

async fn rounds(clock: &HandClock, server: &Authority, source: &TokenSource<No>) {
    source.replace(server.login()).await.unwrap();
    for round in 1..=ROUNDS {
        // All tokens that there are expire for the server, which is the first to know.
        clock.advance(Duration::from_secs(3600));
        let calls = (0..CALLS).map(|_| {
            let (server, source) = (server.clone(), source.clone());
            async move { tokio::spawn(async move { call(&server, &source).await }).await }
        });
        let answers = join_all(calls).await;
        assert!(answers.iter().all(Result::is_ok), "round {round}");
        assert_eq!(server.redeemed(), round);
    }
    assert_eq!(server.requests().len(), ROUNDS as usize);
    assert_eq!((server.redeemed(), server.revoked()), (ROUNDS, 0));
}

#[test]
fn e1_a_thousand_calls_at_expiry_a_hundred_times_are_a_hundred_refreshes() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let clock = HandClock::new();
        let server = Authority::new(&clock);
        let source = source(&server, MemoryStore::new());
        rounds(&clock, &server, &source).await;
    });
}

#[test]
fn e1_on_several_threads_with_a_file_too() {
    let folder = Folder::new();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let clock = HandClock::new();
        let server = Authority::new(&clock);
        let store = Arc::new(FileStore::new(folder.join("tokens")).blocking(Tokio));
        let source = source(&server, store);
        rounds(&clock, &server, &source).await;
    });
}
