//! What has to be computed from the rows: the fold of every text in a key, and which keys look alike.
//!
//!   row ─▶ stored key, texts ─▶ fold anew ─┬─ differs from the stored key      StaleKey
//!                                          ├─ another row folds to the same    EqualUnderFold
//!                                          └─ the texts themselves             ─▶ alike
//!
//! K1. Rows are read a page at a time. A table whose keys stand in their own columns is read twice only if stale keys were
//!     found: two rows can be one under the fold only if the key of at least one is stale.

use super::alike::Texts;
use super::query::{Database, EXAMPLES, Row, shown};
use super::report::{Finding, FindingKind, Hint, TableAudit};
use crate::error::Error;
use crate::plan::{ColumnPlan, KeyPlan, Slot, TablePlan};
use foldhash::fast::FixedState;
use oneflight_sql::{Column, Fold, Kind, SameSource};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::hash::BuildHasher as _;

/// Rows that are read at a time.
const PAGE: usize = 20_000;
/// Keys that are remembered for one table, at most.
const MAX_KEYS: usize = 4_000_000;

/// Folds the keys of one table anew.
pub(super) async fn table(
    database: &Database,
    plan: &TablePlan,
    audit: &mut TableAudit,
) -> Result<(), Error> {
    let parts: Vec<Part<'_>> = plan
        .columns
        .iter()
        .filter(|column| column.key)
        .filter_map(|column| Part::new(plan, column))
        .collect();
    let folded = parts.iter().any(|part| part.fold.is_some());
    let alike = plan.key == KeyPlan::Columns
        && plan.sql.id.is_some()
        && parts.iter().any(|part| part.text.kind == Kind::Text);
    if !folded && !alike {
        return Ok(());
    }
    let keys = Keys {
        plan,
        parts,
        suffixed: suffixed(plan),
    };
    let mut first = First {
        stale: Stale::default(),
        seen: HashMap::new(),
        texts: Texts::default(),
        full: false,
    };
    let all = plan.key == KeyPlan::Digest;
    keys.each(database, |row| first.row(&keys, row, all, alike))
        .await?;
    let First {
        stale,
        seen,
        texts,
        full,
    } = first;
    // With digests every key has been counted; otherwise only the stale ones, and any row may have the same key.
    let wanted = seen.into_iter().filter(|(_, rows)| !all || *rows > 1);
    let mut groups: HashMap<u128, Group> =
        wanted.map(|(hash, _)| (hash, Group::default())).collect();
    if !groups.is_empty() {
        let gather = |row: &Row| {
            groups
                .get_mut(&keys.hash(row))
                .into_iter()
                .for_each(|group| group.add(&keys, row))
        };
        keys.each(database, gather).await?;
    }
    let column = folded_columns(&keys);
    stale.report(column.clone(), audit);
    if folded {
        report_groups(groups, column, audit);
    }
    if full {
        audit.notes.push(format!(
            "more than {MAX_KEYS} keys: not all were compared under the fold"
        ));
    }
    hint(texts, &keys, audit);
    Ok(())
}

/// The columns whose texts are folded, as a person would list them.
fn folded_columns(keys: &Keys<'_>) -> String {
    let folded = keys.parts.iter().filter(|part| part.fold.is_some());
    let names: Vec<&str> = folded.map(|part| part.text.name.as_str()).collect();
    names.join(", ")
}

/// True if the last text of a key may have got `~external id` at its end, to keep two entities of one source apart.
fn suffixed(plan: &TablePlan) -> bool {
    plan.sql
        .crosswalk
        .as_ref()
        .is_some_and(|crosswalk| crosswalk.same_source == SameSource::Split)
}

/// A part of a key.
struct Part<'p> {
    /// The column that holds the text as it is shown, or the value.
    text: &'p Column,
    /// The column that holds the folded text.
    stored: Option<&'p Column>,
    fold: Option<Fold>,
}

impl<'p> Part<'p> {
    fn new(plan: &'p TablePlan, column: &'p ColumnPlan) -> Option<Self> {
        let attribute = |slot: usize| {
            plan.sql
                .attributes
                .get(slot)
                .map(|attribute| &attribute.column)
        };
        match column.slot {
            Slot::Key(slot) => Some(Self {
                text: plan.sql.key.get(slot)?,
                stored: None,
                fold: None,
            }),
            Slot::Attribute(slot) => Some(Self {
                text: attribute(slot)?,
                stored: None,
                fold: None,
            }),
            Slot::Folded { key, shown } => {
                let stored = key.and_then(|slot| plan.sql.key.get(slot));
                Some(Self {
                    text: attribute(shown)?,
                    stored,
                    fold: Some(column.fold.unwrap_or(Fold::EXACT)),
                })
            }
        }
    }
}

