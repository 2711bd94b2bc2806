//! Single flight: when many callers want the same thing at the same moment, the work runs once and all get its answer.
//!
//! ```
//! use oneflight::Group;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let prices: Group<String, u32, std::io::Error> = Group::new();
//! let ask = || prices.run("tea", || async { Ok(350) }); // called only if nobody is asking already
//! let (a, b) = tokio::join!(ask(), ask());
//! assert_eq!((a.unwrap(), b.unwrap()), (350, 350));
//! assert_eq!(prices.stats().started, 1);
//! # }
//! ```
//!
//! The work belongs to the flight, not to the caller that started it: whoever is polled drives it, and it is dropped when the last
//! caller is. Therefore it owns what it uses; what is only lent to the leader does not compile
//! ([`Scoped`] is for that):
//!
//! ```compile_fail
//! # use oneflight::Group;
//! let group: Group<u32, usize, ()> = Group::new();
//! let lent = String::from("of the leader");
//! let call = group.run(&1, || async { Ok(lent.len()) });
//! ```
//!
//! # Where is what
//!
//! | | what is made once |
//! |---|---|
//! | [`Group`] | the work for a key that is in flight now |
//! | [`Scoped`] | the same, for work that borrows or is not `Send`; a leader that is dropped passes the key on |
//! | [`batch::Loader`] | the round trip for all keys that wait right now |
//! | [`cache::Cache`] | the load of a value that is kept; in the feature `cache` |
//! | [`token::TokenSource`] | the refresh of an access token; with the feature `token` |
//! | [`Builder`] | limits, tasks and clocks, chosen by values |
//! | [`Observer`] | is told what becomes of every flight and call; with the feature `tracing` there is one that writes it there |
//! | [`Clock`], [`Spawn`] | what a runtime hands in; with the feature `tokio` there is an adapter |
//! | [`Lease`] | what lets one process lead, as a back end has to promise it |
//! | [`Error`] | why a call got no value |
//!
//! The [`guide`] has a page for each question, from the first flight to what belongs in a key; if you know Go's singleflight, moka,
//! promise maps or Caffeine, begin with [`guide::coming_from`].
//!
//! The family: `oneflight` (a future, a round trip), `oneflight-reqwest` (a request), `oneflight-sql` (a row), `oneflight-merge` (a data
//! set), and the program `oneflight` in `oneflight-cli`.
//!
//! # When not to use it
//!
//! * To keep answers: a flight that has landed is forgotten. Put a cache before it; there is one in the feature `cache`.
//! * When callers may see different things: who joins gets the answer of the one who began. All that decides about the answer, the
//!   caller's rights too, belongs in the key.
//! * For work that must be done once for each call, such as a payment.
//! * Where works wait for each other in a ring. It is found out and told ([`Error::is_reentrant`]), but not by way of a task that a
//!   work spawns without a [`Trail`]; [`Builder::max_flight`] ends that.
#![warn(missing_docs)]
#![deny(unsafe_code)]

pub mod batch;
#[cfg(feature = "cache")]
pub mod cache;
mod clock;
mod error;
mod flight;
pub mod guide;
mod hash;
mod lease;
mod observe;
pub mod scoped;
mod shards;
mod sync;
#[cfg(feature = "token")]
pub mod token;
#[cfg(feature = "tracing")]
mod traced;
mod waiting;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "tokio")]
pub use clock::Tokio;
pub use clock::{Clock, Spawn, Task};
pub use error::Error;
pub use flight::{Builder, Group, Join, Mark, Outcome, Stats, WithOutcome, Within};
pub use hash::{KeyHasher, RandomState};
pub use lease::{Acquiring, Fence, Leading, Lease, LeaseError, Releasing};
pub use observe::{Event, Observer};
pub use scoped::Scoped;
#[cfg(feature = "tracing")]
pub use traced::Tracing;
pub use waiting::{Following, Trail, record_panic_locations};
