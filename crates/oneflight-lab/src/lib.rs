#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod feed;
#[cfg(feature = "merge")]
pub mod merge;
pub mod proxy;
pub mod result;
pub mod url;

#[cfg(feature = "merge")]
mod error;

#[cfg(feature = "merge")]
pub use error::Error;
