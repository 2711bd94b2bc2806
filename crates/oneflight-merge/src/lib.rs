//! oneflight-merge
#![forbid(unsafe_code)]

pub mod audit;
pub mod batch;
mod error;
pub mod map;
pub mod mapping;
pub mod merge;
pub mod plan;
pub mod read;
pub mod report;
pub mod rows;

pub use error::Error;
