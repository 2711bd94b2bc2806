//! Which records each row declares and refers to, where that is the same for all rows.

use super::columns::{Column, References, Values};
use crate::batch::Again;
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
    /// The order in which they are committed: what one group refers to is in it or in a group before.
    pub(super) groups: Vec<Vec<usize>>,
}

/// The number that no record has.
pub(super) const NONE: u32 = u32::MAX;

/// A record of each row.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) way: Way,
    /// For each column of the table.
    pub(super) cells: Vec<From>,
    /// For each column of the table's key, which it is and where its cells come from.
    pub(super) key: Vec<(usize, From)>,
    /// For each row of the block its record; [`NONE`] if it refers to nothing.
    pub(super) recs: Vec<u32>,
    /// True if some row of the block refers to nothing.
    pub(super) none: bool,
    /// For each row of the block what it did to the record, if it declares it.
    pub(super) again: Vec<Again>,
    /// The rows of the block whose records have no cells yet (E3), and the record of the first of them.
    pub(super) late: Vec<u32>,
    pub(super) first: u32,
}

/// How a record is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By the text of this reference.
    Text(usize),
    /// By its key; no other step makes records of its table, so that all rows can be looked up one after the other, and the cells of
    /// those that are new be appended by the block.
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
        steps.group();
        Some(steps)
    }

    /// Groups the steps by their tables: what they do to a table, and what numbers its records get, follows the order of the rows.
    fn group(&mut self) {
        let mut left: Vec<Vec<usize>> = Vec::new();
        for at in 0..self.steps.len() {
            let table = self.steps[at].draft.table;
            let same = |group: &&mut Vec<usize>| self.steps[group[0]].draft.table == table;
            match left.iter_mut().find(same) {
                Some(group) => group.push(at),
                None => left.push(vec![at]),
            }
        }
        while let Some(at) = left.iter().position(|group| self.is_ready(group)) {
            let group = left.remove(at);
            if let [only] = group[..]
                && self.steps[only].way == Way::Shared
            {
                self.steps[only].way = Way::Alone;
            }
            self.groups.push(group);
        }
        // Tables that refer to each other are filled row by row.
        let mut rest = left.concat();
        rest.sort_unstable();
        if !rest.is_empty() {
            self.groups.push(rest);
        }
    }

    /// True if all that these steps refer to is among them or in a group that has its place.
    fn is_ready(&self, group: &[usize]) -> bool {
        let mut froms = group.iter().flat_map(|at| &self.steps[*at].cells);
        froms.all(|from| match from {
            From::Step(step) => {
                group.contains(step) || self.groups.iter().any(|group| group.contains(step))
            }
            From::Nowhere | From::Value(_) => true,
        })
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
        let key: Vec<(usize, From)> = (0..cells.len())
            .filter(|at| table.columns[*at].key)
            .map(|at| (at, cells[at]))
            .collect();
        let by_text = matches!(way, Way::Text(_));
        let is_unsaid = |(_, from): &(usize, From)| matches!(from, From::Nowhere);
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
            none: false,
            again: Vec::new(),
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
