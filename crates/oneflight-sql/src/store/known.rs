//! A round on SQLite and MySQL: under the lock of all writers we know what is missing, and write that.
//!
//! ```text
//!   lock · BEGIN · look │ decide │ insert · link · look again │ settle │ update · COMMIT · unlock
//! ```

use super::batch::{Created, Handle, View, Work};
use super::flow::{Flow, Shared, of_record};
use super::settle::{self, Settled, settle};
use crate::dialect::{Create, Hit, Layout, find, hits, known};
use crate::driver::{DriverError, Mode, Pipeline, Rows, Statement};
use crate::value::Value;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Flow {
    /// SQLite, MySQL: under the lock of all writers look, insert, link, look again, update, commit.
    pub(super) async fn write_known(
        &self,
        batch: &Shared,
        set: &[usize],
    ) -> Result<usize, DriverError> {
        let first = find(&self.layout, &batch.lock().asks_of(set));
        let round = Arc::new(Mutex::new(Round::new(
            self.layout.clone(),
            batch.clone(),
            set.to_vec(),
            first.len(),
        )));
        let (second, third) = (round.clone(), round.clone());
        let mode = Mode::Write {
            lock: self.layout.lock.clone(),
        };
        let pipeline = first.into_iter().fold(Pipeline::new(mode), Pipeline::step);
        let pipeline = pipeline
            .then(move |rows| second.lock().insert(rows))
            .then(move |rows| third.lock().update(rows));
        self.driver.run(pipeline).await?;
        let mut round = round.lock();
        let (settled, created) = (
            std::mem::take(&mut round.settled),
            std::mem::take(&mut round.created),
        );
        drop(round);
        let pending = settled.pending.len() + created.len();
        batch.lock().created.extend(created);
        Ok(pending + self.apply(batch, settled, &mut HashMap::new(), true))
    }
}

/// A round of [`Flow::write_known`], between its steps.
struct Round {
    layout: Arc<Layout>,
    batch: Shared,
    set: Vec<usize>,
    /// How many statements the first look takes.
    looks: usize,
    hits: Vec<Hit>,
    work: Work,
    /// How many statements insert.
    inserts: usize,
    /// How many statements insert or link.
    writes: usize,
    settled: Settled,
    created: HashMap<Handle, Created>,
}

impl Round {
    fn new(layout: Arc<Layout>, batch: Shared, set: Vec<usize>, looks: usize) -> Self {
        let (hits, work, settled, created) = Default::default();
        Self {
            layout,
            batch,
            set,
            looks,
            hits,
            work,
            inserts: 0,
            writes: 0,
            settled,
            created,
        }
    }

    /// After the first look: inserts and links what is missing, and looks for that again.
    fn insert(&mut self, rows: &[Rows]) -> Result<Vec<Statement>, DriverError> {
        let layout = self.layout.clone();
        let batch = self.batch.lock();
        self.hits = hits(&layout, rows);
        let view = View::new(&layout, &batch, &self.set, self.hits.clone());
        self.work =
            Work::new(&layout, &batch, &self.set, view.needs.into_iter()).map_err(of_record)?;
        let creates: Vec<&Create> = self.work.creates.iter().map(|(create, _)| create).collect();
        let mut statements = match (&layout.links, layout.key.is_empty()) {
            _ if creates.is_empty() => Vec::new(),
            (Some(links), true) => known::insert_linked(&layout, links, &creates),
            _ => known::insert(&layout, &creates),
        };
        self.inserts = statements.len();
        if let (Some(links), false) = (&layout.links, self.work.links.is_empty()) {
            statements.extend(known::link(
                &layout,
                links,
                &self.work.links.iter().collect::<Vec<_>>(),
            ));
        }
        self.writes = statements.len();
        if layout.id.is_some() && !self.work.members.is_empty() {
            let members: Vec<usize> = self.work.members.iter().map(|&at| self.set[at]).collect();
            statements.extend(find(&layout, &batch.asks_of(&members)));
        }
        Ok(statements)
    }

    /// After the second look: settles, and stores what changes.
    fn update(&mut self, rows: &[Rows]) -> Result<Vec<Statement>, DriverError> {
        let layout = self.layout.clone();
        let (inserted, looked) = rows[self.looks..].split_at(self.writes);
        let is_member: HashSet<usize> = self.work.members.iter().copied().collect();
        self.hits.retain(|hit| !is_member.contains(&hit.ask));
        for mut hit in hits(&layout, looked) {
            if let Some(&at) = self.work.members.get(hit.ask) {
                hit.ask = at;
                self.hits.push(hit);
            }
        }
        // Fewer than were sent: a trigger of the table's own has passed over some of them. Then none counts as ours.
        let made: u64 = inserted[..self.inserts].iter().map(Rows::affected).sum();
        let is_ours = layout.key.is_empty() || made == self.work.creates.len() as u64;
        let mut batch = self.batch.lock();
        let position: HashMap<usize, usize> = self
            .set
            .iter()
            .enumerate()
            .map(|(position, &at)| (at, position))
            .collect();
        let mut ids: HashMap<usize, Value> = HashMap::new();
        ids.extend(
            self.hits
                .iter()
                .filter(|hit| is_member.contains(&hit.ask))
                .map(|hit| (hit.ask, hit.id.clone())),
        );
        for (_, created) in std::mem::take(&mut self.work.creates) {
            if layout.id.is_none() {
                let members = created.members.iter().filter_map(|at| position.get(at));
                self.hits
                    .extend(members.map(|&ask| without_id(ask, &created)));
            }
            let first = created.members[0];
            let handle: Option<Handle> = match layout.id {
                Some(_) => position
                    .get(&first)
                    .and_then(|position| ids.get(position))
                    .map(|id| [id.clone()].into()),
                None => batch.records[first].key.clone(),
            };
            if let (true, Some(handle)) = (is_ours, handle) {
                self.created.insert(handle, created);
            }
        }
        // Settling has to know of them; should the transaction fail, they are forgotten again.
        let handles: Vec<Handle> = self.created.keys().cloned().collect();
        batch.created.extend(self.created.drain());
        let view = View::new(&layout, &batch, &self.set, std::mem::take(&mut self.hits));
        self.settled = settle(&layout, &batch, &self.set, &view);
        let back = handles
            .iter()
            .map(|handle| batch.created.remove_entry(handle));
        self.created.extend(back.flatten());
        settle::store(&layout, std::mem::take(&mut self.settled.changes)).map_err(of_record)
    }
}

/// Without an id there is nothing more to be known of a row than that it is there.
fn without_id(ask: usize, created: &Created) -> Hit {
    Hit {
        ask,
        by_external: false,
        taken: false,
        id: Value::Null,
        attributes: created.values.clone().into(),
    }
}
