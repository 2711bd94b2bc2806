//! The visitors: one every few milliseconds, whether those before have been served or not.

use crate::Scene;
use crate::page::{Page, STALE};
use crate::pricing::{Calls, Pricing};
use crate::way::Way;
use axum::body::Bytes;
use axum::http::{StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// What visitors of one way have seen.
#[derive(Debug)]
pub(crate) struct Seen {
    /// How long each waited, from the shortest on.
    pub(crate) waits: Vec<Duration>,
    pub(crate) errors: usize,
    /// Visitors that saw an old price.
    pub(crate) stale: usize,
    pub(crate) calls: Calls,
    /// From before the first visit until after the last.
    pub(crate) took: Duration,
}

/// What one visitor got.
struct Visit {
    wait: Duration,
    /// Whether the price was stale; none if there was no price.
    stale: Option<bool>,
}

/// Serves a page in one way, and visits it.
pub(crate) async fn visit(way: Way, scene: &Scene) -> Result<Seen, String> {
    let start = Instant::now();
    let pricing = Arc::new(Pricing::new(scene.slow, way.fails()));
    let prices = Arc::new(way.prices(scene, Arc::clone(&pricing)));
    let page = Page::serve(prices).await?;
    let tea = format!("http://{}/product/tea", page.address)
        .parse::<Uri>()
        .map_err(|error| error.to_string())?;
    let client = Client::builder(TokioExecutor::new()).build_http();

    let mut visits = JoinSet::new();
    let first = Instant::now();
    let count = (scene.length.as_nanos() / scene.pace.as_nanos()) as u32;
    for number in 0..count {
        sleep_until(first + scene.pace * number).await;
        visits.spawn(one(client.clone(), tea.clone()));
    }
    let visits = visits.join_all().await;
    let calls = pricing.calls();

    let mut waits: Vec<_> = visits.iter().map(|visit| visit.wait).collect();
    waits.sort_unstable();
    let count = |what: Option<bool>| visits.iter().filter(|visit| visit.stale == what).count();
    Ok(Seen {
        waits,
        errors: count(None),
        stale: count(Some(true)),
        calls,
        took: start.elapsed(),
    })
}

async fn one(client: Client<HttpConnector, Empty<Bytes>>, page: Uri) -> Visit {
    let began = Instant::now();
    let stale = async {
        let response = client.get(page).await.ok()?;
        let is_there = response.status() == StatusCode::OK;
        let stale = response.headers().contains_key(STALE);
        response.into_body().collect().await.ok()?;
        is_there.then_some(stale)
    };
    Visit {
        stale: stale.await,
        wait: began.elapsed(),
    }
}
