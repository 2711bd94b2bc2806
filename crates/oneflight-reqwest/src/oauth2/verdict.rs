//! What a failure means for the refresh token, and what is told of it (O1).

use super::endpoint::{Attempt, Unanswered};
use ::oauth2::RequestTokenError;
use ::oauth2::basic::BasicErrorResponse;
use http::StatusCode;
use oneflight::token::{RefreshError, Secret};
use std::error::Error as StdError;
use std::fmt;

/// The longest error code that is shown. The registered ones have half of that.
const LONGEST_CODE: usize = 64;

/// What the token endpoint said, or why it said nothing.
///
/// What it means for the refresh token is told by [`Failure`](oneflight::token::Failure).
///
/// # Examples
/// ```
/// use oneflight::token::Failure;
/// use oneflight_reqwest::oauth2::Error;
///
/// fn explain(failure: &Failure<Error>) -> Option<String> {
///     let error = failure.refresher()?;
///     Some(format!("{error}: {}", error.description().unwrap_or("it says no more")))
/// }
/// ```
pub struct Error {
    said: Said,
    status: Option<StatusCode>,
    cause: Option<reqwest::Error>,
}

enum Said {
    /// An error, as RFC 6749 writes it.
    Error {
        code: String,
        description: Option<String>,
    },
    /// Something else.
    Other,
    Nothing,
}

impl Error {
    /// The status of the answer, if there was one.
    pub fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// The error's code: `invalid_grant`, `invalid_client`, … None if it is longer than 64 bytes, or has other characters than
    /// the letters, digits and marks of such a code.
    pub fn code(&self) -> Option<&str> {
        match &self.said {
            Said::Error { code, .. } => Some(code),
            _ => None,
        }
    }

    /// What the server says to whoever develops the client; left out if it repeats the refresh token.
    pub fn description(&self) -> Option<&str> {
        match &self.said {
            Said::Error { description, .. } => description.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("status", &self.status)
            .field("code", &self.code())
            .field("cause", &self.cause)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.said, self.status) {
            (Said::Error { code, .. }, _) => write!(f, "the token endpoint answered {code}"),
            (_, Some(status)) if status.is_success() => {
                f.write_str("the token endpoint answered with something that is no token")
            }
            (_, Some(status)) => write!(f, "the token endpoint answered {status}"),
            (_, None) => f.write_str("the token endpoint did not answer"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let cause = self.cause.as_ref()?;
        Some(cause)
    }
}

/// What a failed request means for the refresh token that it was sent with.
pub(super) fn judge(
    failed: RequestTokenError<Unanswered, BasicErrorResponse>,
    attempt: &Attempt,
    token: Option<&Secret>,
) -> RefreshError<Error> {
    let status = attempt.status();
    let kind = kind(&failed, status, attempt.retry_after().is_some());
    let (said, cause) = match failed {
        RequestTokenError::ServerResponse(error) => (said(&error, token), None),
        RequestTokenError::Request(Unanswered::Request(cause)) => {
            // A URL may have secrets in it.
            (Said::Nothing, Some(cause.without_url()))
        }
        RequestTokenError::Request(Unanswered::TooLong)
        | RequestTokenError::Parse(..)
        | RequestTokenError::Other(_) => (Said::Other, None),
    };
    let error = kind(Error {
        said,
        status,
        cause,
    });
    match attempt.retry_after() {
        Some(time) => error.retry_after(time),
        None => error,
    }
}

type Kind = fn(Error) -> RefreshError<Error>;

fn kind(
    failed: &RequestTokenError<Unanswered, BasicErrorResponse>,
    status: Option<StatusCode>,
    asks_to_wait: bool,
) -> Kind {
    let code = match failed {
        RequestTokenError::ServerResponse(error) => error.error().as_ref(),
        _ => "",
    };
    match (failed, status) {
        (RequestTokenError::Request(Unanswered::Request(error)), None) => {
            if error.is_connect() {
                RefreshError::transient
            } else if error.is_builder() {
                RefreshError::refused
            } else {
                RefreshError::lost
            }
        }
        // It was not even made.
        (_, None) => RefreshError::refused,
        (_, Some(StatusCode::TOO_MANY_REQUESTS)) => RefreshError::transient,
        // A proxy says that, too, of a request that got through. Whoever turns one away says when to come back, or answers in the
        // server's own words.
        (_, Some(StatusCode::SERVICE_UNAVAILABLE)) if asks_to_wait || turns_away(code) => {
            RefreshError::transient
        }
        // A token was given, or may have been, and did not get here.
        (_, Some(status)) if status.is_success() || status.is_server_error() => RefreshError::lost,
        _ => match code {
            "invalid_grant" | "bad_refresh_token" => RefreshError::invalid_grant,
            "temporarily_unavailable" | "slow_down" => RefreshError::transient,
            _ => RefreshError::refused,
        },
    }
}

/// True for an error by which a server says that it has not redeemed anything: each but that it broke on the way.
fn turns_away(code: &str) -> bool {
    !matches!(code, "" | "server_error")
}

/// True for what looks like a registered error code. Anything else may be as long as a page, and is not shown.
fn is_code(code: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte);
    !code.is_empty() && code.len() <= LONGEST_CODE && code.bytes().all(plain)
}

fn said(error: &BasicErrorResponse, token: Option<&Secret>) -> Said {
    let repeats = |text: &str| token.is_some_and(|token| text.contains(token.expose()));
    let description = error.error_description().filter(|text| !repeats(text));
    let code = error.error().as_ref();
    if repeats(code) || !is_code(code) {
        return Said::Other;
    }
    Said::Error {
        code: code.to_owned(),
        description: description.cloned(),
    }
}
