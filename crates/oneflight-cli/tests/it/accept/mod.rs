//! Acceptance: the built program merges the four real sets into each database, and an independent client counts.
//!
//! ```text
//!   sets (what must come out) ──▶ run (the binary) ──▶ database ◀── check (plain SQL of our own)
//!                                        ▲
//!       once: 1 and 8 workers, again, dry │ order: feeds reversed │ race: two at once │ crash: killed, cut off
//! ```
//!
//! Z1. No number here comes from the program: tables are counted by SQL that the tests bring, and compared with what the
//!     notes of the data sets say.
//! Z2. Without the data sets the tests say that they are skipped; without a database they fail.

mod check;
mod crash;
mod once;
mod order;
mod race;
mod run;
mod server;
mod sets;
