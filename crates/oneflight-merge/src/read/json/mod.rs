//! JSON documents: a walk along a path that finds the extents of rows, so that an array of any size needs the memory of a chunk.
//!
//!   Text ──scan──▶ extents of values ──walk──▶ rows, and the members around them ──reader──▶ trees with their scopes
//!
//! J1. What encloses rows is known before the first of them is handed out, also what stands after them in the file: a first walk
//!     (the survey) keeps those late members aside, a second one hands out the rows.
//! J2. A row has the line that it begins on. A row that is no JSON inside matching brackets is bad; other damage ends the file.
//! J3. A path that leads nowhere is an error that says at which step, and what stands there.

mod late;
mod reader;
mod scan;
mod walk;

pub use late::MAX_SCOPE_MEMBER;
pub(super) use reader::start;
