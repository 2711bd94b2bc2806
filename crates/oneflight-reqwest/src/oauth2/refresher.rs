//! Asking for a token: with a refresh token, or with the client's own credentials.

use super::endpoint::{Attempt, Unanswered};
use super::verdict::{Error, judge};
use ::oauth2::basic::{BasicClient, BasicErrorResponse, BasicTokenResponse};
use ::oauth2::{EndpointSet, EndpointState, RefreshToken, RequestTokenError, Scope, TokenResponse};
use futures_util::future::BoxFuture;
use oneflight::token::{Grant, RefreshError, Secret};
use reqwest::redirect::Policy;
use std::fmt;
use std::sync::Arc;

/// Refreshes tokens as an [`oauth2::Client`] does, at its token endpoint. Cloning is cheap.
///
/// The HTTP client is a plain one, without the layer that it serves, and follows no redirects: a token endpoint has no reason to lead
/// on, and a redirect that keeps the body (307, 308) would hand the refresh token to whom it leads to. Give it a time limit.
///
/// # Examples
/// ```
/// use oauth2::basic::BasicClient;
/// use oauth2::{ClientId, ClientSecret, TokenUrl};
/// use oneflight::Tokio;
/// use oneflight::token::{MemoryStore, TokenSource};
/// use oneflight_reqwest::oauth2::OAuth2;
/// use oneflight_reqwest::Bearer;
/// use reqwest_middleware::ClientBuilder;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let http = reqwest::Client::builder().timeout(std::time::Duration::from_secs(30));
/// let app = BasicClient::new(ClientId::new("app".to_owned()))
///     .set_client_secret(ClientSecret::new("kept to ourselves".to_owned()))
///     .set_token_uri(TokenUrl::new("https://login.example.com/token".to_owned())?);
/// let oauth2 = OAuth2::new(app, http)?.scopes(["read", "write"]);
/// assert!(!format!("{oauth2:?}").contains("kept"));
///
/// let source = TokenSource::builder(Tokio, Tokio)
///     .store(MemoryStore::new())
///     .build(oauth2.refresher());
/// let api = "https://api.example.com".parse()?;
/// let client = ClientBuilder::new(reqwest::Client::new()).with(Bearer::only_to(&api, source)).build();
/// # drop(client);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct OAuth2 {
    client: Arc<dyn Exchange>,
    http: reqwest::Client,
    terms: Terms,
}

/// What is asked for.
#[derive(Clone, Default)]
struct Terms {
    scopes: Vec<Scope>,
    parameters: Vec<(String, String)>,
}

impl OAuth2 {
    /// Asks as this client does, by way of the HTTP client that this makes: whatever it says of redirects, none is followed.
    ///
    /// # Errors
    /// There can be no such HTTP client ([`reqwest::ClientBuilder::build`]).
    pub fn new<A, D, I, R>(
        client: BasicClient<A, D, I, R, EndpointSet>,
        http: reqwest::ClientBuilder,
    ) -> reqwest::Result<Self>
    where
        A: EndpointState + Send + Sync + 'static,
        D: EndpointState + Send + Sync + 'static,
        I: EndpointState + Send + Sync + 'static,
        R: EndpointState + Send + Sync + 'static,
    {
        let http = http.redirect(Policy::none()).build()?;
        Ok(Self::by_client(client, http))
    }

    /// Asks as this client does, by way of an HTTP client that is there already. **It must follow no redirects**
    /// ([`Policy::none`]); as usual, reqwest's does, and sends the refresh token wherever a 307 leads.
    pub fn by_client<A, D, I, R>(
        client: BasicClient<A, D, I, R, EndpointSet>,
        http: reqwest::Client,
    ) -> Self
    where
        A: EndpointState + Send + Sync + 'static,
        D: EndpointState + Send + Sync + 'static,
        I: EndpointState + Send + Sync + 'static,
        R: EndpointState + Send + Sync + 'static,
    {
        Self {
            client: Arc::new(client),
            http,
            terms: Terms::default(),
        }
    }

