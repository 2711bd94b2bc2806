//! oneflight-merge
#![forbid(unsafe_code)]

pub mod batch;
pub mod map;
pub mod mapping;
pub mod plan;
pub mod read;
pub mod rows;
