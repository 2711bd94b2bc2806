//! Printing: numbers, tables, progress, rejected rows. Nothing here decides anything.
//!
//!   stdout ◀── the report: a table for people, or one JSON object
//!   stderr ◀── progress, the first rejected rows, errors
//!
//! Everything is readable without colour, so that there is none.

mod grid;
mod line;
mod numbers;
mod progress;

pub(crate) use grid::Grid;
pub(crate) use line::{err, err_part, out, plain, shell};
pub(crate) use numbers::{count, seconds};
pub(crate) use progress::{Numbers, Progress, Voice};
