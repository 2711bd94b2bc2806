//! From rows to records: each row of a feed is read by the rules of the mapping, checked, and added to a batch.
//!
//!   Chunk ──row──▶ At ──path──▶ Raw ──null, map, lookup──▶ text ──type──▶ Draft cell
//!                                                                           │ whole row is right
//!                                                        Mapped ◀──commit───┘ (else: a reject, and no trace)
//!
//! Everything here is pure and synchronous: no database, no clock, and no files but those that translate values, which are
//! read once, when the run begins.
//!
//! D1. A row is drafted as a whole before anything of it is committed; a row that cannot be drafted changes nothing.
//! D2. Drafts stand in the order children before parents, so that a reference points at a draft that has been committed.
//!     The plain rows of a flat file are not drafted one by one, but come to what drafting them would come to (`sweep`).
//! D3. In one table of a batch, one identity (key cells and external id) is one record; later rows change it by its policies.

mod commit;
mod convert;
mod draft;
mod each;
mod keys;
mod lookup;
mod mapper;
mod memo;
mod number;
mod path;
mod records;
mod sweep;
mod table;
mod time;
mod values;

pub use lookup::Lookups;
pub use mapper::Mapper;
pub use records::{Entries, Records};

pub(crate) use convert::check as check_value;
pub(crate) use number::Marks;
pub(crate) use path::{Each, Grammar, Path};
pub(crate) use records::{
    CellSpec, Declared, ExternalSpec, Fill, RecordSpec, Unknown, ValueSpec, Want,
};
pub(crate) use time::{Pattern, fields as pattern_fields};
pub(crate) use values::shorten;
