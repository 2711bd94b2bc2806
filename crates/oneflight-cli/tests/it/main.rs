//! The program as its users meet it: the built binary, run.
#![forbid(unsafe_code)]

mod accept;
mod cli;
mod lab;
