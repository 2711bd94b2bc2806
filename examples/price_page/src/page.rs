//! The page: an axum server with one route.

use crate::way::Prices;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// Says that the price is older than it should be.
pub(crate) const STALE: &str = "x-stale";

/// A server that runs; when it is dropped, it ends.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) address: SocketAddr,
    task: AbortHandle,
}

impl Page {
    /// Serves prices on a free port.
    pub(crate) async fn serve(prices: Arc<Prices>) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|error| format!("no port: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let routes = Router::new()
            .route("/product/{name}", get(product))
            .with_state(prices);
        let server = tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(Self {
            address,
            task: server.abort_handle(),
        })
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn product(State(prices): State<Arc<Prices>>, Path(name): Path<String>) -> Response {
    match prices.of(&name).await {
        Ok(shown) => {
            let text = format!("{name}: {}.{:02}\n", shown.price / 100, shown.price % 100);
            match shown.stale {
                true => ([(STALE, "1")], text).into_response(),
                false => text.into_response(),
            }
        }
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "no price\n").into_response(),
    }
}
