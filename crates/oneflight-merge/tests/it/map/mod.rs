//! Mapping, from a file and its mapping to the records of a batch; no database.

mod dirt;
mod docs;
mod messages;
mod real;
mod rows;
mod shapes;
mod sweep;
mod world;
