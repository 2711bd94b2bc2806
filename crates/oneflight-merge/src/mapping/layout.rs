//! From tables as they are written to tables as the database has them: order, keys, limits, slots.
//!
//! Y1. Limits are the same on every database, so that a feed is accepted by all of them or by none. An index entry has at most
//!     2,704 bytes on PostgreSQL, its head included, and 3,072 on MariaDB; a character has up to four.

use super::error::Problems;
use super::order::{Edge, order};
use super::tables::{ColumnDraft, KindDraft, TableDraft};
use crate::plan::{ColumnKind, ColumnPlan, KeyPlan, Slot, TablePlan};
use oneflight_sql::{Attribute, Column, Crosswalk, Kind, Policy, Reference, Table};

/// The most bytes of an index entry (Y1).
const INDEX_BYTES: usize = 2_600;
/// The most bytes of a value of type `bytes` in a key.
const KEY_BYTES: u32 = 255;
/// The most characters of a text in a key, however few parts there are.
const KEY_CHARS: usize = 512;
/// Fewer characters than this are no limit to live with.
const LEAST_KEY_CHARS: usize = 32;
/// The most columns of an index: MySQL's bound.
const KEY_PARTS: usize = 16;
/// The most characters of an external id: with the name of its source it fits into an index entry.
pub(crate) const EXTERNAL_CHARS: u32 = 255;

/// Lays out all tables, in their order (P1); none if they do not hang together.
pub(crate) fn layout(problems: &Problems<'_>, drafts: &[TableDraft]) -> Option<Vec<TablePlan>> {
    let edges = edges(problems, drafts)?;
    let order = match order(drafts.len(), &edges) {
        Ok(order) => order,
        Err(cycle) => {
            let names: Vec<&str> = cycle
                .iter()
                .map(|table| drafts[*table].name.as_str())
                .collect();
            let message =
                "the keys refer to each other in a circle, so that no row could be the first: ";
            problems.note(
                drafts[cycle[0]].at,
                format!("{message}{}", names.join(" → ")),
            );
            return None;
        }
    };
    let place = |draft: usize| {
        order
            .iter()
            .position(|other| *other == draft)
            .unwrap_or_default()
    };
    let plans = order.iter().map(|&draft| {
        let context = Context {
            problems,
            draft: &drafts[draft],
            place: place(draft),
            referenced: edges.iter().any(|edge| edge.to == draft),
        };
        context.plan(|name| {
            drafts
                .iter()
                .position(|other| other.name == name)
                .map(place)
        })
    });
    let plans: Vec<TablePlan> = plans.collect();
    check_table_names(problems, drafts, &plans, &order);
    Some(plans)
}

fn edges(problems: &Problems<'_>, drafts: &[TableDraft]) -> Option<Vec<Edge>> {
    let names: Vec<&str> = drafts.iter().map(|draft| draft.name.as_str()).collect();
    let mut edges = Some(Vec::new());
    for (from, draft) in drafts.iter().enumerate() {
        for column in &draft.columns {
            let KindDraft::Ref(to) = &column.kind else {
                continue;
            };
            match names.iter().position(|name| name == to) {
                Some(to) => edges.iter_mut().for_each(|edges| {
                    edges.push(Edge {
                        from,
                        to,
                        key: column.key,
                    })
                }),
                None => {
                    problems.unknown(column.at, "table", to, &names);
                    edges = None;
                }
            }
        }
    }
    edges
}

struct Context<'c> {
    problems: &'c Problems<'c>,
    draft: &'c TableDraft,
    place: usize,
    referenced: bool,
}

