//! Loading: rows by the column, whose ids nobody asks for.

use super::flow::Flow;
use crate::columns::{Columns, Loaded};
use crate::record::{Applied, Effect};
use std::sync::Arc;

impl Flow {
    /// Loads the rows: what [`Flow::merge`] does, row by row.
    pub(super) async fn load(&self, rows: &Arc<Columns>) -> Loaded {
        if rows.is_empty() {
            return Loaded::all(0, Effect::Found);
        }
        let records = (0..rows.len()).map(|row| rows.record(row)).collect();
        let outcomes = self.merge(records).await.into_iter().map(|outcome| {
            outcome.map(|outcome| Applied {
                effect: outcome.effect,
                conflicts: outcome.conflicts,
            })
        });
        Loaded::each(outcomes)
    }
}
