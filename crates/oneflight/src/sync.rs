//! The one door to locks and cells, so that a model checker can stand in for them.

pub(crate) use parking_lot::Mutex;
pub(crate) use std::sync::{Arc, OnceLock};
