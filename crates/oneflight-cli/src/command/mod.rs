//! The commands, each in the same four steps: parse (`cli`), plan, run, print.

pub(crate) mod audit;
pub(crate) mod demo;
pub(crate) mod lab;
pub(crate) mod merge;

mod map;
mod stop;
