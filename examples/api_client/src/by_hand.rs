//! A client as it is written by hand: after a 401 it refreshes, and tries once more.

use crate::Fault;
use crate::server::Pair;
use reqwest::{Client, StatusCode, Url};
use std::sync::{Mutex, PoisonError};

#[derive(Debug)]
pub(crate) struct ByHand {
    http: Client,
    token: Url,
    pair: Mutex<Pair>,
    /// Refreshes take turns, if there is one.
    turn: Option<tokio::sync::Mutex<()>>,
}

impl ByHand {
    pub(crate) fn new(token: Url, pair: Pair, turns: bool) -> Self {
        Self {
            http: Client::new(),
            token,
            pair: Mutex::new(pair),
            turn: turns.then(tokio::sync::Mutex::default),
        }
    }

    fn pair(&self) -> Pair {
        let pair = self.pair.lock().unwrap_or_else(PoisonError::into_inner);
        pair.clone()
    }

    pub(crate) fn set(&self, pair: Pair) {
        *self.pair.lock().unwrap_or_else(PoisonError::into_inner) = pair;
    }

    pub(crate) async fn get(&self, url: Url) -> Result<StatusCode, Fault> {
        let status = self.send(url.clone(), &self.pair().access).await?;
        if status != StatusCode::UNAUTHORIZED {
            return Ok(status);
        }
        self.refresh().await?;
        self.send(url, &self.pair().access).await
    }

    async fn send(&self, url: Url, token: &str) -> Result<StatusCode, Fault> {
        let response = self.http.get(url).bearer_auth(token).send().await?;
        let status = response.status();
        response.bytes().await?;
        Ok(status)
    }

    async fn refresh(&self) -> Result<(), Fault> {
        let _turn = match &self.turn {
            Some(turn) => Some(turn.lock().await),
            None => None,
        };
        let form = format!(
            "grant_type=refresh_token&refresh_token={}",
            self.pair().refresh
        );
        let request = self.http.post(self.token.clone()).body(form);
        let answer = request.send().await?.bytes().await?;
        let answer: serde_json::Value = serde_json::from_slice(&answer)?;
        let text = |name: &str| answer[name].as_str().map(str::to_owned);
        let access = text("access_token").ok_or("no access token")?;
        let refresh = text("refresh_token").ok_or("no refresh token")?;
        self.set(Pair { access, refresh });
        Ok(())
    }
}
