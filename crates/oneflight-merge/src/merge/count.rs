//! The books of a chunk: every row is inserted, existing, updated or rejected, and once only.

use super::fates::{Fate, Fates};
use crate::batch::{Again, Mapped, Reject, Row};
use oneflight_sql::Effect;

/// What a chunk came to.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) inserted: u64,
    pub(crate) existing: u64,
    pub(crate) updated: u64,
    /// In the order of the rows.
    pub(crate) rejects: Vec<Reject>,
    /// By table.
    pub(crate) tables: Vec<TableCount>,
}

/// What became of the records of one table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TableCount {
    pub(crate) found: u64,
    pub(crate) created: u64,
    pub(crate) completed: u64,
    pub(crate) updated: u64,
    pub(crate) conflicts: u64,
}

impl TableCount {
    pub(crate) fn add(&mut self, effect: Effect, conflicts: u32) {
        match effect {
            Effect::Created => self.created += 1,
            Effect::Completed => self.completed += 1,
            Effect::Updated => self.updated += 1,
            _ => self.found += 1,
        }
        self.conflicts += u64::from(conflicts);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.found += other.found;
        self.created += other.created;
        self.completed += other.completed;
        self.updated += other.updated;
        self.conflicts += other.conflicts;
    }
}

/// What happened to a row, the strongest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Existing,
    Updated,
    Inserted,
}

/// Counts the rows.
pub(crate) fn count(mapped: Mapped, fates: &Fates, tables: Vec<TableCount>) -> Written {
    let mut written = Written {
        rejects: mapped.rejects,
        tables,
        ..Written::default()
    };
    for row in mapped.rows.iter() {
        match row_part(row, fates) {
            Ok(Part::Existing) => written.existing += 1,
            Ok(Part::Updated) => written.updated += 1,
            Ok(Part::Inserted) => written.inserted += 1,
            Err(reject) => written.rejects.push(reject),
        }
    }
    written.rejects.sort_by_key(|reject| reject.line);
    written
}

fn row_part(row: Row<'_>, fates: &Fates) -> Result<Part, Reject> {
    let mut part = Part::Existing;
    for declares in row.declares {
        let (table, rec) = (declares.table as usize, declares.rec);
        let this = match fates.get(table, rec) {
            Fate::Done(effect) => match (declares.again, effect) {
                (Again::First, Effect::Created) => Part::Inserted,
                // What a later row of the chunk changed may stand in the database already: then it changed nothing.
                (_, Effect::Found) => Part::Existing,
                (Again::First, Effect::Completed | Effect::Updated) | (Again::Changed, _) => {
                    Part::Updated
                }
                _ => Part::Existing,
            },
            Fate::Failed => match fates.why(table, rec) {
                Some(why) => {
                    return Err(Reject {
                        line: row.line,
                        column: why.column.clone(),
                        value: why.value.clone(),
                        reason: why.reason.clone(),
                    });
                }
                None => continue,
            },
            // Its row has another record that failed; that one gives the reason.
            Fate::Pending | Fate::Idle => continue,
        };
        part = part.max(this);
    }
    Ok(part)
}
