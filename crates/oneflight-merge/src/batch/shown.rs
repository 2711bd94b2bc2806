//! Cells and records as a person would write them, for messages.

use super::cells::Cell;
use super::recs::Recs;
use crate::plan::{ColumnKind, Plan};

/// A cell of a column of this kind; a reference is shown by the key of its record, which `recs` gives.
pub(crate) fn shown<'r>(
    plan: &Plan,
    recs: &impl Fn(usize) -> &'r Recs,
    kind: ColumnKind,
    cell: Cell<'_>,
) -> String {
    match (kind, cell) {
        (ColumnKind::Ref(to), Cell::Ref(at)) => {
            let rec = recs(to).get(at);
            let columns = plan.tables[to].columns.iter().zip(rec.cells());
            let key = columns.filter(|(column, cell)| column.key && !cell.is_empty());
            let key = key.map(|(column, cell)| shown(plan, recs, column.kind, cell));
            let external = rec.external().map(|external| external.id.to_string());
            joined(key, external)
        }
        (_, cell) => cell
            .value()
            .map_or_else(String::new, |value| value.to_string()),
    }
}

/// The parts of a key, or without one an external id.
pub(crate) fn joined(key: impl Iterator<Item = String>, external: Option<String>) -> String {
    let key = key.collect::<Vec<_>>().join(", ");
    match external {
        Some(external) if key.is_empty() => external,
        _ => key,
    }
}
