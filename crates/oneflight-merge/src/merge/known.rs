//! The records of a chunk that the resolver remembers: nearly all of those that are only referred to. They are recalled by their
//! cells, before the chunk's turn: nothing is built, and nobody is waited for.
//!
//! K1. A record is recalled only if putting it to its row would change nothing; so when that is found out does not matter.

use super::fates::Fates;
use super::shape::{Shape, attribute, digest, key_part};
use crate::batch::{Rec, Recs};
use crate::plan::{KeyPlan, TablePlan};
use oneflight_sql::{Note, Outcome, Resolver, ValueRef};

/// Columns of a key that is recalled, at most; wider ones are built.
const PARTS: usize = 8;

/// Recalls what it can of the records that are pending.
pub(crate) fn recall(
    table: usize,
    plan: &TablePlan,
    shape: &Shape,
    recs: &Recs,
    resolver: &Resolver,
    fates: &Fates,
) -> Vec<(u32, Outcome)> {
    // What is deferred is not said yet, and who says it is to be built anyway.
    if plan.deferred {
        return Vec::new();
    }
    let (mut asked, mut notes) = (Vec::new(), Vec::new());
    for rec in recs.iter() {
        if !fates.is_pending(table, rec.number()) {
            continue;
        }
        if let Some(note) = note(plan, shape, rec, resolver, fates) {
            asked.push(rec.number());
            notes.push(note);
        }
    }
    let known = asked.into_iter().zip(resolver.recall(&notes));
    known
        .filter_map(|(rec, known)| Some((rec, known?)))
        .collect()
}

fn note(
    plan: &TablePlan,
    shape: &Shape,
    rec: Rec<'_>,
    resolver: &Resolver,
    fates: &Fates,
) -> Option<Note> {
    let references = shape.references.iter();
    let mut references = references.map(|&(column, to)| (to, rec.cell(column)));
    if fates.failure(&mut references).is_some() {
        return None;
    }
    let mut parts = [ValueRef::Null; PARTS];
    let digest = match plan.key {
        KeyPlan::Digest => digest(plan, rec, fates)?,
        KeyPlan::Columns | KeyPlan::External => [0; 16],
    };
    let key: &[ValueRef<'_>] = match plan.key {
        KeyPlan::External => &[],
        KeyPlan::Digest => {
            parts[0] = ValueRef::Bytes(&digest);
            &parts[..1]
        }
        KeyPlan::Columns => {
            let mut len = 0;
            for &column in &shape.key {
                let Some(part) = key_part(plan, column, rec.cell(column), fates) else {
                    // The record is known by its external id alone.
                    len = 0;
                    break;
                };
                *parts.get_mut(len)? = part;
                len += 1;
            }
            &parts[..len]
        }
    };
    let external = rec
        .external()
        .map(|external| (&*external.source, &*external.id));
    if key.is_empty() && external.is_none() {
        return None;
    }
    let said = shape.attributes.iter().filter_map(|&(slot, column)| {
        Some((slot, attribute(plan, column, rec.cell(column), fates)?))
    });
    Some(resolver.note(external, key.iter().copied(), said))
}
