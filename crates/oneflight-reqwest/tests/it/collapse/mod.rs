//! The layer that collapses identical requests.

mod ends;
mod keys;
mod limits;
mod site;
mod with_bearer;
