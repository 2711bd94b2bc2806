//! A TCP link that lags: a proxy inside the program, in front of a server.
//!
//! ```text
//!   client ──▶ Proxy ──(half)──▶ server      each direction: read, stamp, queue ──▶ wait until due, write
//!          ◀──(half)──       ◀──
//! ```
//!
//! X1. A delay is latency, not bandwidth: bytes that are sent one after another arrive one after another, as late as
//!     the first. Each direction has half of it.
//! X2. A cut breaks every link that is open and keeps none of what is under way; the next connection is let through.
//! X3. What else happens to a link is a [`Valve`]'s word: which connections are let in, how many bytes pass before a cut.

mod link;
mod server;
mod valve;

pub use server::Proxy;
pub use valve::{Passage, Valve};
