//! The records of a table that nobody refers to, column by column: from the cells of the chunk into those of the database, with no
//! record between.
//!
//! C1. All is as `build` would make it; what does not fit into columns is left to it.

use super::fates::{Fate, Fates};
use super::shape::{Shape, attribute, digest, key_part};
use crate::batch::{Cell, Recs};
use crate::plan::{KeyPlan, TablePlan};
use foldhash::fast::RandomState;
use oneflight_sql::{Cells, Columns, Kind, ValueRef};
use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::sync::Arc;

/// The records of one table of a chunk, ready to be loaded.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) columns: Arc<Columns>,
    /// Which record of the chunk each row is.
    pub(crate) recs: Vec<u32>,
    /// Hashes of the keys; two keys that are one have one hash.
    pub(crate) keys: Vec<u64>,
}

/// True if the records of a table can be loaded by the column.
pub(crate) fn can_load(plan: &TablePlan) -> bool {
    !plan.referenced
        && !plan.deferred
        && plan.sql.crosswalk.is_none()
        && plan.key != KeyPlan::External
        && !plan.sql.key.is_empty()
}

/// Puts the pending records of `recs` into columns; marks those as failed that refer to a record that failed. None if one of
/// them does not fit (C1).
pub(crate) fn facts(
    table: usize,
    plan: &TablePlan,
    shape: &Shape,
    recs: &Recs,
    fates: &mut Fates,
    hasher: &RandomState,
) -> Option<Facts> {
    let chosen = choose(table, shape, recs, fates);
    let key = match plan.key {
        KeyPlan::Digest => vec![digests(plan, recs, &chosen, fates)?],
        _ => {
            let columns = shape.key.iter().zip(&plan.sql.key);
            let cells = columns.map(|(&column, sql)| {
                let cells = chosen
                    .iter()
                    .map(|&rec| key_part(plan, column, recs.cell(column, rec), fates));
                fill(sql.kind, chosen.len(), cells)
            });
            cells.collect::<Option<_>>()?
        }
    };
    let mut attributes: Vec<Option<Cells>> = plan.sql.attributes.iter().map(|_| None).collect();
    for &(slot, column) in &shape.attributes {
        let is_said = |&rec: &u32| recs.cell(column, rec) != Cell::Unset;
        if chosen.iter().any(is_said) {
            let cells = chosen.iter().map(|&rec| match recs.cell(column, rec) {
                Cell::Unset => Some(ValueRef::Null),
                cell => attribute(plan, column, cell, fates),
            });
            let kind = plan.sql.attributes[slot].column.kind;
            attributes[slot] = Some(fill(kind, chosen.len(), cells)?);
        }
    }
    let keys = hashes(&key, chosen.len(), hasher);
    Some(Facts {
        columns: Arc::new(Columns::new(key, attributes)),
        recs: chosen,
        keys,
    })
}

/// The records that are to be written.
fn choose(table: usize, shape: &Shape, recs: &Recs, fates: &mut Fates) -> Vec<u32> {
    let mut chosen = Vec::with_capacity(recs.len());
    for rec in 0..recs.len() as u32 {
        if fates.get(table, rec) != Fate::Pending {
            continue;
        }
        let references = shape.references.iter();
        let references = references.map(|&(column, to)| (to, recs.cell(column, rec)));
        match fates.failure(references) {
            Some(why) => fates.fail(table, rec, why),
            None => chosen.push(rec),
        }
    }
    chosen
}

fn digests(plan: &TablePlan, recs: &Recs, chosen: &[u32], fates: &Fates) -> Option<Cells> {
    let mut cells = Cells::with_capacity(Kind::Bytes, chosen.len());
    for &rec in chosen {
        cells.push_bytes(&digest(plan, recs.get(rec), fates)?);
    }
    Some(cells)
}

/// A column of these values; none if one is missing or of another kind.
fn fill<'v>(
    kind: Kind,
    len: usize,
    values: impl Iterator<Item = Option<ValueRef<'v>>>,
) -> Option<Cells> {
    let mut cells = Cells::with_capacity(kind, len);
    for value in values {
        match (value?, kind) {
            (ValueRef::Null, _) => cells.push_null(),
            (ValueRef::Text(text), Kind::Text) => cells.push_text(text),
            (ValueRef::Int(int), Kind::Int) => cells.push_int(int),
            (ValueRef::Real(real), Kind::Real) => cells.push_real(real),
            (ValueRef::Decimal(text), Kind::Decimal) => cells.push_decimal(text),
            (ValueRef::Bool(bool), Kind::Bool) => cells.push_bool(bool),
            (ValueRef::Date(days), Kind::Date) => cells.push_date(days),
            (ValueRef::Timestamp(micros), Kind::Timestamp) => cells.push_timestamp(micros),
            (ValueRef::Uuid(uuid), Kind::Uuid) => cells.push_uuid(uuid),
            (ValueRef::Bytes(bytes), Kind::Bytes) => cells.push_bytes(bytes),
            _ => return None,
        }
    }
    Some(cells)
}

fn hashes(key: &[Cells], len: usize, hasher: &RandomState) -> Vec<u64> {
    let of_row = |row: usize| {
        let mut hasher = hasher.build_hasher();
        for cells in key {
            match (cells.text(row), cells.int(row)) {
                (Some(text), _) => text.hash(&mut hasher),
                (_, Some(int)) => hasher.write_i64(int),
                _ => cells.value(row).hash(&mut hasher),
            }
        }
        hasher.finish()
    };
    (0..len).map(of_row).collect()
}
