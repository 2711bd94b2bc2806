//! Delimited text: a parser of records, and the reader that makes flat chunks of them.

mod reader;
mod record;

pub(super) use reader::start;
