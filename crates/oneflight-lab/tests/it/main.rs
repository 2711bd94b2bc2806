//! The lab, in little, on every database.
#![forbid(unsafe_code)]

mod merge;
