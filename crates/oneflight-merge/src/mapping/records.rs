//! The records of a feed as they are written: `[feed.NAME.into.LABEL]`, and the references nested in them.

use super::feeds::Feed;
use super::layout::EXTERNAL_CHARS;
use super::section::{Entry, Section, Text};
use super::values::Place;
use crate::map::{CellSpec, Declared, ExternalSpec, Fill, RecordSpec, ValueSpec, Want};
use crate::plan::{ColumnKind, ColumnPlan, KeyPlan, Slot, TablePlan};
use oneflight_sql::Kind;
use std::sync::Arc;

/// A record that a row declares: its name in the mapping, and its table.
#[derive(Debug)]
pub(crate) struct Label<'t> {
    pub(crate) name: &'t str,
    table: Option<usize>,
    /// True if there is one for each element of a list.
    each: bool,
}

/// Keys of a record that are not columns.
const DECLARED_KEYS: [&str; 5] = ["table", "when", "each", "external_id", "create"];
const REFERENCE_KEYS: [&str; 2] = ["external_id", "create"];

/// Reads the labels of `into`, so that the records can refer to each other.
pub(crate) fn labels<'t>(into: Section<'t>, tables: &[TablePlan]) -> Vec<Label<'t>> {
    let names: Vec<&str> = tables.iter().map(|table| table.sql.name.as_str()).collect();
    let label = |entry: Entry<'t>| {
        let section = entry.section("the columns of a record, such as { name = \"path\" }")?;
        let (name, at) = match section.text("table") {
            Some(text) => (text.text, text.at),
            None => (entry.key, entry.at),
        };
        let table = names.iter().position(|known| *known == name);
        if table.is_none() {
            into.problems.unknown(at, "table", name, &names);
        }
        Some(Label {
            name: entry.key,
            table,
            each: section.has("each"),
        })
    };
    into.entries().into_iter().filter_map(label).collect()
}

