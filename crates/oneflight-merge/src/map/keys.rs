//! Hashes of keys, for the index of a chunk's records.

use crate::batch::Cell;
use foldhash::fast::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};

/// The hash of the cells of a key; cells that are the same ([`Cell::is_same`]) have the same.
#[inline]
pub(super) fn hash_cells<'c>(
    cells: impl IntoIterator<Item = Cell<'c>>,
    hasher: &RandomState,
) -> u64 {
    let mut hasher = hasher.build_hasher();
    cells
        .into_iter()
        .for_each(|cell| hash_cell(cell, &mut hasher));
    hasher.finish()
}

#[inline]
fn hash_cell(cell: Cell<'_>, hasher: &mut impl Hasher) {
    match cell {
        Cell::Unset | Cell::Null => hasher.write_u8(0),
        // The hasher tells a text's length from it.
        Cell::Text(text) | Cell::Decimal(text) | Cell::Folded { key: text, .. } => {
            hasher.write(text.as_bytes());
        }
        Cell::Int(int) | Cell::Timestamp(int) => hasher.write_i64(int),
        Cell::Real(real) => hasher.write_u64(real.to_bits()),
        Cell::Bool(bool) => hasher.write_u8(u8::from(bool)),
        Cell::Date(days) => hasher.write_i32(days),
        Cell::Uuid(uuid) => uuid.hash(hasher),
        Cell::Bytes(bytes) => bytes.hash(hasher),
        Cell::Ref(rec) => hasher.write_u32(rec),
    }
}
