//! What is known of one source, under its lock: the transitions, and nothing that waits.
//!
//! ```text
//!   Unknown ──the store has a pair──▶ Held ── Idle ─▶ Flying ──invalid_grant──▶ Ended
//!      │                               ▲ │      ▲        │ failed                │
//!      └──it has none──▶ Out ──────────┘ │      └ Resting ◀┘                     │
//!                                        └──◀── another pair, by whatever way ───┘
//! ```
//!
//! `known` is what is known and how it comes to be so, `held` a pair, `renewal` when a flight begins, and `plan` what it does.
//!
//! Z1. What came of the store (a pair, or that there is none) takes the place of what is known if its version is greater; or if the
//!     state is as it was when the store was read (`epoch`): then the store has gone back, and is right.
//! Z2. What has to go (`Old`) is handed out, to be dropped when the lock is open: in it may be the last of an error of the user's.
//! Z3. `Held::rejected` and `Held::doubt` are of one pair, and go with it; so does that it has ended, and that it rests.
//! Z4. After a flight that failed none begins for a while, whoever asks, whatever is known: who can't be served is told of that failure.

mod held;
mod known;
mod plan;
mod renewal;

pub(super) use known::{Means, News, State, Unsaved};
pub(super) use plan::{Ask, Plan};
pub(super) use renewal::{Look, Start};
