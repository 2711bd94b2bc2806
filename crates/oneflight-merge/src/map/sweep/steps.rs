//! Which records each row declares and refers to, where that is the same for all rows.

use super::columns::{Column, References, Values};
use crate::map::draft::Draft;
use crate::map::records::{Fill, RecordSpec, Records, ValueSpec, Want};
use crate::map::values::Context;
use crate::plan::{KeyPlan, Plan};

/// The records of a row, children before parents (D2), and the columns that they are made of.
#[derive(Debug, Default)]
pub(super) struct Steps<'a> {
    pub(super) steps: Vec<Step<'a>>,
    pub(super) values: Vec<Values<'a>>,
    pub(super) references: Vec<References<'a>>,
}

/// A record of each row.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) way: Way,
    /// For each column of the table.
    pub(super) cells: Vec<From>,
    /// For each column of the table's key.
    pub(super) key: Vec<From>,
    /// For each row of the block its record; none if it refers to nothing.
    pub(super) recs: Vec<Option<u32>>,
    /// The rows of the block whose records have no cells yet (E3), and the record of the first of them.
    pub(super) late: Vec<u32>,
    pub(super) first: u32,
}

/// How a record is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By the text of this reference.
    Text(usize),
    /// By its key; no other step makes records of its table, so that their cells can be appended by the block.
    Alone,
    /// By its key.
    Shared,
}

/// Where a cell comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum From {
    Nowhere,
    Value(usize),
    Step(usize),
}

impl<'a> Steps<'a> {
    /// None if the rows of the feed are not such that they can be swept (E1).
    pub(super) fn new(plan: &Plan, records: &'a Records, context: &Context<'a>) -> Option<Self> {
        let mut steps = Self::default();
        for declared in &records.declared {
            if !declared.when.is_empty() || declared.each.is_some() {
                return None;
            }
            steps.add(plan, context, &declared.record, true)?;
        }
        let tables: Vec<usize> = steps.steps.iter().map(|step| step.draft.table).collect();
        for step in &mut steps.steps {
            let others = tables.iter().filter(|table| **table == step.draft.table);
            if step.way == Way::Shared && others.count() == 1 {
                step.way = Way::Alone;
            }
        }
        Some(steps)
    }

    /// Adds a record and those that it refers to; returns which step is its own.
    fn add(
        &mut self,
        plan: &Plan,
        context: &Context<'a>,
        spec: &'a RecordSpec,
        declared: bool,
    ) -> Option<usize> {
        let table = &plan.tables[spec.table];
        if spec.external.is_some() || table.key != KeyPlan::Columns {
            return None;
        }
        let mut cells = vec![From::Nowhere; table.columns.len()];
        for cell in spec.cells.iter().filter(|_| spec.memo.is_none()) {
            let needed = table.columns[cell.column].key || cell.required;
            cells[cell.column] = match &cell.fill {
                Fill::Value(value, want) => self.value(context, value, want, needed)?,
                Fill::Record(child) => {
                    let step = self.add(plan, context, child, false)?;
                    if let Way::Text(reference) = self.steps[step].way {
                        // If a reference refers to nothing itself, what else it would refer to must not be made.
                        self.references[reference].column.needed |= needed || !declared;
                    }
                    From::Step(step)
                }
                Fill::Label(_) => return None,
            };
        }
        let way = match spec.memo {
            Some(memo) => self.text(context, spec, memo)?,
            None => Way::Shared,
        };
        let key: Vec<From> = (0..cells.len())
            .filter(|at| table.columns[*at].key)
            .map(|at| cells[at])
            .collect();
        let by_text = matches!(way, Way::Text(_));
        let is_unsaid = |from: &From| matches!(from, From::Nowhere);
        if by_text && declared || !by_text && key.iter().any(is_unsaid) {
            return None;
        }
        self.steps.push(Step {
            draft: Draft {
                table: spec.table,
                declared,
                create: spec.create,
                cells: 0,
                external: None,
                memo: None,
                spec,
            },
            way,
            cells,
            key,
            recs: Vec::new(),
            late: Vec::new(),
            first: 0,
        });
        Some(self.steps.len() - 1)
    }
    /// A cell that holds a value.
    fn value(
        &mut self,
        context: &Context<'a>,
        spec: &'a ValueSpec,
        want: &'a Want,
        needed: bool,
    ) -> Option<From> {
        let at = context.column(spec)?;
        self.values.push(Values::new(Column {
            at,
            spec,
            want,
            needed,
        }));
        Some(From::Value(self.values.len() - 1))
    }

    /// The way to a record that one text identifies.
    fn text(&mut self, context: &Context<'a>, spec: &'a RecordSpec, memo: usize) -> Option<Way> {
        let [cell] = &spec.cells[..] else { return None };
        let Fill::Value(value, want) = &cell.fill else {
            return None;
        };
        let column = Column {
            at: context.column(value)?,
            spec: value,
            want,
            // Otherwise the record that refers to it decides.
            needed: cell.required,
        };
        self.references
            .push(References::new(column, memo, cell.column));
        Some(Way::Text(self.references.len() - 1))
    }
}
