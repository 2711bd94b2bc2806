//! The ways to do it.

use crate::Fault;
use crate::by_hand::ByHand;
use crate::server::{Pair, Server};
use oauth2::basic::BasicClient;
use oauth2::{ClientId, TokenUrl};
use oneflight::Tokio;
use oneflight::token::{Grant, TokenSource};
use oneflight_reqwest::oauth2::{Error, OAuth2};
use oneflight_reqwest::{Bearer, Collapse};
use reqwest::{Client, StatusCode, Url};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each request that gets a 401 refreshes.
    Each,
    /// The same, one after the other.
    Turns,
    Bearer,
    Both,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::Each, Self::Turns, Self::Bearer, Self::Both];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Each => "each refreshes for itself",
            Self::Turns => "a mutex around the refresh",
            Self::Bearer => "Bearer",
            Self::Both => "Bearer and Collapse",
        }
    }

    /// True if it is ours.
    pub(crate) fn flies(self) -> bool {
        matches!(self, Self::Bearer | Self::Both)
    }

    /// A client of the server where somebody has just logged in.
    pub(crate) async fn caller(self, server: &Server) -> Result<Caller, Fault> {
        let (pair, token) = (server.login(), server.url.join("token")?);
        if !self.flies() {
            let turns = self == Self::Turns;
            return Ok(Caller::ByHand(ByHand::new(token, pair, turns)));
        }
        let app = BasicClient::new(ClientId::new("app".to_owned()))
            .set_token_uri(TokenUrl::from_url(token));
        let oauth2 = OAuth2::new(app, Client::builder())?;
        let source = TokenSource::builder(Tokio, Tokio).build(oauth2.refresher());
        source.replace(granted(pair)).await?;

        let http = Client::new();
        let layers = ClientBuilder::new(http.clone());
        let layers = layers.with(Bearer::only_to(&server.url, source.clone()));
        let layers = match self {
            Self::Both => layers.with(Collapse::over(http)),
            _ => layers,
        };
        Ok(Caller::Layers(layers.build(), source))
    }
}

#[derive(Debug)]
pub(crate) enum Caller {
    ByHand(ByHand),
    Layers(ClientWithMiddleware, TokenSource<Error>),
}

impl Caller {
    pub(crate) async fn get(&self, url: Url) -> Result<StatusCode, Fault> {
        match self {
            Self::ByHand(client) => client.get(url).await,
            Self::Layers(client, _) => {
                let response = client.get(url).send().await?;
                let status = response.status();
                response.bytes().await?;
                Ok(status)
            }
        }
    }

    /// Somebody has logged in again.
    pub(crate) async fn log_in(&self, pair: Pair) -> Result<(), Fault> {
        match self {
            Self::ByHand(client) => client.set(pair),
            Self::Layers(_, source) => drop(source.replace(granted(pair)).await?),
        }
        Ok(())
    }
}

fn granted(pair: Pair) -> Grant {
    Grant::new(pair.access).refresh(pair.refresh)
}
