//! A connection as everybody has one: prepared statements, one after another, through the database's usual client (L4).
//!
//!   Links ──take──▶ Link ──▶ look up, or create ──▶ id          no more callers at the database than there are links

mod connection;
mod links;
mod resolve;

pub(super) use connection::{Param, postgres};
pub(super) use links::Links;
pub(super) use resolve::Link;