impl Context<'_> {
    fn plan(&self, place_of: impl Fn(&str) -> Option<usize>) -> TablePlan {
        let draft = self.draft;
        let key_plan = match draft.columns.iter().any(|column| column.key) {
            false => KeyPlan::External,
            true if draft.null_is_value => KeyPlan::Digest,
            true => KeyPlan::Columns,
        };
        let max_chars = if key_plan == KeyPlan::Columns {
            self.key_limit()
        } else {
            None
        };
        let all_in_key = draft.columns.iter().all(|column| column.key);
        let mut sql = Table {
            name: draft.name.clone(),
            id: (self.referenced || draft.crosswalk.is_some() || !all_in_key)
                .then(|| "id".to_owned()),
            key: Vec::new(),
            attributes: Vec::new(),
            newest_by: draft.newest_by.clone(),
            crosswalk: self.crosswalk(),
        };
        if key_plan == KeyPlan::Digest {
            sql.key.push(Column {
                name: "row_key".into(),
                kind: Kind::Bytes,
                max_chars: Some(16),
                references: None,
            });
        }
        let columns = draft.columns.iter();
        let columns: Vec<ColumnPlan> = columns
            .map(|column| self.column(column, key_plan, max_chars, &place_of, &mut sql))
            .collect();
        self.check_column_names(&sql);
        let deferred = columns.iter().any(|column| column.deferred);
        // (A deferred one that is required has been refused above.)
        let is_required = |column: &ColumnPlan| match column.slot {
            Slot::Attribute(slot) => sql.attributes[slot].required,
            Slot::Key(_) | Slot::Folded { .. } => false,
        };
        let required = (0..columns.len()).filter(|at| is_required(&columns[*at]));
        let required = required.collect();
        TablePlan {
            sql,
            columns,
            key: key_plan,
            required,
            referenced: self.referenced,
            deferred,
        }
    }

    fn column(
        &self,
        draft: &ColumnDraft,
        key: KeyPlan,
        key_chars: Option<u32>,
        place_of: impl Fn(&str) -> Option<usize>,
        sql: &mut Table,
    ) -> ColumnPlan {
        let kind = match &draft.kind {
            KindDraft::Scalar(kind) => ColumnKind::Scalar(*kind),
            KindDraft::Ref(name) => ColumnKind::Ref(place_of(name).unwrap_or_default()),
        };
        let deferred = !draft.key && matches!(kind, ColumnKind::Ref(to) if to >= self.place);
        if deferred && draft.required {
            self.problems.note(
                draft.at,
                format!("`{}` cannot be required: it closes a circle of references, so that it is written after its row", draft.name),
            );
        }
        ColumnPlan {
            name: draft.name.clone(),
            kind,
            key: draft.key,
            fold: draft.fold.filter(|_| draft.key),
            slot: slot(draft, key, key_chars, sql),
            deferred,
        }
    }

    /// The most characters of each text in the key (Y1).
    fn key_limit(&self) -> Option<u32> {
        let key = || self.draft.columns.iter().filter(|column| column.key);
        let parts = key().count();
        let is_text = |column: &&ColumnDraft| column.kind == KindDraft::Scalar(Kind::Text);
        let texts = key().filter(is_text).count();
        let digest = "`null_key = \"value\"` makes the key one digest of any number of columns";
        if parts > KEY_PARTS {
            self.problems.note(
                self.draft.at,
                format!("the key of `{}` has {parts} columns; an index holds {KEY_PARTS} at most; {digest}", self.draft.name),
            );
        }
        if texts == 0 {
            return None;
        }
        let others: usize = key().map(|column| part_bytes(&column.kind)).sum();
        let chars = (INDEX_BYTES.saturating_sub(others) / (4 * texts)).min(KEY_CHARS);
        if chars < LEAST_KEY_CHARS {
            self.problems.note(
                self.draft.at,
                format!("the key of `{}` has {texts} texts, so that each could have {chars} characters only; {digest}", self.draft.name),
            );
        }
        u32::try_from(chars).ok()
    }

    fn crosswalk(&self) -> Option<Crosswalk> {
        let draft = self.draft.crosswalk.as_ref()?;
        Some(Crosswalk {
            table: draft
                .table
                .clone()
                .unwrap_or_else(|| format!("{}_xref", self.draft.name)),
            source: draft.source.clone(),
            external_id: draft.external_id.clone(),
            id: draft
                .id
                .clone()
                .unwrap_or_else(|| format!("{}_id", last_part(&self.draft.name))),
            same_source: draft.same_source,
        })
    }

    /// Two columns with one name, where upper and lower case are one, as they are in SQLite and MariaDB.
    fn check_column_names(&self, sql: &Table) {
        let key = sql.key.iter().map(|column| &column.name);
        let attributes = sql
            .attributes
            .iter()
            .map(|attribute| &attribute.column.name);
        let mut seen: Vec<String> = sql.id.iter().map(|id| id.to_lowercase()).collect();
        for name in key.chain(attributes) {
            if seen.contains(&name.to_lowercase()) {
                self.problems.note(
                    self.draft.at,
                    format!("two columns of `{}` would be called `{name}` (a reference `x` is `x_id`, a folded text `x` has an `x_key`)", self.draft.name),
                );
            }
            seen.push(name.to_lowercase());
        }
    }
}

