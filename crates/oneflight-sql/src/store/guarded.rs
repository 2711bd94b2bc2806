//! A round on PostgreSQL: the guards stand in the statements, so all of it is sent at once.
//!
//! ```text
//!   BEGIN · locks · insert · link · COMMIT · look        one round trip
//!   BEGIN · lock rows │ decide │ update · COMMIT          only where rows change
//! ```

use super::batch::{Created, Handle, Need, Row, View, Work};
use super::flow::{Flow, Shared, of_record};
use super::settle::{self, settle};
use crate::ddl::fnv;
use crate::dialect::{Ask, Create, Hit, Lock, find, guarded, hits};
use crate::driver::{DriverError, Mode, Pipeline};
use crate::value::Value;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Flow {
    /// PostgreSQL: locks, guarded inserts and links, commit, look-up, in one go.
    pub(super) async fn write_guarded(
        &self,
        batch: &Shared,
        set: &[usize],
        needs: &mut HashMap<usize, Need>,
    ) -> Result<usize, DriverError> {
        let layout = &self.layout;
        let (pipeline, creates) = {
            let batch = batch.lock();
            let need = |at: &usize| needs.get(at).cloned().unwrap_or(Need::Create);
            let needed = set.iter().map(need).map(|need| {
                if matches!(need, Need::Row(_)) {
                    Need::Create
                } else {
                    need
                }
            });
            let work = Work::new(layout, &batch, set, needed).map_err(of_record)?;
            let (creates, created): (Vec<Create>, Vec<Created>) = work.creates.into_iter().unzip();
            let mut pipeline = Pipeline::new(Mode::Write { lock: None });
            pipeline = pipeline.step(guarded::lock(
                layout,
                &locks(&creates, &work.links),
                &creates,
                &work.links,
            ));
            match (&layout.links, layout.key.is_empty()) {
                (Some(links), true) => {
                    pipeline = pipeline.step(guarded::insert_linked(layout, links, &creates))
                }
                _ => pipeline = pipeline.step(guarded::insert(layout, &creates)),
            }
            if let (Some(links), false) = (&layout.links, work.links.is_empty()) {
                pipeline = pipeline.step(guarded::link(
                    layout,
                    links,
                    &work.links,
                    self.is_exclusive(),
                ));
            }
            let asks = batch.asks_of(set);
            (
                find(layout, &asks)
                    .into_iter()
                    .fold(pipeline, Pipeline::after),
                created,
            )
        };
        let rows = self.driver.run(pipeline).await?;
        let made = guarded::created(layout, &rows[1]);
        let hits = hits(layout, &rows[rows.len() - 1..]);
        let splits_before = self.note_created(batch, set, made, creates, &hits);
        Ok(splits_before + self.conclude(batch, set, hits, needs).await?)
    }

    /// Remembers which rows this batch has made.
    fn note_created(
        &self,
        batch: &Shared,
        set: &[usize],
        made: Vec<Handle>,
        creates: Vec<Created>,
        hits: &[Hit],
    ) -> usize {
        if made.is_empty() {
            return 0;
        }
        let mut batch = batch.lock();
        let of_record: HashMap<usize, usize> = creates
            .iter()
            .enumerate()
            .flat_map(|(nth, created)| created.members.iter().map(move |&at| (at, nth)))
            .collect();
        let made: HashSet<Handle> = made.into_iter().collect();
        for hit in hits {
            let Some(&at) = set.get(hit.ask) else {
                continue;
            };
            let handle: Handle = match &self.layout.id {
                Some(_) => [hit.id.clone()].into(),
                None => batch.records[at].key.clone().unwrap_or_default(),
            };
            if let (true, Some(&nth)) = (made.contains(&handle), of_record.get(&at)) {
                batch
                    .created
                    .entry(handle)
                    .or_insert_with(|| creates[nth].clone());
            }
        }
        made.len()
    }

    /// PostgreSQL: locks the rows in order, reads them again, and stores what the records then change.
    pub(super) async fn update_locked(
        &self,
        batch: &Shared,
        wanted: Vec<(usize, Handle)>,
    ) -> Result<usize, DriverError> {
        let layout = self.layout.clone();
        let mut handles: Vec<Handle> = wanted.iter().map(|(_, handle)| handle.clone()).collect();
        handles.sort_unstable();
        handles.dedup();
        let encoded: Result<Vec<_>, _> = handles
            .iter()
            .map(|handle| settle::encode_handle(&layout, handle))
            .collect();
        let lock = guarded::lock_rows(&layout, &encoded.map_err(of_record)?);
        let slot = Arc::new(Mutex::new(None));
        let (batch_, slot_) = (batch.clone(), slot.clone());
        let pipeline = Pipeline::new(Mode::Write { lock: None })
            .step(lock)
            .then(move |rows| {
                let batch = batch_.lock();
                let (set, view) = relocked(wanted, &handles, hits(&layout, rows));
                let mut settled = settle(&layout, &batch, &set, &view);
                let statements = settle::store(&layout, std::mem::take(&mut settled.changes))
                    .map_err(of_record)?;
                *slot_.lock() = Some(settled);
                Ok(statements)
            });
        self.driver.run(pipeline).await?;
        let settled = slot.lock().take();
        let progress = settled.as_ref().map_or(0, |settled| settled.pending.len());
        if let Some(settled) = settled {
            self.apply(batch, settled, &mut HashMap::new(), true);
        }
        Ok(progress)
    }

    fn is_exclusive(&self) -> bool {
        let crosswalk = self.layout.table.crosswalk.as_ref();
        crosswalk.is_some_and(|crosswalk| crosswalk.same_source != crate::schema::SameSource::Link)
    }
}

