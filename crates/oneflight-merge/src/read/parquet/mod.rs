//! Parquet: columns become rows of text, or trees where the schema is nested.
//!
//!   footer ──schema──▶ flat:   column readers ──render──▶ Rows::Flat
//!                      nested: record reader  ──render──▶ Rows::Tree
//!
//! C1. Integers and decimals become plain decimal text, floats the shortest text that reads back the same, dates and times ISO 8601.
//! C2. A value that has no text (bytes that are no UTF-8) makes its row bad, not the file.
//! C3. A damaged file is an error, also where the library that reads it panics.

mod flat;
mod nested;
mod open;
mod render;

pub(super) use open::start;
