//! References that must be there already: those with `create = false`, and those of which too little is said to make a row (a
//! required column is missing). They are looked up before anything of the chunk is written, so that a row that is rejected for one
//! of them leaves no trace.

use super::build;
use super::fates::{Failure, Fate, Fates};
use super::write::Writer;
use crate::batch::{Cell, Mapped, Recs, shown};
use crate::error::Error;
use crate::plan::{ColumnKind, Plan};
use oneflight_sql::Effect;
use std::sync::Arc;

/// Marks the records of which too little is said to make a row.
pub(crate) fn demand(plan: &Plan, mapped: &mut Mapped) {
    let tables = plan.tables.iter().zip(&mut mapped.tables);
    for (table, recs) in tables.filter(|(table, _)| !table.required.is_empty()) {
        for at in 0..recs.len() as u32 {
            let is_missing = |column: &usize| recs.cell(*column, at).is_empty();
            if table.required.iter().any(is_missing) {
                recs.demand(at);
            }
        }
    }
}

/// Looks them up; what they are not found for is failed, and what only failing rows want is idle.
pub(crate) async fn look_up(
    writer: &Writer,
    chunk: u64,
    mapped: &Mapped,
    fates: &mut Fates,
) -> Result<(), Error> {
    if mapped.tables.iter().all(Recs::all_create) {
        return Ok(());
    }
    let plan = writer.plan();
    let wanted = wanted(plan, mapped);
    for (table, recs) in mapped.tables.iter().enumerate() {
        let asked: Vec<u32> = (0..recs.len() as u32)
            .filter(|&rec| wanted[table][rec as usize])
            .collect();
        let whos: Vec<_> = asked
            .iter()
            .map(|&rec| {
                build::who(
                    &plan.tables[table],
                    writer.shape(table),
                    recs.get(rec),
                    fates,
                )
            })
            .collect();
        if !asked.is_empty() {
            // An earlier row may be the one that declares it.
            writer.settled(table, chunk).await;
        }
        let known: Vec<_> = whos.iter().flatten().cloned().collect();
        let mut found = writer.find(table, known).await?.into_iter();
        for (rec, who) in asked.into_iter().zip(whos) {
            match who.and_then(|_| found.next().flatten()) {
                Some(id) => fates.done(table, rec, id, Effect::Found),
                None if recs.get(rec).may_create() => {}
                None => fates.fail(table, rec, Arc::new(not_there(plan, mapped, table, rec))),
            }
        }
    }
    // A record that may be created was looked up for its id only: what a row says of it is still to be written.
    for (table, recs) in mapped.tables.iter().enumerate() {
        for rec in recs.iter().filter(|rec| rec.may_create()) {
            fates.set(table, rec.number(), Fate::Pending);
        }
    }
    idle(plan, mapped, fates);
    Ok(())
}

/// The records that must be there, and those that their keys refer to.
fn wanted(plan: &Plan, mapped: &Mapped) -> Vec<Vec<bool>> {
    let mut wanted: Vec<Vec<bool>> = mapped
        .tables
        .iter()
        .map(|recs| recs.iter().map(|rec| !rec.may_create()).collect())
        .collect();
    // P1: keys refer to earlier tables only, so walking backwards meets every record after those that want it.
    for (table, recs) in mapped.tables.iter().enumerate().rev() {
        for (at, rec) in recs.iter().enumerate() {
            if !wanted[table][at] {
                continue;
            }
            for (column, cell) in plan.tables[table]
                .columns
                .iter()
                .zip(rec.cells())
                .filter(|(column, _)| column.key)
            {
                if let (ColumnKind::Ref(to), Cell::Ref(rec)) = (column.kind, cell) {
                    wanted[to][rec as usize] = true;
                }
            }
        }
    }
    wanted
}

/// Leaves only those records pending that a row wants which does not fail.
fn idle(plan: &Plan, mapped: &Mapped, fates: &mut Fates) {
    let mut kept: Vec<Vec<bool>> = mapped
        .tables
        .iter()
        .map(|recs| vec![false; recs.len()])
        .collect();
    let mut failing = Vec::new();
    for row in mapped.rows.iter() {
        let roots = || {
            row.declares
                .iter()
                .map(|declares| (declares.table as usize, declares.rec))
        };
        let reached = reach(plan, mapped, roots());
        let failure = reached
            .iter()
            .find_map(|&(table, rec)| fates.why(table, rec).cloned());
        match failure {
            Some(why) => failing.extend(roots().map(|root| (root, why.clone()))),
            None => reached
                .into_iter()
                .for_each(|(table, rec)| kept[table][rec as usize] = true),
        }
    }
    // What a failing row declares and no other row wants fails with it, so that the row is known as rejected.
    for ((table, rec), why) in failing {
        if !kept[table][rec as usize] {
            fates.fail(table, rec, why);
        }
    }
    for (table, kept) in kept.into_iter().enumerate() {
        for (rec, kept) in (0u32..).zip(kept) {
            if !kept && fates.is_pending(table, rec) {
                fates.set(table, rec, Fate::Idle);
            }
        }
    }
}

/// These records and all that they refer to.
fn reach(
    plan: &Plan,
    mapped: &Mapped,
    roots: impl Iterator<Item = (usize, u32)>,
) -> Vec<(usize, u32)> {
    let mut reached: Vec<(usize, u32)> = Vec::new();
    let mut next: Vec<(usize, u32)> = roots.collect();
    while let Some((table, rec)) = next.pop() {
        if reached.contains(&(table, rec)) {
            continue;
        }
        reached.push((table, rec));
        let cells = mapped.tables[table].get(rec).cells();
        next.extend(plan.tables[table].columns.iter().zip(cells).filter_map(
            |(column, cell)| match (column.kind, cell) {
                (ColumnKind::Ref(to), Cell::Ref(rec)) => Some((to, rec)),
                _ => None,
            },
        ));
    }
    reached
}

fn not_there(plan: &Plan, mapped: &Mapped, table: usize, rec: u32) -> Failure {
    let recs = |table: usize| &mapped.tables[table];
    let rec = recs(table).get(rec);
    let columns = plan.tables[table].columns.iter().zip(rec.cells());
    let key = columns.filter(|(column, cell)| column.key && !cell.is_empty());
    let key = key.map(|(column, cell)| {
        let shown = shown(plan, &recs, column.kind, cell);
        format!("{} {shown}", column.name)
    });
    let external = rec.external();
    let external = external.map(|external| format!("external id {}", external.id));
    let shown: Vec<String> = key.chain(external).collect();
    let plan = &plan.tables[table];
    Failure {
        column: None,
        value: (!shown.is_empty()).then(|| shown.join(", ")),
        reason: match plan.required.is_empty() {
            false => format!(
                "expected a row of `{}` that is there already: too little is said of it here to make one",
                plan.sql.name
            ),
            true => format!(
                "expected a row of `{}` that is there already (create = false)",
                plan.sql.name
            ),
        },
    }
}
