//! One round trip for all who wait: a [`Loader`] hands the keys that wait to a batch function, together.
//!
//! ```text
//!   load(a) ─┐                                      ┌─▶ batch 1 ──┐
//!   load(b) ─┼─▶ window: a b c … (first come,  ─────┤             ├──land──▶ everybody who waits for its keys
//!   load(a) ─┘            first served)             └─▶ batch 2 ──┘
//!                a key that waits or flies is joined
//! ```
//!
//! While fewer than `max_in_flight` batches run, what waits is sent as soon as a caller is polled; otherwise keys gather, and the
//! next slot that frees takes up to `max_batch` of them. There is no timer: batches grow by themselves when the back end is slow,
//! and a lone key never waits.
//!
//! B1. A key stands in the table exactly while it waits or flies, unless it was forgotten; it leaves before anybody sees its answer.
//! B2. A key that nobody waits for is not sent; a batch that nobody waits for is dropped.
//! B3. Whenever there is something to do (a batch that was woken, or a slot and a key), a caller is being polled, was woken, or has
//!     yet to be polled for the first time.
//! B4. One poll at a time for each batch, by whichever caller is there.
//! B5. No waker is called, and nothing of the user's is dropped, under the lock. Of a key, `Eq` and `Clone` are used under it.
//! B6. A batch that was started by a batch takes no slot: the one that waits for it holds one already.

mod answers;
mod drive;
mod load;
mod loader;
mod run;
mod slab;
mod window;

pub use answers::IntoAnswers;
pub use load::{Load, LoadMany};
pub use loader::{Builder, Loader, Stats};
