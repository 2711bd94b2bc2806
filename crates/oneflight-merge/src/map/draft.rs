//! Drafting: a row's records, made in scratch, checked as far as they can be without the database.
//!
//! Every rule that could refuse a row is applied here or in the commit's first look (D1); a reference whose key is null is no
//! reference, and what its record would have held is dropped with it.

use super::convert;
use super::memo::Memo;
use super::records::{CellSpec, Declared, ExternalSpec, Fill, RecordSpec, Records, Want};
use super::values::{At, Context, Fault};
use crate::batch::Cell;
use crate::plan::{KeyPlan, Plan, TablePlan};
use std::sync::Arc;

/// A record of a row that may still be rejected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) table: usize,
    pub(crate) declared: bool,
    pub(crate) create: bool,
    /// Where its cells begin in [`Drafts::cells`].
    pub(crate) cells: usize,
    pub(crate) external: Option<(&'a Arc<str>, &'a str)>,
    /// The memo to be told of it: see [`Memo`].
    pub(crate) memo: Option<(usize, &'a str)>,
    /// What it was drafted by, for messages.
    pub(crate) spec: &'a RecordSpec,
}

/// A cell of a draft.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DraftCell<'a> {
    /// What it will be in the batch.
    Cell(Cell<'a>),
    /// A reference to a draft of the same row.
    Draft(u32),
}

impl DraftCell<'_> {
    const NULL: Self = Self::Cell(Cell::Null);

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Cell(cell) if cell.is_empty())
    }
}

/// The drafts of one row, children before parents (D2).
#[derive(Debug, Default)]
pub(crate) struct Drafts<'a> {
    pub(crate) drafts: Vec<Draft<'a>>,
    pub(crate) cells: Vec<DraftCell<'a>>,
    /// The cells of the draft that is being committed, its references settled.
    pub(crate) settled: Vec<Cell<'a>>,
    /// For each record that the row declares without `each`, its draft.
    labels: Vec<Option<u32>>,
}

/// What drafting works by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'r, 'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) records: &'a Records,
    pub(crate) context: &'r Context<'a>,
    pub(crate) memo: &'r Memo<'a>,
}

impl<'a> Drafts<'a> {
    /// Drafts all records of a row.
    pub(crate) fn row(&mut self, rules: Rules<'_, 'a>, at: &At<'_, 'a>) -> Result<(), Fault> {
        self.drafts.clear();
        self.cells.clear();
        self.labels.clear();
        for declared in &rules.records.declared {
            let Declared {
                when,
                each,
                null,
                record,
            } = declared;
            let label = match each {
                _ if !rules.context.holds(when, at)? => None,
                None => self.record(rules, record, at, true)?,
                Some(each) => {
                    rules.context.each(each, null, at, &mut |at| {
                        self.record(rules, record, at, true).map(drop)
                    })?;
                    None
                }
            };
            self.labels.push(match label {
                Some(DraftCell::Draft(draft)) => Some(draft),
                _ => None,
            });
        }
        Ok(())
    }

    /// Drafts a record; none if it is a reference whose key is null.
    fn record(
        &mut self,
        rules: Rules<'_, 'a>,
        spec: &'a RecordSpec,
        at: &At<'_, 'a>,
        declared: bool,
    ) -> Result<Option<DraftCell<'a>>, Fault> {
        let plan = &rules.plan.tables[spec.table];
        let (drafts, cells) = (self.drafts.len(), self.cells.len());
        self.cells
            .resize(cells + plan.columns.len(), DraftCell::Cell(Cell::Unset));
        let mut memo = None;
        for cell_spec in &spec.cells {
            let cell = match &cell_spec.fill {
                Fill::Value(value, want) => match rules.context.text(value, at)? {
                    None => DraftCell::NULL,
                    Some(text) => {
                        memo = spec.memo.map(|memo| (memo, text));
                        if let Some(done) = memo.and_then(|(kind, text)| rules.memo.get(kind, text))
                        {
                            self.cells.truncate(cells);
                            return Ok(Some(DraftCell::Cell(Cell::Ref(done))));
                        }
                        DraftCell::Cell(convert::cell(text, value, want, rules.context.texts)?)
                    }
                },
                Fill::Record(spec) => self
                    .record(rules, spec, at, false)?
                    .unwrap_or(DraftCell::NULL),
                Fill::Label(label) => self.labels[*label].map_or(DraftCell::NULL, DraftCell::Draft),
            };
            self.cells[cells + cell_spec.column] = cell;
        }
        let external = match &spec.external {
            Some(external) => {
                external_id(rules.context, external, at)?.map(|id| (&external.source, id))
            }
            None => None,
        };
        let row = &self.cells[cells..cells + plan.columns.len()];
        if let Some(part) = missing_key(plan, row, external.is_some()) {
            if declared {
                return Err(null_key(plan, spec, part));
            }
            self.drafts.truncate(drafts);
            self.cells.truncate(cells);
            return Ok(None);
        }
        required(plan, spec, row)?;
        let draft = Draft {
            table: spec.table,
            declared,
            create: spec.create,
            cells,
            external,
            memo,
            spec,
        };
        self.drafts.push(draft);
        Ok(Some(DraftCell::Draft(
            u32::try_from(self.drafts.len() - 1).map_err(|_| too_many())?,
        )))
    }
}

