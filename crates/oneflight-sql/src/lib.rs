#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod catalog;
mod columns;
pub mod ddl;
mod dialect;
pub mod driver;
mod error;
mod fold;
pub mod guide;
mod record;
mod resolve;
mod schema;
mod store;
mod value;

pub use columns::{Cells, Columns, Loaded};
pub use dialect::Dialect;
pub use error::Error;
pub use fold::{Fold, ParseFoldError};
pub use record::{Applied, Effect, External, Outcome, Record};
pub use resolve::{Draft, Entity, EntityBuilder, Note, Options, Pending, Resolver, Stats};
pub use schema::{Attribute, Column, Crosswalk, Policy, Reference, SameSource, Table};
pub use store::Store;
pub use value::{Kind, Value, ValueRef};
