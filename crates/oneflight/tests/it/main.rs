//! The tests of the core, in one binary.

mod auto_traits;
mod batch;
#[cfg(feature = "cache")]
mod cache;
mod contract;
mod flight;
mod hostile;
mod model;
mod nested;
mod observe;
mod scoped;
mod script;
mod sizes;
mod threads;
#[cfg(all(feature = "token", feature = "tokio"))]
mod token;
#[cfg(feature = "tracing")]
mod traced;