fn too_many() -> Fault {
    Fault {
        column: None,
        value: None,
        reason: "expected a row of fewer than four thousand million records".into(),
    }
}

fn external_id<'a>(
    context: &Context<'a>,
    spec: &'a ExternalSpec,
    at: &At<'_, 'a>,
) -> Result<Option<&'a str>, Fault> {
    let Some(text) = context.text(&spec.id, at)? else {
        return Ok(None);
    };
    let want = Want {
        kind: oneflight_sql::Kind::Text,
        fold: None,
        max_chars: Some(spec.max_chars),
    };
    convert::check_text(text, &spec.id, &want)?;
    Ok(Some(text))
}

/// What a record lacks to be known: the column of its key that is null, or (as none within) its external id.
fn missing_key(plan: &TablePlan, cells: &[DraftCell<'_>], external: bool) -> Option<Option<usize>> {
    if external {
        return None;
    }
    let is_null = |at: &usize| cells[*at].is_empty();
    let mut key = (0..plan.columns.len()).filter(|at| plan.columns[*at].key);
    match plan.key {
        KeyPlan::External => Some(None),
        KeyPlan::Columns => key.find(is_null).map(Some),
        KeyPlan::Digest => key.clone().all(|at| is_null(&at)).then(|| key.next()),
    }
}

fn null_key(plan: &TablePlan, spec: &RecordSpec, part: Option<usize>) -> Fault {
    let table = &plan.sql.name;
    let Some(part) = part else {
        let column = spec
            .external
            .as_ref()
            .map(|external| external.id.name.clone());
        return Fault {
            column,
            value: None,
            reason: format!(
                "expected an external id: it identifies a row of `{table}`, and is null"
            ),
        };
    };
    let name = &plan.columns[part].name;
    Fault {
        column: Some(spec.said_by(part).unwrap_or(name).to_owned()),
        value: None,
        reason: format!("expected a value: `{name}` is part of the key of `{table}`, and is null"),
    }
}

fn required(plan: &TablePlan, spec: &RecordSpec, cells: &[DraftCell<'_>]) -> Result<(), Fault> {
    let missing = spec
        .cells
        .iter()
        .find(|cell| cell.required && matches!(cells[cell.column], DraftCell::Cell(Cell::Null)));
    missing.map_or(Ok(()), |cell| {
        let name = &plan.columns[cell.column].name;
        Err(Fault {
            column: Some(cell.said_by().unwrap_or(name).to_owned()),
            value: None,
            reason: format!(
                "expected a value: `{name}` of `{}` is required, and is null",
                plan.sql.name
            ),
        })
    })
}

impl RecordSpec {
    /// The path that says what stands in a column, if one alone does.
    pub(super) fn said_by(&self, column: usize) -> Option<&str> {
        let cell = self.cells.iter().find(|cell| cell.column == column);
        cell.and_then(CellSpec::said_by)
    }
}

impl CellSpec {
    /// The path that says what stands in the cell, if one alone does.
    fn said_by(&self) -> Option<&str> {
        match &self.fill {
            Fill::Value(value, _) => Some(&value.name),
            Fill::Record(record) => match &record.cells[..] {
                [cell] => cell.said_by(),
                _ => None,
            },
            Fill::Label(_) => None,
        }
    }
}
