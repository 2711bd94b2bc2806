//! Delimited text: a parser of records, and the reader that makes flat chunks of them.

#[cfg(test)]
mod differential;
mod reader;
mod record;
mod run;

pub(super) use reader::start;
