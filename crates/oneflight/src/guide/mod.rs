//! The guide: how to use flights, and how not to.
//!
//! | page | answers |
//! |---|---|
//! | [`first_flight`] | How do I share one query among all who ask? Where does the group live? |
//! | [`errors`] | What do callers get when the work fails, panics, hangs? |
//! | [`cancelling`] | What happens when a caller goes away, or all of them do? |
//! | [`time_limits`] | How long may a caller wait, and how long may a flight take? |
//! | [`keys`] | What belongs in a key? Which keys leak one user's data to another? |
//! | [`values`] | What can be shared, and what does sharing cost? |
//! | [`fresh_reads`] | How does a caller read what it has just written? |
//! | `cache` (in the feature `cache`) | How do I keep what has landed, and what when it is old? |
//! | [`batches`] | How do I load many keys in one round trip? |
//! | [`tokens`] | How is an access token refreshed once, and a refresh token spent once? (feature `token`) |
//! | [`scoped`] | What if the work borrows, or is not `Send`? |
//! | [`observing`] | What is it doing? |
//! | [`runtimes`] | Does it need tokio? What of other runtimes, of tests, of wasm32? |
//! | [`when_not`] | When is this the wrong tool? |
//! | [`coming_from`] | I know Go's singleflight, moka, promise maps, Caffeine. What is what here? |

#[doc = include_str!("first_flight.md")]
pub mod first_flight {}

#[doc = include_str!("errors.md")]
pub mod errors {}

#[doc = include_str!("cancelling.md")]
pub mod cancelling {}

#[doc = include_str!("time_limits.md")]
pub mod time_limits {}

#[doc = include_str!("keys.md")]
pub mod keys {}

#[doc = include_str!("values.md")]
pub mod values {}

#[doc = include_str!("fresh_reads.md")]
pub mod fresh_reads {}

#[cfg(feature = "cache")]
#[doc = include_str!("cache.md")]
pub mod cache {}

#[doc = include_str!("batches.md")]
pub mod batches {}

#[cfg(feature = "token")]
#[doc = include_str!("tokens.md")]
pub mod tokens {}

#[doc = include_str!("scoped.md")]
pub mod scoped {}

#[doc = include_str!("observing.md")]
pub mod observing {}

#[doc = include_str!("runtimes.md")]
pub mod runtimes {}

#[doc = include_str!("when_not.md")]
pub mod when_not {}

#[doc = include_str!("coming_from.md")]
pub mod coming_from {}
