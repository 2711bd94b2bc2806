//! Loading: rows by the column, whose ids nobody asks for.
//!
//! ```text
//!            misfits, keys that come twice ─────────────────────────────────┐
//!   rows ─▶ new rows expected?  yes: insert all ──made──▶ Created           │
//!                                 │ not all made                            │
//!                                 ▼                                         ▼
//!                            differing ──as said──▶ Found                merge, row by row
//!                                 ├─ missing ▶ insert ──made──▶ Created     ▲
//!                                 └─ other than said, or not made ──────────┘
//! ```
//!
//! Z1. What goes the cheap way comes to what it would have come to in `merge`; whoever is in doubt goes through `merge`.
//! Z2. No key comes twice in what goes the cheap way: the second row would have to wait for what the first has done.
//! Z3. At first rows are expected to be there, so that a run that is repeated writes nothing; but not in a table that was made
//!     just now.

use super::flow::{CHUNK, Flow};
use crate::columns::{Columns, Loaded};
use crate::dialect::{Dialect, load};
use crate::driver::{Patience, Pipeline, Rows};
use crate::error::Error;
use crate::record::{Applied, Effect};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;

type Fates = Vec<Option<Result<Applied, Error>>>;

impl Flow {
    /// Loads the rows: what [`Flow::merge`] does, row by row.
    pub(super) async fn load(&self, rows: &Arc<Columns>) -> Loaded {
        if rows.is_empty() {
            return Loaded::all(0, Effect::Found);
        }
        let odd = match load::fits(&self.layout, rows) {
            true => odd(&self.layout, rows),
            false => (0..rows.len()).collect(),
        };
        if odd.is_empty() && rows.len() <= CHUNK {
            return match self.load_chunk(rows).await {
                Ok(effect) => Loaded::all(rows.len(), effect),
                Err(fates) => self.load_rest(rows, fates).await,
            };
        }
        let mut fates: Fates = vec![None; rows.len()];
        let mut odd = odd.into_iter().peekable();
        let plain: Vec<usize> = (0..rows.len())
            .filter(|row| odd.next_if_eq(row).is_none())
            .collect();
        for chunk in plain.chunks(CHUNK) {
            let came = self.load_chunk(&Arc::new(rows.select(chunk))).await;
            for (at, &row) in chunk.iter().enumerate() {
                fates[row] = match &came {
                    Ok(effect) => Some(Ok(Applied::plain(*effect))),
                    Err(fates) => fates[at].clone(),
                };
            }
        }
        self.load_rest(rows, fates).await
    }

    /// Loads distinct rows that fit. All alike, or one fate each, none if the row has to be merged.
    async fn load_chunk(&self, rows: &Arc<Columns>) -> Result<Effect, Fates> {
        let mut fates: Fates = vec![None; rows.len()];
        let mut left: Vec<usize> = (0..rows.len()).collect();
        // ORDERING: Relaxed, a guess about the next rows that is never wrong, only slower.
        if self.loads_new.load(Ordering::Relaxed) {
            left = self.load_new(rows, left, &mut fates).await;
            if left.is_empty() {
                return Ok(Effect::Created);
            }
        }
        let is_whole = left.len() == rows.len();
        let asked = if is_whole {
            rows.clone()
        } else {
            Arc::new(rows.select(&left))
        };
        let Some(came) = self.try_run(|| load::differing(&self.layout, &asked)).await else {
            return Err(fates);
        };
        let differ = load::differ(&came);
        if differ.is_empty() && is_whole {
            // ORDERING: Relaxed, as above.
            self.loads_new.store(false, Ordering::Relaxed);
            return Ok(Effect::Found);
        }
        left.iter()
            .for_each(|&row| fates[row] = Some(Ok(Applied::plain(Effect::Found))));
        differ.iter().for_each(|&(at, _)| fates[left[at]] = None);
        let missing = differ.iter().filter(|(_, is_there)| !is_there);
        let mut missing: Vec<usize> = missing.map(|&(at, _)| left[at]).collect();
        missing.sort_unstable();
        let all_are_new = missing.len() == rows.len();
        let left = self.load_new(rows, missing, &mut fates).await;
        let all_are_new = all_are_new && left.is_empty();
        // ORDERING: Relaxed, as above.
        self.loads_new.store(all_are_new, Ordering::Relaxed);
        if all_are_new {
            Ok(Effect::Created)
        } else {
            Err(fates)
        }
    }

    /// Inserts rows that are thought to be missing; gives back those that were not made.
    async fn load_new(
        &self,
        rows: &Arc<Columns>,
        new: Vec<usize>,
        fates: &mut Fates,
    ) -> Vec<usize> {
        if new.is_empty() {
            return new;
        }
        let is_whole = new.len() == rows.len();
        let sent = if is_whole {
            rows.clone()
        } else {
            Arc::new(rows.select(&new))
        };
        let Some(came) = self
            .try_run(|| Some(load::insert(&self.layout, &sent)))
            .await
        else {
            return new;
        };
        // SQLite counts what it stored: a trigger of the table's own may have passed over a row.
        let stored: u64 = came.iter().map(Rows::affected).sum();
        if self.layout.dialect == Dialect::Sqlite && stored != new.len() as u64 {
            return new;
        }
        new.iter()
            .for_each(|&row| fates[row] = Some(Ok(Applied::plain(Effect::Created))));
        let mut missed: Vec<usize> = load::missed(&came).into_iter().map(|at| new[at]).collect();
        missed.sort_unstable();
        missed.iter().for_each(|&row| fates[row] = None);
        missed
    }

    /// Runs a pipeline, again if a fault passes; none if there is no such pipeline or it failed (then the general way finds out why).
    async fn try_run(&self, pipeline: impl Fn() -> Option<Pipeline>) -> Option<Vec<Rows>> {
        let mut patience = Patience::default();
        loop {
            match self.driver.run(pipeline()?).await {
                Ok(rows) => return Some(rows),
                Err(error) => patience.after(error).await.ok()?,
            }
        }
    }

    /// Merges the rows that have no fate yet.
    async fn load_rest(&self, rows: &Columns, fates: Fates) -> Loaded {
        let left = (0..rows.len()).filter(|&row| fates[row].is_none());
        let merged = self.merge(left.map(|row| rows.record(row)).collect()).await;
        let mut merged = merged.into_iter().map(|outcome| {
            outcome.map(|outcome| Applied {
                effect: outcome.effect,
                conflicts: outcome.conflicts,
            })
        });
        let none = || Err(Error::internal("a row was left without an outcome"));
        let fates = fates.into_iter();
        Loaded::each(fates.map(|fate| fate.or_else(|| merged.next()).unwrap_or_else(none)))
    }
}

/// The rows that cannot go the cheap way, sorted: misfits, and all that share a key (Z2).
fn odd(layout: &crate::dialect::Layout, rows: &Columns) -> Vec<usize> {
    let mut odd = load::misfits(layout, rows);
    let state = RandomState::new();
    let mut prints: Vec<(u64, usize)> = (0..rows.len())
        .map(|row| {
            let mut hasher = state.build_hasher();
            rows.key()
                .iter()
                .for_each(|cells| cells.hash_cell(row, &mut hasher));
            (hasher.finish(), row)
        })
        .collect();
    prints.sort_unstable();
    // Two keys that only share their print go the long way as well, and are none the worse.
    let twice = prints.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    odd.extend(twice.flat_map(|pair| [pair[0].1, pair[1].1]));
    odd.into_iter().collect()
}
