//! From a record of a chunk to a record for the database that stands for itself.

use super::fates::Fates;
use super::shape::{Shape, attribute, digest, key_part};
use crate::batch::{Cell, Rec, Recs};
use crate::plan::{ColumnKind, KeyPlan, Slot, TablePlan};
use oneflight_sql::{Record, Value, ValueRef};

/// The records of one table of a chunk, ready to be written.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    /// The records.
    pub(crate) records: Vec<Record>,
    /// Which record of the chunk each one is.
    pub(crate) recs: Vec<u32>,
    /// Records with references that are written after all tables.
    pub(crate) deferred: Vec<Deferred>,
}

/// A record with references that are written after all tables.
#[derive(Debug)]
pub(crate) struct Deferred {
    pub(crate) rec: u32,
    /// Who it is; no attributes.
    pub(crate) who: Record,
    /// Attribute slot, table and record of each deferred reference.
    pub(crate) references: Vec<(usize, usize, u32)>,
}

/// Builds what is to be written of `recs`; marks those as failed that refer to a record that failed.
pub(crate) fn build(
    table: usize,
    plan: &TablePlan,
    shape: &Shape,
    recs: &Recs,
    fates: &mut Fates,
) -> Ready {
    let mut ready = Ready::default();
    for rec in recs.iter() {
        let at = rec.number();
        if !fates.is_pending(table, at) {
            continue;
        }
        let references = shape.references.iter();
        let references = references.map(|&(column, to)| (to, rec.cell(column)));
        if let Some(why) = fates.failure(references) {
            fates.fail(table, at, why);
            continue;
        }
        let references = deferred(plan, rec);
        let record = record(plan, shape, rec, fates);
        if !references.is_empty() {
            let who = Record {
                key: record.key.clone(),
                external: record.external.clone(),
                attributes: vec![None; record.attributes.len()].into(),
            };
            ready.deferred.push(Deferred {
                rec: at,
                who,
                references,
            });
        }
        ready.records.push(record);
        ready.recs.push(at);
    }
    ready
}

/// The key and external id of a record, without its attributes; none while a reference in its key has no id.
pub(crate) fn who(plan: &TablePlan, shape: &Shape, rec: Rec<'_>, fates: &Fates) -> Option<Record> {
    let known = plan
        .columns
        .iter()
        .zip(rec.cells())
        .filter(|(column, _)| column.key)
        .all(|(column, cell)| match (column.kind, cell) {
            (ColumnKind::Ref(to), Cell::Ref(at)) => fates.id(to, at).is_some(),
            _ => true,
        });
    known.then(|| Record {
        key: key(plan, shape, rec, fates),
        external: rec.external().cloned(),
        attributes: vec![None; plan.sql.attributes.len()].into(),
    })
}

fn record(plan: &TablePlan, shape: &Shape, rec: Rec<'_>, fates: &Fates) -> Record {
    let mut attributes = vec![None; plan.sql.attributes.len()];
    for &(slot, column) in &shape.attributes {
        let cell = rec.cell(column);
        attributes[slot] = attribute(plan, column, cell, fates).map(Value::from);
        debug_assert!(
            attributes[slot].is_some() || cell == Cell::Unset,
            "F1: `{}` refers to a record that is not done",
            plan.columns[column].name
        );
    }
    Record {
        key: key(plan, shape, rec, fates),
        external: rec.external().cloned(),
        attributes: attributes.into(),
    }
}

fn key(plan: &TablePlan, shape: &Shape, rec: Rec<'_>, fates: &Fates) -> Option<Box<[Value]>> {
    match plan.key {
        KeyPlan::External => None,
        KeyPlan::Digest => Some([ValueRef::Bytes(&digest(plan, rec, fates)?).into()].into()),
        // A record with a null in its key is known by its external id alone.
        KeyPlan::Columns => {
            let parts = shape.key.iter();
            let parts = parts.map(|&at| Some(key_part(plan, at, rec.cell(at), fates)?.into()));
            parts.collect()
        }
    }
}

fn deferred(plan: &TablePlan, rec: Rec<'_>) -> Vec<(usize, usize, u32)> {
    if !plan.deferred {
        return Vec::new();
    }
    let deferred = plan
        .columns
        .iter()
        .zip(rec.cells())
        .filter(|(column, _)| column.deferred);
    deferred
        .filter_map(|(column, cell)| match (column.slot, column.kind, cell) {
            (Slot::Attribute(slot), ColumnKind::Ref(to), Cell::Ref(at)) => Some((slot, to, at)),
            _ => None,
        })
        .collect()
}
