//! Mapping files: which tables there are, and how the rows of each feed fill them. The language is described in
//! `docs/mapping.md`.
//!
//!   text ──toml──▶ sections ──tables──▶ drafts ──layout, order──▶ TablePlan ┐
//!                     ├─────lookups──▶ LookupPlan                           ├──▶ Plan
//!                     └─────feeds──▶ sources, records, values ──▶ FeedPlan ◀┘
//!
//! G1. Every key of the file is known, or an error; nothing is passed over in silence.
//! G2. An error says where it stands, what stands there, and what would be right; as many are told at once as can be.
//! G3. Whatever can be checked without the data is checked here: types of constants, keys that are complete, cycles.

mod error;
mod feeds;
mod layout;
mod lookups;
mod order;
mod parse;
mod records;
mod section;
mod sources;
mod tables;
mod values;

pub use error::{MappingError, MappingErrors};
pub use parse::parse;
