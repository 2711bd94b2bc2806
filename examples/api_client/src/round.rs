//! The rounds: the token expires, and all requests go out at once.

use crate::server::{Counts, Server};
use crate::way::Way;
use crate::{Fault, Scene};
use reqwest::StatusCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// What was seen of a way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) counts: Counts,
    /// Requests that came to nothing.
    pub(crate) lost: u32,
    /// How long the rounds took.
    pub(crate) took: Duration,
}

pub(crate) async fn play(way: Way, scene: &Scene) -> Result<Seen, Fault> {
    let server = Server::start().await?;
    let caller = Arc::new(way.caller(&server).await?);
    let (mut lost, start) = (0, Instant::now());
    for _ in 0..scene.rounds {
        if !server.is_logged_in() {
            caller.log_in(server.login()).await?;
        }
        server.expire();
        let mut calls = JoinSet::new();
        for number in 0..scene.requests {
            let url = server
                .url
                .join(&format!("orders/{}", number % scene.orders))?;
            let caller = Arc::clone(&caller);
            calls.spawn(async move { caller.get(url).await });
        }
        for answer in calls.join_all().await {
            lost += u32::from(!matches!(answer, Ok(StatusCode::OK)));
        }
    }
    Ok(Seen {
        counts: server.counts(),
        lost,
        took: start.elapsed(),
    })
}
