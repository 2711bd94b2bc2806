//! Settling: who found what, what is to be changed, how many conflicts there were.
//!
//! S1. The records of a row are applied one after the other, its maker first, as if they had come alone.

use super::batch::{Batch, Handle, Need, View};
use super::policy;
use crate::dialect::{Layout, encode};
use crate::driver::Statement;
use crate::error::Error;
use crate::record::{Applied, Effect, Outcome};
use crate::value::Value;

/// What a view comes to.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// Records whose outcome holds as it is.
    pub(super) outcomes: Vec<(usize, Result<Outcome, Error>)>,
    /// Records whose outcome holds once the changes are stored.
    pub(super) pending: Vec<(usize, Result<Outcome, Error>)>,
    /// The row of each pending record.
    pub(super) wanted: Vec<(usize, Handle)>,
    /// Rows to change: handle, and the values that all attributes then have, with a mark at those that change.
    pub(super) changes: Vec<Change>,
    /// Records that need a key of their own.
    pub(super) splits: Vec<usize>,
}

/// A row to change.
#[derive(Debug)]
pub(super) struct Change {
    handle: Handle,
    values: Vec<Value>,
    is_new: Vec<bool>,
}

/// Settles the records of a set whose rows are known.
pub(super) fn settle(layout: &Layout, batch: &Batch, set: &[usize], view: &View) -> Settled {
    let mut settled = Settled::default();
    let mut of_row: Vec<Vec<usize>> = view.rows.iter().map(|_| Vec::new()).collect();
    for (&at, need) in set.iter().zip(&view.needs) {
        match need {
            Need::Row(row) => of_row[*row].push(at),
            Need::Split => settled.splits.push(at),
            Need::Never(error) => settled.outcomes.push((at, Err(error.clone()))),
            Need::Link | Need::Create => {}
        }
    }
    for (row, records) in view.rows.iter().zip(of_row) {
        // Once its makers are done, a row that we made is a row like any other.
        let created = batch.created.get(&row.handle);
        let created =
            created.filter(|created| created.members.iter().any(|at| records.contains(at)));
        let before: &[Value] = created.map_or(&row.attributes, |created| &created.values);
        let (after, outcomes) = match created {
            Some(created) => {
                let (made, rest): (Vec<_>, Vec<_>) = records
                    .into_iter()
                    .partition(|at| created.members.contains(at));
                replay(layout, batch, &row.id, None, made.into_iter().chain(rest))
            }
            None => replay(
                layout,
                batch,
                &row.id,
                Some(row.attributes.to_vec()),
                records.into_iter(),
            ),
        };
        let is_new: Vec<bool> = before
            .iter()
            .zip(&after)
            .map(|(before, after)| before != after)
            .collect();
        if is_new.contains(&true) {
            settled.changes.push(Change {
                handle: row.handle.clone(),
                values: after,
                is_new,
            });
            settled
                .wanted
                .extend(outcomes.iter().map(|(at, _)| (*at, row.handle.clone())));
            settled.pending.extend(outcomes);
        } else {
            settled.outcomes.extend(outcomes);
        }
    }
    settled
}

type Outcomes = Vec<(usize, Result<Outcome, Error>)>;

/// Applies records to a row (S1); without values the first one makes it.
fn replay(
    layout: &Layout,
    batch: &Batch,
    id: &Value,
    mut values: Option<Vec<Value>>,
    records: impl Iterator<Item = usize>,
) -> (Vec<Value>, Outcomes) {
    let mut outcomes = Vec::new();
    for at in records {
        let said = &batch.records[at].attributes;
        let applied = match &mut values {
            None => {
                values = Some(policy::fresh(&layout.table, said));
                Ok(Applied {
                    effect: Effect::Created,
                    conflicts: 0,
                })
            }
            Some(values) => policy::apply(&layout.table, values, said),
        };
        let outcome = match applied {
            Ok(Applied { effect, conflicts }) => Ok(Outcome {
                id: id.clone(),
                effect,
                conflicts,
            }),
            Err(attribute) => Err(differs(layout, attribute, values.as_deref(), said)),
        };
        outcomes.push((at, outcome));
    }
    (values.unwrap_or_default(), outcomes)
}

/// The complaint about an attribute of which a record says something else than its row has.
fn differs(
    layout: &Layout,
    attribute: usize,
    row: Option<&[Value]>,
    said: &[Option<Value>],
) -> Error {
    let column = &layout.table.attributes[attribute].column;
    let has = row.map_or(&Value::Null, |row| &row[attribute]);
    let says = said.get(attribute).and_then(Option::as_ref);
    let of_row = if column.references.is_some() {
        "row "
    } else {
        ""
    };
    let message = format!(
        "column `{}` of table `{}` has {of_row}{has} already and is to have {of_row}{}, which its policy refuses",
        column.name,
        layout.table.name,
        says.unwrap_or(&Value::Null),
    );
    Error::refused_by(&column.name, message)
}

/// Statements that store the changes, sorted by handle.
pub(super) fn store(layout: &Layout, mut changes: Vec<Change>) -> Result<Vec<Statement>, Error> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    changes.sort_unstable_by(|a, b| a.handle.cmp(&b.handle));
    let set: Vec<usize> = (0..layout.attributes.len())
        .filter(|&at| changes.iter().any(|change| change.is_new[at]))
        .collect();
    let mut rows = Vec::with_capacity(changes.len());
    for change in changes {
        let values = set
            .iter()
            .map(|&at| encode(layout.dialect, &layout.attributes[at], &change.values[at]));
        rows.push((
            encode_handle(layout, &change.handle)?,
            values.collect::<Result<Vec<_>, _>>()?,
        ));
    }
    Ok(crate::dialect::update(layout, &set, rows))
}

/// A handle as it travels.
pub(super) fn encode_handle(layout: &Layout, handle: &Handle) -> Result<Handle, Error> {
    layout
        .handle()
        .iter()
        .zip(handle)
        .map(|(col, value)| encode(layout.dialect, col, value))
        .collect()
}