impl Feed<'_> {
    /// Reads a record that each row declares.
    pub(crate) fn declared(&self, entry: Entry<'_>) -> Option<Declared> {
        let section = entry.section("the columns of a record")?;
        let label = self.labels.iter().find(|label| label.name == entry.key)?;
        let each = match section.get("each") {
            Some(entry) => Some(self.each(entry)?),
            None => None,
        };
        let place = if each.is_some() {
            Place::Element
        } else {
            Place::Row
        };
        let record = self.record(section, label.table?, place, &DECLARED_KEYS)?;
        let (each, null) =
            each.map_or((None, self.null.clone()), |(each, null)| (Some(each), null));
        let when = self.when(section)?;
        Some(Declared {
            when,
            each,
            null,
            record,
        })
    }

    /// Reads `when = { path = "text", other = ["a", "b"] }`.
    fn when(&self, section: Section<'_>) -> Option<Vec<(ValueSpec, Vec<String>)>> {
        let Some(entry) = section.get("when") else {
            return Some(Vec::new());
        };
        let conditions = entry.section("conditions such as { type = \"goal\" }")?;
        let condition = |entry: Entry<'_>| {
            let path = self.path(
                Text {
                    text: entry.key,
                    at: entry.at,
                },
                Place::Row,
                true,
            )?;
            let texts = match entry.item.as_array() {
                Some(_) => entry
                    .texts()?
                    .iter()
                    .map(|text| text.text.to_owned())
                    .collect(),
                None => vec![entry.scalar()?],
            };
            Some((
                ValueSpec {
                    trim: true,
                    ..ValueSpec::plain(path, self.null.clone())
                },
                texts,
            ))
        };
        conditions.entries().into_iter().map(condition).collect()
    }

    fn record(
        &self,
        section: Section<'_>,
        table: usize,
        place: Place,
        others: &[&str],
    ) -> Option<RecordSpec> {
        let plan = &self.tables[table];
        let names: Vec<&str> = plan
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let mut cells = Vec::new();
        let mut right = true;
        for entry in section
            .entries()
            .into_iter()
            .filter(|entry| !others.contains(&entry.key))
        {
            let Some(column) = names.iter().position(|name| *name == entry.key) else {
                let possible: Vec<&str> = names.iter().chain(others).copied().collect();
                self.problems.unknown(
                    entry.at,
                    &format!("column of `{}`", plan.sql.name),
                    entry.key,
                    &possible,
                );
                right = false;
                continue;
            };
            match self.fill(entry, &plan.columns[column], plan, place) {
                Some(fill) => cells.push(CellSpec {
                    column,
                    required: plan.required.contains(&column),
                    fill,
                }),
                None => right = false,
            }
        }
        let external = match section.get("external_id") {
            Some(entry) => self.external(entry, plan, place),
            None => None,
        };
        let create = section.flag("create").unwrap_or(true);
        let spec = RecordSpec {
            table,
            create,
            cells,
            external,
            memo: None,
        };
        // What is missing is told only where all that is there is right: it may be what is wrong.
        (right && self.is_complete(section, plan, &spec)).then_some(spec)
    }

    fn fill(
        &self,
        entry: Entry<'_>,
        column: &ColumnPlan,
        plan: &TablePlan,
        place: Place,
    ) -> Option<Fill> {
        match column.kind {
            ColumnKind::Scalar(kind) => {
                let want = want(column, kind, plan);
                let value = self.value(entry, &want, place, &[])?;
                Some(Fill::Value(Box::new(value), want))
            }
            ColumnKind::Ref(to) => self.reference(entry, to, place),
        }
    }

    /// Reads a reference: `"&label"`, `{ name = "path" }`, or a path alone where the table is known by one value.
    fn reference(&self, entry: Entry<'_>, to: usize, place: Place) -> Option<Fill> {
        if entry.item.is_str() {
            let text = entry.text()?;
            return match text.text.strip_prefix('&') {
                Some(label) => self.label(
                    Text {
                        text: label,
                        at: text.at,
                    },
                    to,
                ),
                None => self.reference_by_value(entry, to, place),
            };
        }
        let table = &self.tables[to].sql.name;
        let section = entry.section(&format!(
            "the record of `{table}` that is referred to, such as {{ name = \"path\" }}"
        ))?;
        let mut spec = self.record(section, to, place, &REFERENCE_KEYS)?;
        self.remember(&mut spec);
        Some(Fill::Record(Box::new(spec)))
    }

    fn label(&self, label: Text<'_>, to: usize) -> Option<Fill> {
        let names: Vec<&str> = self
            .labels
            .iter()
            .filter(|label| !label.each)
            .map(|label| label.name)
            .collect();
        let found = self
            .labels
            .iter()
            .position(|known| known.name == label.text && !known.each);
        let Some(at) = found else {
            let each = self.labels.iter().any(|known| known.name == label.text);
            if each {
                self.problems.note(label.at, format!("`&{}` stands for one record for each element; only a record without `each` can be referred to", label.text));
            } else {
                self.problems
                    .unknown(label.at, "record of this row", label.text, &names);
            }
            return None;
        };
        if self.labels[at].table.is_some_and(|table| table != to) {
            self.problems.note(
                label.at,
                format!(
                    "`&{}` is a record of another table; expected one of `{}`",
                    label.text, self.tables[to].sql.name
                ),
            );
            return None;
        }
        Some(Fill::Label(at))
    }

    /// A path where a record is expected: the one value that identifies it.
    fn reference_by_value(&self, entry: Entry<'_>, to: usize, place: Place) -> Option<Fill> {
        let plan = &self.tables[to];
        let key: Vec<usize> = (0..plan.columns.len())
            .filter(|at| plan.columns[*at].key)
            .collect();
        let [column] = key[..] else {
            let names: Vec<String> = key
                .iter()
                .map(|at| format!("{} = \"…\"", plan.columns[*at].name))
                .collect();
            let example = if names.is_empty() {
                "external_id = \"…\"".to_owned()
            } else {
                names.join(", ")
            };
            self.problems.note(
                entry.value_at(),
                format!(
                    "`{}` is not known by one value; write {{ {example} }}",
                    plan.sql.name
                ),
            );
            return None;
        };
        let fill = self.fill(entry, &plan.columns[column], plan, place)?;
        let cells = vec![CellSpec {
            column,
            required: false,
            fill,
        }];
        let mut spec = RecordSpec {
            table: to,
            create: true,
            cells,
            external: None,
            memo: None,
        };
        if !plan.required.is_empty() {
            self.says_too_little(entry, plan, column);
            return None;
        }
        self.remember(&mut spec);
        Some(Fill::Record(Box::new(spec)))
    }

    /// Notes that a path alone leaves out what is required.
    fn says_too_little(&self, entry: Entry<'_>, plan: &TablePlan, key: usize) {
        let name = |at: &usize| plan.columns[*at].name.as_str();
        let missing: Vec<String> = plan
            .required
            .iter()
            .map(|at| format!("`{}`", name(at)))
            .collect();
        let written: Vec<String> = std::iter::once(&key)
            .chain(&plan.required)
            .map(|at| format!("{} = \"…\"", name(at)))
            .collect();
        let (is, them) = match missing.len() {
            1 => ("is", "it"),
            _ => ("are", "them"),
        };
        self.problems.note(
            entry.value_at(),
            format!(
                "{missing} {is} missing: required in `{table}`, so that no row can be made without {them}; write {{ {whole} }}, or \
                 {{ {known}, create = false }} for a row that is there already",
                missing = missing.join(", "),
                table = plan.sql.name,
                whole = written.join(", "),
                known = written[0],
            ),
        );
    }

    fn external(&self, entry: Entry<'_>, plan: &TablePlan, place: Place) -> Option<ExternalSpec> {
        if plan.sql.crosswalk.is_none() {
            self.problems.note(
                entry.at,
                format!(
                    "`{}` has no crosswalk to hold external ids; give the table `crosswalk = true`",
                    plan.sql.name
                ),
            );
            return None;
        }
        let want = Want {
            kind: Kind::Text,
            fold: None,
            max_chars: Some(EXTERNAL_CHARS),
        };
        let id = self.value(entry, &want, place, &["source"])?;
        let source = match entry
            .item
            .as_table_like()
            .and_then(|table| table.get("source"))
        {
            Some(item) => match item.as_str() {
                Some(source) => source,
                None => return entry.expected("source = a text in quotes"),
            },
            None => self.source,
        };
        Some(ExternalSpec {
            source: Arc::from(source),
            id,
            max_chars: EXTERNAL_CHARS,
        })
    }

    /// Gives a reference that one text identifies a place to remember it.
    fn remember(&self, spec: &mut RecordSpec) {
        let single = match &spec.cells[..] {
            [cell] => {
                matches!(cell.fill, Fill::Value(..))
                    && self.tables[spec.table].columns[cell.column].key
            }
            _ => false,
        };
        if single && spec.external.is_none() {
            let mut state = self.state.borrow_mut();
            spec.memo = Some(state.memos);
            state.memos += 1;
        }
    }

    /// Notes what a record must say and does not.
    fn is_complete(&self, section: Section<'_>, plan: &TablePlan, spec: &RecordSpec) -> bool {
        let says = |column: usize| spec.cells.iter().any(|cell| cell.column == column);
        let missing = |at: &usize| !says(*at);
        let key: Vec<usize> = (0..plan.columns.len())
            .filter(|at| plan.columns[*at].key)
            .collect();
        let table = &plan.sql.name;
        if spec.external.is_none() {
            if plan.key == KeyPlan::External && plan.sql.crosswalk.is_some() {
                self.problems.note(
                    section.at,
                    format!("`external_id` is missing: nothing else identifies a row of `{table}`"),
                );
                return false;
            }
            if let Some(at) = key.iter().copied().find(missing) {
                let name = &plan.columns[at].name;
                self.problems.note(
                    section.at,
                    format!("`{name}` is missing: it is part of the key of `{table}`"),
                );
                return false;
            }
        }
        let lacks = plan.required.iter().copied().find(missing);
        if let Some(at) = lacks.filter(|_| spec.create) {
            let name = &plan.columns[at].name;
            self.problems.note(
                section.at,
                format!("`{name}` is missing: it is required in `{table}`, so that no row can be made without it (a reference with `create = false` makes none)"),
            );
            return false;
        }
        true
    }
}

fn want(column: &ColumnPlan, kind: Kind, plan: &TablePlan) -> Want {
    let max_chars = match column.slot {
        Slot::Key(slot)
        | Slot::Folded {
            key: Some(slot), ..
        } => plan.sql.key[slot].max_chars,
        Slot::Attribute(slot)
        | Slot::Folded {
            key: None,
            shown: slot,
        } => plan.sql.attributes[slot].column.max_chars,
    };
    Want {
        kind,
        fold: column.fold,
        max_chars,
    }
}
