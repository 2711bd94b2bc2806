//! Single flight for [reqwest]: one refresh of a bearer token for all requests that need it, and one request for all who send the
//! same. Two layers for [`reqwest_middleware`].
//!
//! ```
//! use oneflight::Tokio;
//! use oneflight::token::{FileStore, Grant, RefreshError, Secret, TokenSource};
//! use oneflight_reqwest::{Bearer, Collapse};
//! use reqwest_middleware::ClientBuilder;
//!
//! // How to refresh: any async function, or `oauth2::OAuth2`.
//! async fn refresh(token: Secret) -> Result<Grant, RefreshError<std::io::Error>> {
//! #   let refused = std::io::Error::other("invalid_grant");
//! #   drop(token);
//!     // POST grant_type=refresh_token …, by a client without layers.
//! #   Err(RefreshError::invalid_grant(refused))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("tokens");
//! let store = FileStore::new(path).blocking(Tokio);
//! let source = TokenSource::builder(Tokio, Tokio)
//!     .lease(store.lease(Tokio)) // one refresh for all processes that share the file
//!     .store(store)
//!     .build(refresh);
//!
//! let api = "https://api.example.com".parse()?;
//! let http = reqwest::Client::new();
//! let client = ClientBuilder::new(http.clone())
//!     .with(Bearer::only_to(&api, source))
//!     .with(Collapse::over(http))
//!     .build();
//!
//! let request = client.get("https://api.example.com/orders/7");
//! # drop(request);
//! # Ok(()) }
//! ```
//!
//! # Which layer does what
//!
//! | | what is made once |
//! |---|---|
//! | [`Bearer`] | the refresh of the token that all requests are sent with; ahead of its end, or after a 401 |
//! | [`Collapse`] | the `GET` or `HEAD` that several send at the same moment |
//! | [`oauth2::OAuth2`] | nothing: it is how a [`TokenSource`](oneflight::token::TokenSource) refreshes at an OAuth 2.0 server; with the feature `oauth2` |
//!
//! Any other async function may refresh, too: the [guide to tokens](oneflight::guide::tokens) tells how, and what a source does with what
//! it says. Marks on a request send it without a token ([`NoBearer`]) or by itself ([`Alone`]); an identity in its extensions chooses
//! among many users ([`Whose`]). What went wrong in a layer is in [`Error::of`].
//!
//! # The order of layers
//!
//! The first one attached is the outermost. What stands outside of a layer acts once for a call, what stands inside of it for each request
//! that the layer sends.
//!
//! ```text
//!   .with(Bearer)      a token for each call, once more after a 401
//!   .with(Collapse)    last: it sends by the client that it was handed
//!        └─ .with(a retry)     in that client: it tries again once for all
//! ```
//!
//! * [`Collapse`] stands last. What is to happen once for all who share (another retry, tracing, a [`Bearer`] of one user) goes
//!   into the client below it: `Collapse::over(ClientBuilder::new(http).with(…).build())`.
//! * [`Bearer`] may stand above it or below. Above, the token is a header, and headers belong to the key; below, the identity of the request
//!   does. A layer of your own that chooses by something else, and stands below, needs [`key_by`](collapse::Builder::key_by);
//!   until then its requests go alone.
//! * A retry belongs below [`Collapse`]. Above, its errors are those of a middleware, which `reqwest-retry` never tries again.
//! * A retry that stands outside of [`Bearer`] must not take a 401 for something to be tried again.
//!
//! # TLS
//!
//! This crate asks for reqwest without its default features, and so without TLS. Name reqwest in your own `Cargo.toml`, with the feature
//! that you want (`rustls`, `native-tls`); without one, each `https` URL is an error.
//!
//! # Where a token goes
//!
//! To the origins that were named, and nowhere else: not to a URL that a response has led to, nor to one that somebody else has written
//! ([`Bearer::only_to`]). reqwest itself takes it off when it follows a redirect to another origin. It is marked as sensitive, so that
//! no `Debug` of a request shows it.
//!
//! # Two processes
//!
//! A [`FileStore`](oneflight::token::FileStore) and its lease make it one refresh for all processes of a machine, as above. A thousand
//! requests in flight at expiry, from two sources that share a file, a hundred times, are a hundred refreshes, and no login is lost: that
//! is a test. `cargo run -p api_client` shows the like of it beside what is written by hand.
//!
//! # When not to use it
//!
//! * To keep responses: a flight that has landed is forgotten. [`Collapse`] is no cache.
//! * [`Collapse`] for a `GET` that changes something, or that must see what others have written just now: mark it [`Alone`].
//! * [`Collapse`] for a response that trickles without an end: it is read to its end before anybody has it, unless it says of itself that it
//!   is a stream of events, or outgrows the bound.
//! * [`Collapse`] with a cookie store in the client below: a request that must see a login is to be marked, too, since it might join one
//!   that was sent before the login.
//! * [`Bearer`] where each request has a token of its own, which nobody renews: set the header.
//!
//! The family: `oneflight` (a future, a round trip, a credential), `oneflight-reqwest` (a request), `oneflight-sql` (a row),
//! `oneflight-merge` (a data set), and the program `oneflight` in `oneflight-cli`.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod bearer;
pub mod collapse;
mod error;
#[cfg(feature = "oauth2")]
pub mod oauth2;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use bearer::{Bearer, NoBearer, Whose};
pub use collapse::{Alone, Collapse, Part};
pub use error::Error;
