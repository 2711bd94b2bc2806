//! The records of one table of a chunk, found by their keys.
//!
//! I1. An index has all records, or none: it has none as long as keys rise.
//! I2. Keys rise as long as each record was admitted by a key of one word that is more than that of the record before. Feeds often come in
//!     the order of their ids; then none is there twice, and nobody has to be asked.

use super::draft::Draft;
use super::keys::hash_cells;
use crate::batch::{Again, Cell, RecCells, Recs};
use crate::plan::{Slot, TablePlan};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use oneflight_sql::{External, Policy};
use std::hash::BuildHasher;

/// What is known of a record by its key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Admitted {
    /// It is there.
    There(u32),
    /// It is new, and has no cells yet.
    New(u32),
}

/// The records of one table of a chunk.
#[derive(Debug)]
pub(super) struct Table {
    recs: Recs,
    hashes: Vec<u64>,
    index: HashTable<u32>,
    /// The last key, as long as keys rise (I2).
    risen: Option<i64>,
    /// How many records are expected.
    room: usize,
    key: Vec<usize>,
    /// For each column the policy of its attribute; none for a column that is only in the key.
    policies: Vec<Option<Policy>>,
    /// The column that dates a record.
    newest: Option<usize>,
}

impl Table {
    pub(super) fn new(plan: &TablePlan) -> Self {
        let policy = |slot: Slot| match slot {
            Slot::Key(_) => None,
            Slot::Attribute(slot) | Slot::Folded { shown: slot, .. } => {
                Some(plan.sql.attributes[slot].policy)
            }
        };
        let newest = plan.sql.newest_by.as_ref().and_then(|newest| {
            plan.columns.iter().position(|column| {
                matches!(column.slot, Slot::Attribute(slot) if plan.sql.attributes[slot].column.name == *newest)
            })
        });
        Self {
            recs: Recs::new(plan),
            hashes: Vec::new(),
            index: HashTable::new(),
            risen: Some(i64::MIN),
            room: 0,
            key: (0..plan.columns.len())
                .filter(|at| plan.columns[*at].key)
                .collect(),
            policies: plan
                .columns
                .iter()
                .map(|column| policy(column.slot))
                .collect(),
            newest,
        }
    }

    /// Makes room for so many records; there are none yet.
    pub(super) fn reserve(&mut self, records: usize) {
        self.recs.reserve(records);
        self.room = records;
    }

    /// How many columns it has.
    pub(super) fn width(&self) -> usize {
        self.policies.len()
    }

    /// True if some column refuses a second value.
    pub(super) fn may_refuse(&self) -> bool {
        self.policies.contains(&Some(Policy::Error))
    }

    pub(super) fn recs(&self) -> &Recs {
        &self.recs
    }

    pub(super) fn into_recs(self) -> Recs {
        self.recs
    }

    /// The columns, to be given the cells of records that have been admitted.
    pub(super) fn columns(&mut self) -> &mut [RecCells] {
        self.recs.columns()
    }

    /// Gives the next keys their records if they rise, and all before have risen; returns the first.
    pub(super) fn rise(&mut self, draft: &Draft<'_>, keys: &[i64]) -> Option<u32> {
        let (first, last) = (keys.first()?, keys.last()?);
        let rises = self.risen? < *first && keys.is_sorted_by(|a, b| a < b);
        if !rises {
            return None;
        }
        self.risen = Some(*last);
        Some(
            self.recs
                .admit_many(keys.len(), draft.declared, draft.create),
        )
    }

    /// Indexes what has risen: whoever comes to it now may bring any key. All records have their cells.
    #[inline]
    fn settle(&mut self, hasher: &RandomState) {
        if self.risen.take().is_some() {
            self.index_all(hasher);
        }
    }

    #[cold]
    fn index_all(&mut self, hasher: &RandomState) {
        let room = self.room.max(self.recs.len());
        self.hashes.reserve(room);
        // Nothing is indexed yet, so nothing has to be hashed again.
        self.index.reserve(room, |_| 0);
        for at in 0..self.recs.len() as u32 {
            let key = self.key.iter().map(|column| self.recs.cell(*column, at));
            let hash = hash_cells(key, hasher);
            self.hashes.push(hash);
            self.index.insert_unique(hash, at, |_| hash);
        }
    }