/// The keys of a table: for each part two cells of a row, the text and the stored key.
struct Keys<'p> {
    plan: &'p TablePlan,
    parts: Vec<Part<'p>>,
    suffixed: bool,
}

impl Keys<'_> {
    /// Reads all rows, a page at a time (K1).
    async fn each(&self, database: &Database, mut with: impl FnMut(&Row)) -> Result<(), Error> {
        let table = &self.plan.sql;
        let from = database.table(&table.name);
        let id = table.id.as_deref();
        let cells = self.parts.iter().flat_map(|part| {
            [
                database.text("t", part.text),
                database.text("t", part.stored.unwrap_or(part.text)),
            ]
        });
        let columns = cells
            .chain(id.map(|id| database.id_text("t", id)))
            .collect::<Vec<_>>();
        let (list, width) = (columns.join(", "), columns.len());
        let order = match id {
            Some(id) => format!("t.{}", database.name(id)),
            None => table
                .key
                .iter()
                .map(|column| format!("t.{}", database.name(&column.name)))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let (mut after, mut offset) = (None::<Box<str>>, 0);
        loop {
            // Ids are integers: they need no quotes, and what is no integer never came from an id column.
            let page = match (&after, id) {
                (Some(last), Some(_)) => {
                    format!("WHERE {order} > {last} ORDER BY {order} LIMIT {PAGE}")
                }
                (None, Some(_)) => format!("ORDER BY {order} LIMIT {PAGE}"),
                (_, None) => format!("ORDER BY {order} LIMIT {PAGE} OFFSET {offset}"),
            };
            let rows = database
                .texts(
                    &table.name,
                    format!("SELECT {list} FROM {from} AS t {page}"),
                    width,
                )
                .await?;
            rows.iter().for_each(&mut with);
            offset += rows.len();
            after = rows
                .last()
                .and_then(|row| row.last().cloned().flatten())
                .filter(|last| last.parse::<i64>().is_ok());
            if rows.len() < PAGE || (id.is_some() && after.is_none()) {
                return Ok(());
            }
        }
    }

    /// The parts of the key, folded anew; a suffix that keeps two entities apart belongs to the key.
    fn folded<'r>(
        &'r self,
        row: &'r Row,
    ) -> impl Iterator<Item = Option<std::borrow::Cow<'r, str>>> {
        self.parts
            .iter()
            .zip(row.chunks_exact(2))
            .map(|(part, cells)| {
                let text = cells[0].as_deref()?;
                let folded = match part.fold {
                    Some(fold) => fold.apply(text),
                    None => text.into(),
                };
                match cells[1].as_deref() {
                    Some(stored) if self.is_split(&folded, stored) => Some(stored.into()),
                    _ => Some(folded),
                }
            })
    }

    fn is_split(&self, folded: &str, stored: &str) -> bool {
        self.suffixed
            && stored
                .strip_prefix(folded)
                .is_some_and(|rest| rest.starts_with('~'))
    }

    fn hash(&self, row: &Row) -> u128 {
        let mut digest = Sha256::new();
        for part in self.folded(row) {
            // The length in front keeps parts from running into each other, and no length is like that of a null.
            let length = part.as_ref().map_or(u64::MAX, |text| text.len() as u64);
            digest.update(length.to_be_bytes());
            digest.update(part.as_deref().unwrap_or_default().as_bytes());
        }
        let bytes: [u8; 32] = digest.finalize().into();
        bytes
            .iter()
            .take(16)
            .fold(0, |hash, byte| hash << 8 | u128::from(*byte))
    }

    /// True if a stored key is not the fold of its text.
    fn is_stale(&self, row: &Row) -> bool {
        self.parts
            .iter()
            .zip(row.chunks_exact(2))
            .zip(self.folded(row))
            .any(|((part, cells), folded)| {
                part.stored.is_some()
                    && (cells[0].is_some() || cells[1].is_some())
                    && folded.as_deref() != cells[1].as_deref()
            })
    }

    /// A row for people: its texts, and its id.
    fn show(&self, row: &Row) -> String {
        let texts = row
            .chunks_exact(2)
            .take(self.parts.len())
            .map(|cells| shown(cells[0].as_deref()))
            .collect::<Vec<_>>()
            .join(", ");
        match (&self.plan.sql.id, row.last()) {
            (Some(id), Some(Some(value))) => format!("{texts} ({id} {value})"),
            _ => texts,
        }
    }
}

