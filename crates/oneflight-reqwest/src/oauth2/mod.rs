//! The refresher that speaks OAuth 2.0 (RFC 6749), by way of the crate `oauth2`.
//!
//! ```text
//!   source ── refresh token ──▶ OAuth2 ─▶ oauth2::Client ─▶ a plain reqwest::Client ─▶ token endpoint
//!          ◀── Grant ─────────┐                                                            │
//!          ◀── RefreshError ──┴── verdict: was the refresh token spent? ◀── status, code ──┘
//! ```
//!
//! `refresher` asks, `endpoint` sends and reads within bounds, `verdict` says what a failure means for the refresh token.
//!
//! | the token endpoint | is, for the source |
//! |---|---|
//! | gives a token | a [`Grant`](oneflight::token::Grant): with the new refresh token, or the old one stays |
//! | cannot be connected to, or says 429, `temporarily_unavailable`, or 503 with `Retry-After` or an error of its own | [`transient`](oneflight::token::RefreshError::transient) |
//! | says `invalid_grant` (or GitHub's `bad_refresh_token`) | [`invalid_grant`](oneflight::token::RefreshError::invalid_grant) |
//! | says anything else from 300 to 499 | [`refused`](oneflight::token::RefreshError::refused) |
//! | does not answer, breaks off, says another 5xx (or `server_error`), or something that is no token | [`lost`](oneflight::token::RefreshError::lost) |
//!
//! `Retry-After` goes along in each case. An error that comes with the status 200, as GitHub sends it, is an error.
//!
//! O1. No secret is in an error, nor in a `Debug`: neither a token nor the secret of the client, nor a description that repeats one.
//! O2. The refresh is sent by a [`reqwest::Client`], which has no layers, and follows no redirects: nothing
//!     intercepts it, and it goes to the token endpoint alone.

mod endpoint;
mod refresher;
mod verdict;

pub use refresher::{OAuth2, grant};
pub use verdict::Error;
