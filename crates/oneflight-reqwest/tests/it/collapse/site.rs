//! A site whose answers can be held up, and what visits it.

use crate::server::{Asked, Gate, serve};
use axum::response::Response;
use futures_util::future::join_all;
use oneflight_reqwest::{Collapse, Part};
use reqwest::Url;
use reqwest_middleware::{ClientWithMiddleware, RequestBuilder};
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;

type Answer = reqwest_middleware::Result<reqwest::Response>;

pub(crate) struct Site {
    pub(crate) gate: Gate,
    seen: Arc<Mutex<Vec<Asked>>>,
    url: Url,
}

impl Site {
    /// A site that answers as `answer` says: what asks for something once the gate lets it, what changes something at once.
    pub(crate) async fn start(
        answer: impl Fn(&Asked) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let (gate, seen) = (Gate::open(), Arc::new(Mutex::new(Vec::new())));
        gate.shut();
        let at = (gate.clone(), seen.clone());
        let url = serve(move |asked: Asked| {
            let ((gate, seen), answer) = (at.clone(), answer.clone());
            async move {
                seen.lock().unwrap().push(asked.clone());
                if asked.method.is_safe() {
                    gate.pass().await;
                }
                answer(&asked)
            }
        })
        .await;
        Self { gate, seen, url }
    }

    /// One that answers each request with its path.
    pub(crate) async fn plain() -> Self {
        Self::start(|asked| Response::new(asked.path.clone().into())).await
    }

    pub(crate) fn at(&self, path: &str) -> Url {
        self.url.join(path).unwrap()
    }

    pub(crate) fn seen(&self) -> Vec<Asked> {
        self.seen.lock().unwrap().clone()
    }

    /// Sends requests one after the other, each when the one before is in the air, and lets the site answer when all are. Returns
    /// how many got there, and their answers.
    pub(crate) async fn visit<const N: usize>(
        &self,
        collapse: &Collapse,
        requests: [RequestBuilder; N],
    ) -> (usize, Vec<reqwest::Response>) {
        let mut calls = Vec::new();
        for request in requests {
            calls.push(self.send(collapse, request).await);
        }
        let came = self.seen().len();
        self.gate.let_through();
        let answers = join_all(calls).await.into_iter();
        (
            came,
            answers.map(|answer| answer.unwrap().unwrap()).collect(),
        )
    }

    /// Sends a request, and waits until it has got there, or joined another one.
    pub(crate) async fn send(
        &self,
        collapse: &Collapse,
        request: RequestBuilder,
    ) -> JoinHandle<Answer> {
        let (before, joined) = (self.seen().len(), collapse.stats().joined);
        let call = tokio::spawn(request.send());
        while self.seen().len() == before && collapse.stats().joined == joined {
            assert!(!call.is_finished(), "it is over before it began");
            tokio::task::yield_now().await;
        }
        call
    }
}

/// A layer with the usual options, and its client.
pub(crate) fn usual() -> (Collapse, ClientWithMiddleware) {
    let collapse = Collapse::over(reqwest::Client::new());
    (collapse.clone(), collapse.into_client())
}

pub(crate) fn part(response: &reqwest::Response) -> Part {
    *response.extensions().get().unwrap()
}
