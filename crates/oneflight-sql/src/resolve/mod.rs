//! The resolver: find or create by key, with flights, batches and a memory, on top of a [`Store`](crate::Store).

mod draft;
mod entity;
mod flights;
mod identity;
mod memory;
mod options;
mod pending;
mod resolver;
mod stats;

pub use draft::Draft;
pub use entity::{Entity, EntityBuilder};
pub use options::Options;
pub use pending::Pending;
pub use resolver::{Note, Resolver};
pub use stats::Stats;
