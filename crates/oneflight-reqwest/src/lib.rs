//! Single flight for [reqwest]: one refresh of a bearer token for all requests that need it. A layer for [`reqwest_middleware`].
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod bearer;
mod error;

pub use bearer::{Bearer, NoBearer, Whose};
pub use error::Error;
