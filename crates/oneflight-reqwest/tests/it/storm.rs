//! A thousand requests in flight when the token expires, again and again.

use crate::authority::{Authority, Fault};
use crate::clients::{Source, refresh, source};
use crate::server::Gate;
use futures_util::future::join_all;
use http::{Extensions, StatusCode};
use oneflight::Tokio;
use oneflight::token::{FileStore, TokenSource};
use oneflight_reqwest::Bearer;
use reqwest::{Request, Response, ResponseBuilderExt, Url};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};
use std::path::Path;
use tokio::sync::Semaphore;

const REQUESTS: usize = 1000;

/// As many connections as a service may have to another one. Requests wait for one below the layer, with their token in hand.
const CONNECTIONS: usize = 64;

/// `ONEFLIGHT_ROUNDS` asks for more of them, or fewer.
pub(crate) fn rounds() -> u32 {
    let asked = std::env::var("ONEFLIGHT_ROUNDS").ok();
    asked.map_or(100, |rounds| rounds.parse().expect("a number of rounds"))
}

/// Lets so many requests through at a time, and none before all are there with their token.
struct Lanes {
    lanes: Semaphore,
    start: Gate,
}

#[async_trait::async_trait]
impl Middleware for Lanes {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        self.start.pass().await;
        let _lane = self.lanes.acquire().await.unwrap();
        let response = next.run(request, extensions).await?;
        // Until its end, or the connection would not be free.
        let (status, url) = (response.status(), response.url().clone());
        let headers = response.headers().clone();
        let body = response.bytes().await?;
        let mut whole = http::Response::builder()
            .url(url)
            .status(status)
            .body(body)
            .unwrap();
        *whole.headers_mut() = headers;
        Ok(whole.into())
    }
}

/// A server, and clients of it that share a login.
struct Storm {
    server: Authority,
    clients: Vec<ClientWithMiddleware>,
    start: Gate,
}

impl Storm {
    fn new(server: Authority, sources: impl IntoIterator<Item = Source>) -> Self {
        let start = Gate::open();
        let client = |source| {
            ClientBuilder::new(reqwest::Client::new())
                .with(Bearer::only_to(&server.url, source))
                .with(Lanes {
                    lanes: Semaphore::new(CONNECTIONS),
                    start: start.clone(),
                })
                .build()
        };
        let clients = sources.into_iter().map(client).collect();
        Self {
            server,
            clients,
            start,
        }
    }

    /// The token expires when all requests are on their way with it. All must be answered, and each is sent twice: half of the rounds
    /// when all have their 401, else as it comes, so that most of the 401s are for a token that has been replaced.
    async fn round(&self, number: u32) {
        let held = number.is_multiple_of(2);
        let there = self.start.count() + REQUESTS;
        self.start.shut();
        let calls = (0..REQUESTS).map(|number| {
            let client = &self.clients[number % self.clients.len()];
            let request = client.get(self.server.at("/a"));
            tokio::spawn(async move { request.send().await.unwrap().status() })
        });
        let calls: Vec<_> = calls.collect();
        self.start.came(there).await;
        self.server.expire();
        if held {
            self.server.desk.shut();
        }
        self.start.let_through();
        if held {
            self.server.was_asked(REQUESTS).await;
            self.server.desk.let_through();
        }
        for status in join_all(calls).await {
            assert_eq!(status.unwrap(), StatusCode::OK);
        }
        let rest = if held { REQUESTS } else { 2 * REQUESTS };
        self.server.was_asked(rest).await;
    }

    fn books_say(&self, redeemed: u32, requests: u32) {
        assert_eq!(self.server.redeemed(), redeemed);
        assert_eq!(self.server.redemptions().len(), requests as usize);
        assert_eq!(self.server.revoked(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e1_e7_a_thousand_requests_at_expiry_again_and_again_are_one_refresh_each_time() {
    let server = Authority::start().await;
    let source = source(&server).await;
    let storm = Storm::new(server, [source]);
    for round in 1..=rounds() {
        storm.round(round).await;
        storm.books_say(round, round);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e2_two_sources_that_share_a_file_are_one_refresh_each_time_too() {
    let server = Authority::start().await;
    let folder = tempfile::tempdir().unwrap();
    let sources = [(); 2].map(|()| shared(server.at("/token"), &folder.path().join("tokens")));
    sources[0].replace(server.login()).await.unwrap();
    let storm = Storm::new(server, sources);
    for round in 1..=rounds() {
        storm.round(round).await;
        storm.books_say(round, round);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e13_a_thousand_requests_whose_refresh_gets_no_answer_are_all_answered() {
    let server = Authority::start().await;
    server.be_lenient();
    let source = source(&server).await;
    let storm = Storm::new(server, [source]);
    // A lost answer costs a pause in real time.
    for round in 1..=rounds().min(5) {
        storm.server.fail(Fault::Lost);
        storm.round(round).await;
        storm.books_say(round, 2 * round);
    }
}

/// A source as a process has it that shares its login with others.
pub(crate) fn shared(token: Url, path: &Path) -> Source {
    let store = FileStore::new(path).blocking(Tokio);
    let client = ClientWithMiddleware::default();
    TokenSource::builder(Tokio, Tokio)
        .lease(store.lease(Tokio))
        .store(store)
        .build(move |refresh_token| refresh(client.post(token.clone()), refresh_token))
}
