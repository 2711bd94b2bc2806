//! Where a run takes place.
//!
//!   Scratch: a database that is made, and dropped ──▶ Site: its URL, near; by way of the proxy, far

mod scratch;
mod site;

pub(super) use site::{Clock, Ran, Site};