/// The records and the view of rows that are locked. Their hits come by the order of `handles`.
fn relocked(
    wanted: Vec<(usize, Handle)>,
    handles: &[Handle],
    found: Vec<Hit>,
) -> (Vec<usize>, View) {
    let mut row_of: HashMap<&Handle, usize> = HashMap::new();
    let mut view = View {
        needs: Vec::new(),
        rows: Vec::new(),
    };
    for Hit {
        ask,
        id,
        attributes,
        ..
    } in found
    {
        if let Some(handle) = handles.get(ask) {
            row_of.insert(handle, view.rows.len());
            view.rows.push(Row {
                handle: handle.clone(),
                id,
                attributes,
            });
        }
    }
    // A row that is gone meanwhile leaves its records open: the next round makes it again.
    view.needs = wanted
        .iter()
        .map(|(_, handle)| {
            row_of
                .get(handle)
                .map_or(Need::Create, |row| Need::Row(*row))
        })
        .collect();
    (wanted.into_iter().map(|(at, _)| at).collect(), view)
}

/// The stripes of what is created and linked.
fn locks(creates: &[Create], links: &[Ask]) -> Lock {
    let key = |key: &[Value]| fnv(std::iter::once(0).chain(key.iter().flat_map(lock_bytes)));
    let external =
        |external: &[Value; 2]| fnv(std::iter::once(1).chain(external.iter().flat_map(lock_bytes)));
    let of_creates = creates.iter().flat_map(|create| {
        let of_key = (!create.key.is_empty()).then(|| key(&create.key));
        of_key
            .into_iter()
            .chain(create.unless.as_ref().map(external))
    });
    let of_links = links.iter().flat_map(|link| {
        link.external
            .as_ref()
            .map(external)
            .into_iter()
            .chain(link.key.as_deref().map(key))
    });
    Lock::new(of_creates.chain(of_links))
}

/// The bytes of a value as it travels: the same in every process.
fn lock_bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::Text(text) => text.bytes().chain([0xff]).collect(),
        Value::Bytes(bytes) => bytes.iter().copied().chain([0xff]).collect(),
        Value::Int(int) => int.to_le_bytes().into(),
        Value::Bool(bool) => vec![u8::from(*bool)],
        _ => vec![0xfe],
    }
}