/// The first reading.
struct First {
    stale: Stale,
    /// How many rows have a key, by its hash.
    seen: HashMap<u128, u32>,
    texts: Texts,
    /// True if there were more keys than may be remembered.
    full: bool,
}

impl First {
    fn row(&mut self, keys: &Keys<'_>, row: &Row, all: bool, alike: bool) {
        let stale = keys.is_stale(row);
        if stale {
            self.stale.add(keys, row);
        }
        if stale || all {
            let full = self.seen.len() >= MAX_KEYS;
            let hash = keys.hash(row);
            match self.seen.get_mut(&hash) {
                Some(rows) => *rows = rows.saturating_add(1),
                None if full => self.full = true,
                None => {
                    self.seen.insert(hash, 1);
                }
            }
        }
        if alike {
            self.compare(keys, row);
        }
    }

    fn compare(&mut self, keys: &Keys<'_>, row: &Row) {
        let cells: Vec<Option<&str>> = row
            .chunks_exact(2)
            .take(keys.parts.len())
            .map(|cells| cells[0].as_deref())
            .collect();
        for (at, part) in keys.parts.iter().enumerate() {
            if let (Kind::Text, Some(text)) = (part.text.kind, cells[at]) {
                let others = cells
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other != at)
                    .map(|(_, cell)| cell);
                self.texts.add(
                    FixedState::default().hash_one((at, others.collect::<Vec<_>>())),
                    text,
                );
            }
        }
    }
}

/// Rows whose stored key is not the fold of their text.
#[derive(Default)]
struct Stale {
    count: u64,
    examples: Vec<String>,
}

impl Stale {
    fn add(&mut self, keys: &Keys<'_>, row: &Row) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            let stored = row
                .chunks_exact(2)
                .zip(&keys.parts)
                .filter(|(_, part)| part.stored.is_some());
            let stored = stored
                .map(|(cells, _)| format!("`{}`", shown(cells[1].as_deref())))
                .collect::<Vec<_>>()
                .join(", ");
            self.examples
                .push(format!("{} is stored as {stored}", keys.show(row)));
        }
    }

    fn report(self, column: String, audit: &mut TableAudit) {
        if self.count > 0 {
            audit.findings.push(Finding {
                kind: FindingKind::StaleKey,
                column,
                count: self.count,
                examples: self.examples,
            });
        }
    }
}

/// Rows with one key.
#[derive(Default)]
struct Group {
    rows: u32,
    examples: Vec<String>,
}

impl Group {
    fn add(&mut self, keys: &Keys<'_>, row: &Row) {
        self.rows = self.rows.saturating_add(1);
        if self.examples.len() < 4 {
            self.examples.push(keys.show(row));
        }
    }
}

fn report_groups(groups: HashMap<u128, Group>, column: String, audit: &mut TableAudit) {
    let mut twice: Vec<String> = groups
        .into_values()
        .filter(|group| group.rows > 1)
        .map(|group| group.examples.join(" = "))
        .collect();
    if twice.is_empty() {
        return;
    }
    let count = twice.len() as u64;
    twice.sort_unstable();
    twice.truncate(EXAMPLES);
    audit.findings.push(Finding {
        kind: FindingKind::EqualUnderFold,
        column,
        count,
        examples: twice,
    });
}

fn hint(texts: Texts, keys: &Keys<'_>, audit: &mut TableAudit) {
    let found = texts.pairs();
    if found.count > 0 || found.cut {
        let names = keys
            .parts
            .iter()
            .filter(|part| part.text.kind == Kind::Text)
            .map(|part| part.text.name.as_str());
        let column = names.collect::<Vec<_>>().join(", ");
        audit.hints.push(Hint {
            column,
            count: found.count,
            pairs: found.pairs,
            cut: found.cut,
        });
    }
}
