//! One refresh: an access token that a thousand calls need is renewed once, and a refresh token is spent once.
//!
//! ```text
//!   token() ──┬─ the present one is good ──────────────────────────────────────────────────────▶ Token
//!             └─ it is not ──▶ one flight: lease ─▶ store ─▶ mark ─▶ refresher ─▶ store ─▶ state ─▶ Token, the same for all
//!   rejected(&token) ── replaced already ──▶ the present one  └─ what another process has put there is taken
//! ```
//!
//! `source` is what callers hold, `state` what is known under one lock, `schedule` when to renew, `renew` the flight's work, `store`
//! where pairs are kept, `identities` a source for each user.
//!
//! R1. At most one flight of a source is up. A refresh token is sent by it alone, and by none after one has redeemed it. Of the sources
//!     that share a store, that one sends it which has put there that it does (`Stored::sent`); another only once it has no answer.
//! R2. A pair is in the store before its access token is with any caller, and it replaces only the version that it was made from.
//! R3. A request that was sent and not answered leaves its refresh token in doubt, for whoever has the store: it is sent again within
//!     the grace, and past it only when there is no access token left to lose.
//! R4. A refused refresh token (`invalid_grant`) is told once, and never sent again. Another pair in the store, or `replace`, ends that.
//! R5. Ages are measured by the monotonic clock from before the request was sent. The wall clock is for what a store keeps.
//! R6. No secret is in a `Debug`, a `Display`, an error or an event, and none stays in memory that was given back.
//! R7. Nothing of the user's (store, lease, refresher, event hook, clock) is called under the lock.

mod builder;
mod doubt;
mod event;
mod failure;
mod identities;
mod pair;
mod renew;
mod schedule;
mod secret;
mod send;
mod slot;
mod source;
mod state;
pub mod store;
mod wall;

pub use builder::Builder;
pub use event::{Event, Stats};
pub use failure::{Failure, RefreshError};
pub use identities::{Full, Identity, Tokens};
pub use pair::{Grant, Pair, Stored, Token, Version};
pub use secret::Secret;
pub use source::TokenSource;
pub use store::{FileLease, FileStore, MemoryStore, Store, StoreError};
pub use wall::{SystemWall, Wall};