    /// Adds a record of a row, or what the row says to the record that is there.
    pub(super) fn add(
        &mut self,
        draft: &Draft<'_>,
        cells: &[Cell<'_>],
        hasher: &RandomState,
    ) -> (u32, Again) {
        self.settle(hasher);
        let hash = self.hash(draft, cells, hasher);
        if let Some(at) = self.find(hash, draft, cells) {
            return (at, self.meet(at, draft, cells));
        }
        let external = draft.external.map(|(source, id)| External {
            source: source.clone(),
            id: id.into(),
        });
        let at = self
            .recs
            .push(cells, external, draft.declared, draft.create);
        self.hashes.push(hash);
        let hashes = &self.hashes;
        self.index
            .insert_unique(hash, at, |at| hashes[*at as usize]);
        (at, Again::First)
    }

    /// Finds the record with a key of this hash, or gives it a number.
    #[inline]
    pub(super) fn admit(
        &mut self,
        draft: &Draft<'_>,
        hash: u64,
        hasher: &RandomState,
        is_same: impl Fn(&Recs, u32) -> bool,
    ) -> Admitted {
        self.settle(hasher);
        let (recs, hashes) = (&self.recs, &self.hashes);
        let entry = self.index.entry(
            hash,
            |at| recs.external(*at).is_none() && is_same(recs, *at),
            |at| hashes[*at as usize],
        );
        match entry {
            Entry::Occupied(there) => Admitted::There(*there.get()),
            Entry::Vacant(new) => {
                let at = self.recs.admit_plain(draft.declared, draft.create);
                new.insert(at);
                self.hashes.push(hash);
                Admitted::New(at)
            }
        }
    }

    /// Puts what a row says to a record that is there.
    pub(super) fn meet(&mut self, at: u32, draft: &Draft<'_>, cells: &[Cell<'_>]) -> Again {
        let changed = self.merge(at, cells);
        match (self.recs.mark(at, draft.declared, draft.create), changed) {
            (false, _) => Again::First,
            (true, true) => Again::Changed,
            (true, false) => Again::Same,
        }
    }

    /// The record that a row speaks of.
    pub(super) fn look(
        &self,
        draft: &Draft<'_>,
        cells: &[Cell<'_>],
        hasher: &RandomState,
    ) -> Option<u32> {
        debug_assert!(
            self.index.len() == self.recs.len(),
            "I1: asked while keys rise"
        );
        self.find(self.hash(draft, cells, hasher), draft, cells)
    }

    fn hash(&self, draft: &Draft<'_>, cells: &[Cell<'_>], hasher: &RandomState) -> u64 {
        let key = self.key.iter().map(|column| cells[*column]);
        let hash = hash_cells(key, hasher);
        match &draft.external {
            None => hash,
            Some(external) => hasher.hash_one((hash, external)),
        }
    }

    fn find(&self, hash: u64, draft: &Draft<'_>, cells: &[Cell<'_>]) -> Option<u32> {
        let found = self.index.find(hash, |at| {
            let external = match (&draft.external, self.recs.external(*at)) {
                (None, None) => true,
                (Some((source, id)), Some(external)) => {
                    **source == external.source && **id == *external.id
                }
                _ => false,
            };
            external
                && self
                    .key
                    .iter()
                    .all(|&column| cells[column].is_same(&self.recs.cell(column, *at)))
        });
        found.copied()
    }

    /// Applies what the row says to a record that is there; true if it changed.
    fn merge(&mut self, at: u32, cells: &[Cell<'_>]) -> bool {
        let stub = (0..cells.len()).all(|column| {
            !matches!(self.policies[column], Some(policy) if policy != Policy::Once)
                || self.recs.cell(column, at).is_empty()
        });
        let newer = self
            .newest
            .is_some_and(|newest| is_newer(cells[newest], self.recs.cell(newest, at)));
        let (mut changed, mut conflicts) = (false, 0);
        for (column, new) in cells.iter().enumerate() {
            let Some(policy) = self.policies[column] else {
                continue;
            };
            let (new, old) = (*new, self.recs.cell(column, at));
            let takes = match (new, old) {
                (Cell::Null, Cell::Unset) => {
                    self.recs.set_cell(column, at, Cell::Null);
                    continue;
                }
                (Cell::Unset | Cell::Null, _) => continue,
                _ if policy == Policy::Once || new.is_same(&old) => continue,
                _ if stub => true,
                (_, Cell::Unset | Cell::Null) => policy != Policy::Keep,
                _ => policy == Policy::Take || policy == Policy::Newest && newer,
            };
            if takes {
                self.recs.set_cell(column, at, new);
                changed = true;
            } else {
                conflicts += 1;
            }
        }
        self.recs.add_conflicts(at, conflicts);
        changed
    }

    /// The first column that refuses what a row says of a record that is there.
    pub(super) fn refuses(&self, at: u32, cells: &[Cell<'_>]) -> Option<usize> {
        let refuses = |(column, new): (usize, &Cell<'_>)| {
            let old = self.recs.cell(column, at);
            let both = !new.is_empty() && !old.is_empty();
            self.policies[column] == Some(Policy::Error) && both && !new.is_same(&old)
        };
        cells.iter().enumerate().position(refuses)
    }
}

/// True if the new date is later; any date is later than none.
fn is_newer(new: Cell<'_>, old: Cell<'_>) -> bool {
    match (new, old) {
        (Cell::Unset | Cell::Null | Cell::Text(_) | Cell::Folded { .. } | Cell::Ref(_), _) => false,
        (_, Cell::Unset | Cell::Null) => true,
        (Cell::Int(new), Cell::Int(old)) | (Cell::Timestamp(new), Cell::Timestamp(old)) => {
            new > old
        }
        (Cell::Date(new), Cell::Date(old)) => new > old,
        _ => false,
    }
}
