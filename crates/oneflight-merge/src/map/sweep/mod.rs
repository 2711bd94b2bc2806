//! Sweeping: the plain rows of a flat chunk, read column by column, so that a cell costs a turn of a short loop.
//!
//!   block of rows ──read: one column after the other──▶ cells ──run of rows: one step after the other──▶ who it is
//!                                        │                                  └──one column after the other──▶ Batch
//!                                        └─ a row that is odd ──▶ Drafts, in its turn
//!
//! E1. A row is swept only where drafting it would come to the same; all others are odd, and drafted.
//! E2. Nothing is committed before a row is known not to be odd (D1).
//! E3. A new record has its number at once; its cells are appended later, but before anybody outside the run asks for them.
//! E4. What rows do to one table is done in their order; of tables, those come first that others refer to.

mod columns;
mod rows;
mod steps;

pub(crate) use rows::{BLOCK, Sweep};
