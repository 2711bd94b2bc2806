//! Rows of one table, column by column: what [`Store::load`](crate::Store::load) takes, and what it gives back.
//!
//! ```text
//!   Columns   key         [ Cells, Cells ]           Cells   kind    Int
//!             attributes  [ Cells, –, Cells ]                nulls   a bit each, or none at all
//!                                  ╰ nobody says it          values  one vector; texts in one buffer, with their ends
//! ```
//!
//! O1. All cells of a [`Cells`] are of its kind, or null. All [`Cells`] of a [`Columns`] are equally long.
//! O2. A row costs no allocation of its own, neither here nor, if it is like the others, in what comes back.

mod cells;
mod loaded;
mod rows;

pub use cells::Cells;
pub(crate) use cells::{Values, span};
pub use loaded::Loaded;
pub use rows::Columns;
