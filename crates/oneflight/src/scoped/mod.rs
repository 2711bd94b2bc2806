//! Flights whose work borrows: the leader's own future is the work, and a leader that leaves passes the key on.
//!
//! ```text
//!   Scoped ── table (shards) ──▶ flight: key, state, answer          the work is not in it
//!     │                            ▲
//!     └── run ──▶ Call ── seat ────┘        a seat waits, or leads; dropped, it leaves, or hands over
//!                  └── the closure, then the future that it made: in the leader's own frame
//! ```
//!
//! A [`Group`](crate::Group) owns its work, and that is what makes it robust: any caller drives it. But then the work must be
//! `Send + 'static`. Here it need not be: it may borrow from the frame of its caller, hold an `Rc`, and stay on one thread. So
//! may the keys, the values and the errors.
//!
//! # When to use which
//!
//! | | [`Group`](crate::Group) | [`Scoped`] |
//! |---|---|---|
//! | the work is | `Send + 'static` | what you like: borrowed, `!Send` |
//! | who drives it | any caller that is polled, or a task | the caller whose work it is |
//! | the leader is dropped | the work goes on where it was | **the work is dropped; one waiter begins its own, from the start** |
//! | callers who leave before the work could end | its time adds up; later ones are served | none of them is served: each run begins anew |
//! | the leader is kept but never polled | the others go on without it | **the others wait** |
//! | a caller's future holds | 40 bytes | its closure, and its work when it leads |
//!
//! Use [`Group`](crate::Group) when the work can be owned; clone an `Arc` into it rather than borrow. Use [`Scoped`] when it can't.
//!
//! # What a leader owes
//!
//! A leader that is alive but not polled holds up the others, since nobody else can reach its work. It happens where futures are
//! polled in turns: a leader in a `select!` by reference whose other branch awaits for long, or in a `FuturesUnordered` that is
//! not polled while one of its results is worked on. Drop such a call, or keep polling it; where that can't be promised, use a
//! [`Group`](crate::Group). [`Call::within`] bounds the wait of each caller, so that none waits for ever. A call that has never
//! been polled leads nothing, and holds up nobody.

mod call;
mod group;
mod seat;
mod state;
mod table;

pub use call::{Call, WithOutcome, Within};
pub use group::Scoped;
