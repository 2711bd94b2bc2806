//! From a record of a chunk to a record for the database: references become ids, folded texts become keys, and a key whose
//! parts may be null becomes a digest.

use super::digest::Digest;
use super::fates::{Fate, Fates};
use crate::batch::{Cell, Rec, Recs};
use crate::plan::{ColumnKind, ColumnPlan, KeyPlan, Slot, TablePlan};
use oneflight_sql::{Policy, Record, Value};

/// The records of one table of a chunk, ready to be written.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    /// The records.
    pub(crate) records: Vec<Record>,
    /// Which record of the chunk each one is.
    pub(crate) recs: Vec<u32>,
    /// Records with references that are written after all tables.
    pub(crate) deferred: Vec<Deferred>,
    /// True if some record says more than who it is. (How a key is spelled does not count: only the first is asked.)
    pub(crate) says_more: bool,
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
pub(crate) fn build(table: usize, plan: &TablePlan, recs: &Recs, fates: &mut Fates) -> Ready {
    let mut ready = Ready {
        records: Vec::with_capacity(recs.len()),
        recs: Vec::with_capacity(recs.len()),
        ..Ready::default()
    };
    for rec in recs.iter() {
        let at = rec.number();
        if !fates.is_pending(table, at) {
            continue;
        }
        let references = plan
            .columns
            .iter()
            .zip(rec.cells())
            .filter_map(|(column, cell)| match column.kind {
                ColumnKind::Ref(to) if !column.deferred => Some((to, cell)),
                _ => None,
            });
        if let Some(why) = fates.failure(references) {
            fates.set(table, at, Fate::Failed(why));
            continue;
        }
        let references = deferred(plan, rec);
        let record = record(plan, rec, fates);
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
        ready.says_more |= says_more(plan, &record);
        ready.records.push(record);
        ready.recs.push(at);
    }
    ready
}

/// The key and external id of a record, without its attributes; none while a reference in its key has no id.
pub(crate) fn who(plan: &TablePlan, rec: Rec<'_>, fates: &Fates) -> Option<Record> {
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
        key: key(plan, rec, fates),
        external: rec.external().cloned(),
        attributes: vec![None; plan.sql.attributes.len()].into(),
    })
}

fn record(plan: &TablePlan, rec: Rec<'_>, fates: &Fates) -> Record {
    let key = key(plan, rec, fates);
    let mut attributes = vec![None; plan.sql.attributes.len()];
    for (column, cell) in plan.columns.iter().zip(rec.cells()) {
        let (Slot::Attribute(slot) | Slot::Folded { shown: slot, .. }) = column.slot else {
            continue;
        };
        if !column.deferred {
            attributes[slot] = attribute(column, cell, fates);
        }
    }
    Record {
        key,
        external: rec.external().cloned(),
        attributes: attributes.into(),
    }
}

fn says_more(plan: &TablePlan, record: &Record) -> bool {
    let attributes = record.attributes.iter().zip(&plan.sql.attributes);
    attributes
        .filter(|(value, _)| value.is_some())
        .any(|(_, attribute)| attribute.policy != Policy::Once)
}

fn attribute(column: &ColumnPlan, cell: Cell<'_>, fates: &Fates) -> Option<Value> {
    match cell {
        Cell::Ref(at) => id_of(column, at, fates),
        cell => cell.value(),
    }
}

fn id_of(column: &ColumnPlan, at: u32, fates: &Fates) -> Option<Value> {
    let ColumnKind::Ref(to) = column.kind else {
        return None;
    };
    let id = fates.id(to, at);
    debug_assert!(
        id.is_some(),
        "F1: `{}` refers to a record that is not done",
        column.name
    );
    id.cloned()
}

fn key(plan: &TablePlan, rec: Rec<'_>, fates: &Fates) -> Option<Box<[Value]>> {
    let parts = plan
        .columns
        .iter()
        .zip(rec.cells())
        .filter(|(column, _)| column.key);
    match plan.key {
        KeyPlan::External => None,
        KeyPlan::Digest => {
            let mut digest = Digest::default();
            for (column, cell) in parts {
                match cell {
                    Cell::Unset => digest.null(),
                    Cell::Text(text) | Cell::Folded { key: text, .. } => digest.text(text),
                    Cell::Ref(at) => digest.value(&id_of(column, at, fates)?),
                    cell => digest.value(&cell.value()?),
                }
            }
            Some([digest.finish()].into())
        }
        KeyPlan::Columns => {
            let mut key = vec![Value::Null; plan.sql.key.len()];
            for (column, cell) in parts {
                let (Slot::Key(slot)
                | Slot::Folded {
                    key: Some(slot), ..
                }) = column.slot
                else {
                    continue;
                };
                key[slot] = match cell {
                    Cell::Folded { key, .. } => Value::Text(key.into()),
                    Cell::Ref(at) => id_of(column, at, fates)?,
                    // The record is known by its external id alone.
                    Cell::Unset | Cell::Null => return None,
                    cell => cell.value()?,
                };
            }
            Some(key.into())
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
