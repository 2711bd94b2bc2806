//! Single flight for [reqwest]: one refresh of a bearer token for all requests that need it, and one request for all who send the
//! same. Two layers for [`reqwest_middleware`].
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod bearer;
pub mod collapse;
mod error;
#[cfg(feature = "oauth2")]
pub mod oauth2;

pub use bearer::{Bearer, NoBearer, Whose};
pub use collapse::{Alone, Collapse, Part};
pub use error::Error;
