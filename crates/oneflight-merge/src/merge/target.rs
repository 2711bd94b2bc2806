//! The database that is merged into: its tables made or checked, a sink for each.

use super::options::Options;
use super::sink::Sink;
use crate::error::Error;
use crate::plan::Plan;
use oneflight_sql::driver::{self, Driver};
use oneflight_sql::{Resolver, Store, ddl};
use std::sync::Arc;

/// An open target.
#[derive(Debug)]
pub(crate) struct Target {
    driver: Arc<dyn Driver>,
}
