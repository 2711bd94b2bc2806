//! Mapping, from a file and its mapping to the records of a batch; no database.

mod real;
mod world;