    /// Asks for these scopes, in the place of those it asked for. As usual it names none, and gets what the login was granted.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        let scopes = scopes.into_iter();
        self.terms.scopes = scopes.map(|scope| Scope::new(scope.into())).collect();
        self
    }

    /// Sends this along, too: an `audience` or a `resource`, say.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.terms.parameters.push((name.into(), value.into()));
        self
    }

    /// Redeems a refresh token.
    ///
    /// # Cancel safety
    /// If it is dropped, the server may have redeemed the token, and nobody knows. A source does not drop it.
    ///
    /// # Errors
    /// What became of the request, and what that means for the refresh token: see [the module](crate::oauth2).
    pub async fn refresh(&self, token: Secret) -> Result<Grant, RefreshError<Error>> {
        let refresh = RefreshToken::new(token.expose().to_owned());
        let attempt = Attempt::by(&self.http);
        let response = self.client.refresh(&refresh, &self.terms, &attempt).await;
        let granted = response.map(|response| grant(&response));
        granted.map_err(|error| judge(error, &attempt, Some(&token)))
    }

    /// Gets a token for the client itself (`client_credentials`).
    ///
    /// # Cancel safety
    /// Dropping it drops the request.
    ///
    /// # Errors
    /// As [`refresh`](Self::refresh).
    pub async fn mint(&self) -> Result<Grant, RefreshError<Error>> {
        let attempt = Attempt::by(&self.http);
        let response = self.client.mint(&self.terms, &attempt).await;
        let granted = response.map(|response| grant(&response));
        granted.map_err(|error| judge(error, &attempt, None))
    }

    /// [`refresh`](Self::refresh), as [`Builder::build`](oneflight::token::Builder::build) takes it.
    pub fn refresher(
        &self,
    ) -> impl Fn(Secret) -> BoxFuture<'static, Result<Grant, RefreshError<Error>>> + Send + Sync + 'static
    {
        let this = self.clone();
        move |token| {
            let this = this.clone();
            Box::pin(async move { this.refresh(token).await })
        }
    }

    /// [`mint`](Self::mint), as [`Builder::build_minting`](oneflight::token::Builder::build_minting) takes it.
    pub fn minter(
        &self,
    ) -> impl Fn() -> BoxFuture<'static, Result<Grant, RefreshError<Error>>> + Send + Sync + 'static
    {
        let this = self.clone();
        move || {
            let this = this.clone();
            Box::pin(async move { this.mint().await })
        }
    }
}

impl fmt::Debug for OAuth2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth2")
            .field("client", &self.client.name())
            .field("endpoint", &self.client.endpoint())
            .finish_non_exhaustive()
    }
}

/// What a token endpoint granted, as a source takes it: to a login, say, for
/// [`TokenSource::replace`](oneflight::token::TokenSource::replace).
///
/// # Examples
/// ```
/// use oauth2::basic::{BasicTokenResponse, BasicTokenType};
/// use oauth2::{AccessToken, EmptyExtraTokenFields, RefreshToken};
/// use oneflight_reqwest::oauth2::grant;
/// use std::time::SystemTime;
///
/// let access = AccessToken::new("access".to_owned());
/// let mut response = BasicTokenResponse::new(access, BasicTokenType::Bearer, EmptyExtraTokenFields {});
/// response.set_refresh_token(Some(RefreshToken::new("refresh".to_owned())));
/// let pair = grant(&response).into_pair(SystemTime::now());
/// assert_eq!(pair.refresh().unwrap().expose(), "refresh");
/// ```
pub fn grant(response: &impl TokenResponse) -> Grant {
    let mut grant = Grant::new(response.access_token().secret().clone());
    if let Some(token) = response.refresh_token() {
        grant = grant.refresh(token.secret().clone());
    }
    match response.expires_in() {
        Some(life) => grant.expires_in(life),
        None => grant,
    }
}

type Response = Result<BasicTokenResponse, RequestTokenError<Unanswered, BasicErrorResponse>>;

/// A client, whatever else it may be asked for.
trait Exchange: Send + Sync {
    fn refresh<'a>(
        &'a self,
        token: &'a RefreshToken,
        terms: &'a Terms,
        attempt: &'a Attempt,
    ) -> BoxFuture<'a, Response>;

    fn mint<'a>(&'a self, terms: &'a Terms, attempt: &'a Attempt) -> BoxFuture<'a, Response>;

    fn name(&self) -> &str;

    fn endpoint(&self) -> &str;
}

impl<A, D, I, R> Exchange for BasicClient<A, D, I, R, EndpointSet>
where
    A: EndpointState + Send + Sync,
    D: EndpointState + Send + Sync,
    I: EndpointState + Send + Sync,
    R: EndpointState + Send + Sync,
{
    fn refresh<'a>(
        &'a self,
        token: &'a RefreshToken,
        terms: &'a Terms,
        attempt: &'a Attempt,
    ) -> BoxFuture<'a, Response> {
        let mut request = self.exchange_refresh_token(token);
        request = request.add_scopes(terms.scopes.iter().cloned());
        for (name, value) in &terms.parameters {
            request = request.add_extra_param(name, value);
        }
        Box::pin(request.request_async(attempt))
    }

    fn mint<'a>(&'a self, terms: &'a Terms, attempt: &'a Attempt) -> BoxFuture<'a, Response> {
        let mut request = self.exchange_client_credentials();
        request = request.add_scopes(terms.scopes.iter().cloned());
        for (name, value) in &terms.parameters {
            request = request.add_extra_param(name, value);
        }
        Box::pin(request.request_async(attempt))
    }

    fn name(&self) -> &str {
        self.client_id()
    }

    fn endpoint(&self) -> &str {
        self.token_uri()
    }
}
