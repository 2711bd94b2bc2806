//! The tools that other tests rely on.
#![forbid(unsafe_code)]

mod database;
mod proxy;
