//! Sources and clients as tests need them.

use crate::authority::Authority;
use oneflight::Tokio;
use oneflight::token::{Grant, RefreshError, Secret, TokenSource};
use oneflight_reqwest::{Bearer, Whose};
use reqwest::Url;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use std::fmt;

/// Why a refresh came to nothing.
#[derive(Debug)]
pub(crate) struct No(pub(crate) String);

impl fmt::Display for No {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for No {}

pub(crate) type Source = TokenSource<No>;

/// A source that is logged in, and refreshes at this server by a client of its own.
pub(crate) async fn source(server: &Authority) -> Source {
    let source = logged_out(server);
    source.replace(server.login()).await.unwrap();
    source
}

pub(crate) fn logged_out(server: &Authority) -> Source {
    let (client, url) = (ClientWithMiddleware::default(), server.at("/token"));
    TokenSource::builder(Tokio, Tokio).build(move |token| {
        let request = client.post(url.clone());
        refresh(request, token)
    })
}

/// A refresher by hand, as any async function may be one.
pub(crate) async fn refresh(
    request: reqwest_middleware::RequestBuilder,
    token: Secret,
) -> Result<Grant, RefreshError<No>> {
    let form = format!("grant_type=refresh_token&refresh_token={}", token.expose());
    let lost = |error: &dyn fmt::Display| RefreshError::lost(No(error.to_string()));
    let response = match request.body(form).send().await {
        Ok(response) => response,
        Err(error) if error.is_middleware() => {
            return Err(RefreshError::refused(No(causes(&error))));
        }
        Err(error) => return Err(lost(&error)),
    };
    let status = response.status();
    let text = response.text().await.map_err(|error| lost(&error))?;
    if !status.is_success() {
        return Err(RefreshError::invalid_grant(No(text)));
    }
    let part = |name: &str| {
        let (_, rest) = text.split_once(&format!("\"{name}\":\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let access = part("access_token").ok_or_else(|| lost(&text))?;
    let grant = Grant::new(access);
    Ok(match part("refresh_token") {
        Some(refresh) => grant.refresh(refresh),
        None => grant,
    })
}

/// An error and what caused it, in one line.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// A client that sends the token to the server, and to nobody else.
pub(crate) fn client(server: &Url, whose: impl Into<Whose>) -> ClientWithMiddleware {
    ClientBuilder::new(reqwest::Client::new())
        .with(Bearer::only_to(server, whose))
        .build()
}
