//! Reading feeds: files become chunks of rows, in memory bounded by the chunk.
//!
//!   Source ──paths──▶ files ──stream──▶ bytes ──text──▶ characters ──csv│ndjson│json──▶ Chunk
//!                                 └────────────────parquet──────────────────────────────▲
//!
//! Q1. Memory is bounded by the chunk and by [`MAX_ROW`], whatever the size of the file.
//! Q2. What is wrong with one row is a [`crate::rows::Bad`] and reading goes on; what is wrong with the file is a [`ReadError`],
//!     and the chunks end with it.
//! Q3. A file that ends too early is an error, never a short feed: an open quote, an open bracket, an unfinished last line, a
//!     compressed stream without its end.
//! Q4. A byte that does not belong to the encoding is an error, never a replacement character.
//! Q5. A missing column is told when the file is opened, before anything is written.
//!
//! Everything here blocks; an async caller runs it on a thread that may block.

mod csv;
mod error;
mod input;
mod json;
mod ndjson;
mod parquet;
mod paths;
mod stream;
mod text;

pub use error::ReadError;
pub use input::{Chunks, Input, Limits, open, open_with_stdin};
pub use json::MAX_SCOPE_MEMBER;
pub use paths::files;
pub use text::MAX_ROW;
