//! A hundred requests find their token expired, at the same moment. The server rotates refresh tokens, and ends the login of whoever
//! sends one twice.
//!
//! Run it with `cargo run --features tokio,token --example token`.

use oneflight::Tokio;
use oneflight::token::{Event, FileStore, Grant, RefreshError, Secret, TokenSource};
use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;

/// A server that issues numbered tokens.
#[derive(Debug, Default)]
struct Server(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    issued: u32,
    spent: HashSet<String>,
    ended: bool,
}

impl Server {
    /// Spends a refresh token for the next pair.
    fn redeem(&self, token: &str) -> Option<Grant> {
        let mut books = self.0.lock().ok()?;
        books.ended |= !books.spent.insert(token.to_owned());
        if books.ended {
            return None;
        }
        books.issued += 1;
        let number = books.issued;
        println!("  (the server redeems {token})");
        let grant = Grant::new(format!("access-{number}")).refresh(format!("refresh-{number}"));
        Some(grant.expires_in(Duration::from_secs(3600)))
    }

    /// Answers a request: the newest access token is good. That of the login is over.
    fn answer(&self, token: &str) -> u16 {
        let newest = |books: &Books| (books.issued > 0).then(|| format!("access-{}", books.issued));
        match self.0.lock().ok().and_then(|books| newest(&books)) {
            Some(newest) if newest == token => 200,
            _ => 401,
        }
    }
}

async fn refresh(server: Arc<Server>, token: Secret) -> Result<Grant, RefreshError<io::Error>> {
    sleep(Duration::from_millis(20)).await;
    let ended = || RefreshError::invalid_grant(io::Error::other("invalid_grant"));
    server.redeem(token.expose()).ok_or_else(ended)
}

/// A request, once more after a 401.
async fn request(
    server: &Server,
    source: &TokenSource<io::Error>,
) -> Result<u16, Box<dyn std::error::Error>> {
    let token = source.token().await?;
    sleep(Duration::from_millis(5)).await;
    if server.answer(token.expose()) == 200 {
        return Ok(200);
    }
    let token = source.rejected(&token).await?;
    Ok(server.answer(token.expose()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("oneflight-token-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let server = Arc::new(Server::default());
    let store = FileStore::new(folder.join("tokens")).blocking(Tokio);
    let refresher = server.clone();
    let source = TokenSource::builder(Tokio, Tokio)
        .lease(store.lease(Tokio))
        .store(store)
        .on_event(|event: &Event<'_, io::Error>| println!("  ({event:?})"))
        .build(move |token| refresh(refresher.clone(), token));

    // A login, some time ago.
    source
        .replace(Grant::new("access-0").refresh("refresh-0"))
        .await?;
    let requests = (0..100).map(|_| request(&server, &source));
    let mut good = 0;
    for answer in futures_util::future::join_all(requests).await {
        good += usize::from(answer? == 200);
    }
    println!("{good} of 100 requests answered, {:?}", source.stats());
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
