//! Which tables of a chunk can be written at the same time.

use crate::plan::{ColumnKind, Plan, TablePlan};

/// The tables in levels: those of one level refer only to tables of earlier ones (deferred references aside), so that they can
/// be written side by side.
pub(crate) fn levels(plan: &Plan) -> Vec<Vec<usize>> {
    let mut level = vec![0; plan.tables.len()];
    // P1 lets a reference that is not deferred point only to an earlier table, so one pass is enough.
    for (at, table) in plan.tables.iter().enumerate() {
        let below = table.columns.iter().filter(|column| !column.deferred);
        level[at] = below
            .filter_map(|column| match column.kind {
                ColumnKind::Ref(to) => Some(level[to] + 1),
                ColumnKind::Scalar(_) => None,
            })
            .max()
            .unwrap_or(0);
    }
    let mut levels = vec![Vec::new(); level.iter().max().map_or(0, |top| top + 1)];
    for (table, level) in level.into_iter().enumerate() {
        levels[level].push(table);
    }
    levels
}

/// By table, the level that has the last of the tables that its deferred references lead to.
pub(crate) fn lateness(plan: &Plan, levels: &[Vec<usize>]) -> Vec<usize> {
    let level_of = |table: usize| levels.iter().position(|level| level.contains(&table));
    let of_table = |table: &TablePlan| {
        let deferred = table.columns.iter().filter(|column| column.deferred);
        let leads_to = deferred.filter_map(|column| match column.kind {
            ColumnKind::Ref(to) => level_of(to),
            ColumnKind::Scalar(_) => None,
        });
        leads_to.max().unwrap_or(0)
    };
    plan.tables.iter().map(of_table).collect()
}
