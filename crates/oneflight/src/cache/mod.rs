//! The cache: what has landed is kept, in front of a group that loads what is not there.
//!
//! ```text
//!   get_or_load(key, work)
//!      │
//!      ├─▶ Store ── fresh ──────────────────────────▶ the value, at once
//!      │     └───── stale, within its window ───────▶ the value, at once; one refresh behind it
//!      │     └───── neither ─┐
//!      │                     ▼
//!      └──────────────▶ Group: one flight a key ──▶ Loading: the work, with a Ticket of the Fences
//!                                                      │
//!   insert · invalidate · expire ──▶ Fences ◀── lands ─┘    stored only if its ticket is still there
//! ```
//!
//! Single flight ends when the answer lands; keeping it is this module's business. Which entry must go when room is short is decided
//! by a library; how old an entry is, and what may still be done with it, by `entry` and `policy`, which know no clock and no lock.
//!
//! F1. A load has a ticket from before its work is made until it has landed. What it brings is stored, and its failure noted, only
//!     while the ticket is there, under the lock of the fence.
//! F2. `insert` and `invalidate` tear the tickets of their key and change the store under that lock, and then take the flight out of
//!     the group's table. So no load that began before them is stored after them, and no later call joins its flight. `expire` does
//!     the same, but marks the tickets: what such a load brings is kept, and stale from then on.
//! F3. Each load and each insert has a number and a birth, given out together under that lock. A load that says what its key's value
//!     is, or that there is none, tears the tickets of those with lower numbers: nothing older comes after it, whatever it has left.
//!     One that fails for good while a value is kept marks them: what they bring serves no longer than that value would.
//! F4. `invalidate_all` raises the lowest number that counts. Values and flights below it are as if they were not there.
//! F5. Who becomes a leader looks into the store once more, with the flight in the table and a ticket in hand: a call that misses a
//!     landing or a write by a hair finds what was stored.
//! F6. At most one refresh of a key runs behind, in the same table as all flights; it belongs to no caller.
//! F7. A hit takes no lock of ours and allocates nothing: one look into the store, and one at the clock.
//! F8. Nothing of the user's is dropped under the fence or a lock of the store: a `Drop` may use the cache.

mod behind;
mod builder;
mod counters;
mod ends;
mod entry;
mod face;
mod fence;
mod flying;
mod inner;
mod loading;
mod lookup;
mod many;
mod outcome;
mod own;
mod policy;
mod start;
mod store;

pub use behind::Idle;
pub use builder::Builder;
pub use counters::Stats;
pub use face::Cache;
pub use lookup::{Lookup, WithOutcome};
pub use many::{Many, ManyWithOutcome};
pub use outcome::{Freshness, Outcome, Peeked, Source};
pub use policy::{Failure, Lifetime, Overflow};
