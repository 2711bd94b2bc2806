//! Which cell of a record goes where in the database, and what it is worth there: references become ids, folded texts become keys,
//! and a key whose parts may be null becomes a digest. Nothing is copied.
//!
//! H1. Slots come in their order, as `Resolver::recall` wants them.

use super::digest::Digest;
use super::fates::Fates;
use crate::batch::{Cell, Rec};
use crate::plan::{ColumnKind, KeyPlan, Slot, TablePlan};
use oneflight_sql::ValueRef;

/// How the records of a table are laid out.
#[derive(Debug)]
pub(crate) struct Shape {
    /// For each key column the index of the plan's column; empty unless the key stands in columns of its own.
    pub(crate) key: Vec<usize>,
    /// Slot and column of each attribute, but for deferred ones (H1).
    pub(crate) attributes: Vec<(usize, usize)>,
    /// The columns that refer to other tables, but for deferred ones, and those tables.
    pub(crate) references: Vec<(usize, usize)>,
}

impl Shape {
    pub(crate) fn new(plan: &TablePlan) -> Self {
        let columns = || plan.columns.iter().enumerate();
        let mut key = vec![0; plan.sql.key.len()];
        if plan.key == KeyPlan::Columns {
            for (at, column) in columns() {
                let (Slot::Key(slot)
                | Slot::Folded {
                    key: Some(slot), ..
                }) = column.slot
                else {
                    continue;
                };
                key[slot] = at;
            }
        } else {
            key.clear();
        }
        let now = || columns().filter(|(_, column)| !column.deferred);
        let attribute = |(at, column): (usize, &crate::plan::ColumnPlan)| match column.slot {
            Slot::Key(_) => None,
            Slot::Attribute(slot) | Slot::Folded { shown: slot, .. } => Some((slot, at)),
        };
        let mut attributes: Vec<(usize, usize)> = now().filter_map(attribute).collect();
        attributes.sort_unstable();
        let references = now().filter_map(|(at, column)| match column.kind {
            ColumnKind::Ref(to) => Some((at, to)),
            ColumnKind::Scalar(_) => None,
        });
        Self {
            key,
            attributes,
            references: references.collect(),
        }
    }
}

/// What a cell is worth as an attribute; none if nothing is said.
pub(crate) fn attribute<'a>(
    plan: &TablePlan,
    column: usize,
    cell: Cell<'a>,
    fates: &'a Fates,
) -> Option<ValueRef<'a>> {
    match cell {
        Cell::Unset => None,
        Cell::Null => Some(ValueRef::Null),
        Cell::Folded { shown, .. } => Some(ValueRef::Text(shown)),
        Cell::Ref(at) => id(plan, column, at, fates),
        cell => plain(cell),
    }
}

/// What a cell is worth as a part of a key; none if it is null, or a reference to a record that has no id.
pub(crate) fn key_part<'a>(
    plan: &TablePlan,
    column: usize,
    cell: Cell<'a>,
    fates: &'a Fates,
) -> Option<ValueRef<'a>> {
    match cell {
        Cell::Unset | Cell::Null => None,
        Cell::Folded { key, .. } => Some(ValueRef::Text(key)),
        Cell::Ref(at) => id(plan, column, at, fates),
        cell => plain(cell),
    }
}

/// The digest of a record's key; none if a reference in it has no id.
pub(crate) fn digest(plan: &TablePlan, rec: Rec<'_>, fates: &Fates) -> Option<[u8; 16]> {
    let mut digest = Digest::default();
    for (at, _) in plan
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.key)
    {
        match rec.cell(at) {
            Cell::Unset | Cell::Null => digest.null(),
            cell => digest.value(key_part(plan, at, cell, fates)?),
        }
    }
    Some(digest.finish())
}

fn id<'a>(plan: &TablePlan, column: usize, at: u32, fates: &'a Fates) -> Option<ValueRef<'a>> {
    match plan.columns[column].kind {
        ColumnKind::Ref(to) => fates.id(to, at),
        ColumnKind::Scalar(_) => None,
    }
}

fn plain(cell: Cell<'_>) -> Option<ValueRef<'_>> {
    Some(match cell {
        Cell::Text(text) => ValueRef::Text(text),
        Cell::Int(int) => ValueRef::Int(int),
        Cell::Real(real) => ValueRef::Real(real),
        Cell::Decimal(text) => ValueRef::Decimal(text),
        Cell::Bool(bool) => ValueRef::Bool(bool),
        Cell::Date(days) => ValueRef::Date(days),
        Cell::Timestamp(micros) => ValueRef::Timestamp(micros),
        Cell::Uuid(uuid) => ValueRef::Uuid(uuid),
        Cell::Bytes(bytes) => ValueRef::Bytes(bytes),
        Cell::Unset | Cell::Null | Cell::Folded { .. } | Cell::Ref(_) => return None,
    })
}
