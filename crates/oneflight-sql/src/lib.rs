//! oneflight-sql
#![forbid(unsafe_code)]

mod fold;
mod record;
mod schema;
mod value;

pub use fold::{Fold, ParseFoldError};
pub use record::{Effect, External, Outcome, Record};
pub use schema::{Attribute, Column, Crosswalk, Policy, Reference, SameSource, Table};
pub use value::{Kind, Value};