/// Bytes that a part of a key takes in an index, other than a text.
fn part_bytes(kind: &KindDraft) -> usize {
    match kind {
        KindDraft::Scalar(Kind::Text) => 0,
        KindDraft::Scalar(Kind::Bytes) => KEY_BYTES as usize,
        KindDraft::Scalar(Kind::Decimal) => 40,
        KindDraft::Scalar(_) | KindDraft::Ref(_) => 16,
    }
}

/// Adds a column to the database's table, and says where its value goes.
fn slot(draft: &ColumnDraft, key: KeyPlan, key_chars: Option<u32>, sql: &mut Table) -> Slot {
    let column = column(draft);
    let policy = if draft.key {
        Policy::Once
    } else {
        draft.policy
    };
    let mut attribute = |column: Column, required: bool| {
        sql.attributes.push(Attribute {
            column,
            required,
            policy,
        });
        sql.attributes.len() - 1
    };
    if !draft.key {
        return Slot::Attribute(attribute(column, draft.required));
    }
    let max_chars = match (draft.max, key_chars) {
        (Some(max), Some(chars)) => Some(max.min(chars)),
        (max, chars) => max.or(chars),
    };
    let max_chars = match column.kind {
        Kind::Text => max_chars,
        Kind::Bytes if key == KeyPlan::Columns => Some(KEY_BYTES),
        _ => None,
    };
    match (key, draft.fold) {
        (KeyPlan::Digest, None) => Slot::Attribute(attribute(column, false)),
        (KeyPlan::Digest, Some(_)) => Slot::Folded {
            key: None,
            shown: attribute(column, false),
        },
        (_, None) => {
            sql.key.push(Column {
                max_chars,
                ..column
            });
            Slot::Key(sql.key.len() - 1)
        }
        (_, Some(_)) => {
            let folded = Column {
                name: format!("{}_key", draft.name),
                kind: Kind::Text,
                max_chars,
                references: None,
            };
            // The spelling may be longer than its fold (white space), so the limit is the key's alone.
            let shown = attribute(
                Column {
                    max_chars: None,
                    ..column
                },
                true,
            );
            sql.key.push(folded);
            Slot::Folded {
                key: Some(sql.key.len() - 1),
                shown,
            }
        }
    }
}

fn column(draft: &ColumnDraft) -> Column {
    match &draft.kind {
        KindDraft::Scalar(kind) => Column {
            name: draft.name.clone(),
            kind: *kind,
            max_chars: draft.max,
            references: None,
        },
        KindDraft::Ref(table) => Column {
            name: format!("{}_id", draft.name),
            kind: Kind::Int,
            max_chars: None,
            references: Some(Reference {
                table: table.clone(),
                column: "id".into(),
            }),
        },
    }
}

/// Two tables with one name, a crosswalk counted as a table.
fn check_table_names(
    problems: &Problems<'_>,
    drafts: &[TableDraft],
    plans: &[TablePlan],
    order: &[usize],
) {
    let mut seen: Vec<String> = Vec::new();
    let crosswalks = plans.iter().map(|plan| {
        plan.sql
            .crosswalk
            .as_ref()
            .map(|crosswalk| &crosswalk.table)
    });
    let names = plans
        .iter()
        .map(|plan| Some(&plan.sql.name))
        .chain(crosswalks);
    for (name, draft) in names.zip(order.iter().chain(order)) {
        let Some(name) = name else { continue };
        if seen.contains(&name.to_lowercase()) {
            problems.note(
                drafts[*draft].at,
                format!("two tables would be called `{name}`"),
            );
        }
        seen.push(name.to_lowercase());
    }
}

/// `club` of `soccer.club`.
fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
